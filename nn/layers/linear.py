"""Dense layers. In: features on the last axis. Out: others in their place."""

from __future__ import annotations

from math import sqrt

from ...frontend.operands.arguments import as_bool, as_extents
from ...frontend.tensor.tensor import Tensor
from .. import functional as F
from .. import init
from ..module import Module, Parameter

__all__ = ["Bilinear", "Linear"]


class Linear(Module):
    """(..., in_features) -> (..., out_features): x @ weight.T + bias; weight (out_features,
    in_features), bias (out_features,).

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
        return (
            f"in_features={self.in_features}, out_features={self.out_features},"
            f" bias={self.bias is not None}"
        )


class Bilinear(Module):
    """(..., in1_features) and (..., in2_features) -> (..., out_features): x1 @ weight[o] @ x2 +
    bias[o] for each output o.

    weight (out_features, in1_features, in2_features), bias (out_features,). Both begin uniform
    within 1 / sqrt(in1_features).

    >>> nn.Bilinear(20, 30, 40)(wf.rand(128, 20), wf.rand(128, 30)).shape
    (128, 40)
    """

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True
    ) -> None:
        extents = {
            "out_features": out_features,
            "in1_features": in1_features,
            "in2_features": in2_features,
        }
        shape = as_extents("Bilinear", **extents)
        self.out_features, self.in1_features, self.in2_features = shape
        bound = 1.0 / sqrt(max(1, self.in1_features))
        self.weight = Parameter(init.uniform(shape, -bound, bound))
        self.bias = (
            Parameter(init.uniform(shape[:1], -bound, bound))
            if as_bool("Bilinear", "bias", bias)
            else None
        )

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.bilinear(x1, x2, self.weight, self.bias)

    def extra_repr(self) -> str:
        sizes = (
            f"in1_features={self.in1_features}, in2_features={self.in2_features},"
            f" out_features={self.out_features}"
        )
        return f"{sizes}, bias={self.bias is not None}"
