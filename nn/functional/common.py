"""What several functions check of their arguments."""

from __future__ import annotations

from ... import errors
from ...frontend.tensor import Tensor


def indices(x: Tensor, name: str) -> Tensor:
    if not x.dtype.is_int:
        raise errors.DTypeError(f"{name}: expected integer indices, got {x.dtype.name}")
    return x.long()
