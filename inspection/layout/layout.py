"""`wf.layout`. In: Tensors. Out: the place of each element in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import islice
from math import prod
from typing import Any

import numpy as np

from ... import errors
from ...frontend.lazy import realize
from ...frontend.operands.arguments import as_texts
from ...frontend.tensor.tensor import Tensor, bare
from ...ir.graph import bfloat16
from ...ir.graph.brief import brief
from ...ir.graph.dtype import bfloat16 as brain_float
from ...ir.graph.graph import Node
from ...ir.graph.op import Op
from ...ir.graph.shapes import Shape
from ...runtime.memory import storage
from ...runtime.memory.storage import Storage
from ..names.labels import owner_name, sliced
from .text import Index, LayoutStep, html, text

MOST_CELLS = 64  # that a picture has
CHAIN = storage.VIEWED | {Op.EXPAND, Op.FLIP, Op.KEEP}  # ops that move elements and compute nothing


@dataclass(frozen=True)
class Layout:
    """Values and the memory that they are seen through. Attributes: `steps`, a LayoutStep each;
    print it for a picture."""

    steps: tuple[LayoutStep, ...]

    def __str__(self) -> str:
        return text(self.steps)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html(self.steps)

    def to_dict(self) -> dict[str, Any]:
        """The same in lists, texts and numbers."""
        return {"title": self.steps[-1].expression, "steps": [asdict(step) for step in self.steps]}


def layout(*tensors: Tensor, names: list[str] | None = None) -> Layout:
    """Where the elements of Tensors lie in memory, and which of them share it.

    Of one Tensor that is a view, each step is shown from the value that owns the memory:
    `wf.layout(x.T[1:])`. Several are shown as they are: `wf.layout(x, x.T, x.T.contiguous())`,
    called by `names` where given. Values in memory are looked at, others are computed. Raises
    DTypeError for anything but Tensors and names, ArgumentError without any, or with another number
    of names.

    >>> x = wf.arange(6).reshape(2, 3)
    >>> [(s.expression, s.strides, s.shares) for s in wf.layout(x.realize().T).steps]
    [('x', (3, 1), True), ('.permute(1, 0)', (1, 3), True)]
    """
    for t in tensors:
        if not isinstance(t, Tensor):
            raise errors.DTypeError(f"layout: of a Tensor, not {brief(t)}")
    names = None if names is None else as_texts("layout", "names", names)
    if not tensors or (names is not None and len(names) != len(tensors)):
        raise errors.ArgumentError(
            f"layout: takes Tensors and a name for each, not {len(tensors)} and {brief(names)}"
        )
    with realize.lock:
        chains = [
            list(_chain(t, "x" if names is None else names[k])) for k, t in enumerate(tensors)
        ]
        seen = chains[0] if len(chains) == 1 and names is None else [chain[-1] for chain in chains]
        called = names or [""] * len(seen)
        seen = [
            replace(s, expression=name or s.expression)
            for name, s in zip(called, seen, strict=True)
        ]
        return Layout(tuple(_step(s, seen[0]) for s in seen))


# ---------------------------------------------------------------- from Nodes to memory


@dataclass(frozen=True)
class _Seen:
    """A value, its memory, and what Weft does to get there."""

    expression: str
    stored: Storage
    is_view: bool = False
    note: str = ""


def _chain(t: Tensor, name: str) -> Iterator[_Seen]:
    """The value that owns the memory, then each that is made of it by moving elements only."""
    views: list[Node] = []
    n = t.node
    while storage.lookup(n) is None and n.op in CHAIN:
        views.append(n)
        n = n.src[0]
    if n.op is Op.CONST:  # a fill: there is nothing below that could be shared
        views, n = [], t.node
    stored = realize.value(t if n is t.node else bare(n))
    yield _Seen(owner_name(n) or (t.name if n is t.node else None) or name, stored)
    for view in reversed(views):
        seen = _viewed(view, stored)
        stored = seen.stored
        yield seen


def _viewed(view: Node, stored: Storage) -> _Seen:
    seen_through = storage.viewed(view, stored)
    if seen_through is not None:
        return _Seen(_spelled(view), seen_through, is_view=True)
    if view.op is Op.EXPAND:
        new, old = {axis for axis, _ in view.arg}, iter(stored.strides)
        strides = tuple(0 if axis in new else next(old) for axis in range(view.ndim))
        note = (
            "stride 0 reads an element again; only where its memory is asked for is it written out"
        )
        return _Seen(_spelled(view), stored.view(view.shape, strides, stored.offset), True, note)
    return _Seen(
        _spelled(view),
        realize.value(bare(view)),
        note=f"a copy in row-major order: {_WHY[view.op]}",
    )


_WHY = {
    Op.RESHAPE: "no strides say this order",
    Op.FLIP: "strides are not negative here; inside a kernel nothing is copied",
    Op.KEEP: "it was asked for",
}


def _spelled(view: Node) -> str:
    """What a user would have written."""
    match view.op:
        case Op.PERMUTE | Op.RESHAPE | Op.FLIP:
            return f".{view.op.value}({', '.join(map(str, view.arg))})"
        case Op.SLICE:
            return sliced(view)
        case Op.EXPAND:
            return f".expand({', '.join(map(str, view.shape))})"
    return {Op.DETACH: ".detach()", Op.KEEP: ".contiguous()"}[view.op]


# ---------------------------------------------------------------- from memory to numbers


def _step(seen: _Seen, first: _Seen) -> LayoutStep:
    stored = seen.stored
    owner = stored.base or stored
    memory = storage.on_host(owner)
    elements = _span(owner)
    raw = memory.buffer.as_numpy(
        owner.dtype.carrier, (elements,), (1,), memory.offset, export=False
    )
    offset = stored.offset - owner.offset
    return LayoutStep(
        seen.expression,
        stored.shape,
        stored.strides,
        offset,
        stored.is_contiguous,
        stored.buffer is first.stored.buffer,
        _note(seen, first),
        elements,
        tuple(_values(raw[:MOST_CELLS], owner).tolist()),
        tuple(_cells(stored.shape, stored.strides, offset)),
    )


def _note(seen: _Seen, first: _Seen) -> str:
    """Whose memory it is, and why."""
    if seen is first:
        return "its own"
    shares = seen.stored.buffer is first.stored.buffer
    if not seen.is_view and not shares:
        return seen.note or "its own"
    whose = f"that of {first.expression}" if shares else "that of the copy"
    return "; ".join(filter(None, [f"{whose}, seen otherwise", seen.note]))


def _span(owner: Storage) -> int:
    """How many elements of memory a value reaches over."""
    reach = sum(
        (extent - 1) * stride for extent, stride in zip(owner.shape, owner.strides, strict=True)
    )
    return reach + 1 if prod(owner.shape) else 0


def _values(raw: np.ndarray[Any, Any], owner: Storage) -> np.ndarray[Any, Any]:
    return bfloat16.values(raw) if owner.dtype is brain_float else raw


def _cells(shape: Shape, strides: Shape, offset: int) -> Iterator[tuple[Index, int]]:
    """Index and position of the elements among the first 64 positions, at most 64, in row-major
    order."""
    places = (
        (i, offset + sum(k * s for k, s in zip(i, strides, strict=True))) for i in np.ndindex(shape)
    )
    return islice(
        ((i, p) for i, p in islice(places, 64 * MOST_CELLS) if p < MOST_CELLS), MOST_CELLS
    )
