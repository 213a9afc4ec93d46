"""What slices of one value give back to it: joins, not sums; right for any slices, at any order of
derivative."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import graphs as g
import numpy as np
import pytest
import weft as wf
from effort import examples, rarely
from hypothesis import given
from hypothesis import strategies as st
from weft.ir.gradient.gradient import vjp
from weft.ir.graph import dtype as dt
from weft.ir.graph import graph
from weft.ir.graph.graph import Node, node, toposort
from weft.ir.graph.op import Op
from weft.ir.ops.interp import run

Parts = Callable[[wf.Tensor], list[wf.Tensor]]
Key = tuple[Any, ...]


def pulled(x: wf.Tensor, parts: list[wf.Tensor]) -> list[Node]:
    """The Nodes of the gradient of the parts' sum."""
    (gx,) = vjp([p.node for p in parts], [graph.full(1, p.dtype, p.shape) for p in parts], [x.node])
    assert gx is not None
    return toposort([gx])


@pytest.mark.parametrize(
    ("shape", "parts", "sums"),
    [
        ((9, 4), lambda x: [x[t] for t in range(9)], 0),
        ((10, 4), lambda x: [x[0], x[2], x[5]], 0),
        ((4, 9), lambda x: [x[:, t] for t in range(9)], 0),
        ((3, 4, 2), lambda x: [x[i, j] for i in range(3) for j in range(4)], 0),
        ((3, 12), lambda x: wf.split(x, 3, 1), 0),
        ((9, 2), lambda x: [x[7:5:-1], x[8::-8], x[2:5]], 1),  # x[8] and x[0] around the others
        ((8, 3), lambda x: [x[k::3] for k in range(3)], 0),
        ((2, 4, 6, 3), lambda x: [x[:, i::2, j::2] for i in range(2) for j in range(2)], 0),
        ((5, 5), lambda x: [x[i, i:] for i in range(5)], 0),  # beside each other, but not in a grid
        ((9, 4), lambda x: [x[t : t + 2] for t in range(8)], 1),
        ((9, 4), lambda x: [x[t : t + 3] for t in range(7)], 2),
        ((6, 6), lambda x: [x[i : i + 2, j : j + 2] for i in range(5) for j in range(5)], 3),
        (
            (4, 4),
            lambda x: [x[0, :3], x[:3, 3], x[3, 1:], x[1:, 0]],
            1,
        ),  # a pinwheel: no cut goes through
        ((9, 4), lambda x: [x, x[0], x[1]], 1),
        ((9, 4), lambda x: [x[3:3], x[0]], 1),  # the first is nothing
    ],
)
def test_so_many_sums_are_left(shape: tuple[int, ...], parts: Parts, sums: int) -> None:
    x = wf.tensor(np.zeros(shape), requires_grad=True)
    found = Counter(n.op for n in pulled(x, parts(x)))
    assert found[Op.ADD] == sums


@st.composite
def keys(draw: st.DrawFn, shape: tuple[int, ...]) -> Key:
    def of(extent: int) -> Any:
        start = draw(st.integers(0, extent - 1))
        match draw(st.integers(0, 4)):
            case 0:
                return start
            case 1:
                return slice(None)
            case 2:
                return slice(start, draw(st.integers(start, extent)))
            case 3:
                return slice(start, None, draw(st.integers(1, 3)))
        return slice(start, None, -draw(st.integers(1, 3)))

    return tuple(of(extent) for extent in shape[: draw(st.integers(1, len(shape)))])


