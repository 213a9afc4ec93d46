"""Attention. In: queries, keys and values. Out: mixtures of the values."""

from __future__ import annotations

from math import sqrt

from ... import errors
from ...frontend import ops
from ...frontend.arguments import as_bool, as_double
from ...frontend.binding import of_tensors
from ...frontend.half import in_float32
from ...frontend.tensor import Tensor
from .dropout import dropout


@of_tensors
@in_float32
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """softmax(query @ key.T * scale) @ value over the last two axes; scale defaults to 1 / sqrt(head size).

    A boolean mask is True where a key takes part; a float mask is added to the scores.
    """
    _check_attention(query, key, value)
    factor = 1.0 / sqrt(max(query.shape[-1], 1)) if scale is None else as_double("attention", "scale", scale)
    scores = (query @ key.transpose(-1, -2)) * factor
    if as_bool("attention", "is_causal", is_causal):
        rows, columns = ops.arange(query.shape[-2]), ops.arange(key.shape[-2])
        scores = ops.where(columns <= rows.unsqueeze(1), scores, float("-inf"))
    if attn_mask is not None:
        is_bool = attn_mask.dtype.kind == "b"
        scores = ops.where(attn_mask, scores, float("-inf")) if is_bool else scores + attn_mask
    return dropout(scores.softmax(axis=-1), dropout_p) @ value


def _check_attention(query: Tensor, key: Tensor, value: Tensor) -> None:
    shapes = f"query {query.shape}, key {key.shape}, value {value.shape}"
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise errors.ShapeError(f"attention: query, key and value need at least two axes, got {shapes}")
    if query.shape[-1] != key.shape[-1]:
        raise errors.ShapeError(f"attention: query and key must agree in their last axis, got {shapes}")
    if key.shape[-2] != value.shape[-2]:
        raise errors.ShapeError(f"attention: key and value must agree in their second to last axis, got {shapes}")
