"""Convolutions and transposed ones. In: (N, C, *spatial) or (C, *spatial). Out: (N, C', *spatial')
or (C', *spatial')."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import errors
from ...frontend.operands.arguments import as_bool, as_choice, as_count, as_ints
from ...frontend.tensor.binding import of_tensors
from ...frontend.tensor.tensor import Tensor
from ...frontend.windows.convolution import margins
from ...frontend.windows.windows import Pair, Rank
from ...ir.graph.brief import brief
from .. import functional as F
from .. import init
from ..functional.padding import MODES
from ..module import Module, Parameter

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]


class _Conv(Module):
    """What all have in common: channels, kernel, groups, and torch's initial weights."""

    spatial = 0
    is_transposed = False

    @property
    def _rank(self) -> Rank:
        return Rank(type(self).__name__, self.spatial)

    def _build(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Pair,
        groups: int,
        bias: bool,
        **how: Any,
    ) -> None:
        name = type(self).__name__
        in_channels, out_channels = (
            as_count(name, "in_channels", in_channels),
            as_count(name, "out_channels", out_channels),
        )
        groups = as_count(name, "groups", groups, 1)
        if in_channels % groups or out_channels % groups:
            raise errors.ArgumentError(
                f"{name}: groups={groups} must divide {in_channels=} and {out_channels=}"
            )
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = self._rank.sizes("kernel_size", kernel_size, 1)
        for key, value in how.items():
            setattr(self, key, value)
        first, second = (
            (in_channels, out_channels) if self.is_transposed else (out_channels, in_channels)
        )
        shape = (first, second // groups, *self.kernel_size)
        self.weight = Parameter(init.layer_weight(shape))
        has_bias = as_bool(name, "bias", bias)
        self.bias = Parameter(init.layer_bias((out_channels, *shape[1:]))) if has_bias else None

    def extra_repr(self) -> str:
        defaults = {
            "stride": 1,
            "padding": 0,
            "output_padding": 0,
            "dilation": 1,
            "groups": 1,
            "padding_mode": "zeros",
        }
        settings = {k: getattr(self, k, default) for k, default in defaults.items()}
        rest = "".join(f", {k}={value}" for k, value in settings.items() if value != defaults[k])
        return (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}{rest},"
            f" bias={self.bias is not None}"
        )


class _Direct(_Conv):
    stride: Pair
    padding: Pair | str
    dilation: Pair
    padding_mode: str

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
        padding_mode: str = "zeros",
    ) -> None:
        as_choice(type(self).__name__, "padding_mode", padding_mode, ["zeros", *list(MODES)[1:]])
        how = {
            "stride": stride,
            "padding": padding,
            "dilation": dilation,
            "padding_mode": padding_mode,
        }
        self._build(in_channels, out_channels, kernel_size, groups, bias, **how)
        self._margins()  # refuses what does not fit

    def _margins(self) -> list[tuple[int, int]]:
        strides, dilations = (
            self._rank.sizes(k, getattr(self, k), 1) for k in ("stride", "dilation")
        )
        return margins(self._rank, self.padding, self.kernel_size, strides, dilations)

    def forward(self, x: Tensor) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            x, padding = (
                F.pad(
                    x, [w for pair in reversed(self._margins()) for w in pair], self.padding_mode
                ),
                0,
            )
        convolved = (F.conv1d, F.conv2d, F.conv3d)[self.spatial - 1]
        return convolved(
            x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups
        )  # type: ignore[no-any-return]


class Conv1d(_Direct):
    """A convolution (N, in_channels, L) -> (N, out_channels, L'), with or without N; weight (out,
    in // groups, K).

    padding: an int, "valid" or "same"; padding_mode: "zeros", "reflect", "replicate" or "circular".
    weight and bias begin uniform within 1 / sqrt(in_channels // groups * K).

    >>> nn.Conv1d(16, 33, 3, stride=2)(wf.rand(20, 16, 50)).shape
    (20, 33, 24)
    """

    spatial = 1


class Conv2d(_Direct):
    """A convolution (N, in_channels, H, W) -> (N, out_channels, H', W'), with or without N; weight
    (out, in // groups, KH, KW).

    padding: an int, a pair, "valid" or "same"; padding_mode: "zeros", "reflect", "replicate" or
    "circular". weight and bias begin uniform within 1 / sqrt(in_channels // groups * KH * KW).

    >>> nn.Conv2d(16, 33, (3, 5), padding="same",
    ...     padding_mode="circular")(wf.rand(4, 16, 10, 12)).shape
    (4, 33, 10, 12)
    """

    spatial = 2


