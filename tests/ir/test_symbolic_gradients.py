"""Symbolic gradients: first and second order against central differences in float64, and the
special points."""

from __future__ import annotations

import zlib

import graphs as g
import numpy as np
import pytest
from effort import rarely
from optable import ROWS, Row, leaves, values
from weft.ir.gradient.gradient import DIFFERENTIABLE, RULES, grad, vjp
from weft.ir.graph import dtype as dt
from weft.ir.graph import graph
from weft.ir.graph.graph import Node, node
from weft.ir.graph.op import ELEMENTWISE, JOINT, LEAVES, OF_GRAPHS, SYSTEMS, Op
from weft.ir.graph.site import GRADIENT, provenance
from weft.ir.ops.interp import run
from weft.ir.passes.rows_as_masks import rows_as_masks
from weft.ir.passes.simplify import simplify

SMOOTH = [
    r
    for r in ROWS
    if r.differentiable and not any(name in r.name for name in ("float32", "float16"))
]
SERIAL = iter(range(10**7, 10**8))


def _leaf(*shape: int) -> Node:
    return graph.leaf(next(SERIAL), dt.float64, shape)


def _seed(row: Row) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(row.name.encode()))


def _floats(nodes: list[Node]) -> list[Node]:
    return [n for n in nodes if n.dtype.is_float]


def _inner(a: list[np.ndarray], b: list[np.ndarray]) -> float:
    return float(sum((x * y).sum() for x, y in zip(a, b, strict=True)))


def _check_vjp(
    outputs: list[Node],
    env: dict[Node, np.ndarray],
    wrt: list[Node],
    rng: np.random.Generator,
    rtol: float,
) -> list[Node]:
    """Compares <cotangent, f(x + h v) - f(x - h v)> / 2h with <vjp, v> and returns the vjp."""
    cotangents = [_leaf(*n.shape) for n in outputs]
    found = vjp(outputs, cotangents, wrt)
    pulled = [graph.zeros_like(w) if n is None else n for w, n in zip(wrt, found, strict=True)]
    graph.verify(pulled)
    weights = [rng.normal(size=n.shape) for n in outputs]
    env.update(zip(cotangents, weights, strict=True))
    direction = [rng.normal(size=w.shape) for w in wrt]
    h = 1e-5
    ahead, behind = (
        run(outputs, env | {w: env[w] + s * h * v for w, v in zip(wrt, direction, strict=True)})
        for s in (1, -1)
    )
    numeric = (_inner(ahead, weights) - _inner(behind, weights)) / (2 * h)
    symbolic = _inner(run(pulled, env), direction)
    scale = max(
        1.0, abs(numeric), _inner([np.abs(a) for a in ahead], [np.abs(w) for w in weights]) / 100
    )
    assert abs(symbolic - numeric) <= rtol * scale, (symbolic, numeric)
    return pulled


@pytest.mark.thinned(to=35)
@pytest.mark.parametrize("row", SMOOTH, ids=lambda r: r.name)
def test_first_and_second_derivative_equal_central_differences(row: Row) -> None:
    rng = _seed(row)
    arguments = leaves(row)
    env = dict(zip(arguments, values(row, rng), strict=True))
    wrt = _floats(arguments)
    first = _check_vjp([row.build(*arguments)], env, wrt, rng, 1e-6)
    _check_vjp(first, env, wrt, rng, 1e-5)


def test_every_graph_op_that_is_not_elementwise_has_a_rule_or_no_gradient() -> None:
    without = {Op.DETACH, Op.ARGSORT, Op.HOST, *SYSTEMS}
    assert set(RULES) == OF_GRAPHS - ELEMENTWISE - LEAVES - JOINT - without


def test_every_rule_is_checked_by_the_table() -> None:
    built = set()
    for row in SMOOTH:
        built |= {n.op for n in graph.toposort([row.build(*leaves(row))])}
    assert built >= set(DIFFERENTIABLE) - {Op.CAST, Op.COPY}


def test_cast_passes_the_cotangent_back_in_the_source_dtype() -> None:
    x = graph.leaf(next(SERIAL), dt.float32, (3,))
    (gx,) = grad(graph.cast(x, dt.float64), [x])
    assert gx is not None and gx.dtype is dt.float32


