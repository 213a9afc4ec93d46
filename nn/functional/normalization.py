"""Normalised activations. In: a Tensor. Out: one of the same shape.

Variances are means of (x - mean)**2, so that a large mean cancels nothing; 16-bit floats are
computed in float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ... import errors
from ...frontend.functions.moments import moments
from ...frontend.operands.arguments import as_bool, as_double, as_int, as_ints
from ...frontend.operands.broadcast import default_float
from ...frontend.tensor.binding import function, of_tensors
from ...frontend.tensor.dtypes import finfo
from ...frontend.tensor.tensor import Tensor
from ...ir.graph.graph import deviation_squared
from .common import in_float32, in_float32_at_least

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "rms_norm"]
Axes = tuple[int, ...]


@in_float32_at_least
def layer_norm(
    x: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias over the trailing axes; var is the mean of (x -
    mean)**2.

    weight, bias: of normalized_shape.

    >>> F.layer_norm(wf.tensor([[1.0, 3.0], [5.0, 9.0]]), 2, eps=0.0).tolist()
    [[-1.0, 1.0], [-1.0, 1.0]]
    """
    shape, eps = (
        _trailing("layer_norm", x, normalized_shape, weight, bias),
        as_double("layer_norm", "eps", eps),
    )
    centred, scale = _moments(x, tuple(range(-len(shape), 0)), eps)
    return _affine(centred * scale, weight, bias)


