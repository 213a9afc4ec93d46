"""Programs whose artefacts are golden. In: a name. Out: what wf.dump takes, at shapes that keep the
texts short.

The lines of this file are part of the golden texts.
"""

from __future__ import annotations

from typing import Any

import weft as wf
from weft import nn
from weft.nn import functional as F


def values(*shape: int, device: str) -> wf.Tensor:
    return wf.empty(*shape, device=device).realize()


def softmax(device: str) -> Any:
    x = values(64, 256, device=device)
    top = x.max(axis=1, keepdims=True)
    e = (x - top).exp()
    return e / e.sum(axis=1, keepdims=True)


def layer_norm(device: str) -> Any:
    x, scale, shift = (
        values(64, 256, device=device),
        values(256, device=device),
        values(256, device=device),
    )
    return F.layer_norm(x, (256,), scale, shift)


def linear_gelu(device: str) -> Any:
    x, weight, bias = (
        values(96, 64, device=device),
        values(64, 64, device=device),
        values(64, device=device),
    )
    y = F.linear(x, weight, bias)
    return F.gelu(y, approximate="tanh")


def conv_bias_relu(device: str) -> Any:
    x, weight, bias = (
        values(4, 8, 16, 16, device=device),
        values(16, 8, 3, 3, device=device),
        values(16, device=device),
    )
    y = F.conv2d(x, weight, bias, padding=1)
    return y.relu()


def adam(device: str) -> Any:
    weight = nn.Parameter(values(64, 64, device=device))
    optimizer = nn.optim.Adam([weight], lr=0.01)

    @wf.jit
    def step(gradient: wf.Tensor) -> None:
        weight.grad = gradient
        optimizer.step()
        weight.grad = None

    step(values(64, 64, device=device))
    return step


def attention(device: str) -> Any:
    queries, keys, x = (values(2, 4, 64, 32, device=device) for _ in range(3))
    return F.scaled_dot_product_attention(queries, keys, x)


def gradients(device: str) -> Any:
    x, weight = values(64, 256, device=device), values(256, device=device).requires_grad_()
    y = (x * weight).tanh()
    loss = y.square().mean()
    return wf.grad(loss, [weight])


CASES = {
    f.__name__: f
    for f in (softmax, layer_norm, linear_gelu, conv_bias_relu, adam, attention, gradients)
}
