"""push(view, index), the adjoint pairs, and the index algebra, each against brute force."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Mapping

import numpy as np
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from optable import ROWS, Row, leaves, values
from weft.ir.gradient.gradient import vjp
from weft.ir.graph import dtype as dt
from weft.ir.graph import graph
from weft.ir.graph.graph import Node, node
from weft.ir.graph.index import Div, Index, Mod, Range, Var, mask_of, row_major, unravel, var
from weft.ir.graph.op import VIEWS, Op
from weft.ir.graph.views import push
from weft.ir.ops.interp import run

VIEW_ROWS = [
    r
    for r in ROWS
    if r.name.split("-")[0] in {op.value for op in VIEWS} and r.inputs[0].dtype is dt.float64
]
LINEAR = ("gather", "scatter", "scan", "reduce-add")
LINEAR_ROWS = VIEW_ROWS + [
    r for r in ROWS if r.name.startswith(LINEAR) and r.name.endswith("float64")
]


def value_of(index: Index, env: Mapping[Var, int]) -> int:
    """The value of an Index, by definition."""
    total = index.const
    for term, c in index.terms:
        match term:
            case Var():
                total += c * env[term]
            case Div(inner, by):
                total += c * (value_of(inner, env) // by)
            case Mod(inner, by):
                total += c * (value_of(inner, env) % by)
    return total


def holds(r: Range, env: Mapping[Var, int]) -> bool:
    return r.lo <= value_of(r.index, env) < r.hi


# ---------------------------------------------------------------- push


def _pushed(view: Node, x: np.ndarray) -> np.ndarray:
    """The view's result, element by element through push down to the source that is not a view."""
    variables = [Var(f"i{a}", d) for a, d in enumerate(view.shape)]
    index, mask = [var(v) for v in variables], []
    while view.op in VIEWS:
        index, ranges = push(view, index)
        mask += ranges
        view = view.src[0]
    out = np.zeros([v.extent for v in variables], x.dtype)
    for at in np.ndindex(*out.shape):
        env = dict(zip(variables, at, strict=True))
        if all(holds(r, env) for r in mask):
            assert all(holds(r, env) for r in mask_of(mask))
            out[at] = x[tuple(value_of(i, env) for i in index)]
        else:
            assert not all(holds(r, env) for r in mask_of(mask))
    return out


@pytest.mark.parametrize("row", VIEW_ROWS, ids=lambda r: r.name)
def test_push_equals_numpy(row: Row) -> None:
    (x,), (array,) = leaves(row), values(row, np.random.default_rng(0))
    np.testing.assert_array_equal(_pushed(row.build(x), array), row.reference(array))


def _random_view(draw: st.DrawFn, x: Node) -> Node:
    kinds = ["reshape", "permute", "flip", "slice", "pad", "expand", "skew", "unskew"]
    kind, d = draw(st.sampled_from(kinds)), x.shape
    axis = draw(st.integers(0, max(0, x.ndim - 1)))
    match kind:
        case "expand" if x.ndim < 4:
            return graph.expand(x, ((draw(st.integers(0, x.ndim)), draw(st.integers(1, 3))),))
        case "permute":
            return graph.permute(x, tuple(draw(st.permutations(range(x.ndim)))))
        case "reshape":
            sizes = (x.size,), (1, x.size), (x.size // 2, 2), (2, x.size // 2), (3, x.size // 3)
            return graph.reshape(
                x, draw(st.sampled_from([s for s in sizes if np.prod(s) == x.size]))
            )
        case "flip" if x.ndim:
            return node(Op.FLIP, (x,), (axis,))
        case "slice" if x.ndim:
            cuts = []
            for e in d:
                start = draw(st.integers(0, e - 1))
                cuts.append((start, draw(st.integers(start + 1, e)), draw(st.integers(1, 3))))
            return node(Op.SLICE, (x,), tuple(cuts))
        case "pad" if x.size < 60:
            return node(Op.PAD, (x,), tuple(draw(st.tuples(*[st.integers(0, 2)] * 3)) for _ in d))
        case "skew" | "unskew" if x.ndim > 1:
            k, step = (
                draw(st.sampled_from([a for a in range(x.ndim) if a != axis])),
                draw(st.integers(1, 2)),
            )
            if kind == "unskew" and x.size < 60:
                return node(Op.UNSKEW, (x,), (axis, k, step))
            if d[axis] > (d[k] - 1) * step:
                return node(Op.SKEW, (x,), (axis, k, step))
    return x


@given(st.data())
@examples(60)
def test_chains_of_views_equal_the_interpreter(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=0, max_size=3)))
    x = graph.leaf(77, dt.int64, shape)
    view = x
    for _ in range(data.draw(st.integers(1, 6))):
        view = _random_view(data.draw, view)
    array = np.arange(1, x.size + 1).reshape(shape)
    np.testing.assert_array_equal(_pushed(view, array), run([view], {x: array})[0])


# ---------------------------------------------------------------- adjoints


@pytest.mark.parametrize("row", LINEAR_ROWS, ids=lambda r: r.name)
def test_adjoint(row: Row) -> None:
    """<A x, y> = <x, A^T y>."""
    rng = np.random.default_rng(zlib.crc32(row.name.encode()))
    arguments, arrays = leaves(row), values(row, rng)
    out = row.build(*arguments)
    y = graph.leaf(78, dt.float64, out.shape)
    (back,) = vjp([out], [y], arguments[:1])
    assert back is not None
    env = dict(zip(arguments, arrays, strict=True)) | {y: rng.normal(size=out.shape)}
    forward, backward = run([out, back], env)
    np.testing.assert_allclose(
        (forward * env[y]).sum(), (backward * arrays[0]).sum(), rtol=1e-12, atol=1e-12
    )


