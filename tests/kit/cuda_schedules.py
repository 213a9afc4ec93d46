"""Small graphs that reach each schedule for CUDA. In: nothing. Out: Cases, with the limits that
make them reach it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import cpu_schedules as cpu
import graphs as g
import pytest
from harness import leaf
from weft.codegen.cuda.schedules import (
    columns,
    merge_sort,
    rows_with_sums,
    scan,
    scatter,
    sort,
    transposed,
)
from weft.ir.gradient.gradient import vjp
from weft.ir.graph import dtype as dt
from weft.ir.graph import graph
from weft.ir.graph.graph import Node, node
from weft.ir.graph.op import Op

MODULES = {
    m.__name__.rsplit(".", 1)[-1]: m
    for m in (columns, merge_sort, scan, scatter, sort, rows_with_sums, transposed)
}


@dataclass(frozen=True, eq=False)
class Case:
    """`kind` is the first word of the schedule of one of its kernels."""

    name: str
    outputs: Callable[[], list[Node]]
    kind: str
    limits: Mapping[str, int] = field(default_factory=dict)  # "module.NAME": value

    @contextmanager
    def limited(self) -> Iterator[None]:
        """With its limits in force."""
        with pytest.MonkeyPatch.context() as patch:
            for name, value in self.limits.items():
                module, constant = name.split(".")
                patch.setattr(MODULES[module], constant, value)
            yield

    def __repr__(self) -> str:
        return self.name


def _layer_norm_grads(rows: int = 70, columns: int = 24) -> list[Node]:
    x, w, b = leaf(rows, columns), leaf(columns), leaf(columns)
    y = g.layer_norm(x, w, b)
    return [y, *vjp([y], [leaf(rows, columns)], [x, w, b])]


def _softmax_of_columns() -> list[Node]:
    return [graph.permute(g.softmax(graph.permute(leaf(101, 37), (1, 0))), (1, 0))]


def _columns_in_planes() -> list[Node]:
    return [
        graph.reduce("add", leaf(3, 50, 40, dtype=dt.float16), (1,)),
        graph.reduce("max", leaf(5, 2, 8, 70), (0, 2)),
    ]


def _transposed() -> list[Node]:
    """One input and one of the outputs lie along the other axis."""
    x, y = leaf(35, 2, 41), leaf(41, 2, 35)
    z = g.add(x, graph.permute(y, (2, 1, 0)))
    return [z, graph.permute(g.exp(z), (2, 1, 0))]


def _scalars() -> list[Node]:
    x = leaf()
    return [g.exp(g.add(x, x)), graph.reduce("add", leaf(40), (0,))]


def _gathered_rows() -> list[Node]:
    return [g.softmax(node(Op.GATHER, (leaf(11, 200), leaf(7, dtype=dt.int64)), (0,)))]


def _scans() -> list[Node]:
    return [node(Op.SCAN, (leaf(2, 700),), 1), node(Op.SCANMUL, (leaf(19, 3, dtype=dt.int32),), 0)]


def _scan_of_parts() -> list[Node]:
    return [node(Op.SCAN, (leaf(2, 5000, dtype=dt.int32),), 1)]


def _scan_of_lines() -> list[Node]:
    return [node(Op.SCAN, (leaf(3, 9, 35),), 1)]


def _sorts() -> list[Node]:
    """Keys of 8, 32 and 64 bits, one run and several of 16."""
    return [
        node(Op.ARGSORT, (leaf(2, 40),), (1, False)),
        node(Op.ARGSORT, (leaf(41, 2, dtype=dt.float64),), (0, True)),
        node(Op.ARGSORT, (leaf(18, dtype=dt.int64),), (0, False)),
        node(Op.ARGSORT, (leaf(3, 13, dtype=dt.int8),), (1, True)),
    ]


def _scatters() -> list[Node]:
    """Wide rows, single numbers with two indices, a greatest one."""
    index = [leaf(5, 7, dtype=dt.int64), leaf(5, 7, dtype=dt.int64)]
    return [
        node(Op.SCATTER, (leaf(40, 36), leaf(40, dtype=dt.int64)), ((0,), (9, 36))),
        node(Op.SCATTER, (leaf(5, 7, 3), *index), ((0, 2), (6, 3, 5))),
        node(Op.SCATTER, (leaf(30, dtype=dt.int32), leaf(30, dtype=dt.int64)), ((0,), (8,), "max")),
    ]


def _put() -> list[Node]:
    return [node(Op.PUT, (leaf(6, 300), leaf(300), leaf(dtype=dt.int64)), (0,))]


def _counted_scatter() -> list[Node]:
    count = graph.reshape(graph.expand(node(Op.IOTA, arg=6), ((1, 4),)), (6, 4))
    return [
        node(Op.SCATTER, (leaf(6, 4, 3), count, leaf(6, 4, dtype=dt.int64)), ((0, 1), (6, 5, 3)))
    ]


SMALL_SORT = {"merge_sort.TILE": 16, "sort.RANK_LIMIT": 12}
BY_BLOCKS = {"rows_with_sums.WARP_COLUMNS": 8}
NOTHING_SHARED = {"rows_with_sums.MOST_SHARE": 0, "rows_with_sums.MOST_LINES": 0}
CASES = [
    *(
        Case(f"cpu-{case.__name__}", case, "")
        for case in cpu.CASES
        if case not in (cpu.sort_long, cpu.sort_blocks)
    ),
    Case("flat", cpu.flat, "flat"),
    Case("repeated", cpu.nearest, "flat"),
    Case("short", cpu.short, "short"),
    Case("scalars", _scalars, "flat"),
    Case("transposed", _transposed, "transposed", {"transposed.LEAST_SIZE": 1 << 10}),
    Case("warp-rows", lambda: [g.softmax(leaf(9, 96))], "warp"),
    Case("block-rows", lambda: [g.softmax(leaf(3, 300)), g.softmax(leaf(2, 301))], "block"),
    Case("gathered-rows", _gathered_rows, "block"),
    Case("columns", cpu.columns, "columns"),
    Case("columns-of-one-warp", cpu.columns, "columns", {"columns.MOST_WARPS": 1}),
    Case("softmax-of-columns", _softmax_of_columns, "columns"),
    Case("columns-in-planes", _columns_in_planes, "columns"),
    Case("summed-by-warps", _layer_norm_grads, "summed"),
    Case("summed-by-blocks", _layer_norm_grads, "summed", BY_BLOCKS),
    Case(
        "summed-in-shared-memory",
        _layer_norm_grads,
        "summed",
        BY_BLOCKS | {"rows_with_sums.MOST_SHARE": 0},
    ),
    Case("summed-in-memory", _layer_norm_grads, "summed", BY_BLOCKS | NOTHING_SHARED),
    Case("scans", _scans, "scan"),
    Case("scan-of-parts", _scan_of_parts, "scan"),
    Case("scan-of-lines", _scan_of_lines, "scan", {"scan.MANY_LINES": 16}),
    Case("ranks", cpu.sort_short, "sort"),
    Case("sorts", _sorts, "sort", SMALL_SORT),
    Case("systems", cpu.systems_of_equations, "systems"),
    Case("put", _put, "put"),
    Case("scatter-walks", _scatters, "scatter"),
    Case("scatter-sorted", _scatters, "scatter", SMALL_SORT | {"scatter.MOST_STEPS": 0}),
    Case("scatter-counted", _counted_scatter, "scatter"),
]
