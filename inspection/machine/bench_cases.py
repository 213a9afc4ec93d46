"""Workloads of `python -m weft bench`. Out: jitted functions, their arguments, NumPy's way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import nn
from ...frontend import ops
from ...frontend.jit.jit import jit
from ...frontend.tensor.creation import tensor
from ...nn import functional as F
from ...nn import optim

Array = np.ndarray[Any, Any]


@dataclass
class Work:
    """A call of a jitted function, and the same by NumPy, None where it has no direct
    equivalent."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    numpy: Callable[[], object] | None = None


@dataclass(frozen=True)
class Case:
    """`about`: what is computed, of which shape; `make` makes it on a device."""

    name: str
    about: str
    make: Callable[[str], Work]


def _random(*shape: int, dtype: str = "float32") -> Array:
    array: Array = np.random.default_rng(0).random(shape, dtype)  # type: ignore[call-overload]
    return array - np.asarray(0.5, dtype)


def _on(device: str, *arrays: Array) -> tuple[Any, ...]:
    return tuple(tensor(a, device=device).realize() for a in arrays)


def _elementwise(device: str) -> Work:
    x = _random(1 << 24)
    return Work(jit(lambda x: ops.exp(x * 2 + 1)), _on(device, x), lambda: np.exp(x * 2 + 1))


def _total(device: str) -> Work:
    x = _random(1 << 24)
    return Work(jit(lambda x: x.sum()), _on(device, x), x.sum)


def _columns(device: str) -> Work:
    x = _random(16384, 1024)
    return Work(jit(lambda x: x.sum(axis=0)), _on(device, x), lambda: x.sum(axis=0))


def _softmax(device: str) -> Work:
    x = _random(16384, 1024)

    def by_numpy() -> Array:
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)  # type: ignore[no-any-return]

    return Work(jit(lambda x: F.softmax(x, axis=1)), _on(device, x), by_numpy)


def _layer_norm(device: str) -> Work:
    x, weight, bias = _random(16384, 1024), _random(1024), _random(1024)

    def by_numpy() -> Array:
        centred = x - x.mean(axis=1, keepdims=True)
        return (
            centred / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-5) * weight
            + bias
        )  # type: ignore[no-any-return]

    return Work(
        jit(lambda x, w, b: F.layer_norm(x, (1024,), w, b)), _on(device, x, weight, bias), by_numpy
    )


def _product(n: int, dtype: str) -> Callable[[str], Work]:
    def make(device: str) -> Work:
        a, b = _random(n, n, dtype=dtype), _random(n, n, dtype=dtype)
        return Work(jit(lambda a, b: a @ b), _on(device, a, b), lambda: a @ b)

    return make


def _layer(device: str) -> Work:
    x, weight, bias = _random(256, 1024), _random(1024, 1024), _random(1024)
    return Work(jit(lambda x, w, b: F.gelu(F.linear(x, w, b))), _on(device, x, weight, bias))


def _convolution(device: str) -> Work:
    x, weight, bias = _random(16, 32, 28, 28), _random(64, 32, 3, 3), _random(64)
    return Work(
        jit(lambda x, w, b: F.conv2d(x, w, b, padding=1).relu()), _on(device, x, weight, bias)
    )


def _attention(device: str) -> Work:
    return Work(
        jit(F.scaled_dot_product_attention),
        _on(device, *(_random(4, 8, 256, 64) for _ in range(3))),
    )


def _adam(device: str) -> Work:
    weights = nn.Parameter(tensor(_random(1 << 23), device=device))
    return _training(weights, lambda weights, x: (weights * x).sum(), _on(device, _random(1 << 23)))


def _lenet(device: str) -> Work:
    features = (
        nn.Conv2d(1, 6, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
    )
    classifier = (
        nn.Flatten(),
        nn.Linear(400, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, 10),
    )
    net = nn.Sequential(*features, *classifier).to(device)
    images, labels = _random(64, 1, 28, 28), np.arange(64) % 10
    return _training(net, lambda net, x, y: F.cross_entropy(net(x), y), _on(device, images, labels))


def _training(what: Any, loss_of: Callable[..., Any], args: tuple[Any, ...]) -> Work:
    """A step of Adam: loss, gradients, update."""
    adam = optim.Adam(what.parameters() if isinstance(what, nn.Module) else [what], lr=1e-3)

    def step(*inputs: Any) -> Any:
        loss = loss_of(what, *inputs)
        adam.zero_grad()
        loss.backward()
        adam.step()
        return loss

    return Work(jit(step), args)


CASES = (
    Case("elementwise", "exp(2x + 1) of 16M numbers", _elementwise),
    Case("sum", "of 16M numbers", _total),
    Case("column sums", "of 16384 x 1024", _columns),
    Case("softmax", "rows of 16384 x 1024", _softmax),
    Case("layer norm", "rows of 16384 x 1024", _layer_norm),
    Case("matmul", "1024 x 1024 in float32", _product(1024, "float32")),
    Case("matmul f64", "512 x 512 in float64", _product(512, "float64")),
    Case("linear + gelu", "256 rows through 1024 x 1024", _layer),
    Case("conv + relu", "16 x 32 x 28 x 28, 64 kernels of 3 x 3", _convolution),
    Case("attention", "4 x 8 heads, 256 places of 64", _attention),
    Case("Adam step", "8M parameters, gradient and update", _adam),
    Case("LeNet step", "64 images: loss, gradients, update", _lenet),
)


def tiny() -> tuple[Callable[[], object], Callable[[], object]]:
    """A call that computes next to nothing, of a jitted function and by NumPy: what Python and the
    call itself cost."""
    x, array = tensor(np.ones(8, np.float32)), np.ones(8, np.float32)
    function = jit(lambda x: x * 2 + 1)
    return (lambda: function(x)), (lambda: array * 2 + 1)
