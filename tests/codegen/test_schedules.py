"""The lists of schedules: each is chosen by some kernel, and each that has rivals is refused by
one, with its reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import cpu_schedules as maps
import cuda_lowered
import cuda_schedules
import graphs as g
import numpy as np
import pytest
import weft as wf
from contractkit import input_gradient, product
from cuda_texts import collecting
from harness import compiled, leaf
from weft.codegen.cpu.lowering import CPU
from weft.codegen.cpu.rows_and_maps import ROWS_AND_MAPS
from weft.codegen.cuda.lowering import CUDA
from weft.codegen.kernels.lowered import Choice, Lowered
from weft.codegen.kernels.schedule import Estimate, Refusal, Schedule, always, choose, force
from weft.compiler.compile import Compiled, program_of
from weft.frontend.lazy import realize
from weft.ir.graph import dtype as dt
from weft.ir.graph import graph
from weft.ir.graph.graph import Node
from weft.ir.loops.loop import Loops
from weft.nn import functional as F

Graph = Callable[[], list[Node]]
DEFAULTS = {
    "serial_threshold": None,
    "min_chunks": 1,
}  # what users run; the harness forces threads and chunks


@pytest.fixture(autouse=True)
def loops_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.compiler.backends.cpu.KernelBuilder.want", lambda *_: None)
    monkeypatch.setattr("weft.compiler.backends.cpu.CpuBackend.link", lambda *_: None)


def choices_of(program: Compiled) -> list[Choice]:
    return [c for k in program.lowered.kernels for c in k.lowered.choices]


def one(form: str, m: int, n: int, k: int, dtype: dt.DType = dt.float32) -> Graph:
    return lambda: [product(form, m, n, k, dtype=dtype)]


def large() -> list[Node]:
    return [g.exp(leaf(3000))]


def small() -> list[Node]:
    return [g.exp(leaf(30))]


def in_blocks() -> list[Node]:
    return [graph.reduce("add", leaf(1500), (0,))]


def layer_norm_gradients() -> list[Node]:
    return cuda_schedules._layer_norm_grads()


def convolution() -> list[Node]:
    return [g.conv2d(leaf(2, 8, 12, 12), leaf(16, 8, 3, 3), 1, 1, 1, 1)]


def strided_gradient() -> list[Node]:
    """Some results without a product."""
    return [input_gradient((1, 8, 16, 19), (8, 8, 3, 3), 2, 2, 2, 1)]


def computed_matrix() -> list[Node]:
    return [g.matmul(leaf(5, 70), g.pad(leaf(70, 290), {1: (2, 8, 1)}))]


def attention(device: str) -> Compiled:
    q, k, v = (wf.tensor(np.ones((2, 4, 64, 32), np.float32), device=device) for _ in range(3))
    return program_of(realize.structure_of(F.scaled_dot_product_attention(q, k, v)))


# ---------------------------------------------------------------- a CPU

REFUSED: list[tuple[Graph, str, str]] = [
    (maps.flat, "tiny", "chunks are forced"),
    (large, "tiny", r"36000 operations, from 2048 on vectors pay"),
    (in_blocks, "tiny", "lanes add up its sums in blocks"),
    (small, "flat", "vectors do not pay in a tiny kernel"),
    (maps.rows, "flat", "there are reductions"),
    (maps.lines, "flat", "memory walks 2 axes apart"),
    (maps.flat, "lines", "memory walks all axes as one"),
    (maps.flat, "rows", "nothing is reduced"),
    (maps.columns, "rows", "terms of its sums lie apart, so that lanes do not add them up"),
    (maps.rows, "columns", r"about [\d.]+ cycles a vector, rows [\d.]+"),
    (maps.rows, "short", r"\d+ steps of reductions, at most 32 stand in a row"),
    (lambda: [graph.reduce("add", leaf(50), (0,))], "columns", "there is one row"),
    (maps.short, "columns", r"\d+ steps of reductions can stand in a row"),
    (maps.packed, "windows", "no factor is read through windows"),
    (convolution, "packed", "it would repeat elements of windows"),
    (maps.packed, "outer", "20 steps of k, at most 12"),
    (one("nn", 20, 20, 11), "outer", "a result of 20 x 20 does not wait for memory"),
    (one("nn", 70, 90, 60), "stream", "neither 70 rows nor 90 lanes are at most 48"),
    (one("nn", 40, 40, 40), "stream", "as many rows as lanes"),
    (one("nn", 13, 37, 20), "stream", "a matrix of 20 x 37 does not wait for memory"),
    (computed_matrix, "stream", "the matrix is computed, masked or repeated"),
    (one("nt", 4, 100, 300), "stream", "the matrix is not contiguous along its own axis"),
    (one("nn", 5, 70, 70), "stream", "the matrix is in a near cache"),
    (
        one("tn", 800, 40, 200),
        "stream",
        "200 steps of k do not make up for storing 40 rows transposed",
    ),
    (one("nn", 70, 90, 60), "dot", "not both factors are contiguous along k"),
    (one("nt", 100, 100, 100), "dot", "100 rows make up for transposing the lane factor"),
    (one("nt", 4, 100, 300), "packed", "possible, but dot suits better"),
]


@cache
def cpu_choices(case: Graph) -> list[Choice]:
    options = DEFAULTS if case in (large, small, in_blocks) else {}
    return choices_of(compiled(case(), target="sse2" if case is in_blocks else "avx2", **options))


@pytest.mark.parametrize(
    ("case", "schedule", "why"), REFUSED, ids=lambda c: c if isinstance(c, str) else ""
)
def test_a_schedule_is_refused(case: Graph, schedule: str, why: str) -> None:
    told = [c.others[schedule] for c in cpu_choices(case) if schedule in c.others]
    assert any(re.fullmatch(why, each) for each in told), told


CHOSEN = [
    small, maps.flat, maps.lines, maps.rows, maps.short, maps.columns, layer_norm_gradients,
    convolution,
    one("nn", 70, 120, 3), one("nn", 5, 2000, 600), one("nt", 4, 100, 300), maps.packed, maps.scan,
    maps.scatter, maps.put, maps.sort_short, maps.systems_of_equations, maps.fourier,
    maps.gather, strided_gradient,
]  # fmt: skip


def test_each_schedule_of_a_cpu_is_chosen() -> None:
    chosen = {c.schedule for case in CHOSEN for c in cpu_choices(case)} | {
        c.schedule for c in choices_of(attention("cpu"))
    }
    assert chosen == {s.name for s in CPU}


def test_each_schedule_of_a_cpu_that_has_rivals_is_refused() -> None:
    rivals = {name for case in CHOSEN for c in cpu_choices(case) for name in c.others}
    assert rivals == {schedule for _, schedule, _ in REFUSED}


# ---------------------------------------------------------------- a GPU


def larger() -> list[Node]:
    """Two products, and a map of so many elements that their order matters."""
    return [product("nn", 300, 300, 300), product("nn", 20, 20, 20), g.exp(leaf(200, 300))]


@pytest.fixture(scope="module")
def of_cuda() -> list[Choice]:
    """What the cases of each schedule choose."""
    found: list[Choice] = []
    for case in cuda_schedules.CASES:
        with case.limited():
            found += choices_of(cuda_lowered.lowered(case.outputs()))
    found += choices_of(cuda_lowered.lowered(larger()))
    with collecting("sm_80"):
        return found + choices_of(attention("cuda"))


def test_each_schedule_of_a_gpu_is_chosen(of_cuda: list[Choice]) -> None:
    assert {c.schedule for c in of_cuda} == {s.name for s in CUDA}


REFUSED_ON_A_GPU = {
    "transposed": "nothing lies along an axis other than the lanes",
    "flat": "there are reductions",
    "short": r"\d+ steps of reductions, a thread does \d+",
    "warp": r"\d+ rows are too few for a warp each",
    "block": "a warp is enough for a row",
    "columns": r"about [\d.]+ cycles a vector, (warp|block) [\d.]+",
    "tiled": r"about [\d.e+]+ cycles, naive [\d.e+]+",
    "naive": r"about [\d.e+]+ cycles, tiled [\d.e+]+",
}


@pytest.mark.parametrize("schedule", REFUSED_ON_A_GPU)
def test_a_schedule_of_a_gpu_is_refused(schedule: str, of_cuda: list[Choice]) -> None:
    told = {c.others[schedule] for c in of_cuda if schedule in c.others}
    assert any(re.fullmatch(REFUSED_ON_A_GPU[schedule], each) for each in told), told


def test_each_schedule_of_a_gpu_that_has_rivals_is_refused(of_cuda: list[Choice]) -> None:
    assert {name for c in of_cuda for name in c.others} == {*REFUSED_ON_A_GPU}


# ---------------------------------------------------------------- the choice


def lowered(text: str) -> Callable[[], Lowered]:
    return lambda: Lowered(Loops("k", (), (), []), (), [], text)


def test_the_least_estimate_is_chosen_and_the_first_of_equals() -> None:
    listed: list[Schedule[[int]]] = [
        Schedule("never", lambda n: Refusal(f"{n} is no number for it")),
        Schedule("slow", lambda n: Estimate(lowered(""), 10.0 * n)),
        Schedule("fast", lambda n: Estimate(lowered(f": in {n}"), 2.0 * n, "cycles a row")),
        Schedule("alike", lambda n: Estimate(lowered(""), 2.0 * n, "cycles a row")),
    ]
    chosen = choose(listed, 3)
    assert chosen.schedule == "fast: in 3"
    others = {
        "never": "3 is no number for it",
        "slow": "about 30 cycles, fast 6",
        "alike": "about 6 cycles a row, fast 6",
    }
    assert chosen.choices == (Choice("fast", others, {"slow": 1, "fast": 1, "alike": 1}),)


def test_a_rule_comes_before_any_estimate() -> None:
    listed = [
        Schedule("estimated", lambda: Estimate(lowered(""), 1.0)),
        Schedule("rule", always(lowered(""))),
    ]
    others = {"estimated": "possible, but rule suits better"}
    assert choose(listed).choices == (Choice("rule", others, {"estimated": 1, "rule": 1}),)


def test_a_way_can_be_forced_also_against_a_rule_of_experience() -> None:
    listed = [
        Schedule("best", lambda: Estimate(lowered(": a"), slower=(lowered(": b"),))),
        Schedule("able", lambda: Refusal("too few rows", lowered(": c"))),
        Schedule("never", lambda: Refusal("no rows")),
    ]
    assert choose(listed).choices[0].ways == {"best": 2, "able": 1}
    forced = [force(way, listed).schedule for way in (("best", 1), ("able", 0), ("never", 0))]
    assert forced == ["best: b", "able: c", "best: a"]


def test_names_are_words_that_no_list_has_twice() -> None:
    for listed in (CPU, CUDA):
        names = [s.name for s in listed]
        assert len({*names}) == len(names) and all(re.fullmatch("[a-z]+", name) for name in names)


@pytest.mark.parametrize("case", CHOSEN[:8], ids=lambda c: c.__name__)
def test_what_is_said_begins_with_the_name(case: Graph) -> None:
    options = DEFAULTS if case is small else {}
    for k in compiled(case(), **options).lowered.kernels:
        assert re.match(rf"{k.lowered.choices[0].schedule}[ :]", k.lowered.schedule)


def test_a_new_schedule_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a list of its kind: it is chosen, and named, where its estimate is the least."""
    (flat,) = [s for s in ROWS_AND_MAPS if s.name == "flat"]
    monkeypatch.setattr(
        "weft.codegen.cpu.rows_and_maps.ROWS_AND_MAPS",
        [Schedule("new", flat.estimate), *ROWS_AND_MAPS],
    )
    (choice,) = choices_of(compiled([g.exp(leaf(7, 11))]))
    assert choice.schedule == "new" and choice.others["flat"].startswith("about ")
