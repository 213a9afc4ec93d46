"""What the tests of nn share: arrays, and what is asked of values and derivatives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import weft as wf
from weft import nn

Array = np.ndarray


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def normal(*shape: int, seed: int = 0) -> Array:
    """The same at each call: arrays that must not be alike, as a weight and a bias, have seeds of
    their own."""
    return np.random.default_rng(seed).standard_normal(shape)


def close(got: wf.Tensor, expected: Array, tolerance: float = 1e-12) -> None:
    assert got.shape == np.shape(expected)
    np.testing.assert_allclose(got.numpy(), expected, rtol=tolerance, atol=tolerance)


def derivative_holds(f: Callable[..., wf.Tensor], *arrays: Array) -> None:
    """The gradient of a weighted sum of f along a random direction equals the central
    difference."""
    xs = [wf.tensor(a, requires_grad=True) for a in arrays]
    out = f(*xs)
    weights = np.random.default_rng(1).standard_normal(out.shape)

    def value(*at: Array) -> float:
        return float((f(*[wf.tensor(a) for a in at]).numpy() * weights).sum())

    grads = [g.numpy() for g in wf.grad((out * wf.tensor(weights)).sum(), xs)]
    h = 1e-5
    for i, a in enumerate(arrays):
        direction = np.random.default_rng(2 + i).standard_normal(a.shape)
        plus, minus = (
            [b + s * h * direction if i == j else b for j, b in enumerate(arrays)] for s in (1, -1)
        )
        expected = (value(*plus) - value(*minus)) / (2 * h)
        np.testing.assert_allclose((grads[i] * direction).sum(), expected, rtol=1e-5, atol=1e-7)


def log_softmax(x: Array, axis: int = -1) -> Array:
    shifted = x - x.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


def minus_infinity(mask: Array) -> Array:
    return np.where(mask, -np.inf, 0.0)


def heads_reference(
    m: nn.MultiheadAttention, q: Array, k: Array, v: Array, added: Array
) -> tuple[Array, Array]:
    """Output and weights (N, H, L, S) of attention by a loop over batch and heads; `added`
    broadcasts to (N, H, L, S)."""
    packed, (size, heads) = m.in_proj_weight, (m.embed_dim, m.num_heads)
    weights = (
        [m.q_proj_weight, m.k_proj_weight, m.v_proj_weight]
        if packed is None
        else packed.split(size)
    )
    bias = np.zeros(3 * size) if m.in_proj_bias is None else m.in_proj_bias.numpy()
    inputs = zip((q, k, v), weights, np.split(bias, 3), strict=True)
    q, k, v = (x @ w.numpy().T + b for x, w, b in inputs)
    shares, mixed, width = (
        np.zeros((len(q), heads, q.shape[1], k.shape[1])),
        np.zeros(q.shape),
        size // heads,
    )
    added = np.broadcast_to(added, shares.shape)
    for n in range(len(q)):
        for h in range(heads):
            part = slice(h * width, h * width + width)
            shares[n, h] = np.exp(
                log_softmax(q[n, :, part] @ k[n, :, part].T / np.sqrt(width) + added[n, h])
            )
            mixed[n, :, part] = shares[n, h] @ v[n, :, part]
    bias = 0 if m.out_proj.bias is None else m.out_proj.bias.numpy()
    return mixed @ m.out_proj.weight.numpy().T + bias, shares
