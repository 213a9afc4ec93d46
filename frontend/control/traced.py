"""Bodies of loops and branches, traced. In: a function and what it is called with. Out: the Nodes
that it returned, in terms of placeholders, and the structure of these."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph.brief import brief
from ...ir.graph.graph import Node, const, expand_to, rebuilt_over
from ...ir.graph.site import located
from ...ir.regions.body import without_definitions
from ..lazy import state
from ..lazy.body_trace import BodyTrace
from ..operands.arguments import as_function
from ..tensor import creation, tree
from ..tensor.tensor import Tensor, wrap

Function = Callable[..., Any]


def tensors(name: str, what: str, given: object) -> list[Tensor]:
    """The leaves of an argument as Tensors. Raises DTypeError."""
    return [as_tensor(name, what, x) for x in tree.leaves(given)]


def as_tensor(name: str, what: str, x: Any) -> Tensor:
    """A Tensor of a Tensor, an array or a number. Raises DTypeError."""
    if isinstance(x, Tensor):
        return x
    try:
        return creation.tensor(x)
    except (errors.WeftError, TypeError, ValueError):
        raise errors.DTypeError(
            f"{name}: {what} must hold Tensors, arrays and numbers, not {brief(x)}"
        ) from None


def element(x: Tensor, axis: int = 0) -> Tensor:
    """Something of the dtype and shape of an element along an axis."""
    t = wrap(expand_to(const(0, x.dtype), (*x.shape[:axis], *x.shape[axis + 1 :])))
    t._requires_grad = x._requires_grad
    return t


class Traced:
    """A function that is called once, with placeholders. `params`: those of its arguments;
    `result`: what it returned, its leaves Tensors; `nodes`: theirs."""

    def __init__(self, name: str, f: Function, trace: BodyTrace, likes: Sequence[Tensor]) -> None:
        self.name, self.trace = name, trace
        self._f = as_function(name, "the body", f)
        self._tracks = [t._requires_grad for t in likes]
        self.params = [trace.like(t.node) for t in likes]
        self.result: Any = None
        self.nodes: list[Node] = []
        self.tracks = False

    def call(self, arguments: Callable[[list[Tensor]], Sequence[Any]]) -> None:
        """Calls it with what `arguments` makes of the placeholders."""

        def run() -> None:
            given = [wrap(p, tracks) for p, tracks in zip(self.params, self._tracks, strict=True)]
            result = self._f(*arguments(given))
            made = tensors(self.name, "what the body returns", result)
            self.result, self.nodes = tree.like(result, [*made]), [t.node for t in made]
            self.tracks = any(t._requires_grad for t in made)

        self.trace.run(run)

    def outside(self, nodes: Sequence[Node], places: Mapping[Node, Node]) -> list[Node]:
        """Nodes of the body where these stand for placeholders, and Tensors from outside are what
        they were before."""
        trace = self.trace
        known = {**trace.places, **places}
        if trace.counter is not None:
            known.setdefault(trace.counter, const(0, dt.int64))
        defined = without_definitions([*self.params, *known], nodes)
        new = rebuilt_over(defined, known)
        return [new[n] for n in defined]

    @property
    def needs_gradient(self) -> bool:
        """Does a result require a gradient: what the function was given, or met, does."""
        met = (o.tensor._requires_grad for o in self.trace.outers.values())
        return (self.tracks or any(self._tracks) or any(met)) and state.grad_enabled()


def shown(n: Node) -> str:
    """`float32[4, 8] (file:line)`."""
    where = f" ({located(n.site[:2])})" if n.site and n.site[0] else ""
    return f"{n.dtype.name}{list(n.shape)}{where}"


def described(structure: Any) -> str:
    """A structure of Tensors by their dtypes and shapes."""
    return repr(tree.mapped(_Shown, structure))


class _Shown:
    def __init__(self, leaf: Any) -> None:
        n = getattr(leaf, "node", None)
        self._text = type(leaf).__name__ if n is None else f"{n.dtype.name}{list(n.shape)}"

    def __repr__(self) -> str:
        return self._text
