"""Normalising layers. In: a Tensor. Out: one of the same shape."""

from __future__ import annotations

from ...frontend import ops
from ...frontend.arguments import as_bool, as_ints
from ...frontend.tensor import Tensor
from ...frontend.windows import Pair
from .. import functional as F
from ..module import Module, Parameter


class LayerNorm(Module):
    """Normalises the trailing axes `normalized_shape` to mean 0 and variance 1, then scales and shifts."""

    def __init__(self, normalized_shape: Pair, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True) -> None:
        self.normalized_shape, self.eps = as_ints("LayerNorm", "normalized_shape", normalized_shape), eps
        is_affine = as_bool("LayerNorm", "elementwise_affine", elementwise_affine)
        self.weight = Parameter(ops.ones(self.normalized_shape)) if is_affine else None
        self.bias = Parameter(ops.zeros(self.normalized_shape)) if is_affine and as_bool("LayerNorm", "bias", bias) else None

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}"
