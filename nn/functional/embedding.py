"""Rows looked up by integers. In: indices. Out: the rows, on a new last axis."""

from __future__ import annotations

from ... import errors
from ...frontend import ops
from ...frontend.binding import of_tensors
from ...frontend.tensor import Tensor
from .common import indices


@of_tensors
def embedding(x: Tensor, weight: Tensor) -> Tensor:
    """Row x[i] of weight for every i: shape x.shape + (embedding_dim,). Raises IndexError on an index outside the table."""
    if weight.ndim != 2:
        raise errors.ShapeError(f"embedding: weight must have shape (num_embeddings, embedding_dim), not {weight.shape}")
    return ops.gather(weight, [indices(x, "embedding")])


@of_tensors
def one_hot(x: Tensor, num_classes: int) -> Tensor:
    """int64 ones where the new last axis equals x. Raises IndexError on a label outside 0 .. num_classes-1."""
    rows = ops.eye(num_classes, dtype="int64")
    return ops.gather(rows, [indices(x, "one_hot")])
