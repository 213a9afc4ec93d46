"""Attention. In: queries, keys and values. Out: mixtures of the values."""

from __future__ import annotations

from math import sqrt

from ... import errors
from ...frontend import ops
from ...frontend.operands.arguments import as_bool, as_double
from ...frontend.operands.autocast import runs_in_half
from ...frontend.operands.broadcast import broadcast_shape
from ...frontend.operands.in_float32 import in_float32
from ...frontend.tensor.binding import of_tensors
from ...frontend.tensor.tensor import Tensor
from .dropouts import dropout

__all__ = ["scaled_dot_product_attention"]

NAME = "scaled_dot_product_attention"


@of_tensors
@runs_in_half
@in_float32
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query @ key.T * scale) @ value over the last two axes (Vaswani et al. 2017); scale
    defaults to 1 / sqrt(E).

    query (..., L, E), key (..., S, E) and value (..., S, V) give (..., L, V); the leading axes
    broadcast. attn_mask broadcasts to (..., L, S): a boolean one is True where a key takes part, a
    float one is added to the scores. is_causal leaves keys 0 .. i to query i. A query without keys
    gives NaN. dropout_p applies whenever it is not 0. enable_gqa lets each head (axis -3) of key
    and value serve as many neighbouring ones of the query.

    Raises ShapeError, DTypeError, ArgumentError.

    >>> q, k, v = wf.ones(1, 4), wf.ones(2, 4), wf.tensor([[0.0], [1.0]])
    >>> F.scaled_dot_product_attention(q, k, v).tolist()
    [[0.5]]
    """
    if as_bool(NAME, "enable_gqa", enable_gqa):
        key, value = _shared_by_heads("key", key, query), _shared_by_heads("value", value, query)
    if value.ndim < 2 or key.ndim < 2 or key.shape[-2] != value.shape[-2]:
        shapes = f"query {query.shape}, key {key.shape}, value {value.shape}"
        raise errors.ShapeError(
            f"{NAME}: key (..., S, E) and value (..., S, V) must agree in S, got {shapes}"
        )
    return attention_weights(query, key, attn_mask, dropout_p, is_causal, scale) @ value


@of_tensors
@runs_in_half
@in_float32
def attention_weights(
    query: Tensor,
    key: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """How much of each value each query takes, (..., L, S), after dropout."""
    if min(query.ndim, key.ndim) < 2 or query.shape[-1] != key.shape[-1]:
        shapes = f"query {query.shape}, key {key.shape}"
        raise errors.ShapeError(
            f"{NAME}: query (..., L, E) and key (..., S, E) must agree in E, got {shapes}"
        )
    factor = (
        1.0 / sqrt(max(query.shape[-1], 1)) if scale is None else as_double(NAME, "scale", scale)
    )
    scores = (query @ key.transpose(-1, -2)) * factor
    if as_bool(NAME, "is_causal", is_causal):
        rows, columns = ops.arange(query.shape[-2]), ops.arange(key.shape[-2])
        scores = ops.where(columns <= rows.unsqueeze(1), scores, float("-inf"))
    if attn_mask is not None:
        broadcast_shape(f"{NAME}: scores and attn_mask", [scores.shape, attn_mask.shape])
        is_bool = check_mask(NAME, "attn_mask", attn_mask).dtype.kind == "b"
        scores = ops.where(attn_mask, scores, float("-inf")) if is_bool else scores + attn_mask
    return dropout(scores.softmax(axis=-1), dropout_p)


def check_mask(name: str, what: str, mask: Tensor) -> Tensor:
    """The mask. Raises DTypeError for integers."""
    if mask.dtype.kind != "b" and not mask.dtype.is_float:
        raise errors.DTypeError(
            f"{name}: {what} must be a bool mask, or a float mask to add, not {mask.dtype.name}"
        )
    return mask


def _shared_by_heads(what: str, x: Tensor, query: Tensor) -> Tensor:
    """x with each head as often as the query has heads for it."""
    heads = x.shape[-3] if x.ndim > 2 else 0
    if query.ndim < 3 or not heads or query.shape[-3] % heads:
        shapes = f"query {query.shape}, {what} {x.shape}"
        raise errors.ShapeError(
            f"{NAME}: with enable_gqa, axis -3 of {what} must divide that of query, got {shapes}"
        )
    return ops.repeat(x, query.shape[-3] // heads, axis=-3)  # type: ignore[no-any-return]
