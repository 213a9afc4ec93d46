"""Kernels to loops for CUDA: every schedule is verified, interpreted and equal to the oracle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import graphs as g
import numpy as np
import pytest
import test_lowering as cpu
from harness import Env, assert_close, inputs_of, interpret, layout, leaf, normal_inputs
from optable import ROWS, Row, assert_matches, leaves, values
from weft.codegen.cuda import records, sort, summed
from weft.codegen.cuda import transposed as turning
from weft.codegen.cuda.lowering import CudaLowering
from weft.codegen.cuda.target import CudaTarget
from weft.frontend import compile as compiler
from weft.frontend.compile import Compiled
from weft.ir import dtype as dt
from weft.ir import graph
from weft.ir.fuse import Policy
from weft.ir.grad import vjp
from weft.ir.graph import Node, node
from weft.ir.index import row_major_strides
from weft.ir.interp import run as oracle
from weft.ir.op import Op
from weft.ir.program import Value

TARGET = CudaTarget("sm_80")


class NoCode:
    """What a backend makes of loops, without the making."""

    def __enter__(self) -> NoCode:
        return self

    def __exit__(self, *exception: object) -> None: ...

    def begin(self, loops: object) -> None: ...

    def key_of(self, loops: object) -> str:
        return ""


def lowered(outputs: Sequence[Node], env: Env | None = None) -> Compiled:
    """A program of Loops for CUDA, without code."""
    ins = inputs_of(outputs)
    laid_out = [Value(n.dtype, n.shape, layout(env[n]) if env else row_major_strides(n.shape)) for n in ins]
    backend = SimpleNamespace(
        policy=Policy(chains=False, pools=False),
        lowering=CudaLowering(TARGET),
        last_cache=1 << 22,
        making=NoCode,
        link=lambda *_: None,
    )
    before, compiler.backend_of = compiler.backend_of, lambda _: backend
    try:
        return compiler.build(list(outputs), ins, laid_out, {})
    finally:
        compiler.backend_of = before


def check(outputs: Sequence[Node], env: Env, tolerance: float = 1e-5) -> Compiled:
    """Loops == oracle; every kernel has threads."""
    program = lowered(outputs, env)
    assert all(k.step.loops.threads for k in program.lowered.kernels)
    for got, want in zip(interpret(program, outputs, env), oracle(outputs, env), strict=True):
        assert_close(got, np.asarray(want), tolerance)
    return program


def schedules(program: Compiled) -> list[str]:
    return [k.lowered.schedule.split(":")[0].split(" ")[0] for k in program.lowered.kernels]


def warp_rows() -> list[Node]:
    return [g.softmax(leaf(9, 96))]


def block_rows() -> list[Node]:
    return [g.softmax(leaf(3, 300)), g.softmax(leaf(2, 301))]


def layer_norm_grads() -> list[Node]:
    """Rows with sums over the rows, of a length for warps."""
    return _layer_norm_grads(70, 24)


def _layer_norm_grads(rows: int, columns: int) -> list[Node]:
    x, w, b = leaf(rows, columns), leaf(columns), leaf(columns)
    y = g.layer_norm(x, w, b)
    return [y, *vjp([y], [leaf(rows, columns)], [x, w, b])]


def softmax_of_columns() -> list[Node]:
    x = graph.permute(leaf(101, 37), (1, 0))
    return [graph.permute(g.softmax(x), (1, 0))]


def columns_in_planes() -> list[Node]:
    return [graph.reduce("add", leaf(3, 19, 40, dtype=dt.float16), (1,)), graph.reduce("max", leaf(2, 9, 8, 70), (0, 2))]


def transposed() -> list[Node]:
    """One input and one of the outputs lie along the other axis."""
    x, y = leaf(35, 2, 41), leaf(41, 2, 35)
    z = g.add(x, graph.permute(y, (2, 1, 0)))
    return [z, graph.permute(g.exp(z), (2, 1, 0))]


def scans_of_blocks() -> list[Node]:
    return [node(Op.SCAN, (leaf(2, 700),), 1), node(Op.SCANMUL, (leaf(19, 3, dtype=dt.int32),), 0)]


def scan_of_parts() -> list[Node]:
    return [node(Op.SCAN, (leaf(2, 8200, dtype=dt.int32),), 1)]


def sorted_tiles() -> list[Node]:
    """With TILE as below, one and several runs; keys of 32 bits and of 64."""
    return [
        node(Op.ARGSORT, (leaf(2, 40),), (1, False)),
        node(Op.ARGSORT, (leaf(41, 2, dtype=dt.float64),), (0, True)),
        node(Op.ARGSORT, (leaf(18, dtype=dt.int64),), (0, False)),
        node(Op.ARGSORT, (leaf(3, 13, dtype=dt.int16),), (1, True)),
    ]


def scalars() -> list[Node]:
    x = leaf()
    return [g.exp(g.add(x, x)), graph.reduce("add", leaf(40), (0,))]


def gathered_rows() -> list[Node]:
    rows = node(Op.GATHER, (leaf(11, 200), leaf(7, dtype=dt.int64)), (0,))
    return [g.softmax(rows)]


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "TILE", 16)
    monkeypatch.setattr(sort, "RANK_LIMIT", 12)
    monkeypatch.setattr(turning, "LEAST_SIZE", 1 << 10)


CASES: list[Callable[[], list[Node]]] = [
    *(case for case in cpu.CASES if case not in (cpu.sort_long, cpu.sort_blocks)),
    cpu.short,
    cpu.nearest,
    warp_rows,
    block_rows,
    layer_norm_grads,
    softmax_of_columns,
    columns_in_planes,
    sorted_tiles,
    scans_of_blocks,
    scan_of_parts,
    transposed,
    scalars,
    gathered_rows,
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.__name__)
def test_loops_interpreted_equal_the_oracle(case: Callable[[], list[Node]]) -> None:
    outputs = case()
    check(outputs, normal_inputs(outputs))


@pytest.mark.parametrize(
    ("case", "kind"),
    [
        (cpu.flat, "flat"),
        (cpu.short, "short"),
        (transposed, "transposed"),
        (warp_rows, "warp"),
        (block_rows, "block"),
        (cpu.columns, "columns"),
        (layer_norm_grads, "summed"),
        (cpu.packed, "naive"),
        (cpu.scan, "scan"),
        (cpu.scatter, "scatter"),
        (cpu.sort_short, "sort"),
    ],
    ids=lambda c: c if isinstance(c, str) else c.__name__,
)
def test_each_schedule_is_chosen(case: Callable[[], list[Node]], kind: str) -> None:
    assert kind in schedules(lowered(case()))


@pytest.mark.parametrize("limits", [{}, {"MOST_SHARE": 0}, {"MOST_SHARE": 0, "MOST_LINES": 0}], ids=["own", "shared", "far"])
def test_sums_over_rows_stay_where_they_fit(limits: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"WARP_COLUMNS": 8, **limits}.items():
        monkeypatch.setattr(summed, name, value)
    outputs = layer_norm_grads()
    assert "summed" in schedules(check(outputs, normal_inputs(outputs)))


def _with_leaves(row: Row) -> tuple[list[Node], dict[Node, Any]]:
    ins = leaves(row)
    arrays = values(row, np.random.default_rng(3))
    return [row.build(*ins)], dict(zip(ins, arrays, strict=True))


FEW_STEPS = [row for row in ROWS if not row.name.startswith("argsort-5x130")]  # a network is long to interpret


@pytest.mark.parametrize("row", FEW_STEPS, ids=lambda r: r.name)
def test_every_op_interpreted_equals_the_oracle(row: Row) -> None:
    outputs, env = _with_leaves(row)
    program = lowered(outputs, env)
    for got, want in zip(interpret(program, outputs, env), oracle(outputs, env), strict=True):
        assert_matches(got, np.asarray(want), max(4, row.ulp), row.magnitude)
