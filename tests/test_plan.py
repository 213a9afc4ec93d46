"""The order of a program, its buffers, in-place updates and checks."""

from __future__ import annotations

import graphs as g
import numpy as np
import pytest
from harness import assert_same_bits, compiled, execute, inputs_of, leaf, normal_inputs
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.ir import dtype as dt
from weft.ir import graph
from weft.ir.graph import Node, node
from weft.ir.index import row_major_strides
from weft.ir.interp import run as oracle
from weft.ir.loop import Loops
from weft.ir.op import Op
from weft.ir.plan import ALIGN, Planner, Step, plan
from weft.ir.program import Program, Value
from weft.runtime.executable import CheckFailed

# ---------------------------------------------------------------- the arena


@st.composite
def step_graphs(draw: st.DrawFn) -> tuple[list[Step], Planner]:
    """Steps that read earlier values and write new ones of any size, in a shuffled list."""
    inputs = [leaf(draw(st.integers(1, 100))) for _ in range(draw(st.integers(1, 3)))]
    values, steps = list(inputs), []
    for _ in range(draw(st.integers(1, 14))):
        reads = draw(st.lists(st.sampled_from(values), min_size=1, max_size=3, unique_by=id))
        writes = [node(Op.KEEP, (leaf(draw(st.integers(1, 200))),)) for _ in range(draw(st.integers(1, 2)))]
        steps.append(Step(Loops("step", (), (), []), (), (), reads, writes))
        values += writes
    made = [n for s in steps for n in s.writes]
    outputs = draw(st.lists(st.sampled_from(made), min_size=1, max_size=3, unique_by=id))
    steps = draw(st.permutations(steps))
    return steps, Planner(inputs, [Value(n.dtype, n.shape, row_major_strides(n.shape)) for n in inputs], outputs, {})


