"""Normalising layers. In: a Tensor. Out: one of the same shape."""

from __future__ import annotations

from typing import ClassVar

from ... import errors
from ...frontend import ops
from ...frontend.operands.arguments import as_bool, as_count, as_double, as_extents, as_ints
from ...frontend.tensor.binding import of_tensors
from ...frontend.tensor.tensor import Tensor
from ...frontend.windows.windows import Pair
from ...ir.graph.shapes import addressable
from .. import functional as F
from ..module import Buffer, Module, Parameter

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "GroupNorm",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LayerNorm",
    "RMSNorm",
]


class LayerNorm(Module):
    """Normalises the trailing axes `normalized_shape` to mean 0 and variance 1, then scales and
    shifts.

    weight and bias, of normalized_shape, begin as 1 and 0.

    >>> nn.LayerNorm(16)(wf.rand(2, 5, 16)).shape
    (2, 5, 16)
    """

    def __init__(
        self,
        normalized_shape: Pair,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
    ) -> None:
        self.normalized_shape, self.eps = _shape("LayerNorm", normalized_shape), eps
        is_affine = as_bool("LayerNorm", "elementwise_affine", elementwise_affine)
        self.weight = Parameter(ops.ones(self.normalized_shape)) if is_affine else None
        self.bias = (
            Parameter(ops.zeros(self.normalized_shape))
            if is_affine and as_bool("LayerNorm", "bias", bias)
            else None
        )

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}"
        )


class RMSNorm(Module):
    """Divides by the root of the mean square over the trailing axes `normalized_shape`, then
    scales; nothing is centred.

    weight, of normalized_shape, begins as 1. eps: that of the dtype unless given.

    >>> nn.RMSNorm(4, eps=0.0)(wf.tensor([[2.0, -2.0, 2.0, 2.0]])).tolist()
    [[1.0, -1.0, 1.0, 1.0]]
    """

    def __init__(
        self, normalized_shape: Pair, eps: float | None = None, elementwise_affine: bool = True
    ) -> None:
        self.normalized_shape, self.eps = _shape("RMSNorm", normalized_shape), eps
        is_affine = as_bool("RMSNorm", "elementwise_affine", elementwise_affine)
        self.weight = Parameter(ops.ones(self.normalized_shape)) if is_affine else None

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}"
        )


class GroupNorm(Module):
    """(N, num_channels, ...): each of num_groups groups of channels of each sample to mean 0 and
    variance 1.

    Then channels are scaled and shifted: weight and bias (num_channels,) begin as 1 and 0.

    >>> nn.GroupNorm(3, 6)(wf.rand(2, 6, 4, 4)).shape
    (2, 6, 4, 4)
    """

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True
    ) -> None:
        self.num_groups = as_count("GroupNorm", "num_groups", num_groups, 1)
        self.num_channels = as_count("GroupNorm", "num_channels", num_channels)
        self.eps, self.affine = eps, as_bool("GroupNorm", "affine", affine)
        if self.num_channels % self.num_groups:
            raise errors.ArgumentError(f"GroupNorm: {num_groups=} must divide {num_channels=}")
        self.weight = Parameter(ops.ones(self.num_channels)) if self.affine else None
        self.bias = Parameter(ops.zeros(self.num_channels)) if self.affine else None

    def forward(self, x: Tensor) -> Tensor:
        return F.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"


def _shape(name: str, normalized_shape: Pair) -> tuple[int, ...]:
    shape = as_ints(name, "normalized_shape", normalized_shape)
    return addressable(name, tuple(as_count(name, "each of normalized_shape", n) for n in shape))


# ---------------------------------------------------------------- with running statistics


class _Norm(Module):
    """Scale, shift and running statistics of each channel."""

    ranks: ClassVar[dict[int, str]]  # what x may be, by its number of axes

    def _build(
        self,
        num_features: int,
        eps: float,
        momentum: float | None,
        affine: bool,
        track_running_stats: bool,
    ) -> None:
        name = type(self).__name__
        (self.num_features,) = shape = as_extents(name, num_features=num_features)
        self.eps = as_double(name, "eps", eps)
        self.momentum = None if momentum is None else as_double(name, "momentum", momentum)
        self.affine = as_bool(name, "affine", affine)
        self.track_running_stats = as_bool(name, "track_running_stats", track_running_stats)
        self.weight = Parameter(ops.ones(shape)) if self.affine else None
        self.bias = Parameter(ops.zeros(shape)) if self.affine else None
        self.running_mean = Buffer(ops.zeros(shape)) if self.track_running_stats else None
        self.running_var = Buffer(ops.ones(shape)) if self.track_running_stats else None
        self.num_batches_tracked = Buffer(0) if self.track_running_stats else None

    def _check(self, x: Tensor) -> None:
        if x.ndim not in self.ranks:
            raise errors.ShapeError(
                f"{type(self).__name__}: expected x of shape {' or '.join(self.ranks.values())},"
                f" got {x.shape}"
            )

    def extra_repr(self) -> str:
        how = f"affine={self.affine}, track_running_stats={self.track_running_stats}"
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, {how}"


