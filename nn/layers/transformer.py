"""Transformer encoders. In: sequences of vectors. Out: others of the same shape."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

from ... import errors
from ...frontend.arguments import as_bool, as_choice, as_count, shown
from ...frontend.binding import of_tensors
from ...frontend.tensor import Tensor
from .. import functional as F
from ..module import Module
from .attention import MultiheadAttention
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .normalization import LayerNorm

__all__ = ["TransformerEncoder", "TransformerEncoderLayer"]

Activation = Callable[[Tensor], Tensor]
ACTIVATIONS: dict[str, Activation] = {"relu": F.relu, "gelu": F.gelu}


class TransformerEncoderLayer(Module):
    """Self-attention and a network of two layers, each with dropout, a residual and a layer norm (Vaswani et al. 2017).

    src (L, N, d_model), (N, L, d_model) with batch_first, or (L, d_model); src_mask, src_key_padding_mask and is_causal as
    attn_mask, key_padding_mask and is_causal of MultiheadAttention. norm_first normalises what goes in instead of the sum.
    activation: "relu", "gelu" or a function of a Tensor. Raises ShapeError, DTypeError, ArgumentError.

    >>> layer = nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16, batch_first=True)
    >>> layer(wf.randn(3, 5, 8), is_causal=True).shape
    (3, 5, 8)
    """

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
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first)
        self.linear1, self.linear2 = Linear(d_model, dim_feedforward, bias), Linear(dim_feedforward, d_model, bias)
        self.norm1, self.norm2 = (LayerNorm(d_model, layer_norm_eps, bias=bias) for _ in range(2))
        self.dropout, self.dropout1, self.dropout2 = (Dropout(dropout) for _ in range(3))
        self.norm_first = as_bool("TransformerEncoderLayer", "norm_first", norm_first)
        if not callable(activation):
            activation = ACTIVATIONS[as_choice("TransformerEncoderLayer", "activation", activation, list(ACTIVATIONS))]
        self.activation = activation

    @of_tensors
    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        def attended(x: Tensor) -> Tensor:
            mixed, _ = self.self_attn(x, x, x, src_key_padding_mask, False, src_mask, is_causal=is_causal)
            return self.dropout1(mixed)  # type: ignore[no-any-return]

        if self.norm_first:
            x = src + attended(self.norm1(src))
            return x + self._fed_forward(self.norm2(x))
        x = self.norm1(src + attended(src))
        return self.norm2(x + self._fed_forward(x))  # type: ignore[no-any-return]

    def _fed_forward(self, x: Tensor) -> Tensor:
        hidden = self.dropout(self.activation(self.linear1(x)))
        return self.dropout2(self.linear2(hidden))  # type: ignore[no-any-return]


class TransformerEncoder(Module):
    """num_layers copies of a layer, one after the other, and a norm (a Module, or None) behind them.

    src, mask, src_key_padding_mask and is_causal as for TransformerEncoderLayer. The copies start with equal weights.

    >>> layer = nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16)
    >>> nn.TransformerEncoder(layer, num_layers=2, norm=nn.LayerNorm(8))(wf.randn(5, 3, 8)).shape
    (5, 3, 8)
    """

    def __init__(self, encoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        if not isinstance(encoder_layer, Module):
            raise errors.DTypeError(f"TransformerEncoder: encoder_layer is a Module, not {shown(encoder_layer)}")
        self.num_layers = as_count("TransformerEncoder", "num_layers", num_layers)
        self.layers, self.norm = ModuleList(deepcopy(encoder_layer) for _ in range(self.num_layers)), norm

    @of_tensors
    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, is_causal)
        return src if self.norm is None else self.norm(src)  # type: ignore[no-any-return]
