"""Activations of straight pieces as layers. In: a Tensor. Out: one of the same shape."""

from __future__ import annotations

from ...frontend import ops
from ...frontend.operands.arguments import as_double, as_extents
from ...frontend.tensor.tensor import Tensor
from .. import functional as F
from ..module import Module, Parameter
from .stateless import Unary, layer

__all__ = ["Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU", "PReLU", "ReLU", "ReLU6", "Threshold"]


@layer(F.relu)
class ReLU(Unary): ...


@layer(F.relu6)
class ReLU6(Unary): ...


@layer(F.hardtanh)
class Hardtanh(Unary):
    min_val: float = -1.0
    max_val: float = 1.0


@layer(F.hardsigmoid)
class Hardsigmoid(Unary): ...


@layer(F.hardswish)
class Hardswish(Unary): ...


@layer(F.leaky_relu)
class LeakyReLU(Unary):
    negative_slope: float = 0.01


@layer(F.threshold)
class Threshold(Unary):
    threshold: float
    value: float


class PReLU(Module):
    """F.prelu: x above 0, weight * x below, with a learned weight for all channels or for each (He et al. 2015).

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
