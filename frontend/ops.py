"""Functions of Tensors, as `wf.exp(x)`. In: Tensors (arrays and numbers are taken too). Out: lazy
Tensors.

The composites themselves stand in the modules that are imported here, by theme; here they only get
their names. Every name in this file is one that users call, unless it begins with an underscore.
"""

from __future__ import annotations

from .elementwise import activations as act
from .elementwise import all as ew
from .elementwise import transcendental as tr
from .functions import calculus, cumulative, movement, products, rearrange, reductions, vectors
from .functions import einsum as einsum_
from .functions import gather as gathering
from .lazy import realize as values
from .operands import broadcast
from .selection import interpolation, sets, sorting, statistics
from .selection import nonzero as nz
from .tensor import creation as new
from .tensor import dlpack, dtypes, ranges, sampling
from .tensor import random as draws
from .tensor import tensor as lazy
from .tensor.binding import function as _function
from .tensor.names_elsewhere import public as _public
from .windows import padding

Tensor = lazy.Tensor
realize = values.realize
tensor, asarray, from_numpy, from_dlpack = (
    new.tensor,
    new.asarray,
    new.from_numpy,
    dlpack.from_dlpack,
)
empty, empty_like, full, full_like = new.empty, new.empty_like, new.full, new.full_like
ones, ones_like, zeros, zeros_like = new.ones, new.ones_like, new.zeros, new.zeros_like
arange, eye, linspace, logspace = ranges.arange, ranges.eye, ranges.linspace, ranges.logspace
rand, randn, randint, uniform, normal = (
    draws.rand,
    draws.randn,
    draws.randint,
    draws.uniform,
    draws.normal,
)
manual_seed, get_rng_state, set_rng_state = (
    draws.manual_seed,
    draws.get_rng_state,
    draws.set_rng_state,
)
rand_like, randn_like, randperm = sampling.rand_like, sampling.randn_like, sampling.randperm
choice, multinomial = sampling.choice, sampling.multinomial
astype, can_cast, isdtype, result_type = (
    dtypes.astype,
    dtypes.can_cast,
    dtypes.isdtype,
    dtypes.result_type,
)
finfo, iinfo = dtypes.finfo, dtypes.iinfo
get_default_dtype, set_default_dtype = dtypes.get_default_dtype, dtypes.set_default_dtype
broadcast_shapes = broadcast.broadcast_shapes

add, subtract = _function(ew.add), _function(ew.sub, "subtract")
multiply, divide = _function(ew.mul, "multiply"), _function(ew.div, "divide")
remainder, floor_divide = _function(ew.mod, "remainder"), _function(ew.floordiv, "floor_divide")
pow, fmod, divmod = _function(tr.power, "pow"), _function(ew.fmod), _function(ew.divmod_, "divmod")
equal, not_equal = _function(ew.eq, "equal"), _function(ew.ne, "not_equal")
less, less_equal = _function(ew.lt, "less"), _function(ew.le, "less_equal")
greater, greater_equal = _function(ew.gt, "greater"), _function(ew.ge, "greater_equal")
maximum, minimum, fmax, fmin, clip = map(
    _function, (ew.maximum, ew.minimum, ew.fmax, ew.fmin, ew.clip)
)
clamp = clip
where, isclose, copysign, nextafter = map(
    _function, (ew.where, ew.isclose, ew.copysign, ew.nextafter)
)
logical_and, logical_or, logical_xor = map(
    _function, (ew.logical_and, ew.logical_or, ew.logical_xor)
)
bitwise_and, bitwise_or, bitwise_xor = map(_function, (ew.bit_and, ew.bit_or, ew.bit_xor))
bitwise_left_shift, bitwise_right_shift = map(_function, (ew.shift_left, ew.shift_right))

exp, log, sqrt, rsqrt, sin, cos, tan = map(
    _function, (tr.exp, tr.log, ew.sqrt_, ew.rsqrt, tr.sin, tr.cos, tr.tan)
)
tanh, erf, sigmoid, relu, gelu, silu = map(
    _function, (tr.tanh, tr.erf, act.sigmoid, act.relu, act.gelu, act.silu)
)
softplus, leaky_relu, log1p, expm1 = map(
    _function, (act.softplus, act.leaky_relu, tr.log1p, tr.expm1)
)
asin, acos, atan, asinh, acosh, atanh = map(
    _function, (tr.asin, tr.acos, tr.atan, tr.asinh, tr.acosh, tr.atanh)
)
erfinv, lgamma, digamma, polygamma = map(
    _function, (tr.erfinv, tr.lgamma, tr.digamma, tr.polygamma)
)
sinh, cosh, atan2, hypot, logaddexp = map(
    _function, (tr.sinh, tr.cosh, tr.atan2, tr.hypot, tr.logaddexp)
)
exp2, log2, log10, reciprocal, square = map(
    _function, (tr.exp2, tr.log2, tr.log10, ew.reciprocal, ew.square)
)
absolute, positive, sign = map(_function, (ew.absolute, ew.positive, ew.sign))
negative, bitwise_invert = _function(ew.neg, "negative"), _function(ew.invert, "bitwise_invert")
abs, neg = absolute, negative
round, trunc, floor, ceil = (
    _function(ew.round_, "round"),
    _function(ew.trunc),
    _function(ew.floor),
    _function(ew.ceil),
)
signbit, nan_to_num, real, imag, conj, angle = map(
    _function, (ew.signbit, ew.nan_to_num, ew.real, ew.imag, ew.conj, ew.angle)
)
complex = _function(ew.complex_, "complex")
isnan, isinf, isfinite, logical_not = map(
    _function, (ew.isnan, ew.isinf, ew.isfinite, ew.logical_not)
)

