"""Layers that zero elements or channels while training, and do nothing after eval(). In: a Tensor.
Out: one of its shape."""

from __future__ import annotations

from ...frontend.operands.arguments import as_fraction
from ...frontend.tensor.tensor import Tensor
from .. import functional as F
from .stateless import Stateless

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d"]


class _Dropout(Stateless):
    def __init__(self, p: float = 0.5) -> None:
        self.p = as_fraction(type(self).__name__, "p", p)

    def forward(self, x: Tensor) -> Tensor:
        return type(self)._function(x, self.p, self.training)  # type: ignore[no-any-return]


class Dropout(_Dropout, function=F.dropout): ...


class Dropout1d(_Dropout, function=F.dropout1d): ...


class Dropout2d(_Dropout, function=F.dropout2d): ...


class Dropout3d(_Dropout, function=F.dropout3d): ...


class AlphaDropout(_Dropout, function=F.alpha_dropout): ...
