"""Maps whose values lie along different axes in memory -> Loops: tiles that turn in shared memory.
In: a KernelAxes. Out: Loops.

    for block: tile of 32 x 32 elements, 32 along the lanes of most accesses, 32 along the axis of
        the others
        for warp: what lies along the other axis, into shared memory, lanes along it
        for warp: the values, lanes as most accesses lie; those that others store along the other
            axis, into shared memory
        for warp: from there

Rows of 33 in shared memory, or of 32 and a word of smaller elements, let a warp read a column of it
at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ....ir.graph.dtype import DType
from ....ir.graph.graph import Node
from ....ir.graph.index import Index, Var, unravel, var
from ....ir.graph.op import Op
from ....ir.loops.loop import GLOBAL, LANES, SCRATCH, WARPS, Alloc, Buf, For, Stmt, Store
from ....ir.loops.walk import Substitution, postorder
from ....ir.symbolic.questions import is_same, value_of
from ...kernels import loop_axes
from ...kernels.evaluate import load
from ...kernels.kernel_axes import KernelAxes, writes_of
from ...kernels.lowered import Lowered
from ...kernels.schedule import Estimate, Refusal
from ..target import WARP
from .grid import Blocks, place_of

TILE = WARP
WORD = 4  # bytes of a bank of shared memory
THREADS = 256
LEAST_EXTENT = 8  # of both axes: as much as a sector of memory has elements
LEAST_SIZE = 1 << 14  # elements, below which caches serve any order
MOST_BYTES = 32 << 10  # of the tiles of a block: several share a multiprocessor


@dataclass
class _Turn:
    """An element of a tile: `across` counts along the other axis, `along` along the lanes."""

    across: Var
    along: Var

    def lies_across(self, index: Index) -> bool:
        """Does memory lie along the other axis?"""
        along = index.coef(self.along)
        return is_same(index.coef(self.across), 1) and value_of(abs(along)) >= LEAST_EXTENT


def transposed(k: KernelAxes) -> Estimate | Refusal:
    """A map of which something lies along an axis other than the lanes."""
    lanes, _ = k.outer_lanes
    if k.inner:
        return Refusal("there are reductions")
    if (
        lanes is None
        or value_of(loop_axes.extent(k.outer)) < LEAST_SIZE
        or value_of(loop_axes.extent(lanes)) < LEAST_EXTENT
    ):
        return Refusal(
            f"caches serve any order of fewer than {LEAST_SIZE} elements, or {LEAST_EXTENT} lanes"
        )
    extents = [(g, value_of(loop_axes.extent(g))) for g in k.groups]
    others = [g for g, extent in extents if g is not lanes and extent >= LEAST_EXTENT]
    best = max(others, key=lambda g: _turned_bytes(k, g, lanes), default=None)
    if best is None or not _turned_bytes(k, best, lanes) > 0:
        return Refusal("nothing lies along an axis other than the lanes")
    t = _Tiles(k, best, lanes)
    return (
        Estimate(t.lowered)
        if 0 < t.nbytes <= MOST_BYTES
        else Refusal(f"tiles of {t.nbytes} bytes, at most {MOST_BYTES}")
    )


def _turned_bytes(k: KernelAxes, across: list[Var], lanes: list[Var]) -> int:
    turn = _Turn(across[-1], lanes[-1])
    return sum(a.itemsize for a in k.accesses if not a.index.values() and turn.lies_across(a.index))


class _Tiles:
    """The tiles of one kernel."""

    def __init__(self, k: KernelAxes, across: list[Var], lanes: list[Var]) -> None:
        self.k = k
        rest = [g for g in k.groups if g is not across and g is not lanes]
        self.extents = loop_axes.extent(across), loop_axes.extent(lanes)
        rows = prod(loop_axes.extent(g) for g in rest)
        tiles = [-(-n // TILE) for n in self.extents]
        self.blocks = Blocks(rows * prod(tiles), 1)
        row, *tile = place_of(self.blocks.first, (rows, *tiles))
        self.bases = [part * TILE for part in tile]
        turn = Var("i", TILE), Var("j", TILE)
        self.turn = _Turn(*turn)
        at = [
            *unravel(row, tuple(map(loop_axes.extent, rest))),
            *(b + var(v) for b, v in zip(self.bases, turn, strict=True)),
        ]
        self.writes = [
            w for s in k.stages_at(*k.map_groups([*rest, across, lanes]), at) for w in writes_of(s)
        ]
        nodes = postorder(w.value for w in self.writes)
        loads = [
            n
            for n in nodes
            if n.op is Op.LOAD and n.arg[0].space == GLOBAL and not n.arg[1].values()
        ]
        self.loads = [n for n in loads if self.turn.lies_across(n.arg[1])]
        self.stores = [w for w in self.writes if self.turn.lies_across(w.index)]

    @property
    def nbytes(self) -> int:
        """Of shared memory."""
        dtypes = [*(n.dtype for n in self.loads), *(w.buf.dtype for w in self.stores)]
        return sum(TILE * _pitch(d) * d.itemsize for d in dtypes)

    def lowered(self) -> Lowered:
        """Tiles that turn."""
        ins = [_tile(f"tile{i}", n.dtype) for i, n in enumerate(self.loads)]
        outs = [_tile(f"turned{i}", w.buf.dtype) for i, w in enumerate(self.stores)]
        body: list[Stmt] = [*map(Alloc, ins), *map(Alloc, outs)]
        body += self._turned(
            [(buf, self._at(buf, turned=True), n) for buf, n in zip(ins, self.loads, strict=True)]
        )
        body.append(self._values(dict(zip(self.loads, ins, strict=True)), outs))
        back = [
            (w.buf, w.index, load(buf, self._at(buf, turned=False)))
            for buf, w in zip(outs, self.stores, strict=True)
        ]
        body += self._turned(back)
        text = (
            f": tiles of {TILE} x {TILE} of {self.extents[0]} x {self.extents[1]} elements, of"
            " which "
        )
        text += f"{len(ins)} loads and {len(outs)} stores turn in shared memory"
        return self.blocks.lowered(
            self.k.kernel, self.k.buffers, body, THREADS, self.k.work(), text
        )

    def _at(self, buf: Buf, turned: bool) -> Index:
        """Where an element of a tile is in shared memory: lanes next to each other as they are when
        it is written."""
        i, j, pitch = var(self.turn.across), var(self.turn.along), _pitch(buf.dtype)
        return j * pitch + i if turned else i * pitch + j

    def _values(self, ins: dict[Node, Buf], outs: list[Buf]) -> For:
        """The values of a tile, those turned into its shared memory."""
        known = Substitution({})
        known.done = {n: load(buf, self._at(buf, turned=True)) for n, buf in ins.items()}
        places = {
            id(w): (buf, self._at(buf, turned=False))
            for buf, w in zip(outs, self.stores, strict=True)
        }
        stores: list[Stmt] = []
        for w in self.writes:
            buf, index = places.get(id(w), (w.buf, w.index))
            stores.append(Store(buf, index, known.node(w.value)))
        return self._loop(self.turn.across, self.turn.along, self.bases, self.extents, stores)

    def _turned(self, moved: list[tuple[Buf, Index, Node]]) -> list[Stmt]:
        """Stores with lanes along the other axis."""
        if not moved:
            return []
        i, j = Var("i", TILE), Var("j", TILE)
        stores: list[Stmt] = [Store(buf, at, value) for buf, at, value in moved]
        stores = Substitution({self.turn.across: var(i), self.turn.along: var(j)}).body(stores)
        return [self._loop(j, i, self.bases[::-1], self.extents[::-1], stores)]

    def _loop(
        self, row: Var, lane: Var, bases: list[Index], extents: tuple[int, ...], body: list[Stmt]
    ) -> For:
        """A warp for each row of a tile."""
        totals = [None if is_same(n % TILE, 0) else n for n in extents]
        inner = For(lane, TILE, LANES, body, 1, bases[1], totals[1])
        return For(row, TILE, WARPS, [inner], 1, bases[0], totals[0])


def _tile(name: str, dtype: DType) -> Buf:
    return Buf(name, dtype, TILE * _pitch(dtype), SCRATCH)


def _pitch(dtype: DType) -> int:
    """Elements from one row of a tile to the next: an odd number of words, or of double words."""
    return TILE + max(1, WORD // dtype.itemsize)
