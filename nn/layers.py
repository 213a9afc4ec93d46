"""The layers: a Module each, holding Parameters and calling nn/functional.py. Layouts and arguments are torch's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .. import errors
from ..frontend import ops
from ..frontend.arguments import as_bool, as_ints, as_shape
from ..frontend.tensor import Tensor
from ..frontend.windows import Pair
from . import functional as F
from . import init
from .module import Module, Parameter


class Linear(Module):
    """(..., in_features) -> (..., out_features): x @ weight.T + bias."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        shape = as_shape("Linear", (out_features, in_features))
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(init.layer_weight(shape))
        self.bias = Parameter(init.layer_bias(shape)) if as_bool("Linear", "bias", bias) else None

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


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


class MaxPool2d(Module):
    """(N, C, H, W) -> (N, C, H', W'): the greatest element of each window."""

    def __init__(self, kernel_size: Pair, stride: Pair | None = None, padding: Pair = 0, dilation: Pair = 1) -> None:
        self.kernel_size, self.stride, self.padding, self.dilation = kernel_size, stride, padding, dilation

    def forward(self, x: Tensor) -> Tensor:
        return F.max_pool2d(x, self.kernel_size, self.stride, self.padding, self.dilation)

    def extra_repr(self) -> str:
        stride = self.kernel_size if self.stride is None else self.stride
        return f"kernel_size={self.kernel_size}, stride={stride}, padding={self.padding}, dilation={self.dilation}"


class AvgPool2d(Module):
    """(N, C, H, W) -> (N, C, H', W'): the mean of each window."""

    def __init__(self, kernel_size: Pair, stride: Pair | None = None, padding: Pair = 0) -> None:
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding

    def forward(self, x: Tensor) -> Tensor:
        return F.avg_pool2d(x, self.kernel_size, self.stride, self.padding)

    def extra_repr(self) -> str:
        stride = self.kernel_size if self.stride is None else self.stride
        return f"kernel_size={self.kernel_size}, stride={stride}, padding={self.padding}"


class LayerNorm(Module):
    """Normalises the trailing axes `normalized_shape` to mean 0 and variance 1, then scales and shifts."""

    def __init__(self, normalized_shape: Pair, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True) -> None:
        self.normalized_shape, self.eps = as_ints("LayerNorm", "normalized_shape", normalized_shape), eps
        is_affine = as_bool("LayerNorm", "elementwise_affine", elementwise_affine)
        self.weight = Parameter(ops.ones(self.normalized_shape)) if is_affine else None
        self.bias = Parameter(ops.zeros(self.normalized_shape)) if is_affine and as_bool("LayerNorm", "bias", bias) else None

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}"


class Embedding(Module):
    """Integer indices of any shape -> that shape + (embedding_dim,)."""

    def __init__(self, num_embeddings: int, embedding_dim: int) -> None:
        shape = as_shape("Embedding", (num_embeddings, embedding_dim))
        self.num_embeddings, self.embedding_dim = shape
        self.weight = Parameter(init.normal(shape))

    def forward(self, x: Tensor) -> Tensor:
        return F.embedding(x, self.weight)

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}"


class Dropout(Module):
    """Zeroes elements with probability p while training."""

    def __init__(self, p: float = 0.5) -> None:
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}"


class Flatten(Module):
    """Merges the axes start_axis .. end_axis into one."""

    def __init__(self, start_axis: int = 1, end_axis: int = -1) -> None:
        self.start_axis, self.end_axis = start_axis, end_axis

    def forward(self, x: Tensor) -> Tensor:
        return ops.flatten(x, self.start_axis, self.end_axis)  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        return f"start_axis={self.start_axis}, end_axis={self.end_axis}"


class ReLU(Module):
    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x)


class GELU(Module):
    def __init__(self, approximate: str = "none") -> None:
        self.approximate = approximate

    def forward(self, x: Tensor) -> Tensor:
        return F.gelu(x, self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Tanh(Module):
    def forward(self, x: Tensor) -> Tensor:
        return F.tanh(x)


class Sigmoid(Module):
    def forward(self, x: Tensor) -> Tensor:
        return F.sigmoid(x)


class Sequential(Module):
    """Calls its layers one after the other; they are named 0, 1, 2 .."""

    def __init__(self, *layers: Module) -> None:
        for i, layer in enumerate(layers):
            if not isinstance(layer, Module):
                raise errors.DTypeError(f"Sequential: layer {i} must be a Module, not {type(layer).__name__}")
            setattr(self, str(i), layer)

    def __iter__(self) -> Iterator[Module]:
        return (layer for _, layer in self.named_children())

    def __len__(self) -> int:
        return len(list(self.named_children()))

    def __getitem__(self, index: int | slice) -> Module:
        layers: Sequence[Module] = list(self)
        return Sequential(*layers[index]) if isinstance(index, slice) else layers[index]

    def forward(self, x: Any) -> Any:
        for layer in self:
            x = layer(x)
        return x
