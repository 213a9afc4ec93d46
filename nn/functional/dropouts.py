"""Elements or channels zeroed at random. In: a Tensor and a probability. Out: one of the same
shape."""

from __future__ import annotations

from ... import errors
from ...frontend import ops
from ...frontend.operands.arguments import as_bool, as_fraction
from ...frontend.tensor.binding import of_tensors
from ...frontend.tensor.random import drawing
from ...frontend.tensor.tensor import Tensor
from ...frontend.windows.windows import Rank
from ...ir.graph.shapes import Shape
from .common import in_float32

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d"]

SELU_FLOOR = -1.7580993408473766  # -scale * alpha of selu: what it tends to


@of_tensors
def dropout(x: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Zeroes each element with probability p and scales the others by 1 / (1 - p); the identity
    when not training.

    >>> sorted(set(F.dropout(wf.ones(100), 0.5).tolist()))
    [0.0, 2.0]
    """
    return _dropped("dropout", x, p, training, x.shape)


@of_tensors
def dropout1d(x: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """dropout of whole channels: of (N, C, L), or (C, L), all elements along L together (Tompson et
    al. 2014).

    >>> F.dropout1d(wf.ones(8, 4, 3)).sum(axis=2).max().item()
    6.0
    """
    return _dropped("dropout1d", x, p, training, _channels("dropout1d", x, 1))


@of_tensors
def dropout2d(x: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """dropout of whole channels: of (N, C, H, W), or (C, H, W), all elements along H and W
    together.

    >>> F.dropout2d(wf.ones(8, 4, 3, 3)).sum(axis=(2, 3)).max().item()
    18.0
    """
    return _dropped("dropout2d", x, p, training, _channels("dropout2d", x, 2))


@of_tensors
def dropout3d(x: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """dropout of whole channels: of (N, C, D, H, W), or (C, D, H, W), all elements along D, H and W
    together.

    >>> F.dropout3d(wf.ones(8, 4, 2, 3, 3)).sum(axis=(2, 3, 4)).max().item()
    36.0
    """
    return _dropped("dropout3d", x, p, training, _channels("dropout3d", x, 3))


@drawing
@in_float32
def alpha_dropout(x: Tensor, p: float = 0.5, training: bool = False) -> Tensor:
    """dropout after selu: sets elements to the limit of selu, and keeps mean 0 and variance 1
    (Klambauer et al. 2017).

    >>> len(set(F.alpha_dropout(wf.ones(100), 0.5, training=True).tolist()))
    2
    """
    p = as_fraction("alpha_dropout", "p", p)
    if not as_bool("alpha_dropout", "training", training) or p == 0.0:
        return x
    if p == 1.0:
        return x * 0.0
    scale = ((1.0 - p) * (1.0 + p * SELU_FLOOR**2)) ** -0.5
    return ops.where(ops.rand(*x.shape) < p, SELU_FLOOR, x) * scale - scale * SELU_FLOOR * p


@drawing
def _dropped(name: str, x: Tensor, p: float, training: bool, draws: Shape) -> Tensor:
    """x with zeros where a number of this shape, which broadcasts, is below p."""
    p = as_fraction(name, "p", p)
    if not as_bool(name, "training", training) or p == 0.0:
        return x
    if p == 1.0:
        return x * 0.0
    return ops.where(ops.rand(*draws) < p, 0.0, x * (1.0 / (1.0 - p)))


def _channels(name: str, x: Tensor, spatial: int) -> Shape:
    """The shape of x with its last axes, which make up a channel, as 1."""
    if x.ndim not in (spatial + 1, spatial + 2):
        axes = Rank(name, spatial).axes
        raise errors.ShapeError(
            f"{name}: expected x of shape (N, C, {axes}) or (C, {axes}), got {x.shape}"
        )
    return (*x.shape[:-spatial], *[1] * spatial)