class Conv3d(_Direct):
    """A convolution (N, in_channels, D, H, W) -> (N, out_channels, D', H', W'), with or without N.

    weight (out, in // groups, KD, KH, KW); padding and padding_mode as in Conv2d, with three
    numbers for a pair. weight and bias begin uniform within 1 / sqrt(in_channels // groups * KD *
    KH * KW).

    >>> nn.Conv3d(16, 33, (3, 5, 2), stride=(2, 1, 1),
    ...     padding=(1, 2, 0))(wf.rand(4, 16, 10, 12, 8)).shape
    (4, 33, 5, 12, 7)
    """

    spatial = 3


class _Transposed(_Conv):
    is_transposed = True
    stride: Pair
    padding: Pair
    output_padding: Pair
    dilation: Pair

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Pair,
        stride: Pair = 1,
        padding: Pair = 0,
        output_padding: Pair = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Pair = 1,
        padding_mode: str = "zeros",
    ) -> None:
        if not isinstance(padding_mode, str) or padding_mode != "zeros":
            raise errors.ArgumentError(
                f"{type(self).__name__}: padding_mode must be 'zeros', not {brief(padding_mode)}"
            )
        how = {
            "stride": stride,
            "padding": padding,
            "output_padding": output_padding,
            "dilation": dilation,
        }
        for key, value in how.items():
            self._rank.sizes(key, value, int(key in ("stride", "dilation")))
        self._build(in_channels, out_channels, kernel_size, groups, bias, **how)

    @of_tensors
    def forward(self, x: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        # else the function says what it expects
        is_given = output_size is not None and x.ndim > self.spatial
        extra = (
            self._extra(x.shape[-self.spatial :], output_size) if is_given else self.output_padding
        )
        convolved = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[self.spatial - 1]
        how = (self.stride, self.padding, extra, self.groups, self.dilation)
        return convolved(x, self.weight, self.bias, *how)  # type: ignore[no-any-return]

    def _extra(self, extents: tuple[int, ...], output_size: Any) -> tuple[int, ...]:
        """The output_padding that leads to this size of the result."""
        rank, size = self._rank, as_ints(self._rank.name, "output_size", output_size)
        size = size[2:] if len(size) == 2 + self.spatial else size
        strides, pads, dilations = (
            rank.sizes(k, getattr(self, k)) for k in ("stride", "padding", "dilation")
        )
        sizes = zip(extents, self.kernel_size, strides, pads, dilations, strict=True)
        least = tuple((n - 1) * s - 2 * p + (k - 1) * d + 1 for n, k, s, p, d in sizes)
        if len(size) != self.spatial or any(
            not 0 <= w - n < s for w, n, s in zip(size, least, strides, strict=True)
        ):
            most = tuple(n + s - 1 for n, s in zip(least, strides, strict=True))
            raise errors.ArgumentError(
                f"{rank.name}: output_size must be {least} to {most} for images {extents}, not"
                f" {size}"
            )
        return tuple(w - n for w, n in zip(size, least, strict=True))


class ConvTranspose1d(_Transposed):
    """The gradient of a Conv1d by its input as a layer: (N, in_channels, L) -> (N, out_channels,
    L'), with or without N.

    weight (in_channels, out_channels // groups, K). Of the lengths that the convolution would map
    to L, output_padding or layer(x, output_size) chooses one. weight and bias begin uniform within
    1 / sqrt(out_channels // groups * K).

    >>> nn.ConvTranspose1d(16, 33, 4, stride=2, padding=1)(wf.rand(20, 16, 50)).shape
    (20, 33, 100)
    """

    spatial = 1


class ConvTranspose2d(_Transposed):
    """The gradient of a Conv2d by its input as a layer: (N, in_channels, H, W) -> (N, out_channels,
    H', W'), with or without N.

    weight (in_channels, out_channels // groups, KH, KW). Of the sizes that the convolution would
    map to H, W, output_padding or layer(x, output_size) chooses one. weight and bias begin uniform
    within 1 / sqrt(out_channels // groups * KH * KW).

    >>> nn.ConvTranspose2d(16, 8, 3, stride=2, padding=1)(wf.rand(2, 16, 5, 5),
    ...     output_size=(10, 10)).shape
    (2, 8, 10, 10)
    """

    spatial = 2


class ConvTranspose3d(_Transposed):
    """The gradient of a Conv3d by its input as a layer: (N, in_channels, D, H, W) -> (N,
    out_channels, D', H', W').

    With or without N; weight (in_channels, out_channels // groups, KD, KH, KW). output_padding and
    layer(x, output_size) as in ConvTranspose2d. weight and bias begin uniform within 1 /
    sqrt(out_channels // groups * KD * KH * KW).

    >>> nn.ConvTranspose3d(16, 8, 2, stride=2)(wf.rand(2, 16, 3, 5, 5)).shape
    (2, 8, 6, 10, 10)
    """

    spatial = 3
