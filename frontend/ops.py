"""Functions of Tensors, as `wf.exp(x)`. In: Tensors (arrays and numbers are taken too). Out: lazy Tensors.

The composites themselves stand in the modules that are imported here, by theme; here they only get their names.
"""

from __future__ import annotations

from typing import Any

from .elementwise import activations as act
from .elementwise import all as ew
from .elementwise import transcendental as tr
from .functions import calculus, cumulative, movement, products, rearrange, reductions, vectors
from .functions import einsum as einsum_
from .functions import gather as gathering
from .lazy.realize import realize
from .operands.arguments import as_shape
from .operands.broadcast import broadcast_shape
from .selection import interpolation, sets, sorting, statistics
from .selection import nonzero as nz
from .tensor import ranges
from .tensor.asarray import asarray
from .tensor.binding import function
from .tensor.creation import empty, empty_like, from_numpy, full, full_like, ones, ones_like, tensor, zeros, zeros_like
from .tensor.dlpack import from_dlpack
from .tensor.dtypes import astype, can_cast, finfo, get_default_dtype, iinfo, isdtype, result_type, set_default_dtype
from .tensor.random import get_rng_state, manual_seed, normal, rand, randint, randn, set_rng_state, uniform
from .tensor.ranges import arange, eye, linspace, logspace
from .tensor.sampling import choice, multinomial, rand_like, randn_like, randperm
from .tensor.tensor import Tensor
from .windows import padding


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape to which arrays of these shapes broadcast. Raises ShapeError."""
    given = [as_shape("broadcast_shapes", (s,)) for s in shapes]
    return broadcast_shape("broadcast_shapes", given) if given else ()


add, subtract = function(ew.add), function(ew.sub, "subtract")
multiply, divide = function(ew.mul, "multiply"), function(ew.div, "divide")
remainder, floor_divide = function(ew.mod, "remainder"), function(ew.floordiv, "floor_divide")
pow, fmod, divmod = function(tr.power, "pow"), function(ew.fmod), function(ew.divmod_, "divmod")
equal, not_equal = function(ew.eq, "equal"), function(ew.ne, "not_equal")
less, less_equal = function(ew.lt, "less"), function(ew.le, "less_equal")
greater, greater_equal = function(ew.gt, "greater"), function(ew.ge, "greater_equal")
maximum, minimum, fmax, fmin, clip = map(function, (ew.maximum, ew.minimum, ew.fmax, ew.fmin, ew.clip))
clamp = clip
where, isclose, copysign, nextafter = map(function, (ew.where, ew.isclose, ew.copysign, ew.nextafter))
logical_and, logical_or, logical_xor = map(function, (ew.logical_and, ew.logical_or, ew.logical_xor))
bitwise_and, bitwise_or, bitwise_xor = map(function, (ew.bit_and, ew.bit_or, ew.bit_xor))
bitwise_left_shift, bitwise_right_shift = map(function, (ew.shift_left, ew.shift_right))

exp, log, sqrt, rsqrt, sin, cos, tan = map(function, (tr.exp, tr.log, ew.sqrt_, ew.rsqrt, tr.sin, tr.cos, tr.tan))
tanh, erf, sigmoid, relu, gelu, silu = map(function, (tr.tanh, tr.erf, act.sigmoid, act.relu, act.gelu, act.silu))
softplus, leaky_relu, log1p, expm1 = map(function, (act.softplus, act.leaky_relu, tr.log1p, tr.expm1))
asin, acos, atan, asinh, acosh, atanh = map(function, (tr.asin, tr.acos, tr.atan, tr.asinh, tr.acosh, tr.atanh))
erfinv, lgamma, digamma, polygamma = map(function, (tr.erfinv, tr.lgamma, tr.digamma, tr.polygamma))
sinh, cosh, atan2, hypot, logaddexp = map(function, (tr.sinh, tr.cosh, tr.atan2, tr.hypot, tr.logaddexp))
exp2, log2, log10, reciprocal, square = map(function, (tr.exp2, tr.log2, tr.log10, ew.reciprocal, ew.square))
absolute, positive, sign = map(function, (ew.absolute, ew.positive, ew.sign))
negative, bitwise_invert = function(ew.neg, "negative"), function(ew.invert, "bitwise_invert")
abs, neg = absolute, negative
round, trunc, floor, ceil = function(ew.round_, "round"), function(ew.trunc), function(ew.floor), function(ew.ceil)
signbit, nan_to_num, real, imag, conj = map(function, (ew.signbit, ew.nan_to_num, ew.real, ew.imag, ew.conj))
isnan, isinf, isfinite, logical_not = map(function, (ew.isnan, ew.isinf, ew.isfinite, ew.logical_not))

sum, mean, prod = map(function, (reductions.sum, reductions.mean, reductions.prod))
max, min, argmax, argmin = map(function, (reductions.max, reductions.min, reductions.argmax, reductions.argmin))
any, all, var, std = map(function, (reductions.any, reductions.all, reductions.var, reductions.std))
logsumexp, softmax, log_softmax = map(function, (reductions.logsumexp, reductions.softmax, reductions.log_softmax))
cumsum, cumprod, diff, norm = map(function, (cumulative.cumsum, cumulative.cumprod, cumulative.diff, cumulative.norm))
cumulative_sum, cumulative_prod = map(function, (cumulative.cumulative_sum, cumulative.cumulative_prod))

reshape, permute, transpose = map(function, (movement.reshape, movement.permute, movement.transpose))
swapaxes, moveaxis = function(movement.swapaxes), function(movement.moveaxis)
broadcast_to = function(movement.to_shape, "broadcast_to")
squeeze, unsqueeze, flatten = map(function, (movement.squeeze, movement.unsqueeze, movement.flatten))
flip, pad, window, ravel = map(function, (movement.flip, padding.pad, movement.window, movement.ravel))
permute_dims, expand_dims, matrix_transpose = permute, unsqueeze, function(rearrange.matrix_transpose)
concat, stack, split = map(function, (movement.concat, movement.stack, movement.split))
concatenate, hstack, vstack = concat, function(rearrange.hstack), function(rearrange.vstack)
tril, triu, meshgrid = map(function, (ranges.tril, ranges.triu, ranges.meshgrid))
tile, roll, repeat = map(function, (rearrange.tile, rearrange.roll, rearrange.repeat))
flipud, fliplr, rot90 = map(function, (rearrange.flipud, rearrange.fliplr, rearrange.rot90))
unstack, chunk, broadcast_arrays = map(function, (rearrange.unstack, rearrange.chunk, rearrange.broadcast_arrays))
diagonal, diag, trace = map(function, (rearrange.diagonal, rearrange.diag, rearrange.trace))

matmul, tensordot, vecdot, einsum = map(function, (products.matmul, products.tensordot, products.vecdot, einsum_.einsum))
outer, inner, dot = map(function, (products.outer, products.inner, products.dot))
cross, kron, cdist, vander = map(function, (vectors.cross, vectors.kron, vectors.cdist, vectors.vander))
lerp, interp, gradient = map(function, (interpolation.lerp, interpolation.interp, calculus.gradient))
trapezoid = function(calculus.trapezoid)

sort, argsort, median, topk = map(function, (sorting.sort, sorting.argsort, sorting.median, sorting.topk))
searchsorted, isin = function(sorting.searchsorted), function(sorting.isin)
quantile, percentile, histogram = map(function, (statistics.quantile, statistics.percentile, statistics.histogram))
cov = function(statistics.cov)
nonzero, argwhere, flatnonzero = map(function, (nz.nonzero, nz.argwhere, nz.flatnonzero))
count_nonzero, bincount = function(nz.count_nonzero), function(nz.bincount)
unique, unique_all, unique_counts = map(function, (sets.unique, sets.unique_all, sets.unique_counts))
unique_inverse, unique_values = function(sets.unique_inverse), function(sets.unique_values)
union1d, intersect1d, setdiff1d, setxor1d = map(function, (sets.union1d, sets.intersect1d, sets.setdiff1d, sets.setxor1d))

take, take_along_axis, put_along_axis = map(function, (gathering.take, gathering.take_along_axis, gathering.put_along_axis))
gather, scatter_add, masked_fill = map(function, (gathering.gather, gathering.scatter_add, gathering.masked_fill))
as_strided = function(gathering.as_strided)


def allclose(a: Tensor, b: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """True if all elements are within atol + rtol * |b|. Computes the answer."""
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
    "as_strided",
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
    "cdist",
    "ceil",
    "choice",
    "chunk",
    "clamp",
    "clip",
    "concat",
    "concatenate",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "count_nonzero",
    "cov",
    "cross",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "diag",
    "diagonal",
    "diff",
    "digamma",
    "divide",
    "divmod",
    "dot",
    "einsum",
    "empty",
    "empty_like",
    "equal",
    "erf",
    "erfinv",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "eye",
    "finfo",
    "flatnonzero",
    "flatten",
    "flip",
    "fliplr",
    "flipud",
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
    "get_default_dtype",
    "get_rng_state",
    "gradient",
    "greater",
    "greater_equal",
    "histogram",
    "hstack",
    "hypot",
    "iinfo",
    "imag",
    "inner",
    "interp",
    "intersect1d",
    "isclose",
    "isdtype",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "kron",
    "leaky_relu",
    "lerp",
    "less",
    "less_equal",
    "lgamma",
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
    "logspace",
    "logsumexp",
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
    "multinomial",
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
    "percentile",
    "permute",
    "permute_dims",
    "polygamma",
    "positive",
    "pow",
    "prod",
    "put_along_axis",
    "quantile",
    "rand",
    "rand_like",
    "randint",
    "randn",
    "randn_like",
    "randperm",
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
    "rot90",
    "round",
    "rsqrt",
    "scatter_add",
    "searchsorted",
    "set_default_dtype",
    "set_rng_state",
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
    "trapezoid",
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
    "vander",
    "var",
    "vecdot",
    "vstack",
    "where",
    "window",
    "zeros",
    "zeros_like",
]  # fmt: skip
