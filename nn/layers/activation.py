"""Smooth activations and softmax as layers. In: a Tensor. Out: one of the same shape."""

from __future__ import annotations

from .. import functional as F
from .stateless import Unary

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


class GELU(Unary, function=F.gelu):
    approximate: str = "none"


class SiLU(Unary, function=F.silu): ...


class Mish(Unary, function=F.mish): ...


class Sigmoid(Unary, function=F.sigmoid): ...


class LogSigmoid(Unary, function=F.logsigmoid): ...


class Tanh(Unary, function=F.tanh): ...


class Softplus(Unary, function=F.softplus):
    beta: float = 1.0
    threshold: float = 20.0


class Softsign(Unary, function=F.softsign): ...


class ELU(Unary, function=F.elu):
    alpha: float = 1.0


class SELU(Unary, function=F.selu): ...


class CELU(Unary, function=F.celu):
    alpha: float = 1.0


class Softmax(Unary, function=F.softmax):
    axis: int = -1


class LogSoftmax(Unary, function=F.log_softmax):
    axis: int = -1


class Softmin(Unary, function=F.softmin):
    axis: int = -1


class GLU(Unary, function=F.glu):
    axis: int = -1