def test_not_connected_is_none() -> None:
    x, y = _leaf(3), _leaf(3)
    whole = graph.leaf(next(SERIAL), dt.int64, (3,))
    loss = g.add(node(Op.DETACH, (x,)), g.mul(y, graph.cast(whole, dt.float64)))
    gx, gy, gw = grad(loss, [x, y, whole])
    assert gx is None and gw is None and gy is not None


def test_comparison_cuts_the_path() -> None:
    x = _leaf(3)
    condition = node(Op.LT, (x, graph.zeros_like(x)))
    assert grad(graph.cast(condition, dt.float64), [x]) == [None]


def test_gradient_of_an_inner_node_and_a_leaf() -> None:
    x = _leaf(3)
    y = g.mul(x, x)
    gx, gy = grad(g.mul(y, y), [x, y])
    assert gx is not None and gy is not None
    at = np.array([1.0, 2.0, 3.0])
    got = run([gx, gy], {x: at})
    np.testing.assert_allclose(got, [4 * at**3, 2 * at**2])


def test_several_outputs_are_summed() -> None:
    x = _leaf(2)
    (gx,) = vjp([g.mul(x, x), x, x], [g.like(1, x), g.like(10, x), g.like(100, x)], [x])
    assert gx is not None
    np.testing.assert_allclose(run([gx], {x: np.array([1.0, 2.0])})[0], [112, 114])


def test_gradients_carry_the_site_of_their_forward_node() -> None:
    x = _leaf(3)
    with provenance(("user.py", 7)):
        y = node(Op.TANH, (x,))
    (gx,) = grad(y, [x])
    assert gx is not None and gx.site == ("user.py", 7, "", GRADIENT)


# ---------------------------------------------------------------- WHERE is NaN-safe


def _values(roots: list[Node | None], x: Node, at: list[float]) -> list[list[float]]:
    known = [r for r in roots if r is not None]
    with np.errstate(all="ignore"):
        plain = run(known, {x: np.array(at)})
        simple = run(simplify(known), {x: np.array(at)})
    np.testing.assert_array_equal(plain, simple)
    return [p.tolist() for p in plain]


MASKED = {
    "log": (g.log, lambda v: 1 / v, lambda v: -1 / v**2),
    "sqrt": (lambda x: node(Op.SQRT, (x,)), lambda v: 0.5 / np.sqrt(v), lambda v: -0.25 * v**-1.5),
    "reciprocal": (lambda x: g.div(g.like(1, x), x), lambda v: -1 / v**2, lambda v: 2 / v**3),
    "sin(x)/x": (
        lambda x: g.div(node(Op.SIN, (x,), 0), x),
        lambda v: np.cos(v) / v - np.sin(v) / v**2,
        lambda v: -np.sin(v) / v - 2 * np.cos(v) / v**2 + 2 * np.sin(v) / v**3,
    ),
    "x log x": (lambda x: g.mul(x, g.log(x)), lambda v: np.log(v) + 1, lambda v: 1 / v),
    "x^1.5": (
        lambda x: node(Op.POW, (x, g.like(1.5, x))),
        lambda v: 1.5 * v**0.5,
        lambda v: 0.75 * v**-0.5,
    ),
    "exp": (lambda x: g.exp(g.scale(x, 1e3)), None, None),
}


@pytest.mark.thinned(to=14)
@pytest.mark.parametrize("name", MASKED)
@pytest.mark.parametrize("outside", [0.0, -1.0, np.nan, -np.inf])
def test_masked_out_branch_contributes_exactly_zero(name: str, outside: float) -> None:
    f, slope, curvature = MASKED[name]
    x = _leaf(2)
    inside = node(Op.LT, (graph.zeros_like(x), x))
    (first,) = grad(g.where(inside, f(x), graph.zeros_like(x)), [x])
    assert first is not None
    (second,) = grad(first, [x])
    got = _values([first, second], x, [outside, 0.5])
    assert got[0][0] == 0 and got[1][0] == 0
    if slope is not None:
        np.testing.assert_allclose([got[0][1], got[1][1]], [slope(0.5), curvature(0.5)])


def test_overflow_in_the_other_branch_contributes_zero() -> None:
    x = _leaf(2)
    large = node(Op.LT, (g.like(20, x), x))
    softplus = g.where(large, x, g.log(g.add(g.like(1, x), g.exp(x))))
    (first,) = grad(softplus, [x])
    got = _values([first], x, [1000.0, 0.0])[0]
    np.testing.assert_allclose(got, [1.0, 0.5])


