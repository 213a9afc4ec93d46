"""Padding as layers. In: (N, C, *spatial) or (C, *spatial). Out: the same with elements around the spatial axes."""

from __future__ import annotations

from ... import errors
from ...frontend.operands.arguments import as_double, as_ints
from ...frontend.tensor.binding import of_tensors
from ...frontend.tensor.tensor import Tensor
from ...frontend.windows.windows import Pair, Rank
from .. import functional as F
from ..module import Module

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _Pad(Module):
    """padding: an int for all sides, or (before, after) of the last axis, then of the last but one, and so on, as for F.pad."""

    spatial = 0
    mode = ""
    value: float | None = None

    def __init__(self, padding: Pair) -> None:
        self.padding = as_ints(type(self).__name__, "padding", padding, 2 * self.spatial)

    @of_tensors
    def forward(self, x: Tensor) -> Tensor:
        rank = Rank(type(self).__name__, self.spatial)
        if x.ndim not in (1 + self.spatial, 2 + self.spatial):
            raise errors.ShapeError(f"{rank.name}: expected x of shape (N, C, {rank.axes}) or (C, {rank.axes}), got {x.shape}")
        return F.pad(x, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return f"{self.padding}" if self.value is None else f"{self.padding}, value={self.value}"


class _ConstantPad(_Pad):
    mode = "constant"

    def __init__(self, padding: Pair, value: float) -> None:
        super().__init__(padding)
        self.value = as_double(type(self).__name__, "value", value)


class _ZeroPad(_Pad):
    mode = "constant"


class _ReflectionPad(_Pad):
    mode = "reflect"


class _ReplicationPad(_Pad):
    mode = "replicate"


class _CircularPad(_Pad):
    mode = "circular"


class ConstantPad1d(_ConstantPad):
    """(N, C, L) or (C, L) with `value` around it.

    padding: an int for all sides, or 2 of them as for F.pad.

    >>> nn.ConstantPad1d((2, 1), 7.0)(wf.tensor([[1.0, 2.0]])).tolist()
    [[7.0, 7.0, 1.0, 2.0, 7.0]]
    """

    spatial = 1


class ConstantPad2d(_ConstantPad):
    """(N, C, H, W) or (C, H, W) with `value` around it.

    padding: an int for all sides, or 4 of them as for F.pad.

    >>> nn.ConstantPad2d((1, 2, 0, 1), 0.5)(wf.rand(1, 3, 4, 5)).shape
    (1, 3, 5, 8)
    """

    spatial = 2


class ConstantPad3d(_ConstantPad):
    """(N, C, D, H, W) or (C, D, H, W) with `value` around it.

    padding: an int for all sides, or 6 of them as for F.pad.

    >>> nn.ConstantPad3d(1, 0.5)(wf.rand(3, 4, 5, 6)).shape
    (3, 6, 7, 8)
    """

    spatial = 3


class ZeroPad1d(_ZeroPad):
    """(N, C, L) or (C, L) with zeros around it.

    padding: an int for all sides, or 2 of them as for F.pad.

    >>> nn.ZeroPad1d((2, 1))(wf.tensor([[1.0, 2.0]])).tolist()
    [[0.0, 0.0, 1.0, 2.0, 0.0]]
    """

    spatial = 1


class ZeroPad2d(_ZeroPad):
    """(N, C, H, W) or (C, H, W) with zeros around it.

    padding: an int for all sides, or 4 of them as for F.pad.

    >>> nn.ZeroPad2d((1, 2, 0, 1))(wf.rand(1, 3, 4, 5)).shape
    (1, 3, 5, 8)
    """

    spatial = 2


class ZeroPad3d(_ZeroPad):
    """(N, C, D, H, W) or (C, D, H, W) with zeros around it.

    padding: an int for all sides, or 6 of them as for F.pad.

    >>> nn.ZeroPad3d(1)(wf.rand(3, 4, 5, 6)).shape
    (3, 6, 7, 8)
    """

    spatial = 3


class ReflectionPad1d(_ReflectionPad):
    """(N, C, L) or (C, L) with its mirror image around it, but for the edge.

    padding: an int for all sides, or 2 of them as for F.pad.

    >>> nn.ReflectionPad1d((2, 1))(wf.tensor([[1.0, 2.0, 3.0]])).tolist()
    [[3.0, 2.0, 1.0, 2.0, 3.0, 2.0]]
    """

    spatial = 1


class ReflectionPad2d(_ReflectionPad):
    """(N, C, H, W) or (C, H, W) with its mirror image around it, but for the edge.

    padding: an int for all sides, or 4 of them as for F.pad.

    >>> nn.ReflectionPad2d((1, 2, 0, 1))(wf.rand(1, 3, 4, 5)).shape
    (1, 3, 5, 8)
    """

    spatial = 2


class ReflectionPad3d(_ReflectionPad):
    """(N, C, D, H, W) or (C, D, H, W) with its mirror image around it, but for the edge.

    padding: an int for all sides, or 6 of them as for F.pad.

    >>> nn.ReflectionPad3d(1)(wf.rand(3, 4, 5, 6)).shape
    (3, 6, 7, 8)
    """

    spatial = 3


class ReplicationPad1d(_ReplicationPad):
    """(N, C, L) or (C, L) with its edge repeated around it.

    padding: an int for all sides, or 2 of them as for F.pad.

    >>> nn.ReplicationPad1d((2, 1))(wf.tensor([[1.0, 2.0]])).tolist()
    [[1.0, 1.0, 1.0, 2.0, 2.0]]
    """

    spatial = 1


class ReplicationPad2d(_ReplicationPad):
    """(N, C, H, W) or (C, H, W) with its edge repeated around it.

    padding: an int for all sides, or 4 of them as for F.pad.

    >>> nn.ReplicationPad2d((1, 2, 0, 1))(wf.rand(1, 3, 4, 5)).shape
    (1, 3, 5, 8)
    """

    spatial = 2


class ReplicationPad3d(_ReplicationPad):
    """(N, C, D, H, W) or (C, D, H, W) with its edge repeated around it.

    padding: an int for all sides, or 6 of them as for F.pad.

    >>> nn.ReplicationPad3d(1)(wf.rand(3, 4, 5, 6)).shape
    (3, 6, 7, 8)
    """

    spatial = 3


class CircularPad1d(_CircularPad):
    """(N, C, L) or (C, L) with its other end around it.

    padding: an int for all sides, or 2 of them as for F.pad.

    >>> nn.CircularPad1d((2, 1))(wf.tensor([[1.0, 2.0, 3.0]])).tolist()
    [[2.0, 3.0, 1.0, 2.0, 3.0, 1.0]]
    """

    spatial = 1


class CircularPad2d(_CircularPad):
    """(N, C, H, W) or (C, H, W) with its other end around it.

    padding: an int for all sides, or 4 of them as for F.pad.

    >>> nn.CircularPad2d((1, 2, 0, 1))(wf.rand(1, 3, 4, 5)).shape
    (1, 3, 5, 8)
    """

    spatial = 2


class CircularPad3d(_CircularPad):
    """(N, C, D, H, W) or (C, D, H, W) with its other end around it.

    padding: an int for all sides, or 6 of them as for F.pad.

    >>> nn.CircularPad3d(1)(wf.rand(3, 4, 5, 6)).shape
    (3, 6, 7, 8)
    """

    spatial = 3
