"""Layers that zero elements or channels while training, and do nothing after eval(). In: a Tensor. Out: one of its shape."""

from __future__ import annotations

from ...frontend.operands.arguments import as_fraction
from ...frontend.tensor.tensor import Tensor
from .. import functional as F
from .stateless import Stateless

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d"]


class _Dropout(Stateless):
    def __init__(self, p: float = 0.5) -> None:
        self.p = as_fraction(type(self).__name__, "p", p)


class Dropout(_Dropout):
    """F.dropout: zeroes elements with probability p while training, and scales the others by 1 / (1 - p).

    >>> nn.Dropout(0.5).eval()(wf.ones(3)).tolist()
    [1.0, 1.0, 1.0]
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.p, self.training)


class Dropout1d(_Dropout):
    """F.dropout1d: zeroes whole channels of (N, C, L) or (C, L) with probability p while training.

    >>> nn.Dropout1d()(wf.ones(8, 4, 3)).sum(axis=2).max().item()
    6.0
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout1d(x, self.p, self.training)


class Dropout2d(_Dropout):
    """F.dropout2d: zeroes whole channels of (N, C, H, W) or (C, H, W) with probability p while training.

    >>> nn.Dropout2d()(wf.ones(8, 4, 3, 3)).sum(axis=(2, 3)).max().item()
    18.0
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout2d(x, self.p, self.training)


class Dropout3d(_Dropout):
    """F.dropout3d: zeroes whole channels of (N, C, D, H, W) or (C, D, H, W) with probability p while training.

    >>> nn.Dropout3d()(wf.ones(8, 4, 2, 3, 3)).sum(axis=(2, 3, 4)).max().item()
    36.0
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout3d(x, self.p, self.training)


class AlphaDropout(_Dropout):
    """F.alpha_dropout: dropout behind selu, which keeps mean 0 and variance 1.

    >>> nn.AlphaDropout(0.5).eval()(wf.ones(3)).tolist()
    [1.0, 1.0, 1.0]
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.alpha_dropout(x, self.p, self.training)
