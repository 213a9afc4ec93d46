"""Functions of Tensors, as `wf.exp(x)`. In: Tensors (arrays and numbers are taken too). Out: lazy Tensors.

The composites themselves are in elementwise, reductions, movement, indexing and contract; here they only get their names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from .. import errors
from ..ir.dtype import lowest
from . import activations as act
from . import arrange, contract, cumulative, gathering, movement, padding, ranges, reductions, sets, sorting
from . import einsum as einsum_
from . import elementwise as ew
from . import nonzero as nz
from . import transcendental as tr
from .arguments import as_shape
from .asarray import asarray
from .broadcast import WEAK, broadcast_shape
from .creation import empty, empty_like, from_numpy, full, full_like, ones, ones_like, tensor, zeros, zeros_like
from .data_types import astype, can_cast, finfo, iinfo, isdtype, result_type
from .dlpack import from_dlpack
from .random import manual_seed, normal, rand, randint, randn, uniform
from .ranges import arange, eye, linspace
from .realize import realize
from .tensor import Tensor, general, named, several, unary


def _of_tensor(function: Callable[..., Any], bind: Callable[..., Any] = unary) -> Callable[..., Any]:
    """A function whose first argument may be anything that makes a Tensor."""
    method = bind(function)

    @wraps(function)
    def call(x: Any, /, *args: Any, **kwargs: Any) -> Any:
        return method(x if isinstance(x, Tensor) else tensor(x), *args, **kwargs)

    return call


def _of_two(function: Callable[..., Any]) -> Callable[..., Tensor]:
    """A function whose first two arguments may be anything that makes a Tensor; Python numbers stay weak."""
    method = general(function)

    @wraps(function)
    def call(a: Any, b: Any, /, *args: Any, **kwargs: Any) -> Tensor:
        made = [x if isinstance(x, Tensor) or type(x) in WEAK else tensor(x) for x in (a, b)]
        return method(*made, *args, **kwargs)

    return call


def _of_tensors(function: Callable[..., Any]) -> Callable[..., Tensor]:
    """A function whose first argument is a sequence of Tensors."""
    method = general(function)

    @wraps(function)
    def call(parts: Sequence[Any], /, *args: Any, **kwargs: Any) -> Tensor:
        try:
            given = list(parts)
        except TypeError:
            raise errors.DTypeError(f"{function.__name__}: expected a sequence of tensors, not {parts!r}") from None
        return method([p if isinstance(p, Tensor) else tensor(p) for p in given], *args, **kwargs)

    return call


def _without_lists(x: Any) -> Any:
    return tensor(x) if isinstance(x, (list, tuple)) else x


def _of_operands(function: Callable[..., Any]) -> Callable[..., Tensor]:
    """A function any of whose arguments may be a Tensor, an array, a number or a (nested) list of numbers."""
    method = general(function)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Tensor:
        return method(*map(_without_lists, args), **{k: _without_lists(v) for k, v in kwargs.items()})

    return call


def _general(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function any of whose arguments may be Tensors, the first also anything that makes one."""
    method = general(function)

    @wraps(function)
    def call(x: Any, /, *args: Any, **kwargs: Any) -> Any:
        return method(x if isinstance(x, Tensor) else tensor(x), *args, **kwargs)

    return call