# ---------------------------------------------------------------- index algebra

Pair = tuple[Index, list[int]]  # an Index and its value at every point


def _step(draw: st.DrawFn, known: list[Pair]) -> Pair:
    (a, at), (b, bt) = draw(st.sampled_from(known)), draw(st.sampled_from(known))
    by, k = draw(st.sampled_from([1, 2, 3, 4, 6, 8, 12])), draw(st.integers(-4, 7))
    match draw(st.sampled_from(["+", "-", "*", "//", "%", "row", "shift", "both"])):
        case "+":
            return a + b, [p + q for p, q in zip(at, bt, strict=True)]
        case "-":
            return a - b, [p - q for p, q in zip(at, bt, strict=True)]
        case "*":
            return a * k, [p * k for p in at]
        case "//":
            return a // by, [p // by for p in at]
        case "%":
            return a % by, [p % by for p in at]
        case "row":
            return a * by + b, [p * by + q for p, q in zip(at, bt, strict=True)]
        case "shift":
            return a + k, [p + k for p in at]
    return (a // by) * by + a % by, at


@given(st.data())
@examples(300)
def test_index_algebra_equals_integers(data: st.DataObject) -> None:
    variables = [Var(name, data.draw(st.sampled_from([1, 2, 3, 4, 6, 8]))) for name in "xyz"]
    points = [
        dict(zip(variables, p, strict=True))
        for p in itertools.product(*(range(v.extent) for v in variables))
    ]
    known: list[Pair] = [(var(v), [p[v] for p in points]) for v in variables]
    for _ in range(data.draw(st.integers(1, 8))):
        known.append(_step(data.draw, known))
    index, want = known[-1]
    assert [value_of(index, p) for p in points] == want
    lo, hi = index.bounds
    assert lo <= min(want) and max(want) <= hi


@given(st.data())
@examples(100)
def test_substitution_equals_integers(data: st.DataObject) -> None:
    """Split and merged loops: x = 4 * outer + inner, y = 5 - z."""
    x, y = Var("x", 12), Var("y", 6)
    outer, inner, z = Var("o", 3), Var("i", 4), Var("z", 6)
    known: list[Pair] = [(var(x), []), (var(y), [])]
    for _ in range(data.draw(st.integers(1, 6))):
        known.append(_step(data.draw, known))
    index = known[-1][0]
    moved = index.substitute({x: var(outer) * 4 + var(inner), y: var(z) * -1 + 5})
    for o, i, k in itertools.product(range(3), range(4), range(6)):
        assert value_of(moved, {outer: o, inner: i, z: k}) == value_of(
            index, {x: 4 * o + i, y: 5 - k}
        )


@pytest.mark.parametrize("shape", [(2, 3, 4), (4, 1, 3), (5,), (1, 6), (2, 2, 2, 3)])
def test_unravel_and_row_major_are_inverse(shape: tuple[int, ...]) -> None:
    position = Var("p", int(np.prod(shape)))
    parts = unravel(var(position), shape)
    assert row_major(parts, shape) == var(position)
    for p in range(position.extent):
        assert tuple(value_of(i, {position: p}) for i in parts) == tuple(
            int(v) for v in np.unravel_index(p, shape)
        )
    axes = [Var(f"i{a}", d) for a, d in enumerate(shape)]
    whole = row_major([var(v) if v.extent > 1 else Index() for v in axes], shape)
    assert unravel(whole, shape) == [var(v) if v.extent > 1 else Index() for v in axes]


def test_a_position_that_a_mask_excludes_needs_no_remainder_along_the_first_axis() -> None:
    """y - ky + 2 of a padded image, whose channels are one: 0 <= y - ky + 2 < 24 stands in the
    mask."""
    y, ky = Var("y", 24), Var("ky", 5)
    place = var(y) - var(ky) + 2
    assert unravel(place, (24,)) == unravel(place, (1, 24))[1:] == [place]
    assert unravel(place, (1, 24, 1)) == [Index(), place, Index()]


def test_division_splits_where_the_bounds_allow() -> None:
    a, b, c = Var("a", 4), Var("b", 6), Var("c", 5)
    assert (var(a) * 6 + var(b)).divmod(6) == (var(a), var(b))
    assert (var(a) * 6 + var(b)).divmod(12) == (var(a) // 2, (var(a) % 2) * 6 + var(b))
    assert (var(a) * 30 + var(b) * 5 + var(c)).divmod(10) == (
        var(a) * 3 + var(b) // 2,
        (var(b) % 2) * 5 + var(c),
    )


def test_equal_pieces_have_one_form() -> None:
    p = var(Var("p", 24))
    assert (p % 12) // 4 == (p // 4) % 3
    assert (p // 2) // 3 == p // 6
    assert (p % 12) % 4 == p % 4
    assert (p + 1) // 3 * 3 + (p + 1) % 3 == p + 1


def test_terms_in_another_order_are_equal() -> None:
    same_name = Var("v", 9), Var("v", 9)
    first, second = (var(v) // 2 for v in same_name)
    assert first + second == second + first
    assert hash(first + second) == hash(second + first)
    assert first != second


def test_ranges_that_always_or_never_hold() -> None:
    v = var(Var("v", 5))
    assert Range(v, 0, 5).always and not Range(v, 0, 4).always
    assert Range(v + 7, 0, 5).never and not Range(v, 4, 9).never
    assert mask_of([Range(v, 0, 5), Range(v, 1, 3), Range(v, 1, 3)]) == (Range(v, 1, 3),)
