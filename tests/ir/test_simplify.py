"""Simplification: each rule gives the structure asked for, and, checked apart, the same numbers."""

from __future__ import annotations

import time
import zlib

import graphs as g
import numpy as np
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from optable import FAMILIES, Row, assert_matches, draw, leaves, named_in_errors, values
from optable import Spec as InputSpec
from weft.ir.gradient.gradient import grad
from weft.ir.graph import dtype as dt
from weft.ir.graph import graph
from weft.ir.graph.graph import Node, node
from weft.ir.graph.op import Op
from weft.ir.graph.rewrite import Trace, rewrite
from weft.ir.graph.site import provenance
from weft.ir.ops.interp import run
from weft.ir.passes.simplify import SIMPLIFY, holds_exactly, simplify

X = graph.leaf(801, dt.float32, (4, 6))
Y = graph.leaf(802, dt.float32, (4, 6))
N = graph.leaf(803, dt.int32, (4, 6))
C = graph.leaf(804, dt.bool_, (4, 6))
LONG = graph.leaf(805, dt.float32, (2, 14, 3))
GRID = graph.leaf(806, dt.float32, (2, 4, 3))
LEAVES = (X, Y, N, C, LONG, GRID)


def op(o: Op, *src: Node, arg: object = None) -> Node:
    return node(o, src, arg)


def neg(x: Node) -> Node:
    return op(Op.NEG, x)


def same(x: Node, value: float) -> Node:
    return g.like(value, x)


def true(value: bool = True) -> Node:
    return graph.full(value, dt.bool_, C.shape)


def cut(x: Node, **axes: tuple[int, int, int]) -> Node:
    return op(Op.SLICE, x, arg=tuple(axes.get(f"a{a}", (0, d, 1)) for a, d in enumerate(x.shape)))


def pad(x: Node, **axes: tuple[int, int, int]) -> Node:
    return op(Op.PAD, x, arg=tuple(axes.get(f"a{a}", (0, 0, 0)) for a in range(x.ndim)))


def total(x: Node, *axes: int, kind: str = "add") -> Node:
    return op(Op.REDUCE, x, arg=(kind, axes))


def flip(x: Node, *axes: int) -> Node:
    return op(Op.FLIP, x, arg=axes)


WINDOWS = op(Op.RESHAPE, cut(LONG, a1=(0, 12, 1)), arg=(2, 3, 4, 3))
SPREAD = op(Op.UNSKEW, pad(graph.permute(GRID, (0, 2, 1)), a1=(0, 1, 3)), arg=(1, 2, 1))

COLUMN = graph.expand(node(Op.IOTA, (), 6), ((0, 4),))
EARLY = op(Op.LT, COLUMN, g.like(3, COLUMN))
LATE = op(Op.XOR, EARLY, true())
CHOICE = g.where(EARLY, X, Y)

