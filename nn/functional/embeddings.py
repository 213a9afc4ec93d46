"""Rows looked up by integers. In: indices. Out: the rows, on a new last axis."""

from __future__ import annotations

from typing import Any

from ... import errors
from ...frontend import ops
from ...frontend.operands.arguments import as_bool, as_choice, as_int
from ...frontend.tensor.binding import of_tensors
from ...frontend.tensor.tensor import Tensor
from ...ir.graph.brief import brief
from .common import indices

__all__ = ["embedding", "embedding_bag", "one_hot"]

# of one_hot, whose square table (never in memory) has elements that can be counted
MOST_CLASSES = 1 << 30


@of_tensors
def embedding(
    x: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: Any = None
) -> Tensor:
    """Row x[i] of weight for every i: shape x.shape + (embedding_dim,).

    padding_idx, which may count from the end, is the row that gets no gradient. There is no
    max_norm, which would change the weights in a forward pass. Raises ShapeError, DTypeError, and
    IndexError on an index outside the table when computed.

    >>> F.embedding(wf.tensor([2, 0]), wf.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])).tolist()
    [[4.0, 5.0], [0.0, 1.0]]
    """
    refuse_max_norm("embedding", max_norm)
    if weight.ndim != 2:
        raise errors.ShapeError(
            f"embedding: weight must have shape (num_embeddings, embedding_dim), not {weight.shape}"
        )
    places = indices(x, "embedding")
    rows = ops.gather(weight, [places])
    if padding_idx is None:
        return rows
    return ops.where(
        (places == row_of("embedding", padding_idx, weight.shape[0])).unsqueeze(-1),
        rows.detach(),
        rows,
    )


@of_tensors
def embedding_bag(
    x: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: Any = None,
    *,
    mode: str = "mean",
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The "sum", "mean" or "max" of each bag of rows of weight: shape (B, embedding_dim), zeros for
    empty bags.

    x holds a bag of indices in each row, (B, L), or all bags in one line (n,): offsets (B,),
    ascending from 0, say where each begins, and with include_last_offset one more where the last
    one ends. per_sample_weights, of x's shape, scale the rows of a sum. Indices equal to
    padding_idx belong to no bag. Raises ShapeError, DTypeError, ArgumentError, and IndexError on an
    index outside the table, or before the first bag, when computed.

    >>> table = wf.tensor([[1.0], [2.0], [4.0]])
    >>> F.embedding_bag(wf.tensor([0, 1, 2]), table, wf.tensor([0, 2]), mode="sum").tolist()
    [[3.0], [4.0]]
    """
    refuse_max_norm("embedding_bag", max_norm)
    how = as_choice("embedding_bag", "mode", mode, ("sum", "mean", "max"))
    _check_bags(x, offsets, per_sample_weights, how)
    rows, kept = embedding(x, weight, padding_idx), ops.ones_like(x, dtype="bool")
    if padding_idx is not None:
        kept = x != row_of("embedding_bag", padding_idx, weight.shape[0])
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    if offsets is None:
        return _of_rows(rows, kept, how)
    bag = ops.searchsorted(indices(offsets, "embedding_bag"), ops.arange(x.shape[0]), "right") - 1
    bags = offsets.shape[0] - as_bool("embedding_bag", "include_last_offset", include_last_offset)
    if how == "max":
        member = (bag == ops.arange(bags).unsqueeze(1)) & kept
        return _of_rows(rows.unsqueeze(0), member, how)
    total = ops.scatter_add(
        ops.zeros(bags, weight.shape[1], dtype=rows.dtype),
        bag,
        ops.where(kept.unsqueeze(-1), rows, 0.0),
    )
    return (
        total
        if how == "sum"
        else total / _at_least_one(ops.scatter_add(ops.zeros(bags), bag, kept.float()), rows)
    )


def _of_rows(rows: Tensor, kept: Tensor, how: str) -> Tensor:
    """The sum, mean or maximum over axis 1 of what is kept; zeros where nothing is."""
    kept = kept.unsqueeze(-1)
    if how == "max" and kept.shape[1]:
        return ops.where(kept.any(axis=1), ops.where(kept, rows, float("-inf")).max(axis=1), 0.0)
    total = ops.where(kept, rows, 0.0).sum(axis=1)
    return total if how == "sum" else total / _at_least_one(kept.squeeze(-1).sum(axis=1), rows)


def _at_least_one(count: Tensor, rows: Tensor) -> Tensor:
    return count.clip(1).astype(rows.dtype).unsqueeze(-1)


def _check_bags(
    x: Tensor, offsets: Tensor | None, per_sample_weights: Tensor | None, how: str
) -> None:
    if x.ndim != (2 if offsets is None else 1) or (
        offsets is not None and (offsets.ndim != 1 or not offsets.size)
    ):
        text = (
            f"x has shape {x.shape}"
            if offsets is None
            else f"x has shape {x.shape} and offsets {offsets.shape}"
        )
        raise errors.ShapeError(
            "embedding_bag: bags are the rows of x (B, L), or of a line (n,) with offsets (B,),"
            f" but {text}"
        )
    if per_sample_weights is None:
        return
    if how != "sum":
        raise errors.ArgumentError(
            f"embedding_bag: per_sample_weights are for mode='sum', not {how!r}"
        )
    if per_sample_weights.shape != x.shape:
        raise errors.ShapeError(
            f"embedding_bag: per_sample_weights have shape {per_sample_weights.shape}, but x has"
            f" {x.shape}"
        )


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
            f"{name}: there is no max_norm, since a forward pass changes no weights: assign weights"
            " that you scaled inside wf.no_grad() after a step"
        )


@of_tensors
def one_hot(x: Tensor, num_classes: int = -1) -> Tensor:
    """int64 ones where the new last axis equals x.

    num_classes -1 is max(x) + 1, for which x is computed: not in a jitted function. Raises
    IndexError on a label outside 0 .. num_classes-1 when computed, ArgumentError where there is
    nothing to count, or from 2**30 classes on.

    >>> F.one_hot(wf.tensor([2, 0])).tolist()
    [[0, 0, 1], [1, 0, 0]]
    """
    labels, classes = indices(x, "one_hot"), as_int("one_hot", "num_classes", num_classes)
    if classes == -1:
        if not x.size:
            raise errors.ArgumentError(
                f"one_hot: num_classes is needed for labels of shape {x.shape}: there is no"
                " greatest"
            )
        classes = max(int(labels.max().item()) + 1, 1)
    elif classes < 1:
        raise errors.ArgumentError(
            f"one_hot: num_classes must be 1 or more, or -1 to count them, not {classes}"
        )
    if classes >= MOST_CLASSES:
        raise errors.ArgumentError(
            f"one_hot: num_classes must be less than 2**30, not {brief(classes)}"
        )
    return ops.gather(ops.eye(classes, dtype="int64"), [labels])
