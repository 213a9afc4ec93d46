"""Mixed precision: float32 weights, 16-bit products. In: code for float32. Out: the same, as
autocast and GradScaler."""

from __future__ import annotations

from .autocast import autocast
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast"]
