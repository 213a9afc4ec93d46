"""Smooth activations and softmax as layers. In: a Tensor. Out: one of the same shape."""

from __future__ import annotations

from ...frontend.tensor.tensor import Tensor
from .. import functional as F
from .stateless import Stateless

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmin",
    "Softplus",
    "Softsign",
    "Tanh",
]


class GELU(Stateless):
    """F.gelu: x times the normal distribution function of x, or its cheaper form with approximate="tanh".

    >>> nn.GELU()(wf.tensor([1.0])).item()
    0.8413...
    """

    def __init__(self, approximate: str = "none") -> None:
        self.approximate = approximate

    def forward(self, x: Tensor) -> Tensor:
        return F.gelu(x, self.approximate)


class SiLU(Stateless):
    """F.silu: x * sigmoid(x).

    >>> nn.SiLU()(wf.tensor([1.0])).item()
    0.7310...
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.silu(x)


class Mish(Stateless):
    """F.mish: x * tanh(softplus(x)).

    >>> nn.Mish()(wf.tensor([1.0])).item()
    0.8650...
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.mish(x)


class Sigmoid(Stateless):
    """F.sigmoid: 1 / (1 + exp(-x)).

    >>> nn.Sigmoid()(wf.tensor([0.0])).item()
    0.5
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.sigmoid(x)


class LogSigmoid(Stateless):
    """F.logsigmoid: log(sigmoid(x)).

    >>> nn.LogSigmoid()(wf.tensor([-1000.0])).item()
    -1000.0
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.logsigmoid(x)


class Tanh(Stateless):
    """F.tanh: the hyperbolic tangent.

    >>> nn.Tanh()(wf.tensor([1.0])).item()
    0.7615...
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.tanh(x)


class Softplus(Stateless):
    """F.softplus: log(1 + exp(beta * x)) / beta, and x itself where beta * x is above the threshold.

    >>> nn.Softplus()(wf.tensor([0.0])).item()
    0.693147...
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        self.beta, self.threshold = beta, threshold

    def forward(self, x: Tensor) -> Tensor:
        return F.softplus(x, self.beta, self.threshold)


class Softsign(Stateless):
    """F.softsign: x / (1 + |x|).

    >>> nn.Softsign()(wf.tensor([1.0])).item()
    0.5
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.softsign(x)


class ELU(Stateless):
    """F.elu: x above 0, alpha * (exp(x) - 1) below.

    >>> nn.ELU()(wf.tensor([-1000.0])).item()
    -1.0
    """

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def forward(self, x: Tensor) -> Tensor:
        return F.elu(x, self.alpha)


class SELU(Stateless):
    """F.selu: elu with an alpha and a scale that keep mean 0 and variance 1 from layer to layer.

    >>> nn.SELU()(wf.tensor([1.0])).item()
    1.0507...
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.selu(x)


class CELU(Stateless):
    """F.celu: x above 0, alpha * (exp(x / alpha) - 1) below.

    >>> nn.CELU(0.5)(wf.tensor([-1000.0])).item()
    -0.5
    """

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def forward(self, x: Tensor) -> Tensor:
        return F.celu(x, self.alpha)


class Softmax(Stateless):
    """F.softmax: exp(x) / sum(exp(x)) along an axis.

    >>> nn.Softmax()(wf.tensor([1000.0, 1000.0])).tolist()
    [0.5, 0.5]
    """

    def __init__(self, axis: int = -1) -> None:
        self.axis = axis

    def forward(self, x: Tensor) -> Tensor:
        return F.softmax(x, self.axis)


class LogSoftmax(Stateless):
    """F.log_softmax: log(softmax(x)) along an axis.

    >>> nn.LogSoftmax()(wf.tensor([1000.0, 0.0])).tolist()
    [0.0, -1000.0]
    """

    def __init__(self, axis: int = -1) -> None:
        self.axis = axis

    def forward(self, x: Tensor) -> Tensor:
        return F.log_softmax(x, self.axis)


class Softmin(Stateless):
    """F.softmin: softmax(-x) along an axis.

    >>> nn.Softmin()(wf.tensor([0.0, 1000.0])).tolist()
    [1.0, 0.0]
    """

    def __init__(self, axis: int = -1) -> None:
        self.axis = axis

    def forward(self, x: Tensor) -> Tensor:
        return F.softmin(x, self.axis)


class GLU(Stateless):
    """F.glu: a * sigmoid(b) of the two halves of an axis, which has half the extent then.

    >>> nn.GLU()(wf.tensor([4.0, 6.0, 0.0, 0.0])).tolist()
    [2.0, 3.0]
    """

    def __init__(self, axis: int = -1) -> None:
        self.axis = axis

    def forward(self, x: Tensor) -> Tensor:
        return F.glu(x, self.axis)
