"""Dense layers. In: features on the last axis. Out: others in their place."""

from __future__ import annotations

from ...frontend.arguments import as_bool, as_extents
from ...frontend.tensor import Tensor
from .. import functional as F
from .. import init
from ..module import Module, Parameter

__all__ = ["Linear"]


class Linear(Module):
    """(..., in_features) -> (..., out_features): x @ weight.T + bias; weight (out_features, in_features), bias (out_features,).

    Both begin uniform within 1 / sqrt(in_features).

    >>> nn.Linear(20, 30)(wf.rand(128, 20)).shape
    (128, 30)
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        shape = as_extents("Linear", out_features=out_features, in_features=in_features)
        self.out_features, self.in_features = shape
        self.weight = Parameter(init.layer_weight(shape))
        self.bias = Parameter(init.layer_bias(shape)) if as_bool("Linear", "bias", bias) else None

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
