"""Register tiles of matrix products inside a task, operands in scratch or read in place. In: values
by index. Out: statements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ....ir.graph.dtype import DType
from ....ir.graph.graph import Node, node
from ....ir.graph.index import Index, Range, Var, var
from ....ir.graph.op import Op
from ....ir.loops.loop import (
    LANES,
    REG,
    SERIAL,
    UNROLL,
    Alloc,
    Buf,
    For,
    If,
    Reduce,
    Stmt,
    Store,
)
from ....ir.symbolic.questions import is_same, is_unknown
from ...kernels.chain import ValueAt
from ...kernels.chain_task import MOST_TILE_ROWS
from ...kernels.evaluate import load
from ...kernels.loop_axes import balanced

Steps = Callable[[Callable[[Index], list[Stmt]]], list[Stmt]]  # loops around what one step does


@dataclass(frozen=True)
class Product:
    """out[row, lane] = sum_k a(row, k) * b(k, lane), lanes in whole vectors."""

    rows: int
    lanes: int
    length: int
    dtype: DType
    a: ValueAt
    b: ValueAt
    finish: Callable[[Index, Index, Node], Stmt]  # row, lane, sum
    steps: Steps | None = None  # the loop over k, if it is not simply that
    beyond: ValueAt | None = (
        None  # a(row, k) where there may be no such row, if that is another one
    )


def best_tile(rows: int, vectors: int, registers: int) -> tuple[int, int]:
    """(rows, vectors) of a register tile: many products a load, all accumulators in registers, one
    size of tile.

    Measured on AVX-512, attention of 512 x 64: 6x4 (two sizes, twice the code) 10.6 ms, 12x2 10.9,
    4x4 11.1, 8x2 11.2.
    """
    tiles = []
    for v in (d for d in (1, 2, 3, 4) if vectors % d == 0):
        for r in range(1, min(rows, (registers - v - 2) // v, MOST_TILE_ROWS) + 1):
            loads, ragged = (r + v) / (r * v), rows % r != 0
            short = max(0.0, 1 - r * v / 8)  # too few sums to hide the latency of an addition
            tiles.append((loads / 4 + 0.05 * ragged + short, -r, v))
    _, r, v = min(tiles)
    return -r, v


def product_loops(p: Product, width: int, registers: int) -> list[Stmt]:
    """Tiles of rows, then of lanes; k innermost. Of rows whose number is not known, the last tile
    goes beyond them."""
    if not is_unknown(p.rows):
        most, vectors = best_tile(p.rows, p.lanes // width, registers)
        tiles = balanced(p.rows, most)
        return [_tiles(p, size, first, count, vectors * width) for size, first, count in tiles]
    size, vectors = best_tile(MOST_TILE_ROWS, p.lanes // width, registers)
    whole, every_one = p.rows // size, (p.rows + size - 1) // size
    last = replace(p, a=p.beyond or p.a)
    return [
        _tiles(p, size, 0, whole, vectors * width),
        _tiles(last, size, whole * size, every_one - whole, vectors * width),
    ]


def _tiles(p: Product, size: int, first: int, count: int, lanes: int) -> For:
    """So many tiles of a size from a row on."""
    at, across = Var("tile", count), Var("lanes", p.lanes // lanes)
    body = _tile(p, var(at) * size + first, var(across) * lanes, size, lanes)
    return For(at, count, SERIAL, [For(across, across.extent, SERIAL, body)])


def every(
    length: int, start: Index | None = None, base: Index | None = None, total: int | None = None
) -> Steps:
    """One loop from `start` on, cut where base + k reaches the total."""
    k = Var("k", length)
    return lambda step: [
        For(k, length, SERIAL, step((start or Index()) + var(k)), base=base or Index(), total=total)
    ]


def _tile(p: Product, first_row: Index, first_lane: Index, rows: int, lanes: int) -> list[Stmt]:
    i, j = Var("i", rows), Var("j", lanes)
    acc = Buf("acc", p.dtype, rows * lanes, REG)
    place = var(i) * lanes + var(j)
    row, lane = first_row + var(i), first_lane + var(j)

    def step(k: Index) -> list[Stmt]:
        term = Reduce(acc, place, "add", node(Op.MUL, (p.a(row, k), p.b(k, lane))))
        return [For(i, rows, UNROLL, [For(j, lanes, LANES, [term])])]

    finish = p.finish(row, lane, load(acc, place))
    return [
        Alloc(acc, 0),
        *(p.steps or every(p.length))(step),
        For(i, rows, UNROLL, [For(j, lanes, LANES, [finish])]),
    ]


def transposed(
    panel: Buf,
    value: ValueAt,
    rows: int,
    length: int,
    width: int,
    cut: tuple[Index, int | None] = (Index(), None),
) -> list[Stmt]:
    """panel[d][row] = value(row, d), which is contiguous along d, by squares in registers; rows a
    multiple of the width, or cut at a total before which a multiple of it lies."""
    whole, (base, total) = length // width, cut
    out: list[Stmt] = []

    def line(row: Index, first: int, count: int) -> Stmt:
        d = Var("d", count)
        store = Store(panel, (var(d) + first) * rows + row, value(row, var(d) + first))
        return For(d, count, LANES, [store])

    if is_unknown(whole) or whole:
        at, d = Var("lanes", rows // width), Var("square", whole)
        j, k = Var("j", width), Var("k", width)
        lane, step = var(at) * width + var(j), var(d) * width + var(k)
        square = For(
            j,
            width,
            UNROLL,
            [For(k, width, LANES, [Store(panel, step * rows + lane, value(lane, step))])],
        )
        bounds = (Index(), None) if total is None else (base // width, total // width)
        out.append(For(at, at.extent, SERIAL, [For(d, whole, SERIAL, [square])], 1, *bounds))
        if total is not None and not is_same(total % width, 0):
            last, row, squares = Var("last", rows // width), Var("row", width), total // width
            lines = [line(var(last) * width + var(row), 0, whole * width)]
            first = Index(const=squares * width)
            some: Stmt = For(row, width, SERIAL, lines, base=first, total=total)
            here = Range(base // width + var(last), squares, squares + 1)
            out.append(For(last, last.extent, SERIAL, [If((here,), [some])]))
    if not is_same(whole * width, length):
        row = Var("row", rows)
        lines = [line(var(row), whole * width, length - whole * width)]
        out.append(For(row, rows, SERIAL, lines, base=base, total=total))
    return out
