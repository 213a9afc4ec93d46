"""The remainder of floats: exact over the whole range of quotients, with and without FMA."""

from __future__ import annotations

import numpy as np
import pytest
import weft as wf
from exact import assert_floor_quotients
from fuzz import NARROWER
from harness import compiled, execute
from weft.ir.graph import dtype as dt
from weft.ir.graph import graph
from weft.ir.graph.graph import node
from weft.ir.graph.op import Op

TARGETS = ["host", *(name for name, _ in NARROWER)]


def operands(dtype: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Magnitudes over the whole range of exponents, quotients of all sizes; whole multiples and
    their neighbours."""
    rng = np.random.default_rng(0)
    info = np.finfo(dtype)
    low, high = np.log2(float(info.smallest_subnormal)), float(info.maxexp)
    with np.errstate(all="ignore"):
        y = (2.0 ** rng.uniform(low, high, count) * rng.choice([-1, 1], count)).astype(dtype)
        ratio = 2.0 ** rng.uniform(-3, info.nmant + 4, count)
        near = np.round(ratio).astype(dtype) * y
        x = np.where(
            rng.random(count) < 0.5,
            (ratio * y).astype(dtype),
            np.nextafter(near, rng.choice([-np.inf, np.inf], count)),
        )
        x = np.where(rng.random(count) < 0.2, near, x).astype(dtype)
        x = np.where(rng.random(count) < 0.1, y[::-1], x) * rng.choice([-1, 1], count).astype(dtype)
    return x.astype(dtype), y


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@np.errstate(all="ignore")
def test_every_target_is_exact(dtype: str, target: str) -> None:
    a, b = operands(dtype, 20_011)
    x, y = (graph.leaf((serial, dtype), dt.BY_NAME[dtype], a.shape) for serial in ("x", "y"))
    out = node(Op.MOD, (x, y))
    env = {x: a, y: b}
    (got,) = execute(compiled([out], env, target=target), [out], env)
    want = np.remainder(a, b)
    np.testing.assert_array_equal(got, want)
    numbers = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(want[numbers]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@np.errstate(all="ignore")
def test_quotients_and_truncated_remainders(dtype: str) -> None:
    a, b = operands(dtype, 5003)
    x, y = wf.tensor(a), wf.tensor(b)
    np.testing.assert_array_equal(wf.fmod(x, y).numpy(), np.fmod(a, b))
    assert_floor_quotients((x // y).numpy(), a, b)


def test_derivatives() -> None:
    x = wf.tensor([5.5, -5.5, 0.0, 7.0], dtype="float64", requires_grad=True)
    y = wf.tensor([2.0, 2.0, 3.0, -4.0], dtype="float64", requires_grad=True)
    for function, by_y in ((wf.remainder, [-2.0, 3.0, 0.0, 2.0]), (wf.fmod, [-2.0, 2.0, 0.0, 1.0])):
        dx, dy = wf.grad(function(x, y).sum(), [x, y])
        assert dx.tolist() == [1.0] * 4 and dy.tolist() == by_y
    assert wf.grad((x // y).sum(), [x])[0].tolist() == [0.0] * 4
