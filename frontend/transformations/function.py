"""Functions with a forward and a backward pass, as in PyTorch and MiniTorch. In: a class with both.
Out: `apply`."""

from __future__ import annotations

from typing import Any

from ... import errors
from ...ir.graph.brief import brief
from ..control.traced import as_tensor
from ..tensor import tree
from ..tensor.tensor import Tensor
from .custom import with_gradient


class Context:
    """What `forward` leaves for `backward`: any attributes, and Tensors.

    Attributes: `saved_tensors`, what `save_for_backward` was given; `needs_input_grad`, for each
    argument whether it is a Tensor of floats, by which there may be a gradient.
    """

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self.saved_tensors: tuple[Any, ...] = ()
        self._constant: set[int] = set()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keeps Tensors, or None."""
        wrong = [t for t in tensors if t is not None and not isinstance(t, Tensor)]
        if wrong:
            raise errors.DTypeError(
                f"save_for_backward: keeps Tensors, not {brief(wrong[0])}: make it an attribute of"
                " ctx"
            )
        self.saved_tensors = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """No derivative passes these results."""
        self._constant |= {id(t) for t in tensors}

    def is_constant(self, t: Any) -> bool:
        """Was it marked so?"""
        return id(t) in self._constant


class Function:
    """A function with a gradient of its own: a subclass defines both as static methods, and
    `apply` calls it.

        class Exp(wf.Function):
            @staticmethod
            def forward(ctx, x):
                y = x.exp()
                ctx.save_for_backward(y)
                return y

            @staticmethod
            def backward(ctx, g):
                (y,) = ctx.saved_tensors
                return g * y

    `forward(ctx, *args)` returns a Tensor, or a tuple of them. `backward(ctx, *cotangents)` gets
    one for each result, zeros where nothing depends on it, and returns one for each argument: of
    its shape and dtype, or None for 0 and for what is no Tensor of floats. It is traced once, at
    the call, so it computes with Tensors and cannot read their values. What it computes has
    gradients itself. Errors of its results are raised at the call of `apply`.
    """

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        """What the function computes."""
        raise NotImplementedError

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        """Its gradient."""
        raise NotImplementedError

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """The results of `forward`, with this gradient. Raises ShapeError, DTypeError and
        ArgumentError for what `backward` gives."""
        places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        floats = tuple([isinstance(a, Tensor) and a.dtype.is_inexact for a in args])
        ctx = Context(floats)
        made = cls.forward(ctx, *args)
        name, is_tuple = cls.__name__, isinstance(made, tuple)
        values = [as_tensor(name, "the result", y) for y in (made if is_tuple else (made,))]
        moving = [y for y in values if not ctx.is_constant(y)]

        def rule(cotangents: Any) -> list[Any]:
            given = iter(cotangents)
            all_of_them = [y * 0 if ctx.is_constant(y) else next(given) for y in values]
            found = cls.backward(ctx, *all_of_them)
            parts = found if isinstance(found, (tuple, list)) else (found,)
            if len(parts) != len(args):
                raise errors.ArgumentError(
                    f"{name}.backward: gives {len(parts)} cotangents for {len(args)} arguments"
                )
            _require_none(name, parts, places)
            return [parts[i] for i in places]

        own = iter(with_gradient(name, moving, [args[i] for i in places], rule))
        out = tuple([y.detach() if ctx.is_constant(y) else next(own) for y in values])
        return out if is_tuple else out[0]


def _require_none(name: str, parts: Any, places: list[int]) -> None:
    for i, part in enumerate(parts):
        if part is not None and i not in places:
            raise errors.DTypeError(
                f"{name}.backward: gives a cotangent for argument {i}, which is no Tensor: return"
                " None"
            )
        if part is not None and tree.is_container(part):
            raise errors.DTypeError(f"{name}.backward: gives {brief(part)} for argument {i}")
