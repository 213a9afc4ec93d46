"""The loop language: the text determines the kernel, the verifier refuses the meaningless, the
interpreter gives the meaning."""

from dataclasses import replace

import numpy as np
import pytest
from loopkit import (
    LANES,
    REG,
    SCRATCH,
    Alloc,
    Buf,
    Check,
    Gathered,
    If,
    Index,
    Loops,
    Op,
    Param,
    Prefetch,
    Range,
    Reduce,
    Store,
    Var,
    argument,
    const,
    dt,
    f32,
    i64,
    interpreted,
    kernel,
    lanes,
    load,
    op,
    serial,
    unroll,
    value_of,
    var,
)
from weft.ir.graph.graph import leaf
from weft.ir.loops.interp import OPS
from weft.ir.loops.loop import GRID, SERIAL, For
from weft.ir.loops.text import show
from weft.ir.loops.verify import LoopError, verify
from weft.ir.loops.walk import Substitution, postorder, reads, writes


def squares(size=40, dtype=f32, unrolled=1):
    x, y, i = argument("x", dtype), argument("y", dtype), Var("i", size)
    return kernel(
        [x, y],
        lanes(i, Store(y, var(i), op(Op.MUL, load(x, i), load(x, i))), unroll=unrolled),
        name="squares",
    )


# ---------------------------------------------------------------- text

SQUARES = """\
kernel squares(x: float32, y: float32)
phase 0
  for g < 1 grid
    for i < 40 lanes x2
      t0 = load x[i] float32
      t1 = mul t0, t0 float32
      y[i] = t1
"""

EVERYTHING = """\
kernel k(x: float32, idx: int64, n)
phase 0
  for g < n (at most 1024) grid while g < 7
    alloc s: float32 scratch[8]
    alloc m: float32 reg[1] = -inf
    t0 = load idx[g] int64
    check t0 < 5 else site 3 at g
    prefetch x[4*g + 100]
    for i < 8 lanes x2 while 8*g + i < n
      t1 = load idx[i] int64
      t2 = load x[i + 8*[t1 < 5]] if 0 <= i + -1 < 6 and 0 <= (g)%4 < 2 float32
      m[0] max= t2 if 0 <= i < 3
    if 0 <= g < 3 and 2 <= (g)//2 < 9
      t3 = load m[0] float32
      t4 = lt t3, -0.0:float32 bool
      t5 = sin t3 1 float32
      t6 = where t4, t5, nan:7ff8000000000000:float32 rare float32
      t7 = cast t6 int64 int64
      t8 = var 2*g + 1
      t9 = add t7, t8 int64
      idx[3] = t9 if 0 <= g < 2
"""


