"""Activations of straight pieces as layers. In: a Tensor. Out: one of the same shape."""

from __future__ import annotations

from ...frontend import ops
from ...frontend.operands.arguments import as_double, as_extents
from ...frontend.tensor.tensor import Tensor
from .. import functional as F
from ..module import Module, Parameter
from .stateless import Stateless

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


class ReLU(Stateless):
    """F.relu: max(x, 0).

    >>> nn.ReLU()(wf.tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x)


class ReLU6(Stateless):
    """F.relu6: min(max(x, 0), 6).

    >>> nn.ReLU6()(wf.tensor([-1.0, 8.0])).tolist()
    [0.0, 6.0]
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.relu6(x)


class Hardtanh(Stateless):
    """F.hardtanh: x limited to [min_val, max_val].

    >>> nn.Hardtanh()(wf.tensor([-2.0, 0.5])).tolist()
    [-1.0, 0.5]
    """

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0) -> None:
        self.min_val, self.max_val = min_val, max_val

    def forward(self, x: Tensor) -> Tensor:
        return F.hardtanh(x, self.min_val, self.max_val)


class Hardsigmoid(Stateless):
    """F.hardsigmoid: relu6(x + 3) / 6.

    >>> nn.Hardsigmoid()(wf.tensor([0.0])).item()
    0.5
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.hardsigmoid(x)


class Hardswish(Stateless):
    """F.hardswish: x * relu6(x + 3) / 6.

    >>> nn.Hardswish()(wf.tensor([1.5])).item()
    1.125
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.hardswish(x)


class LeakyReLU(Stateless):
    """F.leaky_relu: x above 0, negative_slope * x below.

    >>> nn.LeakyReLU(0.25)(wf.tensor([-2.0, 2.0])).tolist()
    [-0.5, 2.0]
    """

    def __init__(self, negative_slope: float = 0.01) -> None:
        self.negative_slope = negative_slope

    def forward(self, x: Tensor) -> Tensor:
        return F.leaky_relu(x, self.negative_slope)


class Threshold(Stateless):
    """F.threshold: x above the threshold, else value.

    >>> nn.Threshold(1.0, -7.0)(wf.tensor([0.5, 2.0])).tolist()
    [-7.0, 2.0]
    """

    def __init__(self, threshold: float, value: float) -> None:
        self.threshold, self.value = threshold, value

    def forward(self, x: Tensor) -> Tensor:
        return F.threshold(x, self.threshold, self.value)


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
