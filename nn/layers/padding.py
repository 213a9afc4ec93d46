"""Padding as layers. In: (N, C, *spatial) or (C, *spatial). Out: the same with elements around the
spatial axes."""

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

EXAMPLES = {
    1: "((2, 1){value})(wf.tensor([[1.0, 2.0, 3.0]])).tolist()\n[[{line}]]",
    2: "((1, 2, 0, 1){value})(wf.rand(1, 3, 4, 5)).shape\n(1, 3, 5, 8)",
    3: "(1{value})(wf.rand(3, 4, 5, 6)).shape\n(3, 6, 7, 8)",
}


class _Pad(Module):
    """padding: an int for all sides, or (before, after) of the last axis, then of the last but one,
    and so on, as for F.pad."""

    spatial = 0
    mode = ""
    around = ""  # what is around a Tensor
    line = ""  # what 1, 2, 3 becomes with two elements before it and one after
    value: float | None = None

    def __init_subclass__(cls, spatial: int = 0) -> None:
        """A layer for lines, images or volumes from one for all, whose `spatial` is 0."""
        super().__init_subclass__()
        if not spatial:
            return
        axes, value = (
            Rank(cls.__name__, spatial).axes,
            ", 7.0" if issubclass(cls, _ConstantPad) else "",
        )
        cls.spatial = spatial
        cls.__doc__ = f"""(N, C, {axes}) or (C, {axes}) with {cls.around} around it.

padding: an int for all sides, or {2 * spatial} of them as for F.pad.

>>> nn.{cls.__name__}{EXAMPLES[spatial].format(value=value, line=cls.line)}
"""

    def __init__(self, padding: Pair) -> None:
        self.padding = as_ints(type(self).__name__, "padding", padding, 2 * self.spatial)

    @of_tensors
    def forward(self, x: Tensor) -> Tensor:
        rank = Rank(type(self).__name__, self.spatial)
        if x.ndim not in (1 + self.spatial, 2 + self.spatial):
            raise errors.ShapeError(
                f"{rank.name}: expected x of shape (N, C, {rank.axes}) or (C, {rank.axes}), got"
                f" {x.shape}"
            )
        return F.pad(x, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return f"{self.padding}" if self.value is None else f"{self.padding}, value={self.value}"


class _ConstantPad(_Pad):
    mode = "constant"
    around = "`value`"
    line = "7.0, 7.0, 1.0, 2.0, 3.0, 7.0"

    def __init__(self, padding: Pair, value: float) -> None:
        super().__init__(padding)
        self.value = as_double(type(self).__name__, "value", value)


class _ZeroPad(_Pad):
    mode = "constant"
    around = "zeros"
    line = "0.0, 0.0, 1.0, 2.0, 3.0, 0.0"


class _ReflectionPad(_Pad):
    mode = "reflect"
    around = "its mirror image, but for the edge,"
    line = "3.0, 2.0, 1.0, 2.0, 3.0, 2.0"


class _ReplicationPad(_Pad):
    mode = "replicate"
    around = "its edge repeated"
    line = "1.0, 1.0, 1.0, 2.0, 3.0, 3.0"


class _CircularPad(_Pad):
    mode = "circular"
    around = "its other end"
    line = "2.0, 3.0, 1.0, 2.0, 3.0, 1.0"


class ConstantPad1d(_ConstantPad, spatial=1): ...


class ConstantPad2d(_ConstantPad, spatial=2): ...


class ConstantPad3d(_ConstantPad, spatial=3): ...


class ZeroPad1d(_ZeroPad, spatial=1): ...


class ZeroPad2d(_ZeroPad, spatial=2): ...


class ZeroPad3d(_ZeroPad, spatial=3): ...


class ReflectionPad1d(_ReflectionPad, spatial=1): ...


class ReflectionPad2d(_ReflectionPad, spatial=2): ...


class ReflectionPad3d(_ReflectionPad, spatial=3): ...


class ReplicationPad1d(_ReplicationPad, spatial=1): ...


class ReplicationPad2d(_ReplicationPad, spatial=2): ...


class ReplicationPad3d(_ReplicationPad, spatial=3): ...


class CircularPad1d(_CircularPad, spatial=1): ...


class CircularPad2d(_CircularPad, spatial=2): ...


class CircularPad3d(_CircularPad, spatial=3): ...
