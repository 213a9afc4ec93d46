"""The order of a program, its buffers, in-place updates and checks."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from dataclasses import replace

import graphs as g
import loopkit
import numpy as np
import pytest
from effort import examples
from harness import assert_same_bits, check_close, compiled, execute, inputs_of, leaf, normal_inputs
from hypothesis import given
from hypothesis import strategies as st
from loopkit import argument, const, f32, kernel, lanes, load, op, serial
from weft.ir.graph import dtype as dt
from weft.ir.graph import graph
from weft.ir.graph.graph import Node, node
from weft.ir.graph.index import Index, Var, row_major_strides, var
from weft.ir.graph.op import Op
from weft.ir.graph.order import Order
from weft.ir.loops.loop import Buf, For, Loops, Store
from weft.ir.loops.walk import postorder
from weft.ir.ops.interp import run as oracle
from weft.ir.program.arena import ALIGN, Block, most_alive, place
from weft.ir.program.plan import Planner, plan
from weft.ir.program.program import Program, ValueLayout
from weft.ir.program.ref import Ref
from weft.ir.program.run_order import eager, peak, topological
from weft.ir.program.step import KernelStep
from weft.runtime.failures import CheckFailed

# ---------------------------------------------------------------- the arena


OPAQUE, STRAIGHT, TURNED = range(
    3
)  # how a step loads operands of the size of its result: not told, where it stores, elsewhere


def step_of(
    reads: list[Node], writes: list[Node], scratch: int = 0, kind: int = OPAQUE
) -> KernelStep:
    """A step of one phase for each result, which is the sum of all operands."""
    buffers = [argument(f"b{i}", n.dtype, n.size) for i, n in enumerate([*reads, *writes])]
    phases = (
        []
        if kind == OPAQUE
        else [_sum(buffers[: len(reads)], out, kind) for out in buffers[len(reads) :]]
    )
    work = [argument("work", dt.float32, scratch)] if scratch else []
    return KernelStep(Loops("step", (*buffers, *work), (), phases), (), (), reads, writes)


def _sum(operands: list[Buf], out: Buf, kind: int) -> For:
    i = Var("i", out.size)
    same = var(i) if kind == STRAIGHT else Index(const=out.size - 1) - var(i)
    return serial(
        i,
        Store(out, var(i), sum_of([load(b, same if b.size == out.size else 0) for b in operands])),
    )


def sum_of(values: list[Node]) -> Node:
    total = values[0]
    for v in values[1:]:
        total = node(Op.ADD, (total, v))
    return total


def made(size: int) -> Node:
    return node(Op.KEEP, (leaf(size),))


@st.composite
def step_graphs(draw: st.DrawFn) -> tuple[list[KernelStep], Planner]:
    """Steps that read earlier values and write new ones, many of the same size, in a shuffled
    list."""
    sizes = st.sampled_from([16, 16, 48, 100, 170])
    inputs = [leaf(draw(sizes)) for _ in range(draw(st.integers(1, 3)))]
    values, steps = list(inputs), []
    for _ in range(draw(st.integers(1, 16))):
        reads = draw(st.lists(st.sampled_from(values), min_size=1, max_size=3, unique_by=id))
        writes = [made(draw(sizes)) for _ in range(draw(st.sampled_from([1, 1, 1, 2])))]
        steps.append(
            step_of(reads, writes, draw(st.sampled_from([0, 0, 40])), draw(st.integers(0, 2)))
        )
        values += writes
    written = [n for s in steps for n in s.writes]
    outputs = draw(st.lists(st.sampled_from(written), min_size=1, max_size=3, unique_by=id))
    wishes = {
        o: draw(st.integers(0, len(inputs) - 1)) for o in range(len(outputs)) if draw(st.booleans())
    }
    steps = draw(st.permutations(steps))
    values_of = [ValueLayout(n.dtype, n.shape, row_major_strides(n.shape)) for n in inputs]
    return steps, Planner(inputs, values_of, outputs, wishes)


def replay(program: Program, steps: list[KernelStep], p: Planner) -> None:
    """Runs the calls on labels instead of numbers: every read must find what was written under that
    name."""
    by_loops = {id(s.loops): s for s in steps}
    memory: dict[tuple[str, int], Node | Buf] = {}  # four bytes each
    for i, n in enumerate(p.inputs):
        memory |= dict.fromkeys(spans(program, Ref("input", i), n.nbytes), n)
    for call in program.calls:
        step = by_loops[id(call.loops)]
        places = [
            spans(program, ref, 4 * b.size)
            for ref, b in zip(call.refs, call.loops.buffers, strict=True)
        ]
        for n, place_of in zip(step.reads, places, strict=False):
            assert all(memory[at] is n for at in place_of)
        written = [at for place_of in places[len(step.reads) :] for at in place_of]
        assert len(written) == len(set(written)), "results and scratch memory meet"
        read = {at for place_of in places[: len(step.reads)] for at in place_of}
        if not read.isdisjoint(written):
            last = {
                at
                for place_of in places[len(step.reads) + len(step.writes) - 1 :]
                for at in place_of
            }
            assert read & set(written) <= last, "an operand is overwritten that a later phase reads"
            assert may_overwrite(step), "an operand is overwritten that is read elsewhere, too"
        held: list[Node | Buf] = [*step.writes, *step.scratch]
        for what, place_of in zip(held, places[len(step.reads) :], strict=True):
            memory |= dict.fromkeys(place_of, what)
    for o, n in enumerate(p.outputs):
        assert all(memory[at] is n for at in spans(program, Ref("output", o), n.nbytes))


def spans(program: Program, ref: Ref, nbytes: int) -> list[tuple[str, int]]:
    """Every four bytes of a buffer, donated outputs in their inputs."""
    if ref.space == "arena":
        assert ref.number % ALIGN == 0 and ref.number + nbytes <= program.arena_bytes
        return [("arena", at) for at in range(ref.number // 4, (ref.number + nbytes) // 4)]
    space, number = ref.space, ref.number
    if space == "output" and number in program.donations:
        space, number = "input", program.donations[number]
    return [(f"{space}{number}", at) for at in range(nbytes // 4)]


def may_overwrite(step: KernelStep) -> bool:
    phase = step.loops.phases[-1]  # others have ended by then
    return all(
        n.arg[1] == var(phase.var)
        for s in phase.body
        if isinstance(s, Store)
        for n in loads_of_size(s)
    )


def loads_of_size(s: Store) -> list[Node]:
    return [n for n in postorder([s.value]) if n.op is Op.LOAD and n.arg[0].size == s.buf.size]


@examples(100)
@given(step_graphs())
def test_buffers_that_share_memory_are_never_live_together(
    case: tuple[list[KernelStep], Planner],
) -> None:
    steps, p = case
    replay(plan(steps, p), steps, p)


def test_equal_kernels_have_scratch_memory_of_their_own() -> None:
    """That of the second may lie where the first must spare a value."""
    x, a, b, c, d, out = leaf(48), *(made(size) for size in (16, 48, 16, 48, 16))
    first = step_of([x], [b], 90)
    second = replace(step_of([x], [d], 90), loops=replace(first.loops, name="again"))
    steps = [step_of([x], [a]), first, step_of([a], [c]), second, step_of([b, c, d], [out])]
    p = Planner([x], [ValueLayout(x.dtype, x.shape, row_major_strides(x.shape))], [out], {})
    replay(plan(steps, p), steps, p)


@examples(150)
@given(
    st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 30), st.integers(0, 30)), max_size=40)
)
def test_blocks_in_use_at_one_time_do_not_meet(drawn: list[tuple[int, int, int]]) -> None:
    blocks = [Block(nbytes, min(a, b), max(a, b)) for nbytes, a, b in drawn]
    top = place(blocks)
    for k, b in enumerate(blocks):
        assert b.offset % ALIGN == 0 and b.offset + b.nbytes <= top
        for other in blocks[:k]:
            apart = b.last < other.first or other.last < b.first
            assert (
                apart
                or b.offset + b.nbytes <= other.offset
                or other.offset + other.nbytes <= b.offset
            )
    assert top >= most_alive([(b.nbytes, b.first, b.last) for b in blocks], 31)[0]


@examples(50)
@given(step_graphs(), st.data())
def test_orders_are_topological(
    case: tuple[list[KernelStep], Planner], data: st.DataObject
) -> None:
    steps, _ = case
    writer = {n: s for s in steps for n in s.writes}
    after = {s: {writer[n] for n in s.reads if n in writer} for s in steps}
    order = Order(topological(steps, after), after.__getitem__)
    for _ in range(6):
        step, other = data.draw(st.sampled_from(steps)), data.draw(st.sampled_from(steps))
        waits = step is other or waits_for(other, step, after)
        assert step is other or order.let_wait(step, [other]) is not waits
        if not waits:
            after[step].add(other)
        for sequence in (
            order.items,
            topological(steps, after),
            eager(order.items, after, lambda n: n.nbytes),
        ):
            place_of = {s: i for i, s in enumerate(sequence)}
            assert len(place_of) == len(steps) and all(
                place_of[t] < place_of[s] for s in steps for t in after[s]
            )


def waits_for(
    start: KernelStep, goal: KernelStep, after: dict[KernelStep, set[KernelStep]]
) -> bool:
    stack = [start]
    while stack:
        s = stack.pop()
        if s is goal:
            return True
        stack += after[s]
    return False


def training(layers: int, width: int = 256) -> tuple[list[KernelStep], Planner]:
    """Forward, all gradients of activations, then all gradients of weights, each with the update of
    its weights."""
    weights = [leaf(64) for _ in range(layers)]
    x = leaf(width)
    values, forward, backward, updates, outputs = [x], [], [], [], []
    for w in weights:
        values.append(made(width))
        forward.append(step_of([values[-2], w], [values[-1]]))
    g = values[-1]
    for w, a in zip(reversed(weights), reversed(values[:-1]), strict=True):
        outputs.append(made(64))
        updates.append(step_of([a, g], [outputs[-1]]))
        backward.append(step_of([g, w, a], [g := made(width)]))
    inputs = [x, *weights]
    layouts = [ValueLayout(n.dtype, n.shape, row_major_strides(n.shape)) for n in inputs]
    wishes = {o: len(weights) - o for o in range(layers)}
    return forward + backward + updates, Planner(inputs, layouts, outputs, wishes)


def test_gradients_of_weights_run_as_soon_as_they_free_an_activation() -> None:
    steps, p = training(20)
    program = plan(steps, p)
    assert program.arena_bytes <= 22 * 1024 and len(program.donations) == 20
    assert peak(steps, lambda n: n.nbytes) >= 40 * 1024


def test_the_order_stays_where_all_intermediates_fit_into_the_last_cache() -> None:
    steps, p = training(20)
    assert [c.loops for c in plan(steps, replace(p, enough=50 * 1024)).calls] == [
        s.loops for s in steps
    ]
    assert [c.loops for c in plan(steps, p).calls] != [s.loops for s in steps]


def seconds_to_plan(layers: int) -> Iterator[float]:
    """The best so far, of three, without what Python collects meanwhile of other tests."""
    steps, p = training(layers, 16)
    best = float("inf")
    for _ in range(3):
        gc.disable()
        try:
            start = time.process_time()
            program = plan(steps, p)
            best = min(best, time.process_time() - start)
        finally:
            gc.enable()
        assert len(program.calls) == 3 * layers and len(program.donations) == layers
        yield best


def test_programs_of_thousands_of_kernels_are_planned_in_linear_time() -> None:
    found = zip(seconds_to_plan(350), seconds_to_plan(1400), strict=True)
    assert any(many < 3 and many < 12 * few for few, many in found)


@pytest.mark.parametrize("early", [False, True])
def test_a_result_takes_the_memory_of_an_operand_that_is_read_for_the_last_time(
    early: bool,
) -> None:
    x = leaf(512)
    values = [made(512) for _ in range(6)]
    steps = [step_of([a], [b], kind=STRAIGHT) for a, b in zip([x, *values], values, strict=False)]
    p = Planner([x], [ValueLayout(x.dtype, x.shape, (1,))], [values[-1]], {})
    program = plan(steps, p)
    assert program.arena_bytes == 0 and {r.space for c in program.calls[1:] for r in c.refs} == {
        "output"
    }
    replay(program, steps, p)
    p = Planner(
        [x], [ValueLayout(x.dtype, x.shape, (1,))], [values[2 if early else 4], values[-1]], {}
    )
    replay(plan(steps, p), steps, p)


def test_a_residual_chain_needs_one_buffer() -> None:
    x, w = leaf(64, 64), leaf(64, 64)
    y = x
    for _ in range(4):
        y = g.add(y, g.over_last("max", g.matmul(y, w)))
    program = check_close([y], normal_inputs([y]), threads=(1, 2)).program
    assert (
        program.arena_bytes == 64 * 64 * 4
    )  # the products; the sum grows in the memory of the output


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
        for got, want in zip(
            execute(program, outputs, env, threads), oracle(outputs, env), strict=True
        ):
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
    assert donated(outputs, wishes) == wishes


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("shape", [(40, 30), (3, 2), (1000, 100)], ids=["vectors", "tiny", "tasks"])
def test_values_that_need_each_other_s_old_memory_are_all_written_in_place(shape) -> None:
    """Adam with weight decay: the mean reads the parameter, the parameter's next value the mean."""
    p, d, m, v = (leaf(*shape) for _ in range(4))
    d = g.add(d, g.scale(p, 0.1))
    m2, v2 = g.add(m, g.scale(g.sub(d, m), 0.1)), g.add(v, g.scale(g.sub(g.mul(d, d), v), 0.1))
    p2 = g.sub(p, g.div(m2, g.add(g.mul(v2, v2), g.like(1, v2))))
    for replaced in ({m2: m, v2: v, p2: p}, {p2: p, v2: v, m2: m}, {v2: v, p2: p, m2: m}):
        outputs = list(replaced)
        wishes = {o: position(outputs, old) for o, old in enumerate(replaced.values())}
        assert donated(outputs, wishes) == wishes


