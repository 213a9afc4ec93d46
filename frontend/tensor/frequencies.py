"""Frequencies of discrete Fourier transforms. In: a length, a distance. Out: Tensors."""

from __future__ import annotations

from ...ir.graph import dtype as dt
from ..operands.arguments import as_count, as_double
from ..operands.broadcast import default_float
from ..operands.likes import DeviceLike, DTypeLike
from .ranges import arange
from .tensor import Tensor


def fftfreq(
    n: int, /, *, d: float = 1.0, dtype: DTypeLike = None, device: DeviceLike = None
) -> Tensor:
    """The frequencies of `fft` of n samples that lie d apart, in cycles per unit of d: multiples of
    1 / (n * d), from 0 up, then the negative ones.

    >>> wf.fft.fftfreq(4, d=0.5).tolist()
    [0.0, 0.5, -1.0, -0.5]
    """
    count, spacing = as_count("fftfreq", "n", n, 1), as_double("fftfreq", "d", d)
    k = arange(count, device=device)
    signed = (k + count // 2) % count - count // 2
    return _frequencies(signed, count, spacing, dtype)


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: DTypeLike = None, device: DeviceLike = None
) -> Tensor:
    """The same of `rfft`: the first n // 2 + 1, none of them negative."""
    count, spacing = as_count("rfftfreq", "n", n, 1), as_double("rfftfreq", "d", d)
    return _frequencies(arange(count // 2 + 1, device=device), count, spacing, dtype)


def _frequencies(k: Tensor, count: int, spacing: float, dtype: DTypeLike) -> Tensor:
    exact = k.astype(dt.float64) / (count * spacing)
    return exact.astype(default_float() if dtype is None else dtype)
