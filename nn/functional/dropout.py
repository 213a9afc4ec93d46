"""Elements zeroed at random. In: a Tensor and a probability. Out: one of the same shape."""

from __future__ import annotations

from ... import errors
from ...frontend import ops
from ...frontend.arguments import as_bool, as_double
from ...frontend.binding import of_tensors
from ...frontend.tensor import Tensor


@of_tensors
def dropout(x: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Zeroes each element with probability p and scales the others by 1 / (1 - p); the identity when not training."""
    p = as_double("dropout", "p", p)
    if not 0.0 <= p <= 1.0:
        raise errors.ArgumentError(f"dropout: p must be in [0, 1], not {p}")
    if not as_bool("dropout", "training", training) or p == 0.0:
        return x
    if p == 1.0:
        return x * 0.0
    return ops.where(ops.rand(*x.shape) < p, 0.0, x * (1.0 / (1.0 - p)))