X, Y, NEW, OTHER, MORE = (argument(name, size=70) for name in ("x", "y", "new", "other", "more"))
AT, LATER = Var("i", 70), Var("j", 70)


def copied(into: Buf, value: Node | None = None, at: Var = AT) -> Store:
    return Store(into, var(at), value or load(X, at))


IS_SMALL = op(Op.LT, load(Y, AT), const(0.5, f32))
USUAL, RARE = (op(Op.WHERE, IS_SMALL, load(X, AT), load(Y, AT), arg=arg) for arg in (None, "rare"))
REPLACING = copied(NEW, op(Op.ADD, load(Y, AT), load(Y, AT)))
BODIES = {
    "read first": (True, [lanes(AT, copied(OTHER), REPLACING, copied(MORE))]),
    "within more": (True, [lanes(AT, copied(OTHER, USUAL), REPLACING, copied(MORE))]),
    "read behind": (False, [lanes(AT, REPLACING, copied(MORE))]),
    "read on a branch": (False, [lanes(AT, copied(OTHER, RARE), REPLACING, copied(MORE))]),
    "another place": (False, [lanes(AT, copied(OTHER, load(X, var(AT) * -1 + 69)), REPLACING)]),
    "another loop": (
        False,
        [lanes(AT, copied(OTHER), REPLACING), lanes(LATER, copied(MORE, at=LATER))],
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_value_that_a_body_knows_is_not_read_again(name: str) -> None:
    """What may be overwritten, and that the machine code then gives the same values."""
    allowed, body = BODIES[name]
    loops = kernel([X, Y, NEW, OTHER, MORE], *body)
    x, y, new, other, more = (leaf(70) for _ in range(5))
    assert KernelStep(loops, (), (True,), [x, y], [new, other, more]).in_place(x, new) is allowed
    arrays = [np.random.default_rng(i).standard_normal(70).astype("float32") for i in range(5)]
    for target in ("avx2", "sse2") if allowed else ():
        wanted, got = (
            loopkit.compiled(loops, arrays, target, in_place=pairs)[0] for pairs in ((), [(2, 0)])
        )
        assert_same_bits(got[2:], wanted[2:])


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize(
    "build",
    [
        lambda x: g.add(x, node(Op.FLIP, (x,), (0,))),
        lambda x: graph.permute(g.exp(x), (1, 0)),
        lambda x: g.matmul(x, x),
        lambda x: node(Op.SCAN, (node(Op.FLIP, (x,), (1,)),), 1),
    ],
    ids=["flip", "transpose", "matmul", "scan"],
)
def test_memory_that_is_read_elsewhere_too_is_not_overwritten(build) -> None:
    x = leaf(24, 24)
    assert donated([build(x)], {0: 0}) == {}


def test_few_columns_may_be_normalised_in_place() -> None:
    """A column is read whole before its first element is written."""
    x = leaf(24, 24)
    assert donated([g.sub(x, graph.expand(graph.reduce("max", x, (0,)), ((0, 24),)))], {0: 0}) == {
        0: 0
    }


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
    update = next(
        i for i, c in enumerate(calls) if any(r.space == "output" and r.number == 0 for r in c.refs)
    )
    assert all(
        not any(r.space == "input" and r.number == where for r in c.refs)
        for c in calls[update + 1 :]
    )


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


def run_in_place(
    outputs: list[Node], env: dict[Node, np.ndarray], wishes: dict[int, int]
) -> list[np.ndarray]:
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