class _BatchNorm(_Norm):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
    ) -> None:
        self._build(num_features, eps, momentum, affine, track_running_stats)

    @of_tensors
    def forward(self, x: Tensor) -> Tensor:
        self._check(x)
        if not self.training:
            uses_batch = self.running_mean is None
            return F.batch_norm(
                x,
                self.running_mean,
                self.running_var,
                self.weight,
                self.bias,
                uses_batch,
                eps=self.eps,
            )
        out = F.batch_norm(
            x,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            True,
            self._share(),
            self.eps,
        )
        if self.num_batches_tracked is not None:
            self.num_batches_tracked.assign(self.num_batches_tracked + 1)
        return out

    def _share(self) -> float | Tensor:
        """Of this batch in the running statistics: all batches count alike where momentum is
        None."""
        if self.momentum is not None or self.num_batches_tracked is None:
            return self.momentum or 0.0
        return 1.0 / (self.num_batches_tracked + 1).float()


class BatchNorm1d(_BatchNorm):
    """(N, num_features) or (N, num_features, L): each feature to mean 0 and variance 1 over the
    others, then scaled and shifted.

    In training by the batch, and running_mean and running_var follow by `momentum` (None: the mean
    of all batches); in eval mode by these, unless track_running_stats=False. weight and bias begin
    as 1 and 0. Raises ShapeError in training for one value.

    >>> m = nn.BatchNorm1d(3, momentum=0.5)
    >>> m(wf.ones(4, 3)).tolist()[0], m.running_mean.tolist(), m.num_batches_tracked.item()
    ([0.0, 0.0, 0.0], [0.5, 0.5, 0.5], 1)
    """

    ranks: ClassVar = {2: "(N, C)", 3: "(N, C, L)"}


class BatchNorm2d(_BatchNorm):
    """(N, num_features, H, W): each channel to mean 0 and variance 1 over all others, then scaled
    and shifted.

    In training by the batch, and running_mean and running_var follow by `momentum` (None: the mean
    of all batches); in eval mode by these, unless track_running_stats=False. weight and bias begin
    as 1 and 0. Raises ShapeError in training for one value.

    >>> nn.BatchNorm2d(3)(wf.rand(4, 3, 5, 5)).shape
    (4, 3, 5, 5)
    """

    ranks: ClassVar = {4: "(N, C, H, W)"}


class BatchNorm3d(_BatchNorm):
    """(N, num_features, D, H, W): each channel to mean 0 and variance 1 over all others, then
    scaled and shifted.

    Statistics, modes and errors are those of BatchNorm2d.

    >>> nn.BatchNorm3d(3)(wf.rand(4, 3, 2, 5, 5)).shape
    (4, 3, 2, 5, 5)
    """

    ranks: ClassVar = {5: "(N, C, D, H, W)"}


class _InstanceNorm(_Norm):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
    ) -> None:
        self._build(num_features, eps, momentum, affine, track_running_stats)

    @of_tensors
    def forward(self, x: Tensor) -> Tensor:
        self._check(x)
        batch = x if x.ndim == max(self.ranks) else x.reshape(1, *x.shape)
        uses_input = self.training or self.running_mean is None
        learned = self.running_mean, self.running_var, self.weight, self.bias
        return F.instance_norm(batch, *learned, uses_input, self.momentum or 0.0, self.eps).reshape(
            *x.shape
        )


class InstanceNorm1d(_InstanceNorm):
    """(N, num_features, L) or (num_features, L): each line to mean 0 and variance 1, if affine then
    scaled and shifted.

    With track_running_stats=True statistics follow and are used as in BatchNorm1d. Raises
    ShapeError for lines of one element.

    >>> nn.InstanceNorm1d(2)(wf.rand(4, 2, 10)).shape
    (4, 2, 10)
    """

    ranks: ClassVar = {2: "(C, L)", 3: "(N, C, L)"}


class InstanceNorm2d(_InstanceNorm):
    """(N, num_features, H, W) or (num_features, H, W): each image to mean 0 and variance 1, if
    affine then scaled and shifted.

    With track_running_stats=True statistics follow and are used as in BatchNorm2d. Raises
    ShapeError for images of one element.

    >>> nn.InstanceNorm2d(2, affine=True)(wf.rand(4, 2, 5, 5)).shape
    (4, 2, 5, 5)
    """

    ranks: ClassVar = {3: "(C, H, W)", 4: "(N, C, H, W)"}


class InstanceNorm3d(_InstanceNorm):
    """(N, num_features, D, H, W) or (num_features, D, H, W): each volume to mean 0 and variance 1,
    if affine scaled and shifted.

    With track_running_stats=True statistics follow and are used as in BatchNorm3d. Raises
    ShapeError for volumes of one element.

    >>> nn.InstanceNorm3d(2)(wf.rand(4, 2, 3, 5, 5)).shape
    (4, 2, 3, 5, 5)
    """

    ranks: ClassVar = {4: "(C, D, H, W)", 5: "(N, C, D, H, W)"}
