"""Transformations beside torch.func and jax, where these are installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import weft as wf

RNG = np.random.default_rng(0)
W, X = (
    RNG.standard_normal((4, 3)).astype(np.float32),
    RNG.standard_normal((5, 3)).astype(np.float32),
)
pytestmark = pytest.mark.torch


def layer(xp: Any, w: Any) -> Any:
    return lambda x: xp.tanh(w @ x) * xp.exp(x[0])


def results(module: Any, f: Any, g: Any, x: Any, vmap: Any = None) -> list[np.ndarray]:
    """Of transformations that have the same names, f from examples to vectors, g to numbers."""
    vmap = vmap or module.vmap
    made = [
        vmap(f)(x),
        vmap(module.jacrev(f))(x),
        vmap(module.jacfwd(f))(x),
        vmap(module.hessian(g))(x),
        module.jacrev(module.jacfwd(f))(x[0]),
        module.jvp(f, (x[0],), (x[1],))[1],
        vmap(vmap(lambda a, b: (a * b).sum(), (None, 0)), (0, None))(x, x),
    ]
    return [np.asarray(a) for a in made]


def of_weft() -> list[np.ndarray]:
    f = layer(wf, wf.tensor(W))
    return results(wf, f, lambda x: (f(x) ** 2).sum(), wf.tensor(X))


def test_torch_func_gives_the_same() -> None:
    torch = pytest.importorskip("torch")
    f = layer(torch, torch.from_numpy(W))
    want = results(torch.func, f, lambda x: (f(x) ** 2).sum(), torch.from_numpy(X))
    for a, b in zip(of_weft(), want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_jax_gives_the_same() -> None:
    jax = pytest.importorskip("jax")
    f = layer(jax.numpy, jax.numpy.asarray(W))
    want = results(jax, f, lambda x: (f(x) ** 2).sum(), jax.numpy.asarray(X))
    for a, b in zip(of_weft(), want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_functions_with_gradients_of_their_own_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch")

    def function(base: Any) -> Any:
        class Cube(base):  # type: ignore[misc]
            @staticmethod
            def forward(ctx: Any, x: Any, scale: float) -> Any:
                ctx.save_for_backward(x)
                ctx.scale = scale
                return x * x * x * scale, x * 2

            @staticmethod
            def backward(ctx: Any, g: Any, h: Any) -> Any:
                (x,) = ctx.saved_tensors
                return 5 * ctx.scale * x * x * g + h * x, None

        return Cube

    x = wf.tensor(X[0], requires_grad=True)
    y, z = function(wf.Function).apply(x, 0.5)
    first = wf.grad((y * z).sum(), x)
    t = torch.from_numpy(X[0]).requires_grad_()
    u, v = function(torch.autograd.Function).apply(t, 0.5)
    (want,) = torch.autograd.grad((u * v).sum(), t, create_graph=True)
    np.testing.assert_allclose(first.numpy(), want.detach().numpy(), rtol=1e-5)
    (again,) = torch.autograd.grad(want.sum(), t)
    np.testing.assert_allclose(wf.grad(first.sum(), x).numpy(), again.numpy(), rtol=1e-5)
