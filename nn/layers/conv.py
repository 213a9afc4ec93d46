"""Convolutions. In: (N, C, *spatial). Out: (N, C', *spatial')."""

from __future__ import annotations

from ... import errors
from ...frontend.arguments import as_bool, as_ints, as_shape
from ...frontend.tensor import Tensor
from ...frontend.windows import Pair
from .. import functional as F
from .. import init
from ..module import Module, Parameter


class _Conv(Module):
    spatial = 0

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Pair,
        stride: Pair = 1,
        padding: Pair | str = 0,
        dilation: Pair = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        name = type(self).__name__
        out_channels, in_channels, groups = as_shape(name, (out_channels, in_channels, groups))
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise errors.ArgumentError(f"{name}: groups={groups} must divide {in_channels=} and {out_channels=}")
        kernel = as_ints(name, "kernel_size", kernel_size, self.spatial)
        shape = (out_channels, in_channels // groups, *kernel)
        self.in_channels, self.out_channels, self.kernel_size = in_channels, out_channels, kernel
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups
        self.weight = Parameter(init.layer_weight(shape))
        self.bias = Parameter(init.layer_bias(shape)) if as_bool(name, "bias", bias) else None

    def extra_repr(self) -> str:
        given = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}
        rest = "".join(f", {k}={getattr(self, k)}" for k, default in given.items() if getattr(self, k) != default)
        return f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}{rest}, bias={self.bias is not None}"


class Conv1d(_Conv):
    """(N, in_channels, L) -> (N, out_channels, L')."""

    spatial = 1

    def forward(self, x: Tensor) -> Tensor:
        return F.conv1d(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class Conv2d(_Conv):
    """(N, in_channels, H, W) -> (N, out_channels, H', W')."""

    spatial = 2

    def forward(self, x: Tensor) -> Tensor:
        return F.conv2d(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)
