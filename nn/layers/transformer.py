"""Transformers. In: sequences of vectors. Out: others of the same shape."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from ... import errors
from ...frontend import ops
from ...frontend.operands.arguments import as_bool, as_choice, as_count
from ...frontend.tensor.binding import of_tensors
from ...frontend.tensor.tensor import Tensor
from ...ir.graph.brief import brief
from .. import functional as F
from .. import init
from ..module import Module
from .attention import MultiheadAttention
from .container import ModuleList
from .dropouts import Dropout
from .linear import Linear
from .normalization import LayerNorm

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]

Activation = Callable[[Tensor], Tensor]
ACTIVATIONS: dict[str, Activation] = {"relu": F.relu, "gelu": F.gelu}


class _Layer(Module):
    """Attentions and a network of two layers, each with dropout, a residual and a layer norm."""

    attentions: tuple[str, ...] = ()

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
    ) -> None:
        for attention in self.attentions:
            setattr(
                self,
                attention,
                MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first),
            )
        self.linear1, self.linear2 = (
            Linear(d_model, dim_feedforward, bias),
            Linear(dim_feedforward, d_model, bias),
        )
        self.dropout = Dropout(dropout)
        for i in range(1, len(self.attentions) + 2):
            setattr(self, f"norm{i}", LayerNorm(d_model, layer_norm_eps, bias=bias))
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.norm_first = as_bool(type(self).__name__, "norm_first", norm_first)
        if not callable(activation):
            activation = ACTIVATIONS[
                as_choice(type(self).__name__, "activation", activation, list(ACTIVATIONS))
            ]
        self.activation = activation

    def _added(self, x: Tensor, i: int, part: Callable[[Tensor], Tensor]) -> Tensor:
        """x plus what its part number i makes of it."""
        norm, dropout = getattr(self, f"norm{i}"), getattr(self, f"dropout{i}")
        if self.norm_first:
            return x + dropout(part(norm(x)))  # type: ignore[no-any-return]
        return norm(x + dropout(part(x)))  # type: ignore[no-any-return]

    def _fed_forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))  # type: ignore[no-any-return]


class TransformerEncoderLayer(_Layer):
    """Self-attention and a network of two layers, each with dropout, a residual and a layer norm
    (Vaswani et al. 2017).

    src (L, N, d_model), (N, L, d_model) with batch_first, or (L, d_model); src_mask,
    src_key_padding_mask and is_causal as attn_mask, key_padding_mask and is_causal of
    MultiheadAttention. norm_first normalises what goes in instead of the sum. activation: "relu",
    "gelu" or a function of a Tensor. Raises ShapeError, DTypeError, ArgumentError.

    >>> layer = nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16, batch_first=True)
    >>> layer(wf.randn(3, 5, 8), is_causal=True).shape
    (3, 5, 8)
    """

    attentions = ("self_attn",)
    self_attn: MultiheadAttention

    @of_tensors
    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        def attended(x: Tensor) -> Tensor:
            return self.self_attn(
                x, x, x, src_key_padding_mask, False, src_mask, is_causal=is_causal
            )[0]  # type: ignore[no-any-return]

        return self._added(self._added(src, 1, attended), 2, self._fed_forward)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to what an encoder made, and a network of two layers (Vaswani et
    al. 2017).

    tgt (T, N, d_model) and memory (S, N, d_model), with batch_first (N, T, d_model) and (N, S,
    d_model), or both without N, give the shape of tgt. tgt_mask (T, T), tgt_key_padding_mask (N, T)
    and tgt_is_causal are those of the self-attention, memory_mask (T, S), memory_key_padding_mask
    (N, S) and memory_is_causal those of the other one, as attn_mask, key_padding_mask and is_causal
    of MultiheadAttention. Settings and errors as for TransformerEncoderLayer.

    >>> layer = nn.TransformerDecoderLayer(d_model=8, nhead=2, dim_feedforward=16, batch_first=True)
    >>> layer(wf.randn(3, 4, 8), wf.randn(3, 5, 8), tgt_is_causal=True).shape
    (3, 4, 8)
    """

    attentions = ("self_attn", "multihead_attn")
    self_attn: MultiheadAttention
    multihead_attn: MultiheadAttention

    @of_tensors
    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        def to_itself(x: Tensor) -> Tensor:
            return self.self_attn(
                x, x, x, tgt_key_padding_mask, False, tgt_mask, is_causal=tgt_is_causal
            )[0]  # type: ignore[no-any-return]

        def to_memory(x: Tensor) -> Tensor:
            masks: Any = {
                "attn_mask": memory_mask,
                "key_padding_mask": memory_key_padding_mask,
                "is_causal": memory_is_causal,
            }
            return self.multihead_attn(x, memory, memory, need_weights=False, **masks)[0]  # type: ignore[no-any-return]

        return self._added(
            self._added(self._added(tgt, 1, to_itself), 2, to_memory), 3, self._fed_forward
        )


