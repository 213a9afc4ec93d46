"""Layers that only change the shape."""

from __future__ import annotations

from ...frontend import ops
from ...frontend.tensor import Tensor
from ..module import Module


class Flatten(Module):
    """Merges the axes start_axis .. end_axis into one."""

    def __init__(self, start_axis: int = 1, end_axis: int = -1) -> None:
        self.start_axis, self.end_axis = start_axis, end_axis

    def forward(self, x: Tensor) -> Tensor:
        return ops.flatten(x, self.start_axis, self.end_axis)  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        return f"start_axis={self.start_axis}, end_axis={self.end_axis}"
