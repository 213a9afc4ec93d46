"""Register tiles of matrix products inside a task, operands in scratch or read in place. In: values
by index. Out: statements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ....ir.graph.dtype import DType
from ....ir.graph.graph import Node, node
from ....ir.graph.index import Index, Var, var
from ....ir.graph.op import Op
from ....ir.loops.loop import LANES, REG, SERIAL, UNROLL, Alloc, Buf, For, Reduce, Stmt, Store
from ...kernels.chain import ValueAt
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


def best_tile(rows: int, vectors: int, registers: int) -> tuple[int, int]:
    """(rows, vectors) of a register tile: many products a load, all accumulators in registers, one
    size of tile.

    Measured on AVX-512, attention of 512 x 64: 6x4 (two sizes, twice the code) 10.6 ms, 12x2 10.9,
    4x4 11.1, 8x2 11.2.
    """
    tiles = []
    for v in (d for d in (1, 2, 3, 4) if vectors % d == 0):
        for r in range(1, min(rows, (registers - v - 2) // v, 12) + 1):
            loads, ragged = (r + v) / (r * v), rows % r != 0
            short = max(0.0, 1 - r * v / 8)  # too few sums to hide the latency of an addition
            tiles.append((loads / 4 + 0.05 * ragged + short, -r, v))
    _, r, v = min(tiles)
    return -r, v


def product_loops(p: Product, width: int, registers: int) -> list[Stmt]:
    """Tiles of rows, then of lanes; k innermost."""
    most, vectors = best_tile(p.rows, p.lanes // width, registers)
    out: list[Stmt] = []
    for size, first, count in balanced(p.rows, most):
        at, lanes = Var("tile", count), Var("lanes", p.lanes // (vectors * width))
        body = _tile(
            p, var(at) * size + first, var(lanes) * (vectors * width), size, vectors * width
        )
        out.append(For(at, count, SERIAL, [For(lanes, lanes.extent, SERIAL, body)]))
    return out


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
    multiple of the width."""
    whole = length // width
    out: list[Stmt] = []
    if cut[1] is None and whole:
        at, d = Var("lanes", rows // width), Var("square", whole)
        j, k = Var("j", width), Var("k", width)
        lane, step = var(at) * width + var(j), var(d) * width + var(k)
        square = For(
            j,
            width,
            UNROLL,
            [For(k, width, LANES, [Store(panel, step * rows + lane, value(lane, step))])],
        )
        out.append(For(at, at.extent, SERIAL, [For(d, whole, SERIAL, [square])]))
    first = whole * width if cut[1] is None else 0
    if first < length:
        row, d = Var("row", rows), Var("d", length - first)
        store = Store(panel, (var(d) + first) * rows + var(row), value(var(row), var(d) + first))
        out.append(
            For(row, rows, SERIAL, [For(d, d.extent, LANES, [store])], base=cut[0], total=cut[1])
        )
    return out
