"""The standard's functions that rearrange arrays, take from them and multiply them. In: arrays. Out: lazy Tensors."""

from __future__ import annotations

from typing import Any

from ..frontend import ops
from ..frontend.tensor.tensor import Tensor
from .delegate import documented


@documented
def broadcast_arrays(*arrays: Any) -> tuple[Tensor, ...]:
    return ops.broadcast_arrays(*arrays)


@documented
def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    return ops.broadcast_shapes(*shapes)


@documented
def broadcast_to(x: Any, /, shape: Any) -> Tensor:
    return ops.broadcast_to(x, shape)


@documented
def concat(arrays: Any, /, *, axis: Any = 0) -> Tensor:
    return ops.concat(arrays, axis=axis)


@documented
def expand_dims(x: Any, /, axis: Any = 0) -> Tensor:
    return ops.expand_dims(x, axis=axis)


@documented
def flip(x: Any, /, *, axis: Any = None) -> Tensor:
    return ops.flip(x, axis=axis)


@documented
def moveaxis(x: Any, source: Any, destination: Any, /) -> Tensor:
    return ops.moveaxis(x, source, destination)


@documented
def permute_dims(x: Any, /, axes: Any) -> Tensor:
    return ops.permute_dims(x, axes)


@documented
def repeat(x: Any, repeats: Any, /, *, axis: Any = None) -> Tensor:
    return ops.repeat(x, repeats, axis=axis)


@documented
def reshape(x: Any, /, shape: Any, *, copy: Any = None) -> Tensor:
    return ops.reshape(x, shape, copy=copy)


@documented
def roll(x: Any, /, shift: Any, *, axis: Any = None) -> Tensor:
    return ops.roll(x, shift, axis=axis)


@documented
def squeeze(x: Any, /, axis: Any) -> Tensor:
    return ops.squeeze(x, axis)


@documented
def stack(arrays: Any, /, *, axis: int = 0) -> Tensor:
    return ops.stack(arrays, axis=axis)


@documented
def tile(x: Any, repetitions: Any, /) -> Tensor:
    return ops.tile(x, repetitions)


@documented
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    return ops.unstack(x, axis=axis)


@documented
def take(x: Any, indices: Any, /, *, axis: Any = None) -> Tensor:
    return ops.take(x, indices, axis=axis)


@documented
def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Tensor:
    return ops.take_along_axis(x, indices, axis=axis)


@documented
def matmul(x1: Any, x2: Any, /) -> Tensor:
    return ops.matmul(x1, x2)


@documented
def matrix_transpose(x: Any, /) -> Tensor:
    return ops.matrix_transpose(x)


@documented
def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Tensor:
    return ops.tensordot(x1, x2, axes=axes)


@documented
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Tensor:
    return ops.vecdot(x1, x2, axis=axis)


__all__ = [
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flip",
    "matmul",
    "matrix_transpose",
    "moveaxis",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "squeeze",
    "stack",
    "take",
    "take_along_axis",
    "tensordot",
    "tile",
    "unstack",
    "vecdot",
]