def test_mask_holds_behind_a_reduction() -> None:
    """Rows normalised where their length is not 0: the row of zeros gets gradient 0, not NaN."""
    x = _leaf(2, 2)
    length = node(Op.SQRT, (graph.reduce("add", g.mul(x, x), (1,)),))
    spread = graph.expand(length, ((1, 2),))
    y = g.where(
        node(Op.LT, (graph.zeros_like(spread), spread)), g.div(x, spread), graph.zeros_like(x)
    )
    weight = graph.reshape(graph.cast(node(Op.IOTA, arg=4), dt.float64), (2, 2))
    (first,) = grad(g.mul(y, weight), [x])
    assert first is not None
    (got,) = run([first], {x: np.array([[0.0, 0.0], [3.0, 4.0]])})
    assert got[0].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(got[1], [(2 * 16 - 3 * 12) / 125, (3 * 9 - 2 * 12) / 125])


def test_slice_of_a_singular_function_is_safe() -> None:
    x = _leaf(3)
    (first,) = grad(node(Op.SLICE, (g.log(x),), ((1, 3, 1),)), [x])
    assert first is not None
    assert run([first], {x: np.array([0.0, 1.0, 2.0])})[0].tolist() == [0.0, 1.0, 0.5]


def test_second_derivative_where_the_cotangent_is_zero_by_value() -> None:
    """(log x)^2 at 1: the cotangent of log is 0 there, its derivative is not."""
    x = _leaf(1)
    y = g.log(x)
    (first,) = grad(node(Op.SLICE, (g.mul(y, y),), ((0, 1, 1),)), [x])
    assert first is not None
    (second,) = grad(first, [x])
    assert _values([first, second], x, [1.0]) == [[0.0], [2.0]]


# ---------------------------------------------------------------- ties, kinks and special points


def test_ties_of_max_share_the_gradient() -> None:
    x, y = _leaf(3), _leaf(3)
    gx, gy = grad(node(Op.MAX, (x, y)), [x, y])
    assert gx is not None and gy is not None
    got = run([gx, gy], {x: np.array([1.0, 2.0, 3.0]), y: np.array([2.0, 2.0, 2.0])})
    assert [v.tolist() for v in got] == [[0, 0.5, 1], [1, 0.5, 0]]


def test_ties_of_reduce_max_share_the_gradient() -> None:
    x = _leaf(5)
    (gx,) = grad(graph.reduce("max", x, (0,)), [x])
    assert gx is not None
    assert run([gx], {x: np.array([1.0, 3.0, 3.0, 2.0, 3.0])})[0].tolist() == [
        0,
        1 / 3,
        1 / 3,
        0,
        1 / 3,
    ]


def test_relu_at_zero_is_zero() -> None:
    x = _leaf(3)
    (gx,) = grad(g.relu(x), [x])
    assert _values([gx], x, [-1.0, 0.0, 2.0]) == [[0, 0, 1]]


@pytest.mark.parametrize("zeros", [(), (1,), (1, 3), (0, 2, 3)])
def test_product_with_zeros(zeros: tuple[int, ...]) -> None:
    x = _leaf(4)
    at = np.array([2.0, -3.0, 0.5, 4.0])
    at[list(zeros)] = 0
    (first,) = grad(graph.reduce("mul", x, (0,)), [x])
    assert first is not None
    want = [np.prod(np.delete(at, i)) for i in range(4)]
    direction = np.array([1.0, 10.0, 100.0, 1000.0])
    v = _leaf(4)
    (second,) = vjp([first], [v], [x])
    assert second is not None
    got, hessian_v = run([first, second], {x: at, v: direction})
    np.testing.assert_allclose(got, want)
    pairs = [
        sum(direction[j] * np.prod(np.delete(at, [i, j])) for j in range(4) if j != i)
        for i in range(4)
    ]
    np.testing.assert_allclose(hessian_v, pairs)