def _of_all(function: Callable[..., Any]) -> Callable[..., list[Tensor]]:
    """A function of any number of Tensors, or of anything that makes them."""
    method = general(function)

    @wraps(function)
    def call(*arrays: Any, **kwargs: Any) -> list[Tensor]:
        return method(*(x if isinstance(x, Tensor) else tensor(x) for x in arrays), **kwargs)

    return call


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape to which arrays of these shapes broadcast. Raises ShapeError."""
    given = [as_shape("broadcast_shapes", (s,)) for s in shapes]
    return broadcast_shape("broadcast_shapes", given) if given else ()


add, subtract, multiply, divide = (_of_operands(f) for f in (ew.add, ew.sub, ew.mul, ew.div))
remainder, floor_divide, fmod, pow = (_of_operands(f) for f in (ew.mod, ew.floordiv, ew.fmod, tr.power))
maximum, minimum, fmax, fmin = (_of_operands(f) for f in (ew.maximum, ew.minimum, ew.fmax, ew.fmin))
copysign, nextafter, clip, isclose = (_of_operands(f) for f in (ew.copysign, ew.nextafter, ew.clip, ew.isclose))
logical_and, logical_or, logical_xor = (_of_operands(f) for f in (ew.logical_and, ew.logical_or, ew.logical_xor))
bitwise_and, bitwise_or, bitwise_xor = (_of_operands(f) for f in (ew.bit_and, ew.bit_or, ew.bit_xor))
bitwise_left_shift, bitwise_right_shift, where = (_of_operands(f) for f in (ew.shift_left, ew.shift_right, ew.where))
equal, not_equal, less, less_equal = (_of_operands(f) for f in (ew.eq, ew.ne, ew.lt, ew.le))
greater, greater_equal = _of_operands(ew.gt), _of_operands(ew.ge)

exp, log, sqrt, rsqrt, sin, cos, tan = (_of_tensor(f) for f in (tr.exp, tr.log, ew.sqrt_, ew.rsqrt, tr.sin, tr.cos, tr.tan))
tanh, erf, sigmoid, relu, gelu, silu = (_of_tensor(f) for f in (tr.tanh, tr.erf, act.sigmoid, act.relu, act.gelu, act.silu))
softplus, leaky_relu, log1p, expm1 = (_of_tensor(f) for f in (act.softplus, act.leaky_relu, tr.log1p, tr.expm1))
asin, acos, atan, asinh, acosh, atanh = (_of_tensor(f) for f in (tr.asin, tr.acos, tr.atan, tr.asinh, tr.acosh, tr.atanh))
sinh, cosh = _of_tensor(tr.sinh), _of_tensor(tr.cosh)
atan2, hypot, logaddexp = _of_operands(tr.atan2), _of_operands(tr.hypot), _of_operands(tr.logaddexp)
exp2, log2, log10, reciprocal, square = (_of_tensor(f) for f in (tr.exp2, tr.log2, tr.log10, ew.reciprocal, ew.square))
abs, neg, sign, floor, ceil = (_of_tensor(f) for f in (ew.absolute, ew.neg, ew.sign, ew.floor, ew.ceil))
absolute, negative, positive, bitwise_invert = abs, neg, _of_tensor(ew.positive), _of_tensor(ew.invert)
signbit, nan_to_num, real, imag, conj = (_of_tensor(f) for f in (ew.signbit, ew.nan_to_num, ew.real, ew.imag, ew.conj))
round, trunc = _of_tensor(ew.round_), _of_tensor(ew.trunc)
isnan, isinf, isfinite, logical_not = (_of_tensor(f) for f in (ew.isnan, ew.isinf, ew.isfinite, ew.logical_not))

sum, mean, prod = _of_tensor(reductions.sum), _of_tensor(reductions.mean), _of_tensor(reductions.prod)
max, min, argmax, argmin = (_of_tensor(f) for f in (reductions.max, reductions.min, reductions.argmax, reductions.argmin))
any, all, var, std = (_of_tensor(f) for f in (reductions.any, reductions.all, reductions.var, reductions.std))
cumsum, cumprod, logsumexp = _of_tensor(cumulative.cumsum), _of_tensor(cumulative.cumprod), _of_tensor(reductions.logsumexp)
cumulative_sum, cumulative_prod = _of_tensor(cumulative.cumulative_sum), _of_tensor(cumulative.cumulative_prod)
diff, norm = _general(cumulative.diff), _of_tensor(cumulative.norm)
softmax, log_softmax = _of_tensor(reductions.softmax), _of_tensor(reductions.log_softmax)

reshape, permute, transpose = _of_tensor(movement.reshape), _of_tensor(movement.permute), _of_tensor(movement.transpose)
swapaxes, moveaxis, broadcast_to = (_of_tensor(f) for f in (movement.swapaxes, movement.moveaxis, movement.to_shape))
squeeze, unsqueeze, flatten = _of_tensor(movement.squeeze), _of_tensor(movement.unsqueeze), _of_tensor(movement.flatten)
flip, pad, window, ravel = (_of_tensor(f) for f in (movement.flip, padding.pad, movement.window, movement.ravel))
permute_dims, expand_dims, matrix_transpose = permute, unsqueeze, _of_tensor(arrange.matrix_transpose)
concat, stack, split = _of_tensors(movement.concat), _of_tensors(movement.stack), _general(movement.split)
concatenate, hstack, vstack = concat, _of_tensors(arrange.hstack), _of_tensors(arrange.vstack)
tril, triu, meshgrid = _of_tensor(ranges.tril), _of_tensor(ranges.triu), _of_all(ranges.meshgrid)
tile, roll, repeat = _of_tensor(arrange.tile), _of_tensor(arrange.roll), _general(arrange.repeat)
unstack, chunk, broadcast_arrays = _general(arrange.unstack), _general(arrange.chunk), _of_all(arrange.broadcast_arrays)
diagonal, diag, trace = _of_tensor(arrange.diagonal), _of_tensor(arrange.diag), _of_tensor(arrange.trace)

matmul, tensordot, vecdot, einsum = (general(f) for f in (contract.matmul, contract.tensordot, contract.vecdot, einsum_.einsum))
outer, inner, dot = general(contract.outer), general(contract.inner), general(contract.dot)

sort, argsort, median = _of_tensor(sorting.sort), _of_tensor(sorting.argsort), _of_tensor(sorting.median)
topk, searchsorted, isin = _of_tensor(sorting.topk, several), _of_two(sorting.searchsorted), _of_two(sorting.isin)
nonzero, argwhere, flatnonzero = _of_tensor(nz.nonzero, several), _of_tensor(nz.argwhere), _of_tensor(nz.flatnonzero)
count_nonzero, bincount = _of_tensor(nz.count_nonzero), _of_tensor(nz.bincount, general)
unique, unique_all, unique_counts = (_of_tensor(f, several) for f in (sets.unique, sets.unique_all, sets.unique_counts))
unique_inverse, unique_values = _of_tensor(sets.unique_inverse, several), _of_tensor(sets.unique_values)
union1d, intersect1d, setdiff1d, setxor1d = (_of_two(f) for f in (sets.union1d, sets.intersect1d, sets.setdiff1d, sets.setxor1d))

take, take_along_axis = named(gathering.take), named(gathering.take_along_axis)
put_along_axis, masked_fill = named(gathering.put_along_axis), general(gathering.masked_fill)
gather, scatter_add = named(gathering.gather), named(gathering.scatter_add)


def allclose(a: Tensor, b: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Are all elements within atol + rtol * |b|. Computes the answer."""
    return bool(isclose(a, b, rtol, atol, equal_nan).all())