sum, mean, prod = map(_function, (reductions.sum, reductions.mean, reductions.prod))
max, min, argmax, argmin = map(
    _function, (reductions.max, reductions.min, reductions.argmax, reductions.argmin)
)
any, all, var, std = map(
    _function, (reductions.any, reductions.all, reductions.var, reductions.std)
)
logsumexp, softmax, log_softmax = map(
    _function, (reductions.logsumexp, reductions.softmax, reductions.log_softmax)
)
cumsum, cumprod, diff, norm = map(
    _function, (cumulative.cumsum, cumulative.cumprod, cumulative.diff, cumulative.norm)
)
cumulative_sum, cumulative_prod = map(
    _function, (cumulative.cumulative_sum, cumulative.cumulative_prod)
)

reshape, permute, transpose = map(
    _function, (movement.reshape, movement.permute, movement.transpose)
)
swapaxes, moveaxis = _function(movement.swapaxes), _function(movement.moveaxis)
broadcast_to = _function(movement.to_shape, "broadcast_to")
squeeze, unsqueeze, flatten = map(
    _function, (movement.squeeze, movement.unsqueeze, movement.flatten)
)
flip, pad, window, ravel = map(
    _function, (movement.flip, padding.pad, movement.window, movement.ravel)
)
permute_dims, expand_dims, matrix_transpose = (
    permute,
    unsqueeze,
    _function(rearrange.matrix_transpose),
)
concat, stack, split = map(_function, (movement.concat, movement.stack, movement.split))
concatenate, hstack, vstack = concat, _function(rearrange.hstack), _function(rearrange.vstack)
tril, triu, meshgrid = map(_function, (ranges.tril, ranges.triu, ranges.meshgrid))
tile, roll, repeat = map(_function, (rearrange.tile, rearrange.roll, rearrange.repeat))
flipud, fliplr, rot90 = map(_function, (rearrange.flipud, rearrange.fliplr, rearrange.rot90))
unstack, chunk, broadcast_arrays = map(
    _function, (rearrange.unstack, rearrange.chunk, rearrange.broadcast_arrays)
)
diagonal, diag, trace = map(_function, (rearrange.diagonal, rearrange.diag, rearrange.trace))

matmul, tensordot, vecdot, einsum = map(
    _function, (products.matmul, products.tensordot, products.vecdot, einsum_.einsum)
)
outer, inner, dot = map(_function, (products.outer, products.inner, products.dot))
cross, kron, cdist, vander = map(
    _function, (vectors.cross, vectors.kron, vectors.cdist, vectors.vander)
)
lerp, interp, gradient = map(
    _function, (interpolation.lerp, interpolation.interp, calculus.gradient)
)
trapezoid = _function(calculus.trapezoid)

sort, argsort, median, topk = map(
    _function, (sorting.sort, sorting.argsort, sorting.median, sorting.topk)
)
searchsorted, isin = _function(sorting.searchsorted), _function(sorting.isin)
quantile, percentile, histogram = map(
    _function, (statistics.quantile, statistics.percentile, statistics.histogram)
)
cov = _function(statistics.cov)
nonzero, argwhere, flatnonzero = map(_function, (nz.nonzero, nz.argwhere, nz.flatnonzero))
count_nonzero, bincount = _function(nz.count_nonzero), _function(nz.bincount)
unique, unique_all, unique_counts = map(
    _function, (sets.unique, sets.unique_all, sets.unique_counts)
)
unique_inverse, unique_values = _function(sets.unique_inverse), _function(sets.unique_values)
union1d, intersect1d, setdiff1d, setxor1d = map(
    _function, (sets.union1d, sets.intersect1d, sets.setdiff1d, sets.setxor1d)
)

take, take_along_axis, put_along_axis = map(
    _function, (gathering.take, gathering.take_along_axis, gathering.put_along_axis)
)
gather, scatter_add, masked_fill = map(
    _function, (gathering.gather, gathering.scatter_add, gathering.masked_fill)
)
as_strided = _function(gathering.as_strided)


def allclose(
    a: Tensor, b: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """True if all elements are within atol + rtol * |b|. Computes the answer."""
    return bool(isclose(a, b, rtol, atol, equal_nan).all())


globals()["__all__"] = _public(globals())
