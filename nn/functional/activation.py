"""Elementwise functions between layers, and softmax. In: a Tensor. Out: one of the same shape."""

from __future__ import annotations

from ...frontend.binding import of_tensors
from ...frontend.tensor import Tensor


@of_tensors
def relu(x: Tensor) -> Tensor:
    return x.relu()


@of_tensors
def gelu(x: Tensor, approximate: str = "none") -> Tensor:
    """x times the normal distribution function of x; `approximate="tanh"` is the usual cheaper form."""
    return x.gelu(approximate)


@of_tensors
def silu(x: Tensor) -> Tensor:
    return x.silu()


@of_tensors
def sigmoid(x: Tensor) -> Tensor:
    return x.sigmoid()


@of_tensors
def tanh(x: Tensor) -> Tensor:
    return x.tanh()


@of_tensors
def softmax(x: Tensor, axis: int = -1) -> Tensor:
    return x.softmax(axis=axis)


@of_tensors
def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    return x.log_softmax(axis=axis)
