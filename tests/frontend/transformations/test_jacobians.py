"""Jacobians and Hessians: forward mode equals reverse mode and central differences; forward mode
goes through loops of any kind."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
import weft as wf
from effort import examples
from fuzz import Unsuitable, evaluate, random_case, seeded
from harness import inputs_of
from hypothesis import given
from hypothesis import strategies as st
from weft.errors import GradientError
from weft.ir.gradient.forward import pushforward
from weft.ir.gradient.gradient import vjp
from weft.ir.graph.graph import leaf

RNG = np.random.default_rng(0)


def doubles(*shape: int) -> wf.Tensor:
    return wf.tensor(RNG.standard_normal(shape))


W = doubles(4, 3)
FUNCTIONS: dict[str, Callable[[wf.Tensor], Any]] = {
    "layer": lambda x: (W @ x).tanh(),
    "softmax": lambda x: x.softmax(0),
    "powers": lambda x: x**3 / (1 + x * x),
    "gathered": lambda x: x[wf.tensor([2, 0, 0])] * x.max(),
    "sorted": lambda x: x.sort().cumsum(0),
    "scan": lambda x: wf.scan(lambda c, a: (c * a, c.sin()), x[0], x)[1],
    "bounded": lambda x: wf.while_loop(
        lambda s: s[1] < 3, lambda s: (s[0] * x, s[1] + 1), (x, 0), max_steps=5
    )[0],
    "condition": lambda x: wf.cond(x[0] > 0, lambda v: v * v, lambda v: v.sin(), x),
    "matrix": lambda x: x[:, None] * x[None],
}


def differences(f: Callable[[wf.Tensor], wf.Tensor], x: wf.Tensor) -> np.ndarray:
    columns = []
    for k in range(x.size):
        step = np.zeros(x.size)
        step[k] = 1e-6
        up, down = (f(wf.tensor(x.numpy() + s)).numpy() for s in (step, -step))
        columns.append((up - down) / 2e-6)
    return np.stack(columns, -1)


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_both_modes_equal_central_differences(name: str) -> None:
    f, x = FUNCTIONS[name], doubles(3)
    forward, reverse = wf.jacfwd(f)(x).numpy(), wf.jit(wf.jacrev(f))(x).numpy()
    np.testing.assert_allclose(forward, reverse, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(forward, differences(f, x), rtol=1e-5, atol=1e-7)


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_hessians_are_symmetric_and_the_derivative_of_the_gradient(name: str) -> None:
    x = doubles(3)

    def f(x: wf.Tensor) -> wf.Tensor:
        return (FUNCTIONS[name](x) ** 2).sum()

    found = wf.hessian(f)(x).numpy()
    np.testing.assert_allclose(found, found.T, rtol=1e-9, atol=1e-11)
    gradient = lambda x: wf.value_and_grad(f)(x)[1]  # noqa: E731
    np.testing.assert_allclose(found, differences(gradient, x), rtol=1e-4, atol=1e-5)


def test_structures_and_arguments() -> None:
    a, b = doubles(2), doubles(3)

    def f(p: dict[str, wf.Tensor], b: wf.Tensor, k: float) -> Any:
        return {"outer": p["a"][:, None] * b * k, "sum": (b.sum(), p["a"])}

    for jacobian in (wf.jacfwd, wf.jacrev):
        found = jacobian(f, argnums=(0, 1))({"a": a}, b, 2.0)
        by_p, by_b = found["outer"]
        assert by_p["a"].shape == (2, 3, 2) and by_b.shape == (2, 3, 3)
        np.testing.assert_allclose(by_b.numpy(), 2 * a.numpy()[:, None, None] * np.eye(3))
        assert not found["sum"][0][0]["a"].numpy().any()
        np.testing.assert_array_equal(
            jacobian(f)({"a": a}, b, 2.0)["sum"][1]["a"].numpy(), np.eye(2)
        )


def test_linearize_gives_the_derivative_as_a_function() -> None:
    x = doubles(3)
    value, linear = wf.linearize(FUNCTIONS["layer"], x)
    np.testing.assert_array_equal(value.numpy(), FUNCTIONS["layer"](x).numpy())
    for _ in range(2):
        t = doubles(3)
        want = wf.jvp(FUNCTIONS["layer"], (x,), (t,))[1]
        np.testing.assert_allclose(linear(t).numpy(), want.numpy(), rtol=1e-12)
    with pytest.raises(wf.errors.ShapeError, match="a tangent of shape"):
        linear(doubles(2))


def test_forward_mode_passes_loops_without_bound() -> None:
    def root(a: wf.Tensor) -> wf.Tensor:
        """The square root by Newton's method."""
        far = lambda x: (x * x - a).abs() > 1e-12  # noqa: E731
        return wf.while_loop(far, lambda x: (x + a / x) / 2, a)

    value, derivative = wf.jvp(root, (wf.tensor(2.0, dtype=wf.float64),), (1.0,))
    np.testing.assert_allclose([value.item(), derivative.item()], [2**0.5, 0.5 / 2**0.5])
    with pytest.raises(GradientError, match="max_steps"):
        wf.vjp(root, wf.tensor(2.0))[1](1.0)