def replay(program: Program, steps: list[Step], p: Planner) -> None:
    """Runs the calls on labels instead of numbers: every read must find what was written under that name."""
    by_loops = {id(s.loops): s for s in steps}
    arena: dict[int, Node] = {}
    spaces: dict[tuple[str, int], Node] = {("input", i): n for i, n in enumerate(p.inputs)}
    for call in program.calls:
        step = by_loops[id(call.loops)]
        for n, ref in zip([*step.reads, *step.writes], call.refs, strict=True):
            size = 4 * n.size
            written = n in step.writes
            if ref.space == "arena":
                assert ref.number % ALIGN == 0 and ref.number + size <= program.arena_bytes
                span = range(ref.number // 4, (ref.number + size) // 4)
                assert written or all(arena[at] is n for at in span)
                arena |= dict.fromkeys(span, n) if written else {}
            elif written:
                spaces[ref.space, ref.number] = n
            else:
                assert spaces[ref.space, ref.number] is n
    assert [spaces["output", i] for i in range(len(p.outputs))] == p.outputs


@settings(max_examples=150, deadline=None, derandomize=True)
@given(step_graphs())
def test_buffers_that_share_the_arena_are_never_live_together(case: tuple[list[Step], Planner]) -> None:
    steps, p = case
    replay(plan(steps, p), steps, p)


def test_a_chain_of_kernels_reuses_two_buffers() -> None:
    x = leaf(64, 64)
    y = x
    for _ in range(12):
        y = g.matmul(y, x)
    program = compiled([y]).program
    assert len(program.calls) == 12 and program.arena_bytes == 2 * 64 * 64 * 4


def test_equal_programs_have_equal_plans() -> None:
    x = leaf(64, 64)
    y = g.softmax(g.matmul(g.softmax(x), x))
    a, b = (compiled([y]).program for _ in range(2))
    assert [c.refs for c in a.calls] == [c.refs for c in b.calls] and a.arena_bytes == b.arena_bytes


# ---------------------------------------------------------------- donation


def donated(outputs: list[Node], wishes: dict[int, int]) -> dict[int, int]:
    """The donations that were granted, after the results were compared with the oracle."""
    env = normal_inputs(outputs)
    program = compiled(outputs, donations=wishes)
    for threads in (1, 2):
        for got, want in zip(execute(program, outputs, env, threads), oracle(outputs, env), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    return dict(program.donations)


def position(outputs: list[Node], n: Node) -> int:
    return inputs_of(outputs).index(n)


def test_an_update_is_written_in_place() -> None:
    p, d = leaf(40, 30), leaf(40, 30)
    outputs = [g.sub(p, g.scale(d, 0.1))]
    assert donated(outputs, {0: position(outputs, p)}) == {0: position(outputs, p)}


def test_an_adam_step_updates_three_buffers_in_place() -> None:
    p, d, m, v = (leaf(40, 30) for _ in range(4))
    m2, v2 = g.add(g.scale(m, 0.9), g.scale(d, 0.1)), g.add(g.mul(v, v), g.mul(d, d))
    outputs = [g.sub(p, g.div(m2, g.add(v2, g.like(1, v2)))), m2, v2]
    wishes = {0: position(outputs, p), 1: position(outputs, m), 2: position(outputs, v)}
    granted = donated(outputs, wishes)
    assert granted and granted.items() <= wishes.items()


@pytest.mark.parametrize(
    "build",
    [
        lambda x: g.add(x, node(Op.FLIP, (x,), (0,))),
        lambda x: graph.permute(g.exp(x), (1, 0)),
        lambda x: g.matmul(x, x),
        lambda x: node(Op.SCAN, (node(Op.FLIP, (x,), (1,)),), 1),
        lambda x: g.sub(x, graph.expand(graph.reduce("max", x, (0,)), ((0, 24),))),
    ],
    ids=["flip", "transpose", "matmul", "scan", "columns"],
)
def test_memory_that_is_read_elsewhere_too_is_not_overwritten(build) -> None:
    x = leaf(24, 24)
    assert donated([build(x)], {0: 0}) == {}


def test_rows_may_be_normalised_in_place() -> None:
    x = leaf(30, 50)
    donated([g.softmax(x)], {0: 0})
    donated([g.sub(x, g.over_last("max", x))], {0: 0})


def test_every_reader_of_donated_memory_runs_before_the_update() -> None:
    w, x, d = leaf(40, 40), leaf(40, 40), leaf(40, 40)
    outputs = [g.sub(w, d), g.matmul(x, w), graph.reduce("add", w, (0,))]
    where = position(outputs, w)
    assert donated(outputs, {0: where}) == {0: where}
    calls = compiled(outputs, donations={0: where}).program.calls
    update = next(i for i, c in enumerate(calls) if any(r.space == "output" and r.number == 0 for r in c.refs))
    assert all(not any(r.space == "input" and r.number == where for r in c.refs) for c in calls[update + 1 :])


def test_no_donation_if_a_reader_needs_the_updated_value() -> None:
    w, d = leaf(40, 40), leaf(40, 40)
    new = g.sub(w, d)
    outputs = [new, g.matmul(new, w)]
    assert donated(outputs, {0: position(outputs, w)}) == {}


def test_no_donation_between_shapes_or_dtypes() -> None:
    x = leaf(40, 40)
    assert donated([graph.reshape(g.exp(x), (1600,))], {0: 0}) == {}
    assert donated([graph.cast(x, dt.int32)], {0: 0}) == {}


def test_a_donated_input_that_is_an_output_too_keeps_its_old_value_there() -> None:
    x = leaf(40, 40)
    donated([x, g.add(x, g.like(1, x))], {1: 0})


# ---------------------------------------------------------------- checks


def lookup(index: Node, table: Node) -> Node:
    return node(Op.GATHER, (table, index), (0,))


def run_in_place(outputs: list[Node], env: dict[Node, np.ndarray], wishes: dict[int, int]) -> list[np.ndarray]:
    """The inputs after a run that must fail, donated ones shared with outputs."""
    program = compiled(outputs, donations=wishes)
    arrays = [env[n].copy() for n in inputs_of(outputs)]
    results = [np.zeros(n.shape, n.dtype.numpy) for n in outputs]
    for o, i in program.donations.items():
        results[o] = arrays[i]
    with pytest.raises(CheckFailed):
        program.run([a.ctypes.data for a in arrays], [r.ctypes.data for r in results])
    return arrays


def test_an_early_check_fails_before_anything_donated_is_written() -> None:
    p, labels = leaf(30, 20), leaf(50, dtype=dt.int64)
    outputs = [g.exp(p), lookup(labels, p)]
    wish = {0: position(outputs, p)}
    assert donated(outputs, wish) == wish
    env = normal_inputs(outputs)
    env[labels][49] = 30
    assert_same_bits(run_in_place(outputs, env, wish), [env[n] for n in inputs_of(outputs)])


def test_a_late_check_forbids_donation() -> None:
    p, x = leaf(30, 20), leaf(50, 3)
    index = graph.cast(graph.reduce("max", x, (1,)), dt.int64)
    outputs = [g.exp(p), lookup(index, p)]
    wish = {0: position(outputs, p)}
    env = normal_inputs(outputs)
    env[x][7, 1] = 99
    assert_same_bits(run_in_place(outputs, env, wish), [env[n] for n in inputs_of(outputs)])


def test_checks_of_inputs_run_first_and_once_an_index() -> None:
    p, labels = leaf(30, 20), leaf(50, dtype=dt.int64)
    outputs = [lookup(labels, p), lookup(labels, g.matmul(p, leaf(20, 40)))]
    calls = compiled(outputs).program.calls
    assert [c.is_check for c in calls].count(True) == 1 and calls[0].is_check
    assert len(calls[0].loops.phases) == 1


def test_counters_need_no_check() -> None:
    x = leaf(30, 20)
    assert not any(c.is_check for c in compiled([lookup(node(Op.IOTA, arg=30), x)]).program.calls)


def test_a_check_needs_no_index_where_there_are_none() -> None:
    outputs = [lookup(leaf(0, dtype=dt.int64), leaf(30, 20))]
    assert not compiled(outputs).program.calls
