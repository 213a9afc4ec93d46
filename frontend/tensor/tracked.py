"""Gradient tracking of a Tensor. In: a Tensor. Out: whether it requires a gradient, its .grad,
hooks, leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from ... import errors
from ...ir.graph.brief import brief
from ...ir.graph.graph import Node
from ...ir.graph.op import Op
from ..lazy import state
from ..lazy.any_tensor import Above
from ..lazy.trace import tracing
from ..operands.arguments import as_bool, as_function
from ..operands.likes import ArrayLike
from .parameters_elsewhere import naming
from .readable import Readable

Hook = Callable[[Any], Any]  # of a gradient: what replaces it, or None


class Handle:
    """A registered hook; remove(), or calling this, ends that. Doing so again does nothing."""

    def __init__(self, hooks: list[Hook], hook: Hook) -> None:
        hooks.append(hook)
        self._hooks, self._hook = hooks, [hook]

    def remove(self) -> None:
        """The hook runs no more."""
        while self._hook:
            self._hooks.remove(self._hook.pop())

    __call__ = remove


class Tracked(Readable):
    """A readable Tensor that may be differentiated by, or that came out of such."""

    __slots__ = ()

    def __init__(self, node: Node, requires_grad: bool = False) -> None:
        if not isinstance(node, Node):
            raise errors.CallError(
                f"{type(self).__name__} is not a constructor: write wf.tensor({brief(node)})"
            )
        self._node = node
        self._requires_grad = False
        self._storage = self._grad = self.name = self._note = self._hooks = None
        if state.traces:
            state.born(self)
        self.requires_grad = requires_grad

    @property
    def requires_grad(self) -> bool:
        """True if backward() leads here."""
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Makes this a leaf that collects gradients, or one that does not. Raises DTypeError unless
        it is a float or complex."""
        requires_grad = as_bool("requires_grad_", "requires_grad", requires_grad)
        if requires_grad and not self.dtype.is_inexact:
            raise errors.DTypeError(f"only floats have gradients, this is {self.dtype.name}")
        if requires_grad != self._requires_grad and state.is_outer(self):
            tracing().refuse("requires_grad_ of a Tensor from outside")
        if requires_grad and not self._requires_grad:
            state.become_leaf(self)
        elif not requires_grad and self._requires_grad:
            if not self.is_leaf:
                raise errors.GradientError(
                    "requires_grad can only be turned off on a leaf; use detach()"
                )
            self.node.arg.owner = None
        if requires_grad != self._requires_grad:
            self._requires_grad = requires_grad
            state.changes.count += 1
        return self

    @property
    def is_leaf(self) -> bool:
        """True unless it was computed from Tensors that require a gradient."""
        n = self.node
        return not self._requires_grad or (
            n.op is Op.INPUT and n.arg.owner is not None and n.arg.owner() is self
        )

    @naming
    def backward(self, gradient: ArrayLike | None = None, retain_graph: bool = False) -> None:
        """Adds d self / d leaf to the .grad of every leaf that requires a gradient; lazy.

        gradient: the cotangent, of this shape; 1 for a single element. Raises GradientError,
        StaleError.
        """
        Above.backward(self, gradient, retain_graph)

    def retain_grad(self) -> None:
        """backward() fills .grad of this computed Tensor too. Raises GradientError unless it
        requires a gradient."""
        self._require_tracked("retain_grad")
        if not self.is_leaf:
            state.retain(self)

    def register_hook(self, hook: Hook) -> Handle:
        """hook(gradient) runs in backward(), when the gradient of this Tensor is complete, also
        after the Tensor is dropped.

        What it returns, unless None, replaces the gradient: here, and for everything this Tensor
        was computed from. Equal expressions are one value, and its gradient is that of all. Returns
        a handle whose remove() removes the hook. Raises GradientError unless this Tensor requires a
        gradient, DTypeError for what cannot be called.
        """
        self._require_tracked("register_hook")
        as_function("register_hook", "a hook", hook)
        if state.is_outer(self):
            tracing().refuse("register_hook of a Tensor from outside")
        if not self.is_leaf:
            hooks = state.hooks.setdefault(self.node, [])
        else:
            hooks = self._hooks = self._hooks or []
        return Handle(hooks, hook)

    def _require_tracked(self, name: str) -> None:
        if not self._requires_grad:
            raise errors.GradientError(f"{name}: this Tensor does not require a gradient")
