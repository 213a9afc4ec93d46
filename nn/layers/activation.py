"""Smooth activations and softmax as layers. In: a Tensor. Out: one of the same shape."""

from __future__ import annotations

from .. import functional as F
from .stateless import Unary, layer

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


@layer(F.gelu)
class GELU(Unary):
    approximate: str = "none"


@layer(F.silu)
class SiLU(Unary): ...


@layer(F.mish)
class Mish(Unary): ...


@layer(F.sigmoid)
class Sigmoid(Unary): ...


@layer(F.logsigmoid)
class LogSigmoid(Unary): ...


@layer(F.tanh)
class Tanh(Unary): ...


@layer(F.softplus)
class Softplus(Unary):
    beta: float = 1.0
    threshold: float = 20.0


@layer(F.softsign)
class Softsign(Unary): ...


@layer(F.elu)
class ELU(Unary):
    alpha: float = 1.0


@layer(F.selu)
class SELU(Unary): ...


@layer(F.celu)
class CELU(Unary):
    alpha: float = 1.0


@layer(F.softmax)
class Softmax(Unary):
    axis: int = -1


@layer(F.log_softmax)
class LogSoftmax(Unary):
    axis: int = -1


@layer(F.softmin)
class Softmin(Unary):
    axis: int = -1


@layer(F.glu)
class GLU(Unary):
    axis: int = -1
