"""Attention of several heads. In: queries, keys and values. Out: mixtures of the values, and how
they were mixed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add, and_

from ... import errors
from ...frontend import ops
from ...frontend.operands.arguments import as_bool, as_count, as_fraction
from ...frontend.operands.likes import DTypeLike
from ...frontend.tensor.binding import of_tensors
from ...frontend.tensor.tensor import Tensor
from .. import functional as F
from .. import init
from ..functional.attention import attention_weights, check_mask
from ..module import Module, Parameter
from .linear import Linear

__all__ = ["MultiheadAttention"]


@dataclass
class KVCache:
    """What attention keeps of the places that it has seen. Attributes: `keys` and `values`, (N,
    num_heads, places, features of a head); `used`, how many places, a 0-d int64 Tensor.

    >>> cache = nn.MultiheadAttention(8, num_heads=2).new_cache(batch=3, places=5)
    >>> cache.keys.shape, cache.used.item()
    ((3, 2, 5, 4), 0)
    """

    keys: Tensor
    values: Tensor
    used: Tensor


class MultiheadAttention(Module):
    """Attention of num_heads heads, each over embed_dim / num_heads features of projections
    (Vaswani et al. 2017).

    query (L, N, embed_dim), key (S, N, kdim) and value (S, N, vdim) give (output (L, N, embed_dim),
    weights (N, L, S)); with batch_first the batch N is axis 0; without a batch there is no N. kdim
    and vdim are embed_dim unless given.

    key_padding_mask (N, S) and attn_mask (L, S), or (N * num_heads, L, S), are True where a key is
    left out, or floats that are added to the scores: a bool mask of F.scaled_dot_product_attention
    is the other way round. is_causal leaves keys 0 .. i to query i, with or without attn_mask. A
    query without keys gives NaN.

    need_weights=False returns None for the weights, which then are never stored;
    average_attn_weights=False gives those of every head, (N, num_heads, L, S). Raises ShapeError,
    DTypeError, ArgumentError.

    >>> attention = nn.MultiheadAttention(8, num_heads=2, batch_first=True)
    >>> x = wf.randn(3, 5, 8)
    >>> output, weights = attention(x, x, x)
    >>> output.shape, weights.shape
    ((3, 5, 8), (3, 5, 5))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
    ) -> None:
        name = "MultiheadAttention"
        if as_bool(name, "add_bias_kv", add_bias_kv) or as_bool(
            name, "add_zero_attn", add_zero_attn
        ):
            raise errors.ArgumentError(
                f"{name}: there is no add_bias_kv and no add_zero_attn: append to key and value"
                " yourself"
            )
        self.embed_dim, self.num_heads = (
            as_count(name, "embed_dim", embed_dim),
            as_count(name, "num_heads", num_heads, 1),
        )
        self.kdim = self.embed_dim if kdim is None else as_count(name, "kdim", kdim)
        self.vdim = self.embed_dim if vdim is None else as_count(name, "vdim", vdim)
        if self.embed_dim % self.num_heads:
            raise errors.ArgumentError(f"{name}: {num_heads=} must divide {embed_dim=}")
        self.dropout, self.batch_first = (
            as_fraction(name, "dropout", dropout),
            as_bool(name, "batch_first", batch_first),
        )
        inputs = (self.embed_dim, self.kdim, self.vdim)
        packed = set(inputs) == {self.embed_dim}
        self.in_proj_weight = (
            Parameter(init.xavier_uniform((3 * self.embed_dim, self.embed_dim))) if packed else None
        )
        apart = (
            None if packed else Parameter(init.xavier_uniform((self.embed_dim, features)))
            for features in inputs
        )
        self.q_proj_weight, self.k_proj_weight, self.v_proj_weight = apart
        self.in_proj_bias = (
            Parameter(ops.zeros(3 * self.embed_dim)) if as_bool(name, "bias", bias) else None
        )
        self.out_proj = Linear(self.embed_dim, self.embed_dim, bias)
        if self.out_proj.bias is not None:
            self.out_proj.bias = Parameter(ops.zeros(self.embed_dim))

    @of_tensors
    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        name = "MultiheadAttention"
        wants_weights, is_causal = (
            as_bool(name, "need_weights", need_weights),
            as_bool(name, "is_causal", is_causal),
        )
        is_averaged = as_bool(name, "average_attn_weights", average_attn_weights)
        self._check(query, key, value)
        is_self, is_pair, batch = (
            query is key,
            key is value,
            None if query.ndim == 2 else 0 if self.batch_first else 1,
        )
        query, key, value = (_batch_first(x, batch) for x in (query, key, value))
        mask = self._mask(query, key, key_padding_mask, attn_mask)
        inputs = (
            [query] if is_self and is_pair else [query, key] if is_pair else [query, key, value]
        )
        q, k, v = (self._heads(x) for x in self._projected(inputs))
        p = self.dropout if self.training else 0.0
        weights: Tensor | None = None
        if wants_weights:
            weights = attention_weights(q, k, mask, p, is_causal)
            mixed = weights @ v
            weights = weights.mean(axis=1) if is_averaged else weights
        else:
            mixed = F.scaled_dot_product_attention(q, k, v, mask, p, is_causal)
        out = self.out_proj(mixed.permute(0, 2, 1, 3).reshape(*query.shape))
        if batch is None:
            return out.squeeze(0), None if weights is None else weights.squeeze(0)
        return _batch_first(out, batch), weights

    def new_cache(self, batch: int, places: int, dtype: DTypeLike = None) -> KVCache:
        """A KVCache for sequences of up to so many places, with none of them seen."""
        name = "MultiheadAttention.new_cache"
        batch, places = as_count(name, "batch", batch, 1), as_count(name, "places", places, 1)
        weight = self.out_proj.weight
        shape = (batch, self.num_heads, places, self.embed_dim // self.num_heads)
        empty = ops.zeros(shape, dtype=dtype or weight.dtype, device=weight.device)
        return KVCache(empty, empty, ops.zeros((), dtype="int64"))

    @of_tensors
    def step(self, x: Tensor, cache: KVCache) -> tuple[Tensor, KVCache]:
        """Causal self-attention of the next place of each sequence, x (N, embed_dim), to itself and
        all places before it, whose keys and values the cache holds. Returns (output (N, embed_dim),
        the cache with this place): all places one after the other give what the layer gives of
        them together.

        In a loop of the program, such as nn.generate, a cache is written in place, a row a step.
        Raises ShapeError; IndexError when it is computed, beyond the last place of the cache.
        """
        if x.shape != (cache.keys.shape[0], self.embed_dim):
            raise errors.ShapeError(
                f"MultiheadAttention.step: x of shape {x.shape} does not fit a cache of"
                f" {cache.keys.shape[0]} sequences, of {self.embed_dim} features each"
            )
        q, k, v = (self._heads(y) for y in self._projected([x[:, None]]))
        keys, values = cache.keys.clone(), cache.values.clone()
        keys[:, :, cache.used], values[:, :, cache.used] = k[:, :, 0], v[:, :, 0]
        seen = ops.arange(keys.shape[2], device=x.device) <= cache.used
        mixed = F.scaled_dot_product_attention(q, keys, values, seen)
        return self.out_proj(mixed.reshape(x.shape)), KVCache(keys, values, cache.used + 1)

    def _projected(self, inputs: list[Tensor]) -> list[Tensor]:
        """Queries, keys and values of so many different inputs; those of the last one in one
        product."""
        width, packed, last = self.embed_dim, self.in_proj_weight, len(inputs) - 1
        if packed is None:
            apart = [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]
            biases = [None] * 3 if self.in_proj_bias is None else self.in_proj_bias.split(width)
            return [
                F.linear(x, w, b)
                for x, w, b in zip((inputs + inputs[-1:] * 2)[:3], apart, biases, strict=True)
            ]
        projections: list[Tensor] = []
        for i, x in enumerate(inputs):
            rows = slice(i * width, None if i == last else (i + 1) * width)
            bias = None if self.in_proj_bias is None else self.in_proj_bias[rows]
            projections += F.linear(x, packed[rows], bias).split(width, -1)
        return projections

    def _heads(self, x: Tensor) -> Tensor:
        """(N, L, E) as (N, num_heads, L, E / num_heads)."""
        return x.reshape(*x.shape[:2], self.num_heads, self.embed_dim // self.num_heads).permute(
            0, 2, 1, 3
        )

    def _mask(
        self, query: Tensor, key: Tensor, padding: Tensor | None, between: Tensor | None
    ) -> Tensor | None:
        """One mask of F.scaled_dot_product_attention from both, for (N, num_heads, L, S)."""
        batch, rows, columns, masks = query.shape[0], query.shape[1], key.shape[1], []
        if between is not None:
            shapes = [(rows, columns), (batch * self.num_heads, rows, columns)]
            _check_mask("attn_mask", between, shapes)
            masks.append(
                between
                if between.ndim == 2
                else between.reshape(batch, self.num_heads, rows, columns)
            )
        if padding is not None:
            shapes = [(batch, columns), *([(columns,)] if batch == 1 else [])]
            _check_mask("key_padding_mask", padding, shapes)
            masks.append(padding.reshape(batch, 1, 1, columns))
        if not masks:
            return None
        if all(m.dtype.kind == "b" for m in masks):
            return reduce(and_, (~m for m in masks))
        return reduce(
            add, (ops.where(m, float("-inf"), 0.0) if m.dtype.kind == "b" else m for m in masks)
        )

    def _check(self, query: Tensor, key: Tensor, value: Tensor) -> None:
        features = (query.shape[-1:], key.shape[-1:], value.shape[-1:]) == (
            (self.embed_dim,),
            (self.kdim,),
            (self.vdim,),
        )
        batches = {
            x.shape[0 if self.batch_first else 1] for x in (query, key, value) if x.ndim == 3
        }
        axes = {query.ndim, key.ndim, value.ndim}
        if (
            not features
            or axes not in ({2}, {3})
            or len(batches) > 1
            or key.shape[:-1] != value.shape[:-1]
        ):
            order = "(N, L, E)" if self.batch_first else "(L, N, E)"
            expected = (
                f"{order} or (L, E) with E = {self.embed_dim} for query, {self.kdim} for key,"
                f" {self.vdim} for value"
            )
            shapes = f"query {query.shape}, key {key.shape}, value {value.shape}"
            raise errors.ShapeError(f"MultiheadAttention: expected {expected}, got {shapes}")

    def extra_repr(self) -> str:
        return (
            f"embed_dim={self.embed_dim}, num_heads={self.num_heads}, dropout={self.dropout},"
            f" batch_first={self.batch_first}"
        )


def _batch_first(x: Tensor, batch: int | None) -> Tensor:
    """x with its batch, which is on axis 0 or 1 (None: there is none yet), on axis 0; of axis 1 its
    own inverse."""
    return x.unsqueeze(0) if batch is None else x.transpose(0, 1) if batch == 1 else x


def _check_mask(what: str, mask: Tensor, shapes: list[tuple[int, ...]]) -> None:
    check_mask("MultiheadAttention", what, mask)
    if mask.shape not in shapes:
        raise errors.ShapeError(
            f"MultiheadAttention: {what} must have shape {' or '.join(map(str, shapes))}, not"
            f" {mask.shape}"
        )
