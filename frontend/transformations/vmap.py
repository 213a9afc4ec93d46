"""Vectorised functions. In: a function of single examples. Out: one of batches, whose Graph is what
one would write for the whole batch.

The function is traced once, with examples. Then each Node gets a first axis
(ir/regions/batch.py), unless it is the same for all examples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Literal

from ... import errors
from ...ir.graph.brief import brief
from ...ir.graph.graph import Node, expand, node, permute
from ...ir.graph.op import Op
from ...ir.regions.batch import batched
from ..control.traced import Function, Traced, as_tensor, described, element
from ..lazy import state
from ..lazy.body_trace import BodyTrace
from ..lazy.trace import tracing
from ..operands.arguments import as_function, as_int
from ..tensor import tree
from ..tensor.tensor import Tensor, wrap

Randomness = Literal["different", "same", "error"]
RANDOMNESS = ("different", "same", "error")


def vmap(
    f: Function,
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_size: int | None = None,
    randomness: Randomness = "different",
) -> Callable[..., Any]:
    """A function of batches: f for each example, as one program.

    `in_axes`: for each argument the axis of its Tensors along which examples lie, or None where it
    is the same for all; an int for all arguments, or a tuple of one entry each, which may be a
    structure like the argument. Keyword arguments have their examples along axis 0. `out_axes`:
    where examples lie in the results; None for what is the same for all. `axis_size`: how many
    there are, needed where no argument has an axis. `randomness`: whether random numbers differ
    from example to example, are the same, or are an error.

    The result is what stacking f of each example gives; it nests, and it goes inside and outside of
    jit, grad and loops. f may use any Tensors from outside, but not assign to them. Raises
    ShapeError where arguments differ in the number of examples or lack the axis, ArgumentError for
    axes that do not fit the arguments, JitError for an assignment.

    >>> wf.vmap(lambda a, b: (a * b).sum())(wf.ones(3, 4), wf.arange(12.0).reshape(3, 4)).tolist()
    [6.0, 22.0, 38.0]
    """
    as_function("vmap", "f", f)
    if randomness not in RANDOMNESS:
        raise errors.ArgumentError(
            f"vmap: randomness is one of {', '.join(RANDOMNESS)}, not {brief(randomness)}"
        )

    @wraps(f, updated=())
    def function(*args: Any, **kwargs: Any) -> Any:
        given = (args, kwargs)
        axes = _axes_of(in_axes, args, kwargs)
        tensors = [as_tensor("vmap", "arguments", x) for x in tree.leaves(given)]
        batch = _Batch(tensors, axes, axis_size, randomness)
        result, nodes = batch.call(f, given)
        places = _places(out_axes, result, "out_axes", "the result")
        return batch.results(result, nodes, places)

    return function


class _Batch:
    """One call: its Tensors, and the axis of the examples in each, or None."""

    def __init__(
        self,
        tensors: Sequence[Tensor],
        axes: Sequence[int | None],
        size: int | None,
        randomness: Randomness,
    ) -> None:
        self._axes = [
            None if axis is None else _axis(axis, t.ndim)
            for t, axis in zip(tensors, axes, strict=True)
        ]
        self._tensors, self.tracks = tensors, False
        self.extent = _extent(tensors, self._axes, size)
        self._trace = _VmapTrace(randomness)

    def call(self, f: Function, given: Any) -> tuple[Any, list[Node]]:
        """(what f returns for an example, its Nodes for all, or of an example where they do not
        depend on it)."""
        pairs = [*zip(self._tensors, self._axes, strict=True)]
        examples = [t if axis is None else element(t, axis) for t, axis in pairs]
        body = Traced("vmap", lambda args, kwargs: f(*args, **kwargs), self._trace, examples)
        body.call(lambda leaves: tree.like(given, [*leaves]))
        self._require_no_assignment()
        shared: dict[Node, Node] = {}
        stacks: dict[Node, Node] = {}
        for p, (t, axis) in zip(body.params, pairs, strict=True):
            if axis is None:
                shared[p] = t.node
            else:
                stacks[p] = _first(t.node, axis)
        if (counter := self._trace.counter) is not None:
            shared[counter] = counter
            stacks[counter] = node(Op.IOTA, (), self.extent)
        nodes = body.outside(body.nodes, shared)
        self.tracks = body.needs_gradient
        return body.result, batched(nodes, stacks, self.extent)

    def results(self, result: Any, nodes: Sequence[Node], places: Sequence[int | None]) -> Any:
        """The structure of the result, with the examples where they belong."""
        made = []
        for n, place in zip(nodes, places, strict=True):
            made.append(wrap(_moved(n, place), self.tracks and n.dtype.is_inexact))
        return tree.like(result, made)

    def _require_no_assignment(self) -> None:
        changed = self._trace.assigned()
        if changed:
            raise errors.JitError(
                f"vmap: the function assigns to {state.described(changed[0].tensor)}, which is not"
                " one of its examples: return the new value"
            )


class _VmapTrace(BodyTrace):
    """Its counter is the number of the example: random numbers differ by it."""

    runs_between_programs = True

    def __init__(self, randomness: Randomness) -> None:
        super().__init__("vmap")
        self._randomness = randomness

    @property
    def place(self) -> str:
        return "a function of wf.vmap"

    def draw(self, recipe: Any, mark: Any) -> Node:
        if self._randomness == "error":
            raise errors.ArgumentError(
                "vmap: the function draws random numbers: pass randomness='different' or 'same'"
            )
        if self._randomness == "same":
            return self.outside(lambda: tracing().draw(recipe, mark))
        return super().draw(recipe, mark)


def _moved(n: Node, place: int | None) -> Node:
    """A value of all examples with these where they belong."""
    if place is None:
        if n.op is Op.EXPAND and n.arg[0][0] == 0:  # repeated: it depends on no example
            return expand(n.src[0], tuple([(a - 1, d) for a, d in n.arg[1:]]))
        raise errors.ArgumentError(
            "vmap: out_axes is None for a result that differs from example to example"
        )
    order = [*range(1, n.ndim)]
    order.insert(_axis(place, n.ndim), 0)
    return permute(n, tuple(order))


# ---------------------------------------------------------------- axes


def _axes_of(in_axes: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[int | None]:
    """The axis of each leaf of the arguments, the keyword arguments last."""
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    whole = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
    if len(whole) != len(args):
        raise errors.ArgumentError(
            f"vmap: in_axes has {len(whole)} entries for {len(args)} arguments"
        )
    of_args = [
        axis
        for axes, arg in zip(whole, args, strict=True)
        for axis in _places(axes, arg, "in_axes", "an argument")
    ]
    return [*of_args, *(0 for _ in tree.leaves(kwargs))]


def _places(axes: Any, structure: Any, name: str, of: str) -> list[int | None]:
    """An axis for each leaf of a structure; one for all, or a structure like it, whose entries may
    be of whole parts."""
    if axes is None or not tree.is_container(axes):
        axis = None if axes is None else as_int("vmap", name, axes)
        return [axis for _ in tree.leaves(structure)]
    entries = tree.children(axes)
    parts = tree.children(structure) if tree.is_container(structure) else []
    if len(parts) != len(entries):
        raise errors.ArgumentError(
            f"vmap: {name} {brief(axes)} does not have the structure of {of}:"
            f" {described(structure)}"
        )
    return [
        axis
        for entry, part in zip(entries, parts, strict=True)
        for axis in _places(entry, part, name, of)
    ]


def _axis(axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise errors.ShapeError(f"vmap: axis {axis} of a Tensor with {ndim} axes")
    return axis % ndim


def _extent(tensors: Sequence[Tensor], axes: Sequence[int | None], size: int | None) -> int:
    found = {t.shape[a] for t, a in zip(tensors, axes, strict=True) if a is not None}
    if size is not None:
        found.add(as_int("vmap", "axis_size", size))
    if len(found) > 1:
        shapes = [
            f"{list(t.shape)} along axis {a}"
            for t, a in zip(tensors, axes, strict=True)
            if a is not None
        ]
        raise errors.ShapeError(
            f"vmap: the arguments differ in the number of examples: {', '.join(shapes)}"
        )
    if not found:
        raise errors.ArgumentError("vmap: no argument has an axis of examples: give axis_size")
    return found.pop()


def _first(n: Node, axis: int) -> Node:
    """With this axis first."""
    return permute(n, (axis, *(a for a in range(n.ndim) if a != axis)))
