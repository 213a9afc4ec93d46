"""Kernels to loops for CUDA: every schedule is verified, interpreted and run on the emulated
device; sums have one order."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_lowered import lowered
from cuda_schedules import CASES, Case
from cudakit import ORDERS, Programs, compiled, execute, in_order, needs_compiler
from effort import taken
from harness import assert_close, assert_same_bits, interpret, leaf, normal_inputs
from optable import ROWS, Row, assert_matches, leaves, values
from weft.codegen.cuda.schedules.vectors import steps_by_one
from weft.codegen.cuda.target import CudaTarget
from weft.compiler.compile import Compiled
from weft.ir.graph import dtype as dt
from weft.ir.graph import graph
from weft.ir.graph.graph import Node, node
from weft.ir.graph.index import Var, var
from weft.ir.graph.op import Op
from weft.ir.loops.text import show
from weft.ir.ops.interp import run as oracle
from weft.runtime.failures import CheckFailed


def schedules(program: Compiled) -> list[str]:
    return [k.lowered.schedule.split(":")[0].split(" ")[0] for k in program.lowered.kernels]


# ---------------------------------------------------------------- values


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_loops_interpreted_equal_the_oracle(case: Case) -> None:
    outputs = case.outputs()
    env = normal_inputs(outputs)
    with case.limited():
        program = lowered(outputs, env)
    assert all(
        len(k.step.loops.threads) == len(k.step.loops.phases) for k in program.lowered.kernels
    )
    for got, want in zip(interpret(program, outputs, env), oracle(outputs, env), strict=True):
        assert_close(got, np.asarray(want), 1e-5)


def _program(case: Case) -> tuple[list[Node], Compiled]:
    outputs = case.outputs()
    with case.limited():
        return outputs, compiled(outputs)


@pytest.fixture(scope="module")
def programs(request: pytest.FixtureRequest) -> Programs[Case]:
    return Programs(taken(request, "case"), _program)


@needs_compiler
@pytest.mark.thinned(to=3)
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_threads_of_any_order_compute_what_the_oracle_does(
    case: Case, programs: Programs[Case]
) -> None:
    outputs, program = programs[case]
    env = normal_inputs(outputs, 1)
    found = execute(program, outputs, env)
    for got, want in zip(found, oracle(outputs, env), strict=True):
        assert_close(got, np.asarray(want), 1e-5)
    for order in ("reverse", "random"):
        with in_order(order, 3):
            assert_same_bits(execute(program, outputs, env), found)


@needs_compiler
@pytest.mark.parametrize("order", ORDERS)
def test_the_first_wrong_index_is_reported_whichever_block_finds_it(order: str) -> None:
    table, index = leaf(7), leaf(3000, dtype=dt.int64)
    outputs = [node(Op.GATHER, (table, index), (0,))]
    at = np.zeros(3000, np.int64)
    at[[1100, 1101, 2900]] = 7, -1, 9
    env = {table: np.zeros(7, np.float32), index: at}
    with in_order(order, 5), pytest.raises(CheckFailed, match="7 at position 1100"):
        execute(compiled(outputs), outputs, env)


@needs_compiler
@pytest.mark.parametrize("order", ORDERS)
def test_the_first_singular_system_is_reported_whichever_block_finds_it(order: str) -> None:
    a, b = leaf(300, 5, 5), leaf(300, 5, 1)
    outputs = [node(Op.SOLVE, (a, b))]
    matrices = np.broadcast_to(np.eye(5, dtype=np.float32), (300, 5, 5)).copy()
    matrices[[120, 121, 250], :, 1] = 0
    env = {a: matrices, b: np.ones((300, 5, 1), np.float32)}
    with (
        in_order(order, 5),
        pytest.raises(CheckFailed, match="matrix 120 of the batch is singular"),
    ):
        execute(compiled(outputs), outputs, env)


@needs_compiler
def test_all_updates_may_fall_on_the_one_element_of_a_result() -> None:
    updates, index = leaf(17), leaf(17, dtype=dt.int64)
    outputs = [node(Op.SCATTER, (updates, index), ((0,), (1,)))]
    env = {updates: np.arange(17, dtype=np.float32), index: np.zeros(17, np.int64)}
    assert execute(compiled(outputs), outputs, env)[0].tolist() == [136]


FEW = [row for row in ROWS if not row.name.startswith("argsort")][
    ::8
]  # the emulated device runs them all


@pytest.mark.thinned(to=10)
@pytest.mark.parametrize("row", FEW, ids=lambda r: r.name)
def test_ops_interpreted_equal_the_oracle(row: Row) -> None:
    ins = leaves(row)
    outputs, env = (
        [row.build(*ins)],
        dict(zip(ins, values(row, np.random.default_rng(3)), strict=True)),
    )
    program = lowered(outputs, env)
    for got, want in zip(interpret(program, outputs, env), oracle(outputs, env), strict=True):
        assert_matches(got, np.asarray(want), max(4, row.ulp), row.magnitude)


# ---------------------------------------------------------------- choices


@pytest.mark.parametrize("case", [c for c in CASES if c.kind], ids=repr)
def test_each_schedule_is_chosen(case: Case) -> None:
    with case.limited():
        assert case.kind in schedules(lowered(case.outputs()))


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_loops_do_not_depend_on_the_number_of_multiprocessors(case: Case) -> None:
    outputs = case.outputs()
    with case.limited():
        few, many = (lowered(outputs, target=CudaTarget("sm_80", n)).program for n in (16, 132))
    assert [(show(c.loops), c.params) for c in few.calls] == [
        (show(c.loops), c.params) for c in many.calls
    ]


def test_batches_of_other_sizes_run_the_same_kernel() -> None:
    texts = {
        show(lowered([graph.reduce("add", leaf(n, 700), (1,))]).program.calls[0].loops)
        for n in (3, 5, 200)
    }
    assert len(texts) == 1


def test_neighbours_are_together_where_quotients_and_remainders_let_them() -> None:
    v = Var("v", 96)
    assert steps_by_one(var(v) % 24 + var(v) // 24 * 100, v, 4)
    assert not steps_by_one(var(v) % 6, v, 4)
    assert not steps_by_one(var(v) * 2, v, 2)
