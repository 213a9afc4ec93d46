"""Fourier transforms of pairs in NumPy. In: real arrays whose last axis has the parts of complex
numbers. Out: the same of their transforms."""

from __future__ import annotations

import numpy as np

from ..graph.shapes import Shape
from .values import Array


def fft(x: Array, axis: int, forward: bool, turns: int, shape: Shape) -> Array:
    """The sums of x[j] exp(-2 pi i j k / n) over j along an axis; the conjugates of the factors
    where not forward. With `turns`, element j of the lines at l of the axis behind is multiplied by
    exp(-2 pi i j l / turns) before, or its conjugate."""
    z = x[..., 0] + 1j * x[..., 1]
    if turns:
        z = z * _turned(z.shape, axis, forward, turns)
    z = np.fft.fft(z, axis=axis) if forward else np.fft.ifft(z, axis=axis, norm="forward")
    return np.stack([z.real, z.imag], -1).astype(x.dtype).reshape(shape)


def _turned(shape: tuple[int, ...], axis: int, forward: bool, turns: int) -> Array:
    steps = np.outer(np.arange(shape[axis]), np.arange(shape[axis + 1])) % turns
    factors: Array = np.exp((-2j if forward else 2j) * np.pi * steps / turns)
    return factors.reshape(*factors.shape, *[1] * (len(shape) - axis - 2))