@pytest.mark.parametrize(
    ("exponent", "slopes"),
    [(0.0, [0, 0, 0]), (1.0, [1, 1, 1]), (2.0, [0, 4, -4]), (3.0, [0, 12, 12])],
)
@pytest.mark.parametrize("constant", [True, False])
def test_power_at_zero_and_below(exponent: float, slopes: list[float], constant: bool) -> None:
    x, p = _leaf(3), _leaf(3)
    at = {x: np.array([0.0, 2.0, -2.0]), p: np.full(3, exponent)}
    y = node(Op.POW, (x, g.like(exponent, x) if constant else p))
    (first,) = grad(y, [x])
    assert first is not None
    assert run([first], at)[0].tolist() == slopes
    (second,) = grad(first, [x])
    want = (
        exponent
        * (exponent - 1)
        * np.array([0.0 if exponent == 3 else 1.0, 2.0 ** (exponent - 2), (-2.0) ** (exponent - 2)])
    )
    np.testing.assert_allclose(np.zeros(3) if second is None else run([second], at)[0], want)


def test_power_by_a_variable_exponent_at_base_zero() -> None:
    x, p = _leaf(3), _leaf(3)
    _, gp = grad(node(Op.POW, (x, p)), [x, p])
    assert gp is not None
    got = run([gp], {x: np.array([0.0, 0.0, 2.0]), p: np.array([2.0, 0.0, 3.0])})[0]
    np.testing.assert_allclose(got, [0, 0, 8 * np.log(2)])


# ---------------------------------------------------------------- gather


def _ops(root: Node) -> set[Op]:
    return {n.op for n in graph.toposort([root])}


def test_gather_of_one_label_per_row_needs_no_scatter() -> None:
    x, labels = _leaf(6, 4), graph.leaf(next(SERIAL), dt.int64, (6,))
    (gx,) = grad(g.pick(x, labels), [x])
    assert gx is not None and gx.op is Op.SCATTER, "a bounds check of the labels must find it"
    (mask,) = rows_as_masks([gx])
    assert Op.SCATTER not in _ops(mask)


@pytest.mark.parametrize(
    ("axes", "dims"), [((0, 2), (3, 5)), ((1, 0), (2, 3)), ((2, 1), (5, 2)), ((0, 1, 2), (3, 2, 5))]
)
def test_gather_by_rows_of_any_axes(axes: tuple[int, ...], dims: tuple[int, ...]) -> None:
    x = _leaf(3, 2, 5)
    counted = len(axes) - 1
    rows = dims[:counted]
    counts = [
        graph.expand(node(Op.IOTA, arg=d), tuple((b, e) for b, e in enumerate(rows) if b != a))
        for a, d in enumerate(rows)
    ]
    chosen = graph.leaf(next(SERIAL), dt.int64, rows)
    y = node(Op.GATHER, (x, *counts, chosen), axes)
    g_out = _leaf(*y.shape)
    (slow,) = vjp([y], [g_out], [x])
    assert slow is not None and slow.op is Op.SCATTER
    (fast,) = rows_as_masks([slow])
    assert Op.SCATTER not in _ops(fast)
    rng = np.random.default_rng(0)
    env = {g_out: rng.normal(size=y.shape), chosen: rng.integers(0, dims[-1], rows)}
    np.testing.assert_array_equal(*run([fast, slow], env))


def test_gather_that_may_repeat_a_row_scatters() -> None:
    table, tokens = _leaf(5, 3), graph.leaf(next(SERIAL), dt.int64, (4,))
    (gx,) = grad(node(Op.GATHER, (table, tokens), (0,)), [table])
    assert gx is not None and rows_as_masks([gx]) == [gx] and gx.op is Op.SCATTER
    square = _leaf(4, 4)
    count = node(Op.IOTA, arg=4)
    (diagonal,) = grad(node(Op.GATHER, (square, count, count), (0, 1)), [square])
    assert diagonal is not None
    assert run([diagonal], {})[0].tolist() == np.eye(4).tolist()


# ---------------------------------------------------------------- size


@pytest.mark.slow
@pytest.mark.parametrize("steps", [5_000, *rarely(50_000)])
def test_many_thousands_of_nodes_without_recursion(steps: int) -> None:
    x = _leaf(2)
    y = x
    for _ in range(steps):
        y = node(Op.TANH, (g.add(y, x),))
    (gx,) = grad(y, [x])
    assert gx is not None and len(graph.toposort([gx])) > 2 * steps


def test_chain_of_wheres_stays_linear() -> None:
    x = _leaf(2)
    y = x
    for _ in range(300):
        y = g.relu(g.scale(y, 1.01))
    (gx,) = grad(y, [x])
    assert gx is not None
    assert len(graph.toposort([gx])) < 300 * 12
