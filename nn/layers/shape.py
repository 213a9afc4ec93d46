"""Layers that only change the shape, or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ... import errors
from ...frontend import ops
from ...frontend.operands.arguments import as_int, as_ints, normalise_axis
from ...frontend.tensor.binding import of_tensors
from ...frontend.tensor.tensor import Tensor
from ..module import Module

__all__ = ["Flatten", "Identity", "Unflatten"]


class Flatten(Module):
    """Merges the axes start_axis .. end_axis into one: (N, C, H, W) -> (N, C * H * W) by default.

    >>> nn.Flatten()(wf.ones(2, 3, 4, 4)).shape
    (2, 48)
    """

    def __init__(self, start_axis: int = 1, end_axis: int = -1) -> None:
        self.start_axis, self.end_axis = start_axis, end_axis

    def forward(self, x: Tensor) -> Tensor:
        return ops.flatten(x, self.start_axis, self.end_axis)  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        return f"start_axis={self.start_axis}, end_axis={self.end_axis}"


class Unflatten(Module):
    """Splits an axis into several of these extents, one of which may be -1.

    >>> nn.Unflatten(1, (3, 4, -1))(wf.ones(2, 48)).shape
    (2, 3, 4, 4)
    """

    def __init__(self, axis: int, unflattened_size: Sequence[int]) -> None:
        self.axis = as_int("Unflatten", "axis", axis)
        self.unflattened_size = as_ints("Unflatten", "unflattened_size", unflattened_size)

    @of_tensors
    def forward(self, x: Tensor) -> Tensor:
        axis = normalise_axis("Unflatten", self.axis, x.ndim)
        known = prod(n for n in self.unflattened_size if n != -1)
        inner = tuple(
            x.shape[axis] // max(1, known) if n == -1 else n for n in self.unflattened_size
        )
        if (
            self.unflattened_size.count(-1) > 1
            or min(inner, default=0) < 0
            or prod(inner) != x.shape[axis]
        ):
            raise errors.ShapeError(
                f"Unflatten: axis {axis} of shape {x.shape} does not become {self.unflattened_size}"
            )
        return x.reshape(*x.shape[:axis], *inner, *x.shape[axis + 1 :])

    def extra_repr(self) -> str:
        return f"axis={self.axis}, unflattened_size={self.unflattened_size}"


class Identity(Module):
    """Returns its argument unchanged; accepts and ignores any settings.

    >>> nn.Identity(54, unused=True)(wf.ones(2)).tolist()
    [1.0, 1.0]
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def forward(self, x: Any) -> Any:
        return x
