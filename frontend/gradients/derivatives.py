"""Derivatives of functions. In: functions of Tensors, or of tuples, lists and dicts of them. Out:
lazy derivatives.

Each input counts as a value of its own, even where the same Tensor is passed twice or the function
builds an equal one; only a Tensor in memory that the function reads from outside as well is the
same value as the argument.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import errors
from ...ir.gradient import gradient as ir_grad
from ...ir.gradient.forward import pushforward
from ...ir.graph.brief import brief
from ...ir.graph.graph import Node, full, rebuilt_over
from ...ir.graph.op import Op
from ...runtime.memory import storage
from ..operands.arguments import as_function, as_int, as_sequence
from ..operands.likes import ArrayLike
from ..tensor import creation, tree
from ..tensor.tensor import Tensor, wrap


class Differentiated:
    """A call of a function. `inputs`: what it was given, in the structure of the arguments, and
    `wrt`, the Nodes of their leaves; `output`: what it returned.

    Their Nodes are kept beside the Tensors, which let go of their history when they are computed.
    """

    def __init__(
        self, name: str, f: Callable[..., Any], args: Sequence[object], places: Sequence[int]
    ) -> None:
        self.name = name
        self._originals: dict[Node, Node] = {}  # by the Leaf that stood in for it
        seen: set[Node] = set()
        given = [
            tree.mapped(lambda x: self._own(x, seen), a) if i in places else a
            for i, a in enumerate(args)
        ]
        self.inputs = [given[i] for i in places]
        self.wrt: list[Node] = [x.node for x in tree.leaves(self.inputs)]
        self.output = as_function(name, "f", f)(*given)
        parts = tree.leaves(self.output)
        wrong = [x for x in parts if not isinstance(x, Tensor)]
        if wrong:
            what = f"{name}: the function returns Tensors, or tuples, lists or dicts of them"
            raise errors.DTypeError(f"{what}, not {brief(wrong[0])}")
        self._outputs: list[Node] = [x.node for x in parts]
        self.tracks = any(x.requires_grad for x in parts)

    def _own(self, x: ArrayLike, seen: set[Node]) -> Tensor:
        """The input as a Tensor whose Node is that of no other value."""
        t = x if isinstance(x, Tensor) else creation.tensor(x)
        if not t.dtype.is_inexact:
            raise errors.DTypeError(
                f"{self.name}: can differentiate by floats only, an input is"
                f" {t.dtype.name}{list(t.shape)}"
            )
        if t.node.op is Op.INPUT and t.node not in seen:
            seen.add(t.node)
            return t
        own = storage.defined_leaf(t.node)
        self._originals[own] = t.node
        return wrap(own, t.requires_grad)

    def outside(self, nodes: Sequence[Node]) -> list[Node]:
        """These Nodes in terms of what the caller passed."""
        if not self._originals:
            return list(nodes)
        known = rebuilt_over(nodes, self._originals)
        return [known[n] for n in nodes]

    def result(self) -> Any:
        """What the function returned, for the caller."""
        if not self._originals:
            return self.output
        parts = zip(self.outside(self._outputs), tree.leaves(self.output), strict=True)
        return tree.like(self.output, [wrap(n, t.requires_grad) for n, t in parts])

    def pull(self, cotangent: object) -> list[Node]:
        """The cotangents of the inputs' leaves, in terms of the inputs that the function was
        given."""
        seeds = matching(self.name, "cotangent", cotangent, self.output, "output")
        floats = [
            (y, g.node) for y, g in zip(self._outputs, seeds, strict=True) if y.dtype.is_inexact
        ]
        cotangents = ir_grad.vjp([y for y, _ in floats], [g for _, g in floats], self.wrt)
        return [
            full(0, x.dtype, x.shape) if g is None else g
            for x, g in zip(self.wrt, cotangents, strict=True)
        ]

    def push(self, along: Sequence[Node]) -> tuple[Any, Any]:
        """(what the function returned, its derivative along these tangents), for the caller."""
        values, tangents = pushforward(self._outputs, dict(zip(self.wrt, along, strict=True)))
        derivatives = [
            full(0, y.dtype, y.shape) if d is None else d
            for y, d in zip(values, tangents, strict=True)
        ]
        nodes = iter(self.outside([*values, *derivatives]))
        value = tree.mapped(lambda t: wrap(next(nodes), t.requires_grad), self.output)
        return value, tree.mapped(lambda _: wrap(next(nodes), self.tracks), self.output)

    def gradients(self, cotangent: object) -> list[Any]:
        """For the caller, in the structure of the inputs."""
        nodes = self.outside(self.pull(cotangent))
        return [*tree.like(self.inputs, [wrap(n, self.tracks) for n in nodes])]


def matching(name: str, what: str, given: object, wanted: object, of: str) -> list[Tensor]:
    """The leaves of `given`, which has the structure, shapes and dtypes of `wanted`."""
    if not tree.is_like(given, wanted):
        raise errors.ShapeError(
            f"{name}: the {what} does not have the structure of the {of}: {brief(given)} for"
            f" {brief(wanted)}"
        )
    out = []
    for g, x in zip(tree.leaves(given), tree.leaves(wanted), strict=True):
        t, like = (v if isinstance(v, Tensor) else creation.tensor(v) for v in (g, x))
        if t.shape != like.shape:
            raise errors.ShapeError(
                f"{name}: a {what} of shape {t.shape} does not fit an {of} of shape {like.shape}"
            )
        out.append(t.astype(like.dtype))
    return out


def _one(traced: Differentiated) -> Tensor:
    """The ones to start from, where the output is a single element."""
    value = traced.output
    if not isinstance(value, Tensor) or value.size != 1:
        text = f"shape {value.shape}" if isinstance(value, Tensor) else brief(value)
        raise errors.GradientError(
            f"{traced.name}: the function returned {text}, which is not a single element: sum it up"
        )
    return wrap(full(1, value.dtype, value.shape))


def value_and_grad(f: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """A function that returns (f(*args), its gradient by args[argnums]); a tuple of gradients for
    several argnums.

    The arguments differentiated by are Tensors, numbers, arrays, or tuples, lists and dicts of
    them; a gradient has the structure of its argument. Raises GradientError unless f returns a
    single element, DTypeError for arguments not of floats.
    """
    as_function("value_and_grad", "f", f)
    given = (
        [argnums] if isinstance(argnums, int) else as_sequence("value_and_grad", "argnums", argnums)
    )
    places = tuple(as_int("value_and_grad", "argnums", i) for i in given)

    def function(*args: Any, **kwargs: Any) -> Any:
        wrong = [i for i in places if not -len(args) <= i < len(args)]
        if wrong:
            raise errors.ArgumentError(
                f"value_and_grad: argnums names argument {wrong[0]} of {len(args)}"
            )
        chosen = [i % len(args) for i in places]
        given = [
            a if isinstance(a, (Tensor, *tree.CONTAINERS)) else creation.tensor(a) for a in args
        ]
        traced = Differentiated("value_and_grad", lambda *xs: f(*xs, **kwargs), given, chosen)
        gradients = traced.gradients(_one(traced))
        return traced.result(), gradients[0] if isinstance(argnums, int) else tuple(gradients)

    return function


def vjp(f: Callable[..., Any], *inputs: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """(f(*inputs), a function from the cotangent of the output to a tuple of those of the inputs).

    Inputs and output: Tensors, or tuples, lists and dicts of them; cotangents have their structures
    and shapes. Raises DTypeError for inputs not of floats, ShapeError for a cotangent that does not
    fit.
    """
    traced = Differentiated("vjp", f, inputs, range(len(inputs)))
    return traced.result(), lambda cotangent: tuple(traced.gradients(cotangent))


def jvp(f: Callable[..., Any], inputs: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """(f(*inputs), its derivative along the tangents, in the structure of the output).

    The tangents have the structures and shapes of the inputs. By forward mode, which keeps nothing
    of the iterations of a loop, and takes a `while_loop` without bound.
    """
    inputs, tangents = (
        tuple(as_sequence("jvp", what, x))
        for what, x in (("inputs", inputs), ("tangents", tangents))
    )
    return pushed("jvp", f, inputs, tangents)


def pushed(
    name: str, f: Callable[..., Any], inputs: tuple[Any, ...], tangents: tuple[Any, ...]
) -> tuple[Any, Any]:
    """`jvp`, for errors under this name."""
    along = matching(name, "tangent", tangents, inputs, "input")
    traced = Differentiated(name, f, inputs, range(len(inputs)))
    return traced.push([t.node for t in along])


def hessian_vector_product(f: Callable[[Any], Tensor], x: Any, v: Any) -> Any:
    """The Hessian of f at x, applied to v: the derivative of the gradient along v, in the structure
    of x.

    x and v: Tensors, or tuples, lists and dicts of them, of equal shapes. Raises GradientError
    unless f returns one element.
    """
    return jvp(lambda y: value_and_grad(f)(y)[1], (x,), (v,))[1]