# name: (before, after)
CASES: dict[str, tuple[Node, Node]] = {
    "x*1": (g.mul(X, same(X, 1)), X),
    "1*x": (g.mul(same(X, 1), X), X),
    "x*-1": (g.mul(X, same(X, -1)), neg(X)),
    "x*0 int": (g.mul(N, same(N, 0)), same(N, 0)),
    "x*0 float stays": (g.mul(X, same(X, 0)), g.mul(X, same(X, 0))),
    "x/1": (g.div(X, same(X, 1)), X),
    "x/8": (g.div(X, same(X, 8)), g.mul(X, same(X, 0.125))),
    "x/3 stays": (g.div(X, same(X, 3)), g.div(X, same(X, 3))),
    "x-0": (g.sub(X, same(X, 0)), X),
    "x-(-0.0) stays": (g.sub(X, same(X, -0.0)), g.sub(X, same(X, -0.0))),
    "x+(-0.0)": (g.add(X, same(X, -0.0)), X),
    "x+0.0 stays": (g.add(X, same(X, 0.0)), g.add(X, same(X, 0.0))),
    "x+0 int": (g.add(N, same(N, 0)), N),
    "x-x int": (g.sub(N, N), same(N, 0)),
    "x-x float stays": (g.sub(X, X), g.sub(X, X)),
    "x+(-y)": (g.add(X, neg(Y)), g.sub(X, Y)),
    "(-x)+y": (g.add(neg(X), Y), g.sub(Y, X)),
    "x-(-y)": (g.sub(X, neg(Y)), g.add(X, Y)),
    "--x": (neg(neg(X)), X),
    "x//1": (op(Op.IDIV, N, same(N, 1)), N),
    "x%1": (op(Op.MOD, N, same(N, 1)), same(N, 0)),
    "x<<0": (op(Op.SHL, N, same(N, 0)), N),
    "x**0": (op(Op.POW, X, same(X, 0)), same(X, 1)),
    "x**1": (op(Op.POW, X, same(X, 1)), X),
    "x**2": (op(Op.POW, X, same(X, 2)), g.mul(X, X)),
    "x**0.5 stays": (op(Op.POW, X, same(X, 0.5)), op(Op.POW, X, same(X, 0.5))),
    "max(x,x)": (op(Op.MAX, X, X), X),
    "max(-inf,x)": (op(Op.MAX, same(X, -np.inf), X), X),
    "max(x,lowest)": (op(Op.MAX, N, same(N, -(2**31))), N),
    "constants": (g.mul(X, g.add(same(X, 1.5), op(Op.SQRT, same(X, 4)))), g.mul(X, same(X, 3.5))),
    "constants rounded": (
        g.div(same(X, 1), same(X, 3)),
        same(X, float(np.float32(1) / np.float32(3))),
    ),
    "exp of a constant stays": (g.exp(same(X, 1)), g.exp(same(X, 1))),
    "int constants": (g.add(N, op(Op.IDIV, same(N, -7), same(N, 2))), g.add(N, same(N, -4))),
    "cast of a constant": (graph.cast(same(N, 3), dt.float32), same(X, 3)),
    "compare constants": (op(Op.LT, same(X, 1), same(X, 2)), true()),
    "x==x int": (op(Op.EQ, N, N), true()),
    "x==x float stays": (op(Op.EQ, X, X), op(Op.EQ, X, X)),
    "x<x": (op(Op.LT, X, X), true(False)),
    "c&true": (op(Op.AND, C, true()), C),
    "c&false": (op(Op.AND, C, true(False)), true(False)),
    "c|true": (op(Op.OR, true(), C), true()),
    "n&-1": (op(Op.AND, N, same(N, -1)), N),
    "n^0": (op(Op.XOR, N, same(N, 0)), N),
    "n^n": (op(Op.XOR, N, N), same(N, 0)),
    "c|c": (op(Op.OR, C, C), C),
    "not not c": (op(Op.XOR, op(Op.XOR, C, true()), true()), C),
    "where(true)": (g.where(true(), X, Y), X),
    "where(false)": (g.where(true(False), X, Y), Y),
    "where same": (g.where(C, X, X), X),
    "where not": (g.where(op(Op.XOR, C, true()), X, Y), g.where(C, Y, X)),
    "where nested": (g.where(C, g.where(C, X, Y), Y), g.where(C, X, Y)),
    "where bool": (g.where(C, true(), true(False)), C),
    "f32>f64>f32": (graph.cast(graph.cast(X, dt.float64), dt.float32), X),
    "f32>i32>f32 stays": (
        graph.cast(graph.cast(X, dt.int32), dt.float32),
        graph.cast(graph.cast(X, dt.int32), dt.float32),
    ),
    "i32>i64>u8": (graph.cast(graph.cast(N, dt.int64), dt.uint8), graph.cast(N, dt.uint8)),
    "i32>u32>i64 stays": (
        graph.cast(graph.cast(N, dt.uint32), dt.int64),
        graph.cast(graph.cast(N, dt.uint32), dt.int64),
    ),
    "detach": (g.exp(op(Op.DETACH, X)), g.exp(X)),
    "reshape twice": (
        op(Op.RESHAPE, op(Op.RESHAPE, X, arg=(24,)), arg=(2, 12)),
        op(Op.RESHAPE, X, arg=(2, 12)),
    ),
    "reshape there and back": (op(Op.RESHAPE, op(Op.RESHAPE, X, arg=(24,)), arg=(4, 6)), X),
    "permute twice": (
        op(Op.PERMUTE, op(Op.PERMUTE, LONG, arg=(2, 0, 1)), arg=(1, 0, 2)),
        op(Op.PERMUTE, LONG, arg=(0, 2, 1)),
    ),
    "permute there and back": (op(Op.PERMUTE, op(Op.PERMUTE, X, arg=(1, 0)), arg=(1, 0)), X),
    "permute identity": (op(Op.PERMUTE, X, arg=(0, 1)), X),
    "flip twice": (flip(flip(X, 0, 1), 1), flip(X, 0)),
    "flip back": (flip(flip(X, 1), 1), X),
    "flip of one": (flip(cut(X, a0=(1, 2, 1)), 0), cut(X, a0=(1, 2, 1))),
    "slice all": (cut(X), X),
    "slice twice": (cut(cut(X, a1=(1, 6, 2)), a1=(1, 3, 1)), cut(X, a1=(3, 6, 2))),
    "slice to nothing": (cut(cut(X, a1=(1, 6, 2)), a1=(3, 3, 1)), cut(X, a1=(0, 0, 1))),
    "pad nothing": (pad(X), X),
    "pad twice": (pad(pad(X, a0=(1, 2, 3)), a0=(4, 5, 0)), pad(X, a0=(5, 7, 3))),
    "slice undoes pad": (cut(pad(X, a0=(1, 2, 1)), a0=(1, 8, 2)), X),
    "slice less than pad": (cut(pad(X, a0=(3, 2, 0)), a0=(1, 9, 1)), pad(X, a0=(2, 2, 0))),
    "slice more than pad": (cut(pad(X, a0=(3, 2, 0)), a0=(4, 6, 1)), cut(X, a0=(1, 3, 1))),
    "slice across pad": (
        cut(pad(X, a0=(3, 2, 0)), a0=(2, 5, 1)),
        pad(cut(X, a0=(0, 2, 1)), a0=(1, 0, 0)),
    ),
    "expand twice": (
        graph.expand(graph.expand(X, ((1, 5),)), ((0, 2), (3, 7))),
        graph.expand(X, ((0, 2), (2, 5), (3, 7))),
    ),
    "expand nothing": (op(Op.EXPAND, X, arg=()), X),
    "slice of expand": (
        cut(graph.expand(X, ((1, 5),)), a1=(1, 3, 1), a2=(2, 4, 1)),
        graph.expand(cut(X, a1=(2, 4, 1)), ((1, 2),)),
    ),
    "slice of the first choice": (cut(CHOICE, a1=(0, 3, 2)), cut(X, a1=(0, 3, 2))),
    "slice of the second choice": (
        cut(CHOICE, a0=(1, 2, 1), a1=(3, 6, 1)),
        cut(Y, a0=(1, 2, 1), a1=(3, 6, 1)),
    ),
    "slice of nested choices": (
        cut(g.where(op(Op.AND, LATE, op(Op.LT, COLUMN, g.like(5, COLUMN))), X, Y), a1=(3, 5, 1)),
        cut(X, a1=(3, 5, 1)),
    ),
    "slice of no choice": (
        cut(g.where(op(Op.AND, C, LATE), X, Y), a1=(0, 3, 1)),
        cut(Y, a1=(0, 3, 1)),
    ),
    "slice across a choice stays": (cut(CHOICE, a1=(2, 4, 1)), cut(CHOICE, a1=(2, 4, 1))),
    "view of a constant": (
        flip(op(Op.RESHAPE, same(X, 2), arg=(24,)), 0),
        graph.full(2, dt.float32, (24,)),
    ),
    "pad of zeros": (pad(same(X, 0), a0=(1, 1, 0)), graph.full(0, dt.float32, (6, 6))),
    "sum of sums stays": (total(total(LONG, 1), 0, 1), total(total(LONG, 1), 0, 1)),
    "sum of sums of integers": (total(total(N, 1), 0), total(N, 0, 1)),
    "max of maxima": (
        total(total(LONG, 1, kind="max"), 0, 1, kind="max"),
        total(LONG, 0, 1, 2, kind="max"),
    ),
    "max of sum stays": (
        total(total(LONG, 1), 0, kind="max"),
        total(total(LONG, 1), 0, kind="max"),
    ),
    "sum over one": (
        total(cut(X, a1=(2, 3, 1)), 1),
        op(Op.RESHAPE, cut(X, a1=(2, 3, 1)), arg=(4,)),
    ),
    "sum over one and more": (total(graph.reshape(X, (1, 4, 6)), 0, 2), total(X, 1)),
    "sum of no axes": (total(X), X),
    "sum of copies int": (
        total(graph.expand(N, ((0, 3), (3, 2))), 0, 2),
        g.mul(total(graph.expand(N, ((2, 2),)), 1), graph.full(3, dt.int32, (4, 2))),
    ),
    "max of copies": (total(graph.expand(X, ((1, 3),)), 1, 2, kind="max"), total(X, 1, kind="max")),
    "sum of copies float stays": (
        total(graph.expand(X, ((1, 3),)), 1),
        total(graph.expand(X, ((1, 3),)), 1),
    ),
    "sum of ones": (total(same(X, 1), 1), graph.full(6, dt.float32, (4,))),
    "sum of halves": (total(same(X, 0.5), 1), graph.full(3, dt.float32, (4,))),
    "sum of infinities": (total(same(X, -np.inf), 0, 1), graph.const(-np.inf, dt.float32)),
    "sum of ones int": (total(same(N, 1), 1), graph.full(6, dt.int32, (4,))),
    "product of ones stays": (total(same(X, 1), 1, kind="mul"), total(same(X, 1), 1, kind="mul")),
    "skew of one": (op(Op.SKEW, cut(X, a1=(0, 1, 1)), arg=(0, 1, 1)), cut(X, a1=(0, 1, 1))),
    "windows": (g.window(LONG, 1, 4, 4), WINDOWS),
    "window of all": (g.window(LONG, 1, 14, 1), op(Op.RESHAPE, LONG, arg=(2, 1, 14, 3))),
    "overlapping windows stay": (g.window(LONG, 1, 4, 2), g.window(LONG, 1, 4, 2)),
    "sum of windows": (
        total(SPREAD, 2),
        pad(op(Op.RESHAPE, graph.permute(GRID, (0, 2, 1)), arg=(2, 12)), a1=(0, 1, 0)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_rule_gives_the_structure(name: str) -> None:
    before, after = CASES[name]
    (got,) = simplify([before])
    graph.verify([got])
    assert got is after, graph.print_graph([got, after])


@pytest.mark.thinned(to=52)
@pytest.mark.parametrize("name", CASES)
def test_rule_keeps_the_numbers(name: str) -> None:
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    env = {x: draw(InputSpec(x.shape, x.dtype), rng, specials=True) for x in LEAVES}
    before, after = run(list(CASES[name]), env)
    if "sum" in name:  # may turn -0.0 into 0.0
        np.testing.assert_array_equal(before, after)
    else:
        assert_matches(after, before)


@pytest.mark.thinned
@pytest.mark.parametrize("dtype", [dt.float16, dt.bfloat16, dt.float32, dt.float64])
@pytest.mark.parametrize("value", [0.1, -0.3, 1e-8, 3e4])
@pytest.mark.parametrize("count", [1, 5, 7, 1000, 1023, 10**6 + 1])
def test_sum_of_equal_floats(dtype: dt.DType, value: float, count: int) -> None:
    x = graph.full(value, dtype, (count,))
    (folded,) = simplify([total(x, 0)])
    exact = dt.rounded(value, dtype) * count
    assert folded.op is Op.CONST
    np.testing.assert_allclose(
        folded.arg, dt.rounded(exact, dtype), rtol=20 * 2.0**-dtype.digits
    )  # a rounding a doubling


def test_every_rule_has_a_case() -> None:
    trace: Trace = []
    for before, _ in CASES.values():
        simplify([before], trace)
    assert {rule.__name__ for rules in SIMPLIFY.values() for rule in rules} == {
        name for name, _, _ in trace
    }


@pytest.mark.parametrize("op", FAMILIES)
def test_simplified_rows_equal_the_rows(op: str) -> None:
    for row in FAMILIES[op]:
        with named_in_errors(row):
            _compare_simplified(row)


def _compare_simplified(row: Row) -> None:
    rng = np.random.default_rng(zlib.crc32(row.name.encode()))
    arguments = leaves(row)
    root = row.build(*arguments)
    if row.differentiable and root.size < 40:
        root = next((n for n in grad(root, arguments) if n is not None), root)
    (simple,) = simplify([root])
    graph.verify([simple])
    assert (simple.shape, simple.dtype) == (root.shape, root.dtype)
    before, after = run([root, simple], dict(zip(arguments, values(row, rng), strict=True)))
    assert_matches(after, before, row.ulp and 16, row.magnitude)


def test_holds_exactly_agrees_with_numpy() -> None:
    real = [
        d for d in dt.ALL if not d.is_complex
    ]  # casts of complex values are made of their parts
    for wide in real:
        for narrow in real:
            want = np.can_cast(narrow.numpy, wide.numpy) and not (
                wide is dt.float64 and narrow.bits == 64 and narrow.is_int
            )
            assert holds_exactly(wide, narrow) == want, (wide, narrow)


# ---------------------------------------------------------------- windows and gradients


def _ops(*roots: Node) -> set[Op]:
    return {n.op for n in graph.toposort(roots)}


def test_patches_need_no_skew_forward_or_backward() -> None:
    x, w = graph.leaf(810, dt.float32, (2, 3, 9, 6)), graph.leaf(811, dt.float32, (4, 3, 3, 3))
    y = g.conv2d(x, w, 3, 0, 1, 1)
    gx, gw = grad(y, [x, w])
    assert gx is not None and gw is not None
    assert not _ops(*simplify([y, gx, gw])) & {Op.SKEW, Op.UNSKEW, Op.PAD, Op.SLICE}


def test_pool_with_a_remainder_pads_only() -> None:
    x = graph.leaf(812, dt.float32, (1, 1, 7, 4))
    y = g.max_pool(x, 2, 2)
    (gx,) = grad(y, [x])
    assert gx is not None
    assert not _ops(*simplify([y, gx])) & {Op.SKEW, Op.UNSKEW}
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(
        *run([gx, *simplify([gx])], {x: rng.normal(size=x.shape).astype(np.float32)})
    )


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_windows_whose_place_is_any_axis(place: int) -> None:
    x = graph.leaf(813, dt.float64, (2, 9, 2))
    axis = 1 + (place <= 1)
    copies = graph.expand(x, ((place, 3),))
    skewed = op(Op.SKEW, copies, arg=(axis, place, 1))
    windows = cut(skewed, **{f"a{axis}": (1, 7, 3)})
    cotangent = g.mul(windows, graph.cast(graph.cast(windows, dt.int32), dt.float64))
    (gx,) = grad(cotangent, [x])
    assert gx is not None
    simple = simplify([windows, gx])
    assert not _ops(*simple) & {Op.SKEW, Op.UNSKEW}
    env = {x: np.random.default_rng(1).normal(size=x.shape) * 9}
    for before, after in zip(run([windows, gx], env), run(simple, env), strict=True):
        np.testing.assert_array_equal(before, after)


def test_windows_of_which_only_the_first_places_are_kept() -> None:
    x = graph.leaf(814, dt.float64, (33,))
    skewed = op(Op.SKEW, graph.expand(x, ((1, 3),)), arg=(0, 1, 1))
    windows = cut(skewed, a0=(0, 31, 2), a1=(0, 2, 1))
    (simple,) = simplify([windows])
    assert not _ops(simple) & {Op.SKEW}
    before, after = run([windows, simple], {x: np.arange(33.0)})
    np.testing.assert_array_equal(before, after)


# ---------------------------------------------------------------- random graphs


def _unary(draw_: st.DrawFn, x: Node) -> Node:
    if x.dtype is dt.float32:
        return op(draw_(st.sampled_from([Op.NEG, Op.SQRT, Op.FLOOR])), x)
    return (
        op(Op.NEG, x)
        if x.dtype is not dt.bool_
        else op(Op.XOR, x, graph.full(True, dt.bool_, x.shape))
    )


def _binary(draw_: st.DrawFn, a: Node, b: Node) -> Node:
    by_dtype = {
        dt.float32: [Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.MAX, Op.LT, Op.EQ],
        dt.int32: [Op.ADD, Op.SUB, Op.MUL, Op.IDIV, Op.MOD, Op.AND, Op.XOR, Op.LT, Op.EQ],
        dt.bool_: [Op.AND, Op.OR, Op.XOR, Op.EQ],
    }
    return op(draw_(st.sampled_from(by_dtype[a.dtype])), a, b)


def _view(draw_: st.DrawFn, x: Node) -> Node:
    """A view and its way back, so that shapes stay."""
    rows, columns = x.shape
    match draw_(st.sampled_from(["flip", "permute", "reshape", "pad", "expand"])):
        case "flip":
            return flip(x, draw_(st.integers(0, 1)))
        case "permute":
            return graph.permute(_unary(draw_, graph.permute(x, (1, 0))), (1, 0))
        case "reshape":
            return op(Op.RESHAPE, op(Op.RESHAPE, x, arg=(columns, rows)), arg=x.shape)
        case "pad":
            lo, at = draw_(st.integers(0, 2)), draw_(st.integers(0, 4))
            return cut(pad(x, a0=(lo, 4 - lo, 0)), a0=(at, at + rows, 1))
    kind = "max" if x.dtype is not dt.int32 else "add"
    return total(graph.expand(x, ((1, 2),)), 1, kind=kind)


def _random_node(draw_: st.DrawFn, known: list[Node]) -> Node:
    a = draw_(st.sampled_from(known))
    same_dtype = [n for n in known if n.dtype is a.dtype]
    match draw_(st.integers(0, 5)):
        case 0:
            return _unary(draw_, a)
        case 1 | 2:
            return _binary(draw_, a, draw_(st.sampled_from(same_dtype)))
        case 3:
            conditions = [n for n in known if n.dtype is dt.bool_]
            return g.where(
                draw_(st.sampled_from(conditions)), a, draw_(st.sampled_from(same_dtype))
            )
        case 4:
            return graph.cast(a, draw_(st.sampled_from([dt.float32, dt.int32, dt.bool_])))
    return _view(draw_, a)


@given(st.data())
@examples(80)
def test_random_graphs_keep_their_bits(data: st.DataObject) -> None:
    known = [
        X,
        N,
        C,
        same(X, 0),
        same(X, 1),
        same(X, -0.0),
        same(X, 2),
        same(N, 0),
        same(N, 1),
        true(),
        true(False),
    ]
    for _ in range(data.draw(st.integers(1, 25))):
        known.append(_random_node(data.draw, known))
    roots = known[-3:]
    simple = simplify(roots)
    rng = np.random.default_rng(data.draw(st.integers(0, 100)))
    env = {x: draw(InputSpec(x.shape, x.dtype), rng, specials=True) for x in (X, N, C)}
    for before, after in zip(run(roots, env), run(simple, env), strict=True):
        assert_matches(after, before)
    assert simplify(simple) == simple


# ---------------------------------------------------------------- the rewriter


def test_rewrite_reports_each_step() -> None:
    trace: Trace = []
    simplify([g.mul(g.add(X, neg(Y)), same(X, 1))], trace)
    assert [(name, before.op, after.op) for name, before, after in trace] == [
        ("add_negated", Op.ADD, Op.SUB),
        ("mul_one", Op.MUL, Op.SUB),
    ]


def test_rewrite_takes_one_rule_and_keeps_sharing() -> None:
    def exp_to_tanh(n: Node) -> Node | None:
        return node(Op.TANH, n.src) if n.op is Op.EXP else None

    e = g.exp(X)
    first, second = rewrite([g.mul(e, e), e], exp_to_tanh)
    assert second is node(Op.TANH, (X,)) and first is g.mul(second, second)


def test_replacements_keep_the_site() -> None:
    with provenance(("user.py", 5)):
        before = g.div(graph.leaf(820, dt.float32, (3,)), graph.full(4, dt.float32, (3,)))
    (after,) = simplify([before])
    assert after.op is Op.MUL and after.site == ("user.py", 5)


@pytest.mark.slow
def test_twenty_thousand_nodes_in_seconds() -> None:
    y = X
    for i in range(7_000):
        y = g.add(node(Op.TANH, (y,)), g.mul(X, same(X, 1 + i % 2)))
    start = time.perf_counter()
    (simple,) = simplify([g.add(y, same(y, -0.0))])
    assert time.perf_counter() - start < 10
    assert simple.op is Op.ADD and simple.src[0].op is Op.TANH