@in_float32_at_least
def rms_norm(
    x: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """x / sqrt(mean of x**2 + eps) * weight over the trailing axes (Zhang and Sennrich 2019).

    weight: of normalized_shape. eps: that of the dtype (float32 for 16-bit floats) unless given.

    >>> F.rms_norm(wf.tensor([[3.0, 4.0, 0.0, 0.0]]), 4, eps=0.0).tolist()
    [[1.2000000476837158, 1.600000023841858, 0.0, 0.0]]
    """
    shape = _trailing("rms_norm", x, normalized_shape, weight)
    eps = (
        float(finfo(x.dtype if x.dtype.is_float else default_float()).eps)
        if eps is None
        else as_double("rms_norm", "eps", eps)
    )
    return _affine(
        x * _root((x * x).mean(axis=tuple(range(-len(shape), 0)), keepdims=True), eps), weight, None
    )


@in_float32_at_least
def group_norm(
    x: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """x (N, C, ...), normalised over each of num_groups groups of channels of each sample (Wu and
    He 2018).

    weight, bias: (C,).

    >>> F.group_norm(wf.rand(2, 6, 4, 4), 3).shape
    (2, 6, 4, 4)
    """
    groups, eps = (
        as_int("group_norm", "num_groups", num_groups),
        as_double("group_norm", "eps", eps),
    )
    _check_channels("group_norm", x, {"weight": weight, "bias": bias})
    if groups < 1 or x.shape[1] % groups:
        raise errors.ShapeError(
            f"group_norm: num_groups={groups} does not divide the {x.shape[1]} channels of shape"
            f" {x.shape}"
        )
    parts = x.reshape(x.shape[0], groups, x.shape[1] // groups, prod(x.shape[2:]))
    of_channels = (None if t is None else t.reshape(*parts.shape[1:3], 1) for t in (weight, bias))
    return _scaled(*_of_channels(parts, (2, 3), eps), *of_channels).reshape(*x.shape)


# ---------------------------------------------------------------- with running statistics


@of_tensors
def batch_norm(
    x: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float | Tensor = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """x (N, C) or (N, C, ...), normalised over all axes but C (Ioffe and Szegedy 2015); all others
    are (C,).

    training: by the mean and the (biased) variance of x; running_mean and running_var, if given,
    become (1 - momentum) * old + momentum * new, with the unbiased variance, in the next program.
    Otherwise by running_mean and running_var.

    >>> mean, var = wf.zeros(3), wf.ones(3)
    >>> F.batch_norm(wf.ones(4, 3), mean, var, training=True, momentum=0.5).shape, mean.tolist()
    ((4, 3), [0.5, 0.5, 0.5])
    """
    axes = (0, *range(2, x.ndim))
    statistics = {"running_mean": running_mean, "running_var": running_var}
    _check_channels("batch_norm", x, {**statistics, "weight": weight, "bias": bias})
    eps = as_double("batch_norm", "eps", eps)
    if not as_bool("batch_norm", "training", training):
        return _rounded(
            _by_statistics("batch_norm", x, running_mean, running_var, weight, bias, eps), x
        )
    _check_count("batch_norm", "value per channel", x, axes)
    _track("batch_norm", x, axes, (), running_mean, running_var, momentum)
    return _rounded(_by_moments(x, weight, bias, axes, eps), x)


@of_tensors
def instance_norm(
    x: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float | Tensor = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """x (N, C, ...), each channel of each sample normalised (Ulyanov, Vedaldi and Lempitsky 2016);
    all others are (C,).

    running_mean and running_var are as in batch_norm, with means over the samples of their means
    and unbiased variances.

    >>> F.instance_norm(wf.rand(2, 3, 4, 4)).shape
    (2, 3, 4, 4)
    """
    axes = tuple(range(2, x.ndim))
    statistics = {"running_mean": running_mean, "running_var": running_var}
    _check_channels("instance_norm", x, {**statistics, "weight": weight, "bias": bias})
    eps = as_double("instance_norm", "eps", eps)
    if not as_bool("instance_norm", "use_input_stats", use_input_stats):
        return _rounded(
            _by_statistics("instance_norm", x, running_mean, running_var, weight, bias, eps), x
        )
    _check_count("instance_norm", "spatial element", x, axes)
    if not x.shape[0] and (running_mean is not None or running_var is not None):
        raise errors.ShapeError(
            f"instance_norm: running statistics are means over samples, but x has shape {x.shape}"
        )
    _track("instance_norm", x, axes, (0,), running_mean, running_var, momentum)
    return _rounded(_by_moments(x, weight, bias, axes, eps), x)


@in_float32
def _by_moments(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, axes: Axes, eps: float
) -> Tensor:
    return _scaled(*_of_channels(x, axes, eps), _along(weight, x), _along(bias, x))


@in_float32
def _by_statistics(
    name: str,
    x: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> Tensor:
    mean, var = _along(running_mean, x), _along(running_var, x)
    if mean is None or var is None:
        raise errors.ArgumentError(
            f"{name}: without statistics of the input, running_mean and running_var are needed"
        )
    return _scaled(x - mean, _root(var, eps), _along(weight, x), _along(bias, x))


def _rounded(out: Tensor, x: Tensor) -> Tensor:
    """In the dtype of a 16-bit x, whatever that of the statistics and weights is."""
    return out.astype(x.dtype) if x.dtype.is_half else out


def _track(
    name: str,
    x: Tensor,
    axes: Axes,
    over: Axes,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float | Tensor,
) -> None:
    """Moves the running statistics towards those of x over these axes, and their mean over further
    ones."""
    wide = x.float() if x.dtype.is_half else x
    if not isinstance(momentum, Tensor):
        momentum = as_double(name, "momentum", momentum)
    statistics = _deviations(wide, axes)[0].mean(axis=axes), wide.var(axis=axes, correction=1)
    for running, new in zip((running_mean, running_var), statistics, strict=True):
        if running is not None:
            running.assign(running * (1.0 - momentum) + new.detach().mean(axis=over) * momentum)


# ---------------------------------------------------------------- parts


def _moments(x: Tensor, axes: Axes, eps: float) -> tuple[Tensor, Tensor]:
    """x around its mean, and what brings that to a variance of 1.

    Each element is read for itself alone, so that a norm of rows stays in the kernel of what
    computes them.
    """
    centred = x - x.mean(axis=axes, keepdims=True)
    return centred, _root(_squared(centred).mean(axis=axes, keepdims=True), eps)


def _of_channels(x: Tensor, axes: Axes, eps: float) -> tuple[Tensor, Tensor]:
    """The same over the many elements of a channel, with a mean that is the nearest float."""
    _, centred, squares = _deviations(x, tuple(a % x.ndim for a in axes))
    return centred, _root(squares / prod(x.shape[a] for a in axes), eps)


_deviations = function(moments)
_squared = function(deviation_squared)


def _root(var: Tensor, eps: float) -> Tensor:
    return (var + eps).rsqrt()  # one division a row, also in gradients


def _scaled(centred: Tensor, scale: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """centred * scale * weight + bias. Both factors are few: joined first, nothing but `centred` is
    kept for gradients."""
    return _affine(centred * (scale if weight is None else scale * weight), None, bias)


def _affine(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def _along(t: Tensor | None, x: Tensor) -> Tensor | None:
    """(C,) as it broadcasts along the channels of x."""
    return None if t is None else t.reshape(-1, *[1] * (x.ndim - 2))


def _trailing(
    name: str, x: Tensor, normalized_shape: int | Sequence[int], *tensors: Tensor | None
) -> tuple[int, ...]:
    shape = as_ints(name, "normalized_shape", normalized_shape)
    if not shape or x.shape[-len(shape) :] != shape:
        raise errors.ShapeError(
            f"{name}: the last axes of x must be normalized_shape={shape}, but x has shape"
            f" {x.shape}"
        )
    for what, t in zip(("weight", "bias"), tensors, strict=False):
        if t is not None and t.shape != shape:
            raise errors.ShapeError(f"{name}: {what} must have shape {shape}, not {t.shape}")
    return shape


def _check_channels(name: str, x: Tensor, tensors: dict[str, Tensor | None]) -> None:
    if x.ndim < 2:
        raise errors.ShapeError(f"{name}: expected x of shape (N, C, ...), got {x.shape}")
    for what, t in tensors.items():
        if t is not None and t.shape != x.shape[1:2]:
            raise errors.ShapeError(
                f"{name}: {what} must have shape {x.shape[1:2]} for x of shape {x.shape}, not"
                f" {t.shape}"
            )


def _check_count(name: str, what: str, x: Tensor, axes: Axes) -> None:
    if prod(x.shape[a] for a in axes) < 2:
        raise errors.ShapeError(
            f"{name}: more than one {what} is needed for its own statistics, but x has shape"
            f" {x.shape}"
        )