def test_forward_mode_stacks_nothing_of_a_loop() -> None:
    x = wf.zeros(1000)
    wf.realize(x)
    _, d = wf.jvp(lambda x: wf.fori_loop(0, 500, lambda _, x: x.sin(), x), (x,), (wf.ones(1000),))
    assert wf.explain(d).memory.peak_bytes < 10 * 1000 * 4


@pytest.mark.parametrize("jacobian", [wf.jacfwd, wf.jacrev])
def test_mistakes_are_errors(jacobian: Any) -> None:
    with pytest.raises(wf.errors.DTypeError, match=f"{jacobian.__name__}: .* floats only"):
        jacobian(lambda x: x)(wf.arange(3))
    with pytest.raises(wf.errors.ArgumentError, match="names argument 1 of 1"):
        jacobian(lambda x: x, argnums=1)(doubles(2))
    with pytest.raises(wf.errors.DTypeError, match="returns Tensors"):
        jacobian(lambda x: "x")(doubles(2))


@examples(60)
@given(st.integers(0, 1 << 30))
def test_both_modes_have_the_same_products_on_random_graphs(seed: int) -> None:
    """<g, J t> = <J^T g, t>, in the oracle."""
    case = random_case(seeded(seed), False, 10)
    roots = [n for n in case.outputs if n.dtype.is_float and n.dtype.itemsize >= 4]
    wrt = [n for n in inputs_of(roots) if n.dtype.is_float and n.dtype.itemsize >= 4]
    env = {n: case.env[n] for n in inputs_of(roots)}
    tangents, cotangents = ([leaf(object(), n.dtype, n.shape) for n in of] for of in (wrt, roots))
    random = np.random.default_rng(seed)
    for n in (*tangents, *cotangents):
        env[n] = random.standard_normal(n.shape).astype(n.dtype.numpy)
    _, pushed = pushforward(roots, dict(zip(wrt, tangents, strict=True)))
    with suppress(GradientError, Unsuitable):
        pulled = vjp(roots, cotangents, wrt)
        forward = [(p, g) for p, g in zip(pushed, cotangents, strict=True) if p is not None]
        reverse = [(p, t) for p, t in zip(pulled, tangents, strict=True) if p is not None]
        totals = []
        for pairs in (forward, reverse):
            values = evaluate([n for pair in pairs for n in pair], env)
            wide = [np.asarray(v).astype(np.float64) for v in values]
            totals.append([(a * b).sum() for a, b in zip(wide[::2], wide[1::2], strict=True)])
        size = sum(map(abs, totals[0])) + sum(map(abs, totals[1]))
        if np.isfinite(size) and size < 1e6:
            assert abs(sum(totals[0]) - sum(totals[1])) <= 1e-3 * max(size, 1)