# ---------------------------------------------------------------- stacks of layers


def _module(name: str, what: str, value: Any) -> Module:
    """A Module that the user gave. Raises DTypeError."""
    if not isinstance(value, Module):
        raise errors.DTypeError(f"{name}: {what} must be a Module, not {brief(value)}")
    return value


class _Stack(Module):
    """Copies of a layer, one after the other, and a norm at the end."""

    def _build(self, what: str, layer: Module, num_layers: int, norm: Module | None) -> None:
        name = type(self).__name__
        layer = _module(name, what, layer)
        self.num_layers = as_count(name, "num_layers", num_layers)
        self.layers = ModuleList(deepcopy(layer) for _ in range(self.num_layers))
        self.norm = None if norm is None else _module(name, "norm", norm)

    def _through(self, x: Tensor, *rest: Any) -> Tensor:
        for layer in self.layers:
            x = layer(x, *rest)
        return x if self.norm is None else self.norm(x)  # type: ignore[no-any-return]


class TransformerEncoder(_Stack):
    """num_layers copies of a layer, one after the other, and a norm (a Module, or None) at the end.

    src, mask, src_key_padding_mask and is_causal as for TransformerEncoderLayer. The copies start
    with equal weights.

    >>> layer = nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16)
    >>> nn.TransformerEncoder(layer, num_layers=2, norm=nn.LayerNorm(8))(wf.randn(5, 3, 8)).shape
    (5, 3, 8)
    """

    def __init__(self, encoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        self._build("encoder_layer", encoder_layer, num_layers, norm)

    @of_tensors
    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        return self._through(src, mask, src_key_padding_mask, is_causal)


class TransformerDecoder(_Stack):
    """num_layers copies of a layer, one after the other, and a norm (a Module, or None) at the end.

    Called as TransformerDecoderLayer is; every copy attends to the same memory. The copies start
    with equal weights.

    >>> layer = nn.TransformerDecoderLayer(d_model=8, nhead=2, dim_feedforward=16)
    >>> nn.TransformerDecoder(layer, num_layers=2)(wf.randn(4, 3, 8), wf.randn(5, 3, 8)).shape
    (4, 3, 8)
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        self._build("decoder_layer", decoder_layer, num_layers, norm)

    @of_tensors
    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        masks = tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask
        return self._through(tgt, memory, *masks, tgt_is_causal, memory_is_causal)


class Transformer(Module):
    """An encoder, and a decoder that attends to what it gives, each with a layer norm at the end
    (Vaswani et al. 2017).

    src (S, N, d_model) and tgt (T, N, d_model), with batch_first (N, S, d_model) and (N, T,
    d_model), or both without N, give the shape of tgt. Masks as for TransformerEncoderLayer and
    TransformerDecoderLayer. custom_encoder and custom_decoder are Modules that take the place of
    the two stacks. Weights of more than one axis begin as by init.xavier_uniform.

    >>> model = nn.Transformer(8, 2, num_encoder_layers=1, num_decoder_layers=1, dim_feedforward=16,
    ...     batch_first=True)
    >>> model(wf.randn(3, 5, 8), wf.randn(3, 4, 8), tgt_is_causal=True).shape
    (3, 4, 8)
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = "relu",
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
    ) -> None:
        how = (
            d_model,
            nhead,
            dim_feedforward,
            dropout,
            activation,
            layer_norm_eps,
            batch_first,
            norm_first,
            bias,
        )

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias)

        if custom_encoder is None:
            custom_encoder = TransformerEncoder(
                TransformerEncoderLayer(*how), num_encoder_layers, norm()
            )
        if custom_decoder is None:
            custom_decoder = TransformerDecoder(
                TransformerDecoderLayer(*how), num_decoder_layers, norm()
            )
        self.encoder = _module("Transformer", "custom_encoder", custom_encoder)
        self.decoder = _module("Transformer", "custom_decoder", custom_decoder)
        for p in self.parameters():
            if p.ndim > 1:
                init.xavier_uniform_(p)

    @of_tensors
    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool = False,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        masks = tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask
        return self.decoder(tgt, memory, *masks, tgt_is_causal, memory_is_causal)  # type: ignore[no-any-return]

    @staticmethod
    def generate_square_subsequent_mask(sz: int) -> Tensor:
        """A float mask (sz, sz) that leaves positions 0 .. i to position i: 0 there, -inf
        elsewhere.

        >>> nn.Transformer.generate_square_subsequent_mask(2).tolist()
        [[0.0, -inf], [0.0, 0.0]]
        """
        count = as_count("Transformer", "sz", sz)
        return ops.where(ops.tril(ops.ones((count, count), dtype="bool")), 0.0, float("-inf"))  # type: ignore[no-any-return]
