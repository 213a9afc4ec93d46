"""The dot schedule of a contraction: tiles in registers, lanes over k, nothing packed. In: a Problem. Out: Loops."""

from __future__ import annotations

from math import prod

from ..ir.graph import Op, node
from ..ir.index import Index, Var, unravel, var
from ..ir.loop import LANES, REG, SERIAL, UNROLL, Alloc, Buf, For, Loops, Param, Reduce, Stmt, Store
from .contract_problem import Groups, Problem, groups_extent, spread_groups
from .evaluate import load
from .lower import Chunks, Lowered, Tuning
from .schedule import extent
from .target import Target

TILE = {32: (4, 6), 16: (3, 3)}  # rows x columns of accumulators, by vector registers


def balanced(n: int, most: int) -> list[tuple[int, int, int]]:
    """Tiles of n as (size, first, count): at most two sizes, none padded."""
    count = -(-n // most)
    small, extra = divmod(n, count)
    found = [(small + 1, 0, extra), (small, extra * (small + 1), count - extra)]
    return [t for t in found if t[2]]


def lower_dot(p: Problem, target: Target, tuning: Tuning, why: str) -> Lowered:
    """One phase for each combination of tile sizes; tasks are tiles."""
    most_rows, most_columns = TILE[32 if target.registers >= 32 else 16]
    rows, columns = groups_extent(p.rows[-1:]), extent(p.lanes[-1])  # there may be no row axis
    phases: list[For] = []
    params: list[Param] = []
    values: list[int] = []
    work: list[int] = []
    for row_tile in balanced(rows, most_rows):
        for column_tile in balanced(columns, most_columns):
            tiles = _Tiles(p, row_tile, column_tile)
            chunk = Chunks(tiles.count, tiles.work, tuning.min_chunks)
            chunk.params = (Param(f"chunks{len(phases)}"), Param(f"tiles{len(phases)}"))
            chunk.total = chunk.params[1]
            phases.append(chunk.phase(tiles.body(chunk.position)))
            params += chunk.params
            values += chunk.values
            work.append(int(tiles.count * tiles.work))
    loops = Loops(p.kernel.name, p.buffers, tuple(params), phases)
    shape = f"{groups_extent(p.batch)} x {p.m} x {p.n} x {p.k}"
    return Lowered(loops, tuple(values), work, f"dot {shape}: lanes over k, tiles {most_rows}x{most_columns}; {why}")


class _Tiles:
    """All tiles of one size: the last row and column groups are tiled, the others are tasks."""

    def __init__(self, p: Problem, row_tile: tuple[int, int, int], column_tile: tuple[int, int, int]) -> None:
        self.p, self.row_tile, self.column_tile = p, row_tile, column_tile
        self.outer: Groups = [*p.batch, *p.rows[:-1], *p.lanes[:-1]]
        self.shape = (*(extent(g) for g in self.outer), row_tile[2], column_tile[2])
        self.count = prod(self.shape)
        self.work = float(row_tile[0] * column_tile[0] * p.k) / 4

    def body(self, task: Index) -> list[Stmt]:
        p, (rows, row0, _), (columns, column0, _) = self.p, self.row_tile, self.column_tile
        *outer, row_at, column_at = unravel(task, self.shape)
        i, j = Var("i", rows), Var("j", columns)
        by = spread_groups(self.outer, outer)
        by |= spread_groups(p.rows[-1:], [row_at * rows + row0 + var(i)][: len(p.rows)])
        by |= spread_groups(p.lanes[-1:], [column_at * columns + column0 + var(j)])
        k = [Var(f"k{a}" if a else "k", extent(g)) for a, g in enumerate(p.reduced)]
        at = by | spread_groups(p.reduced, [var(v) for v in k])
        dtype = p.anchor.node.dtype
        acc = Buf("acc", dtype, rows * columns, REG)
        place = var(i) * columns + var(j)
        term = node(Op.MUL, (p.factor(p.row_factor, at), p.factor(p.lane_factor, at)))
        tile: Stmt = For(i, rows, UNROLL, [For(j, columns, UNROLL, [Reduce(acc, place, "add", term)])])
        inner: Stmt = For(k[-1], k[-1].extent, LANES, [tile])
        for axis in reversed(k[:-1]):
            inner = For(axis, axis.extent, SERIAL, [inner])
        writes: list[Stmt] = [Store(q.buf, q.at(index), value) for q, index, value in p.epilogue(by, load(acc, place))]
        return [Alloc(acc, 0), inner, For(i, rows, UNROLL, [For(j, columns, UNROLL, writes)])]
