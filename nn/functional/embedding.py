"""Rows looked up by integers. In: indices. Out: the rows, on a new last axis."""

from __future__ import annotations

from typing import Any

from ... import errors
from ...frontend import ops
from ...frontend.arguments import as_int
from ...frontend.binding import of_tensors
from ...frontend.tensor import Tensor
from .common import indices

__all__ = ["embedding", "one_hot"]


@of_tensors
def embedding(x: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: Any = None) -> Tensor:
    """Row x[i] of weight for every i: shape x.shape + (embedding_dim,).

    padding_idx, which may count from the end, is the row that gets no gradient. There is no max_norm, which would change the
    weights in a forward pass. Raises ShapeError, DTypeError, and IndexError on an index outside the table when computed.

    >>> F.embedding(wf.tensor([2, 0]), wf.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])).tolist()
    [[4.0, 5.0], [0.0, 1.0]]
    """
    refuse_max_norm("embedding", max_norm)
    if weight.ndim != 2:
        raise errors.ShapeError(f"embedding: weight must have shape (num_embeddings, embedding_dim), not {weight.shape}")
    places = indices(x, "embedding")
    rows = ops.gather(weight, [places])
    if padding_idx is None:
        return rows
    return ops.where((places == row_of("embedding", padding_idx, weight.shape[0])).unsqueeze(-1), rows.detach(), rows)


def row_of(name: str, padding_idx: int, rows: int) -> int:
    """The row of padding, counted from the front. Raises IndexError."""
    row = as_int(name, "padding_idx", padding_idx)
    if not -rows <= row < rows:
        raise errors.IndexError(f"{name}: padding_idx={row} is out of range for {rows} rows")
    return row % rows


def refuse_max_norm(name: str, max_norm: Any) -> None:
    """Raises ArgumentError unless it is None."""
    if max_norm is not None:
        raise errors.ArgumentError(
            f"{name}: there is no max_norm, since a forward pass changes no weights: assign weights that you scaled "
            "inside wf.no_grad() after a step"
        )


@of_tensors
def one_hot(x: Tensor, num_classes: int = -1) -> Tensor:
    """int64 ones where the new last axis equals x.

    num_classes -1 is max(x) + 1, for which x is computed: not in a jitted function. Raises IndexError on a label outside
    0 .. num_classes-1 when computed, ArgumentError where there is nothing to count.

    >>> F.one_hot(wf.tensor([2, 0])).tolist()
    [[0, 0, 1], [1, 0, 0]]
    """
    labels, classes = indices(x, "one_hot"), as_int("one_hot", "num_classes", num_classes)
    if classes == -1:
        if not x.size:
            raise errors.ArgumentError(f"one_hot: num_classes is needed for labels of shape {x.shape}: there is no greatest")
        classes = max(int(labels.max().item()) + 1, 1)
    elif classes < 1:
        raise errors.ArgumentError(f"one_hot: num_classes is 1 or more, or -1 to count them, not {classes}")
    return ops.gather(ops.eye(classes, dtype="int64"), [labels])