def everything():
    x, idx, n, g, i = argument("x"), argument("idx", i64), Param("n"), Var("g", 1024), Var("i", 8)
    s, m = Buf("s", f32, 8, SCRATCH), Buf("m", f32, 1, REG)
    row = Index({Gathered(load(idx, i), 5): 8}) + var(i)
    picked = load(x, row, Range(var(i) - 1, 0, 6), Range(var(g) % 4, 0, 2))
    best = load(m)
    where = op(
        Op.WHERE,
        op(Op.LT, best, const(-0.0, f32)),
        op(Op.SIN, best, arg=1),
        const(float("nan"), f32),
        arg="rare",
    )
    written = op(Op.ADD, op(Op.CAST, where, arg=i64), value_of(var(g) * 2 + 1))
    body = [
        Alloc(s), Alloc(m, float("-inf")),
        Check(load(idx, g), 5, 3, var(g)), Prefetch(x, var(g) * 4 + 100),
        lanes(i, Reduce(m, Index(), "max", picked, (Range(var(i), 0, 3),)), unroll=2,
            base=var(g) * 8, total=n),
        If((Range(var(g), 0, 3), Range(var(g) // 2, 2, 9)),
            [Store(idx, Index(const=3), written, (Range(var(g), 0, 2),))]),
    ]  # fmt: skip
    return Loops("k", (x, idx), (n,), [For(g, n, GRID, body, total=7)])


def test_text_of_a_map():
    assert show(squares(unrolled=2)) == SQUARES


def test_text_of_every_statement():
    verify(everything())
    assert show(everything()) == EVERYTHING


def test_colliding_names_are_numbered_in_order_of_appearance():
    x, y, a, b = argument("x"), argument("x"), Var("i", 4), Var("i", 4)
    text = show(
        kernel(
            [x, y], serial(a, lanes(b, Store(y, var(a) * 4 + var(b), load(x, var(b) * 4 + var(a)))))
        )
    )
    assert "kernel k(x: float32, x_1: float32)" in text
    assert "load x[i + 4*i_1]" in text
    assert "x_1[4*i + i_1] =" in text


def test_text_has_no_addresses_and_is_repeatable():
    assert show(everything()) == show(everything())
    assert "0x" not in show(everything())


def test_a_value_is_printed_again_after_its_memory_changed():
    x, y = argument("x"), argument("y")
    text = show(
        kernel(
            [x, y],
            Store(y, Index(), load(x)),
            Store(x, Index(), const(1, f32)),
            Store(y, Index(const=1), load(x)),
        )
    )
    assert text.count("load x[0]") == 2


VARIANTS = {
    "dtype": squares(dtype=dt.float64),
    "extent": squares(size=41),
    "unroll": squares(unrolled=4),
    "name": replace(squares(), name="other"),
}


@pytest.mark.parametrize("what", VARIANTS)
def test_different_kernels_print_differently(what):
    assert show(VARIANTS[what]) != show(squares())


@pytest.mark.parametrize(
    ("one", "other"), [(0.0, -0.0), (1.0, float("nan")), (0.1, float(np.nextafter(0.1, 1)))]
)
def test_constants_are_printed_exactly(one, other):
    def text(value):
        y = argument("y", dt.float64)
        return show(kernel([y], Store(y, Index(), const(value, dt.float64))))

    assert text(one) != text(other)


def test_sizes_and_spaces_are_part_of_the_text():
    def text(size, space, init):
        y, b = argument("y"), Buf("b", f32, size, space)
        return show(kernel([y], Alloc(b, init), Store(y, Index(), load(b))))

    assert (
        len(
            {
                text(1, REG, 0.0),
                text(2, REG, 0.0),
                text(1, SCRATCH, 0.0),
                text(1, REG, None),
                text(1, REG, -0.0),
            }
        )
        == 5
    )


# ---------------------------------------------------------------- verifier

x, y, i, j, acc = argument("x"), argument("y"), Var("i", 8), Var("j", 8), Buf("acc", f32, 4, REG)
WRONG = {
    "undefined loop variable": kernel([x, y], Store(y, var(i), load(x))),
    "not an argument": kernel([x], Store(y, Index(), load(x))),
    "not an argument and not allocated": kernel([y], Store(y, Index(), load(acc))),
    "already in use": kernel([x, y], serial(i, serial(i, Store(y, var(i), load(x))))),
    "inside lanes loop": kernel([x, y], lanes(i, lanes(j, Store(y, var(i) + var(j), load(x))))),
    "every lane stores": kernel([x, y], lanes(i, Store(y, Index(), load(x, i)))),
    "written to y": kernel([x, y], Store(y, Index(), value_of(0))),
    "unknown reduction": kernel([x, y], Reduce(y, Index(), "min", load(x))),
    "a grid loop inside": kernel([x, y], For(i, 8, GRID, [])),
    "allocated already": kernel([x, y], Alloc(acc), Alloc(acc)),
    "scratch s inside": kernel([x, y], lanes(i, Alloc(Buf("s", f32, 4, SCRATCH)))),
    "is outside 0..4": kernel([x, y], Alloc(acc), serial(i, Store(acc, var(i), load(x)))),
    "lane-wise acc is indexed by lane": kernel(
        [x, y], lanes(i, Alloc(acc), Store(acc, var(i) % 4, load(x)))
    ),
    "differs between lanes": kernel([x, y], lanes(i, If((Range(var(i), 0, 3),), []))),
    "are read in the loop that adds": kernel(
        [x, y],
        Alloc(acc, 0.0),
        lanes(i, Reduce(acc, Index(), "add", load(x, i)), Store(y, var(i), load(acc))),
    ),
    "no constant extent": kernel([x, y], unroll(i, extent=Param("n")), params=[Param("n")]),
    "unknown extent": kernel([x, y], serial(i, extent=Param("m"))),
    "beyond 8": kernel([x, y], serial(i, extent=9)),
    "at loop level": kernel([x, y], Store(y, Index(), leaf(0, f32, ()))),
    "not a scalar": kernel([x, y], Store(y, Index(), leaf(0, f32, (3,)))),
    "of a float": kernel(
        [x, y], Store(y, Index(), op(Op.LDEXP, value_of(0), value_of(0), dtype=f32))
    ),
    "prefetch of acc, which is no argument": kernel(
        [x, y], Alloc(acc, 0.0), Prefetch(acc, Index())
    ),
    "prefetch of x gathers": kernel([x, y], Prefetch(x, Index({Gathered(value_of(0), 4): 1}))),
    "check of float32": kernel([x, y], Check(load(x), 4, 0, Index())),
    "an index of dtype": kernel(
        [x, y], Store(y, Index(), load(x, Index({Gathered(load(y), 4): 1})))
    ),
    "phase must be a grid": Loops("k", (x, y), (), [For(i, 8, LANES, [])]),
    "argument acc is reg": kernel([acc]),
}


@pytest.mark.parametrize("why", WRONG)
def test_verifier_refuses(why):
    with pytest.raises(LoopError, match=why):
        verify(WRONG[why])


def test_verifier_knows_what_holds_inside_an_if_and_a_cut_loop():
    last = Range(var(j), 7, 8)
    verify(
        kernel(
            [x, y],
            Alloc(acc),
            serial(
                j,
                If(
                    (last,),
                    [
                        Store(acc, var(j) * 3 - 21, load(x)),
                        Store(acc, Index(const=9) - var(j), load(x)),
                    ],
                ),
            ),
        )
    )
    verify(kernel([x, y], Alloc(acc), For(i, 8, SERIAL, [Store(acc, var(i), load(x))], total=4)))
    with pytest.raises(LoopError, match="is outside"):
        verify(kernel([x, y], Alloc(acc), serial(j, If((last,), [Store(acc, var(j), load(x))]))))


def test_verifier_accepts_a_lane_wise_accumulator():
    verify(
        kernel(
            [x, y],
            lanes(
                i,
                Alloc(acc, 0.0),
                serial(j, Reduce(acc, Index(), "add", load(x, j))),
                Store(y, var(i), load(acc)),
            ),
        )
    )


def test_verifier_knows_that_what_a_lane_holds_differs_between_lanes():
    place, idx = Buf("place", i64, 1, REG), argument("idx", i64)
    at = Index({Gathered(load(place), 8): 1})
    verify(
        kernel(
            [idx, x, y],
            lanes(i, Alloc(place), Store(place, Index(), load(idx, i)), Store(y, at, load(x, i))),
        )
    )
    with pytest.raises(LoopError, match="every lane stores"):
        verify(
            kernel(
                [idx, x, y],
                Alloc(place),
                Store(place, Index(), load(idx)),
                lanes(i, Store(y, at, load(x, i))),
            )
        )


# ---------------------------------------------------------------- interpreter and walks


def test_interpreter_runs_every_chunk_and_collects_failures():
    idx, out, g, k = argument("idx", i64), argument("out", i64), Var("g", 3), Var("k", 4)
    at = var(g) * 4 + var(k)
    gathered = load(out, Index({Gathered(load(idx, at), 12): 1}))
    body = lanes(
        k,
        Check(load(idx, at), 12, 6, at),
        Store(out, at, op(Op.ADD, gathered, const(1, i64))),
        base=var(g) * 4,
        total=10,
    )
    loops = kernel([idx, out], body, chunk=g)
    verify(loops)
    (_, result), failures = interpreted(
        loops, [np.array([0, 0, 0, 0, 12, 0, 0, -1, 0, 0, 99, 99]), np.zeros(12, np.int64)]
    )
    assert failures == [(6, 4, 12), (6, 7, -1)]
    assert result.tolist() == [1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 0, 0]


def test_interpreter_refuses_to_leave_a_buffer_even_for_a_masked_store():
    outside = kernel([x, y], serial(i, Store(y, var(i), load(x, i), (Range(var(i), 0, 4),))))
    with pytest.raises(IndexError, match="4 is outside"):
        interpreted(outside, [np.zeros(4, np.float32), np.zeros(8, np.float32)])


def test_walks_look_inside_indices():
    idx = argument("idx", i64)
    n = load(x, Index({Gathered(load(idx, i), 5): 1}))
    assert [m.op for m in postorder([n])] == [Op.LOAD, Op.LOAD]
    stored = Store(y, var(i), n)
    assert reads([stored]) == {x, idx}
    assert writes([serial(i, stored)]) == {y}


def test_substitution_reaches_gathered_values_and_keeps_the_rest():
    idx = argument("idx", i64)
    n = load(x, Index({Gathered(load(idx, i), 5): 1}) + var(j))
    by = Substitution({i: Index(const=3)})
    assert by.node(n) is load(x, Index({Gathered(load(idx, 3), 5): 1}) + var(j))
    assert by.statement(Prefetch(x, var(i) * 2 + var(j))) == Prefetch(x, var(j) + 6)
    untouched = op(Op.MUL, load(x, j), load(x, j))
    assert by.node(untouched) is untouched


def test_walks_do_not_recurse():
    n = load(x)
    for _ in range(5_000):
        n = op(Op.NEG, op(Op.SQRT, n))
    loops = kernel([x, y], Store(y, Index(), n))
    verify(loops)
    assert show(loops).count("sqrt") == 5_000


def test_a_product_is_not_rounded_before_an_infinity_is_added() -> None:
    big, infinity = np.float32(3e38), np.float32(-np.inf)
    with np.errstate(over="ignore"):
        assert OPS[Op.FMA](big, big, infinity) == infinity
        assert OPS[Op.FMA](big, big, np.float32(0)) == np.float64(big) ** 2