__all__ = [
    "Tensor",
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "all",
    "allclose",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "argwhere",
    "asarray",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "bincount",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "can_cast",
    "ceil",
    "chunk",
    "clip",
    "concat",
    "concatenate",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "diag",
    "diagonal",
    "diff",
    "divide",
    "dot",
    "einsum",
    "empty",
    "empty_like",
    "equal",
    "erf",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "eye",
    "finfo",
    "flatnonzero",
    "flatten",
    "flip",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "gather",
    "gelu",
    "greater",
    "greater_equal",
    "hstack",
    "hypot",
    "iinfo",
    "imag",
    "inner",
    "intersect1d",
    "isclose",
    "isdtype",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "leaky_relu",
    "less",
    "less_equal",
    "linspace",
    "log",
    "log1p",
    "log2",
    "log10",
    "log_softmax",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logsumexp",
    "lowest",
    "manual_seed",
    "masked_fill",
    "matmul",
    "matrix_transpose",
    "max",
    "maximum",
    "mean",
    "median",
    "meshgrid",
    "min",
    "minimum",
    "moveaxis",
    "multiply",
    "nan_to_num",
    "neg",
    "negative",
    "nextafter",
    "nonzero",
    "norm",
    "normal",
    "not_equal",
    "ones",
    "ones_like",
    "outer",
    "pad",
    "permute",
    "permute_dims",
    "positive",
    "pow",
    "prod",
    "put_along_axis",
    "rand",
    "randint",
    "randn",
    "ravel",
    "real",
    "realize",
    "reciprocal",
    "relu",
    "remainder",
    "repeat",
    "reshape",
    "result_type",
    "roll",
    "round",
    "rsqrt",
    "scatter_add",
    "searchsorted",
    "setdiff1d",
    "setxor1d",
    "sigmoid",
    "sign",
    "signbit",
    "silu",
    "sin",
    "sinh",
    "softmax",
    "softplus",
    "sort",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "subtract",
    "sum",
    "swapaxes",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tensor",
    "tensordot",
    "tile",
    "topk",
    "trace",
    "transpose",
    "tril",
    "triu",
    "trunc",
    "uniform",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unsqueeze",
    "unstack",
    "var",
    "vecdot",
    "vstack",
    "where",
    "window",
    "zeros",
    "zeros_like",
]  # fmt: skip
