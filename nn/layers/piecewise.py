"""Activations of straight pieces as layers. In: a Tensor. Out: one of the same shape."""

from __future__ import annotations

from ...frontend import ops
from ...frontend.operands.arguments import as_double, as_extents
from ...frontend.tensor.tensor import Tensor
from .. import functional as F
from ..module import Module, Parameter
from .stateless import Unary

__all__ = [
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "PReLU",
    "ReLU",
    "ReLU6",
    "Threshold",
]


class ReLU(Unary, function=F.relu): ...


class ReLU6(Unary, function=F.relu6): ...


class Hardtanh(Unary, function=F.hardtanh):
    min_val: float = -1.0
    max_val: float = 1.0


class Hardsigmoid(Unary, function=F.hardsigmoid): ...


class Hardswish(Unary, function=F.hardswish): ...


class LeakyReLU(Unary, function=F.leaky_relu):
    negative_slope: float = 0.01


class Threshold(Unary, function=F.threshold):
    threshold: float
    value: float


class PReLU(Module):
    """F.prelu: x above 0, weight * x below, with a learned weight for all channels or for each (He
    et al. 2015).

    >>> nn.PReLU()(wf.tensor([-2.0, 2.0])).tolist()
    [-0.5, 2.0]
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25) -> None:
        shape = as_extents("PReLU", num_parameters=num_parameters)
        self.weight = Parameter(ops.full(shape, as_double("PReLU", "init", init)))

    def forward(self, x: Tensor) -> Tensor:
        return F.prelu(x, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.weight.size}"
