"""Initial values. In: a Tensor, whose value is replaced. Out: the same Tensor, with draws of weft's
generator (`wf.manual_seed`).

Names with an underscore are torch's, and assign to a Tensor of any float dtype; the others make a
Tensor of a shape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .. import errors
from ..frontend import ops
from ..frontend.gradients.gradient import no_grad
from ..frontend.tensor.tensor import Tensor
from ..ir.graph import dtype as dt
from ..ir.graph.brief import brief
from .initial import (
    calculate_gain,
    fans,
    kaiming_normal,
    kaiming_uniform,
    layer_bias,
    layer_weight,
    normal,
    orthogonal,
    trunc_normal,
    uniform,
    xavier_normal,
    xavier_uniform,
)

__all__ = [
    "calculate_gain",
    "constant_",
    "eye_",
    "fans",
    "kaiming_normal",
    "kaiming_normal_",
    "kaiming_uniform",
    "kaiming_uniform_",
    "layer_bias",
    "layer_weight",
    "normal",
    "normal_",
    "ones_",
    "orthogonal",
    "orthogonal_",
    "trunc_normal",
    "trunc_normal_",
    "uniform",
    "uniform_",
    "xavier_normal",
    "xavier_normal_",
    "xavier_uniform",
    "xavier_uniform_",
    "zeros_",
]

T = TypeVar("T", bound=Tensor)


def _drawn(draw: Callable[..., Tensor], tensor: T, *settings: Any) -> T:
    """The Tensor with values drawn in its dtype; 16-bit floats are rounded from float32."""
    name = f"{draw.__name__}_"
    if not isinstance(tensor, Tensor) or not tensor.dtype.is_float:
        raise errors.DTypeError(f"{name}: the tensor must hold floats, not {brief(tensor)}")
    dtype = dt.float32 if tensor.dtype.is_half else tensor.dtype
    return _filled(name, tensor, draw(tensor.shape, *settings, dtype))


def _filled(name: str, tensor: T, value: float | Tensor) -> T:
    if not isinstance(tensor, Tensor):
        raise errors.DTypeError(f"{name}: the tensor must be a Tensor, not {brief(tensor)}")
    with no_grad():
        return tensor.assign(value)


def uniform_(tensor: T, a: float = 0.0, b: float = 1.0) -> T:
    """Uniform in [a, b).

    >>> nn.init.uniform_(wf.zeros(3), 2.0, 2.0).tolist()
    [2.0, 2.0, 2.0]
    """
    return _drawn(uniform, tensor, a, b)


def normal_(tensor: T, mean: float = 0.0, std: float = 1.0) -> T:
    """Normal with this mean and standard deviation.

    >>> abs(nn.init.normal_(wf.zeros(1000), mean=5.0).mean().item() - 5) < 0.2
    True
    """
    return _drawn(normal, tensor, mean, std)


def trunc_normal_(
    tensor: T, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0
) -> T:
    """Normal with this mean and standard deviation, but none outside of [a, b].

    >>> abs(nn.init.trunc_normal_(wf.zeros(1000))).max().item() <= 2
    True
    """
    return _drawn(trunc_normal, tensor, mean, std, a, b)


def constant_(tensor: T, val: float) -> T:
    """Every element is val.

    >>> nn.init.constant_(wf.zeros(2), 0.5).tolist()
    [0.5, 0.5]
    """
    return _filled("constant_", tensor, ops.full((), val))


def ones_(tensor: T) -> T:
    """Ones.

    >>> nn.init.ones_(wf.zeros(2)).tolist()
    [1.0, 1.0]
    """
    return _filled("ones_", tensor, 1)


def zeros_(tensor: T) -> T:
    """Zeros.

    >>> nn.init.zeros_(wf.ones(2)).tolist()
    [0.0, 0.0]
    """
    return _filled("zeros_", tensor, 0)


def eye_(tensor: T) -> T:
    """Ones on the diagonal of a matrix, zeros elsewhere. Raises ShapeError for anything but a
    matrix.

    >>> nn.init.eye_(wf.zeros(2, 3)).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    if not isinstance(tensor, Tensor) or tensor.ndim != 2:
        raise errors.ShapeError(f"eye_: the tensor must be a matrix, not {brief(tensor)}")
    return _filled("eye_", tensor, ops.eye(*tensor.shape))


def xavier_uniform_(tensor: T, gain: float = 1.0) -> T:
    """Uniform with bound gain * sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010). Raises
    ShapeError below two axes.

    >>> abs(nn.init.xavier_uniform_(wf.zeros(4, 2))).max().item() <= 1
    True
    """
    return _drawn(xavier_uniform, tensor, gain)


def xavier_normal_(tensor: T, gain: float = 1.0) -> T:
    """Normal with standard deviation gain * sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio 2010).

    >>> nn.init.xavier_normal_(wf.zeros(4, 2), gain=0.0).sum().item()
    0.0
    """
    return _drawn(xavier_normal, tensor, gain)


def kaiming_uniform_(
    tensor: T, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> T:
    """Uniform with bound gain * sqrt(3 / fan) (He et al. 2015); a: the slope of the leaky relu that
    follows.

    >>> abs(nn.init.kaiming_uniform_(wf.zeros(2, 6))).max().item() <= 1
    True
    """
    return _drawn(kaiming_uniform, tensor, a, mode, nonlinearity)


def kaiming_normal_(
    tensor: T, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> T:
    """Normal with standard deviation gain / sqrt(fan) (He et al. 2015); a: the slope of the leaky
    relu that follows.

    >>> nn.init.kaiming_normal_(wf.zeros(2, 6), mode="fan_out", nonlinearity="relu").shape
    (2, 6)
    """
    return _drawn(kaiming_normal, tensor, a, mode, nonlinearity)


def orthogonal_(tensor: T, gain: float = 1.0) -> T:
    """Orthonormal rows or columns, whichever are fewer, times gain (Saxe et al. 2014). Computed
    now, by NumPy.

    >>> w = nn.init.orthogonal_(wf.zeros(5, 2))
    >>> bool(wf.allclose(w.T @ w, wf.eye(2), atol=1e-6))
    True
    """
    return _drawn(orthogonal, tensor, gain)
