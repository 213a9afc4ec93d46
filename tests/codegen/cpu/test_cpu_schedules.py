"""Kernels to loops: every schedule is verified, interpreted and equal to the oracle; nothing
depends on the number of threads."""

from __future__ import annotations

from itertools import product

import graphs as g
import numpy as np
import pytest
from cpu_schedules import (
    CASES,
    Graph,
    columns,
    convolution,
    dot,
    flat,
    fourier,
    lines,
    nearest,
    packed,
    packed_parts,
    rows,
    scan,
    scatter,
    short,
    sort_blocks,
    sort_long,
    sort_short,
    systems_of_equations,
)
from harness import (
    assert_close,
    compiled,
    inputs_of,
    interpret,
    leaf,
    normal_inputs,
    schedules,
    with_caches,
)
from weft.codegen.kernels.loop_axes import balanced, chunks, collapse, spread, unroll
from weft.ir.graph import graph
from weft.ir.graph.index import Var, row_major, var
from weft.ir.graph.op import Op
from weft.ir.loops.loop import LANES, For
from weft.ir.loops.text import show
from weft.ir.loops.walk import all_roots, postorder, statements
from weft.ir.ops.interp import run as oracle

TARGETS = [
    *((case, target) for case in CASES for target in ("avx512", "avx2", "sse2")),
    (packed_parts, "sse2"),
]


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize(
    ("case", "target"), TARGETS, ids=lambda c: c if isinstance(c, str) else c.__name__
)
def test_loops_interpreted_equal_the_oracle(
    case: Graph, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "weft.compiler.backends.cpu.KernelBuilder.want", lambda *_: None
    )  # loops are enough here
    monkeypatch.setattr("weft.compiler.backends.cpu.CpuBackend.link", lambda *_: None)
    outputs = case()
    env = normal_inputs(outputs)
    program = compiled(outputs, env, target=target)
    for got, want in zip(interpret(program, outputs, env), oracle(outputs, env), strict=True):
        assert_close(got, np.asarray(want), 1e-5)


@pytest.mark.parametrize(("columns", "again"), [(10_000, False), (100_000, True)])
def test_a_softmax_keeps_the_exps_of_a_row_that_leaves_room_in_the_level_2_cache(
    columns: int, again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_caches(monkeypatch, l2=1 << 19)
    (kernel,) = compiled([g.softmax(leaf(70, columns))], target="avx2").lowered.kernels
    loops = [s for s in statements(kernel.step.loops.phases) if isinstance(s, For)]
    *_, division = (s for s in loops if s.kind == LANES)
    ops = {n.op for n in postorder(all_roots(division.body))}
    assert Op.DIV in ops and (Op.LDEXP in ops) == again


@pytest.mark.thinned(to=9)
@pytest.mark.parametrize(
    ("case", "kind"),
    [
        (flat, "flat"),
        (lines, "lines"),
        (rows, "rows"),
        (columns, "columns"),
        (short, "short"),
        (nearest, "lines"),
        (scan, "scan"),
        (scatter, "scatter"),
        (sort_short, "sort"),
        (sort_blocks, "sort"),
        (systems_of_equations, "systems"),
        (fourier, "fourier"),
        (packed, "packed"),
        (dot, "dot"),
    ],
    ids=lambda c: c if isinstance(c, str) else c.__name__,
)
def test_each_schedule_is_chosen(case: Graph, kind: str) -> None:
    assert kind in schedules(compiled(case(), target="avx512"))


# ---------------------------------------------------------------- determinism


SHAPED = [
    rows,
    columns,
    packed,
    dot,
    convolution,
    sort_short,
    sort_long,
    sort_blocks,
    systems_of_equations,
    fourier,
]


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("case", SHAPED, ids=lambda c: c.__name__)
def test_loops_and_chunks_do_not_depend_on_threads(case: Graph) -> None:
    outputs = case()
    a, b = (compiled(outputs, num_threads=t).program for t in (1, 16))
    assert [show(c.loops) for c in a.calls] == [show(c.loops) for c in b.calls]
    assert [c.params for c in a.calls] == [c.params for c in b.calls]


def test_small_work_stays_on_one_thread_and_large_work_does_not() -> None:
    assert not any(
        any(c.parallel) for c in compiled([g.exp(leaf(30))], serial_threshold=None).program.calls
    )
    assert all(
        any(c.parallel)
        for c in compiled([g.exp(leaf(300_000))], serial_threshold=None).program.calls
    )


def test_equal_kernels_have_equal_text_whatever_their_place() -> None:
    x, y = leaf(30, 40), leaf(30, 40)
    a, b = compiled([g.softmax(x)]), compiled([g.softmax(g.exp(y)), g.softmax(x)])
    texts = [{show(c.loops).split("(", 1)[1] for c in p.program.calls} for p in (a, b)]
    assert texts[0] <= texts[1]


# ---------------------------------------------------------------- choices


@pytest.mark.parametrize("rows", [1, 2, 7, 100, 12_345])
def test_chunks_cover_all_rows(rows: int) -> None:
    for work, minimum in product([1.0, 500.0, 1e6], [1, 3]):
        count, size = chunks(rows, work, minimum)
        assert (count - 1) * size < rows <= count * size
        assert count > 1 or rows == 1 or minimum == 1


def test_axes_collapse_where_every_index_walks_them_as_one() -> None:
    a, b, c = Var("a", 4), Var("b", 5), Var("c", 6)
    dense = row_major([var(a), var(b), var(c)], (4, 5, 6))
    assert collapse([a, b, c], [dense]) == [[a, b, c]]
    assert collapse([a, b, c], [dense, var(c)]) == [[a, b], [c]]
    assert collapse([a, b, c], [row_major([var(b), var(a), var(c)], (5, 4, 6))]) == [[a], [b], [c]]


def test_spread_inverts_collapse() -> None:
    a, b = Var("a", 4), Var("b", 5)
    by = spread(var(Var("f", 20)), [a, b])
    assert row_major([by[a], by[b]], (4, 5)).as_var is not None


@pytest.mark.parametrize("most", [3, 4, 6])
def test_balanced_tiles_cover_everything_once(most: int) -> None:
    for n in range(1, 40):
        covered = [
            first + t * size + i
            for size, first, count in balanced(n, most)
            for t in range(count)
            for i in range(size)
        ]
        assert (
            sorted(covered) == list(range(n))
            and len(balanced(n, most)) <= 2
            and all(size <= most for size, _, _ in balanced(n, most))
        )


def test_unrolling_never_exceeds_the_loop() -> None:
    assert all(
        unroll(work, n, 16) * 16 <= max(16, n) for work in (1, 30, 100) for n in (1, 16, 40, 1000)
    )


def test_no_load_of_a_kernel_leaves_its_buffer() -> None:
    """Values behind padding are read under the padding's mask, also when they are computed in the
    same kernel."""
    outputs = convolution()
    env = normal_inputs(outputs)
    program = compiled(outputs, env)
    assert inputs_of(outputs)
    text = "\n".join(show(k.lowered.loops) for k in program.lowered.kernels)
    shifted = [
        line for line in text.splitlines() if "load in" in line and "+ -" in line.split("]")[0]
    ]
    assert shifted and all(" if " in line for line in shifted)


def test_few_stores_of_row_values_do_not_outweigh_the_loads_of_rows() -> None:
    x = leaf(256, 512)
    outputs = [graph.reduce(kind, x, (1,)) for kind in ("add", "max", "mul")]
    assert schedules(compiled(outputs)) == ["rows"]