@examples(60)
@given(st.data())
def test_random_slices_receive_what_is_theirs(data: st.DataObject) -> None:
    """sum of c * x[key]^2: small integers, so that any order of a sum gives the same; then the
    derivative of that."""
    shape = tuple(data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=3)))
    asked = data.draw(st.lists(keys(shape), min_size=2, max_size=40 if len(shape) < 3 else 8))
    dtype = data.draw(st.sampled_from([np.float64, np.float32]))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    at = rng.integers(-4, 5, shape).astype(dtype)
    factors = [rng.integers(-3, 4, at[key].shape).astype(dtype) for key in asked]
    x = wf.tensor(at)
    first = wf.grad(
        sum((wf.tensor(c) * x[key] ** 2).sum() for c, key in zip(factors, asked, strict=True)), x
    )
    second = wf.grad(first.sum(), x)
    slopes = np.zeros_like(at)
    for c, key in zip(factors, asked, strict=True):
        slopes[key] += 2 * c
    np.testing.assert_array_equal(first.numpy(), slopes * at)
    np.testing.assert_array_equal(second.numpy(), slopes)


@pytest.mark.slow
def test_slices_of_functions_have_the_slopes_of_central_differences() -> None:
    def loss(x: wf.Tensor) -> wf.Tensor:
        state = x[0]
        for t in range(1, 6):
            state = (state * x[t].tanh() + x[t - 1 : t + 1].sin().sum(0)) / 2
        return (state**2).sum()

    at = np.random.default_rng(0).normal(size=(6, 3))
    x = wf.tensor(at)
    first = wf.grad(loss(x), x)
    second = wf.grad((first**2).sum(), x)
    found: list[tuple[wf.Tensor, Callable[[wf.Tensor], wf.Tensor]]] = [
        (first, loss),
        (second, lambda x: (wf.grad(loss(x), x) ** 2).sum()),
    ]
    for slopes, function in found:
        for step in 1e-5 * np.random.default_rng(1).normal(size=(4, *at.shape)):
            ahead, behind = (function(wf.tensor(at + s * step)).item() for s in (1, -1))
            slope = (slopes.numpy() * step).sum()
            np.testing.assert_allclose(slope, (ahead - behind) / 2, rtol=1e-6, atol=1e-13)


@pytest.mark.parametrize("dtype", [wf.float16, wf.bfloat16, wf.float32])
def test_infinity_nan_and_the_sign_of_zero_stay_where_they_are(dtype: wf.DType) -> None:
    x = wf.tensor(np.zeros(6, np.float32)).astype(dtype)
    factors = [float("inf"), float("nan"), -0.0, 1.0]
    (gx,) = vjp(
        [x[i : i + 1].node for i in (0, 2, 3, 5)],
        [graph.full(f, x.dtype, (1,)) for f in factors],
        [x.node],
    )
    assert gx is not None
    (found,) = run([gx], {x.node: x.numpy()})
    got = [str(v) for v in np.asarray(found, np.float32)]
    assert got == ["inf", "0.0", "nan", "-0.0", "0.0", "1.0"]


def test_the_gradient_of_a_part_is_a_part() -> None:
    """A second derivative cuts its part out of the join: none of it is left."""
    x = graph.leaf(910_000_001, dt.float64, (4, 3))
    rows = [node(Op.SLICE, (x,), ((t, t + 1, 1), (0, 3, 1))) for t in range(4)]
    (first,) = vjp(rows, [g.mul(r, r) for r in rows], [x])
    assert first is not None
    (second,) = vjp(
        [node(Op.SLICE, (first,), ((2, 3, 1), (0, 3, 1)))], [graph.full(1, dt.float64, (1, 3))], [x]
    )
    assert second is not None
    at = np.arange(12.0).reshape(4, 3)
    assert run([second], {x: at})[0].tolist() == [[0] * 3, [0] * 3, [12, 14, 16], [0] * 3]


@pytest.mark.slow
@pytest.mark.parametrize("count", [4_000, *rarely(64_000)])
def test_the_graph_grows_with_the_number_of_parts(count: int) -> None:
    x = wf.tensor(np.zeros((count, 2)), requires_grad=True)
    assert len(pulled(x, [x[t] for t in range(count)])) < 6 * count
    assert len(pulled(x, [x[t : t + 2] for t in range(count - 1)])) < 6 * count
