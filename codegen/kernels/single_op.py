"""Kernels of one unit with loops of their own, scans, scatters and sorts, and bounds checks. In: a
Kernel. Out: what is where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Self

from ...ir.graph.graph import Node
from ...ir.graph.index import Index, Mask, row_major, unravel
from ...ir.graph.op import SCANS
from ...ir.kernels.kernel import Kernel
from ...ir.loops.loop import Buf, Check, Store, neutral
from ...ir.passes.rows_as_masks import counted_axis
from .evaluate import Evaluator, Place, as_index, load
from .kernel_axes import identity, place_values, places_of


@dataclass
class SingleOpKernel:
    """Where operands and result are; each op adds its own axes and extents."""

    kernel: Kernel
    evaluator: Evaluator
    out: Place
    buffers: tuple[Buf, ...]

    @classmethod
    def of(cls, kernel: Kernel, strides: dict[Node, tuple[int, ...]]) -> Self:
        """In the places of the kernel's arguments."""
        inputs, outputs, buffers = place_values(kernel, strides)
        return cls(kernel, Evaluator(inputs), outputs[kernel.units[-1].node], buffers)

    @property
    def node(self) -> Node:
        return self.kernel.units[-1].node


class Lines(SingleOpKernel):
    """A scan or a sort: lines along an axis, each by itself."""

    @property
    def axis(self) -> int:
        arg = self.node.arg
        return arg if isinstance(arg, int) else arg[0]

    @property
    def n(self) -> int:
        return self.node.shape[self.axis]

    @property
    def shape(self) -> tuple[int, ...]:
        """The axes that number the lines."""
        return tuple(d for a, d in enumerate(self.node.shape) if a != self.axis)

    @property
    def lines(self) -> int:
        return prod(self.shape)

    def at(self, line: Index | Sequence[Index], i: Index) -> list[Index]:
        """Element i of a line."""
        index = unravel(line, self.shape) if isinstance(line, Index) else list(line)
        index.insert(self.axis, i if self.n > 1 else Index())
        return index


class Scan(Lines):
    """A running sum or product."""

    @property
    def kind(self) -> str:
        return SCANS[self.node.op]

    @property
    def start(self) -> float:
        return neutral(self.kind, self.node.dtype)

    def value(self, line: Index | Sequence[Index], i: Index, mask: Mask = ()) -> Node:
        """What is scanned; 0 where the mask does not hold."""
        return self.evaluator.value(self.node.src[0], self.at(line, i), mask)


class Scatter(SingleOpKernel):
    """Updates of the elements that indices choose."""

    @property
    def axes(self) -> tuple[int, ...]:
        """Those of the result that indices choose on."""
        return self.node.arg[0]  # type: ignore[no-any-return]

    @property
    def rest(self) -> list[int]:
        """The other axes."""
        return [a for a in range(self.node.ndim) if a not in self.axes]

    @property
    def kind(self) -> str:
        return self.node.arg[2] if self.node.arg[2:] else "add"

    @property
    def start(self) -> float | int | bool:
        return identity(self.kind, self.node.dtype)

    @property
    def at_shape(self) -> tuple[int, ...]:
        return self.node.src[1].shape

    @property
    def steps(self) -> int:
        return prod(self.at_shape)

    @property
    def places(self) -> tuple[int, ...]:
        """The extents of the axes that indices choose on."""
        return tuple(self.node.shape[a] for a in self.axes)

    @property
    def row(self) -> tuple[int, ...]:
        """Those of the others."""
        return tuple(self.node.shape[a] for a in self.rest)

    def chosen(self, where: list[Index], guard: Mask = ()) -> list[Index]:
        """Where an update goes, on each of its axes."""
        values = [self.evaluator.value(i, where, guard) for i in self.node.src[1:]]
        return [as_index(v, d) for v, d in zip(values, self.places, strict=True)]

    def element(self, chosen: list[Index], rest: list[Index]) -> Index:
        """Where an element of the result is."""
        of_axis = dict(zip([*self.axes, *self.rest], [*chosen, *rest], strict=True))
        return self.out.at([of_axis[a] for a in range(self.node.ndim)])


class Put(SingleOpKernel):
    """A part of a value at the place that indices choose."""

    @property
    def row(self) -> tuple[int, ...]:
        """The extents of the part."""
        return self.node.src[1].shape

    def store(self, lane: Index) -> Store:
        """Of an element of the part, by its number in row-major order."""
        n, inner = self.node, unravel(lane, self.row)
        at = [self.evaluator.value(i, []) for i in n.src[2:]]
        places = [as_index(v, n.shape[a]) for v, a in zip(at, n.arg, strict=True)]
        rest = [a for a in range(n.ndim) if a not in n.arg]
        of_axis = dict(zip([*n.arg, *rest], [*places, *inner], strict=True))
        index = self.out.at([of_axis[a] for a in range(n.ndim)])
        return Store(self.out.buf, index, self.evaluator.value(n.src[1], inner))


class Checks:
    """Bounds checks of indices, which are `places`, or made of them."""

    def __init__(self, places: list[Node], strides: dict[Node, tuple[int, ...]]) -> None:
        self.stored = places_of(places, "in", strides)
        self.evaluator = Evaluator(self.stored)
        self.buffers = tuple(p.buf for p in self.stored.values())

    def check(self, n: Node, extent: int, site: int, position: Index) -> Check:
        """Of the index at a position."""
        at = unravel(position if n.size > 1 else Index(), n.shape)
        value = (
            load(self.stored[n].buf, self.stored[n].at(at))
            if n in self.stored
            else self.evaluator.value(n, at)
        )
        return Check(value, extent, site, row_major(at, n.shape))


def owner_of(n: Node) -> tuple[int, int | None]:
    """(the axis whose destinations chunks share out, the axis of the indices that counts along it
    if there is one)."""
    axes, shape = n.arg[:2]
    candidates = [(shape[a], a, counted_axis(i)) for a, i in zip(axes, n.src[1:], strict=True)]
    fits = [
        (extent, a, d)
        for extent, a, d in candidates
        if d is not None and n.src[1].shape[d] == extent
    ]
    return max(fits, key=lambda f: f[0])[1:] if fits else (axes[0], None)
