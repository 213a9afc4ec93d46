"""Layers that zero elements while training."""

from __future__ import annotations

from ...frontend.tensor import Tensor
from .. import functional as F
from ..module import Module


class Dropout(Module):
    """Zeroes elements with probability p while training."""

    def __init__(self, p: float = 0.5) -> None:
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}"
