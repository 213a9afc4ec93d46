"""Losses. In: predictions and targets. Out: a scalar, or one number per element with reduction="none"."""

from __future__ import annotations

from ... import errors
from ...frontend import ops
from ...frontend.arguments import as_choice
from ...frontend.binding import of_tensors
from ...frontend.half import in_float32
from ...frontend.tensor import Tensor
from .common import indices


@of_tensors
@in_float32
def cross_entropy(x: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """-log softmax(x)[target] over axis 1 of (N, C, ...), or over the only axis of (C,).

    target holds integer class labels of shape (N, ...). A label outside 0 .. C-1 raises IndexError when computed.
    """
    axis = _class_axis("cross_entropy", x, target)
    top = x.max(axis=axis, keepdims=True).detach()
    log_sum = (x - top).exp().sum(axis=axis).log()
    return _reduced("cross_entropy", log_sum - (_pick(x, target, axis) - top.squeeze(axis)), reduction)


@of_tensors
@in_float32
def nll_loss(x: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """-x[target] over axis 1 of log-probabilities (N, C, ...); labels as in cross_entropy."""
    axis = _class_axis("nll_loss", x, target)
    return _reduced("nll_loss", -_pick(x, target, axis), reduction)


@of_tensors
@in_float32
def mse_loss(x: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """(x - target)**2; the two shapes must be equal."""
    _same_shapes("mse_loss", x, target)
    difference = x - target
    return _reduced("mse_loss", difference * difference, reduction)


@of_tensors
@in_float32
def binary_cross_entropy_with_logits(x: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """-(target * log sigmoid(x) + (1 - target) * log(1 - sigmoid(x))), safe for any x; the two shapes must be equal."""
    _same_shapes("binary_cross_entropy_with_logits", x, target)
    below = x < 0.0  # one side of each choice has the slopes at 0, so that derivatives of all orders are right there
    wrong = ops.where(below, -target * x, (1.0 - target) * x)  # 0 where x has the right sign: the rest is kept whole
    rest = ops.where(below, x, -x).exp().log1p()
    return _reduced("binary_cross_entropy_with_logits", wrong + rest, reduction)


def _same_shapes(name: str, x: Tensor, target: Tensor) -> None:
    if x.shape != target.shape:
        raise errors.ShapeError(f"{name}: x has shape {x.shape} but target has shape {target.shape}; they must be equal")


def _class_axis(name: str, x: Tensor, target: Tensor) -> int:
    axis = min(1, x.ndim - 1)
    wanted = x.shape[:axis] + x.shape[axis + 1 :]
    if x.ndim == 0 or target.shape != wanted:
        raise errors.ShapeError(f"{name}: for x of shape {x.shape} the labels must have shape {wanted}, not {target.shape}")
    indices(target, name)
    return axis


def _pick(x: Tensor, labels: Tensor, axis: int) -> Tensor:
    """x at index labels[...] of `axis` for every other index: one element per row."""
    places = [ops.arange(n).reshape(n, *[1] * (labels.ndim - 1 - i)) for i, n in enumerate(labels.shape)]
    places.insert(axis, labels.long())
    return ops.gather(x, places, tuple(range(x.ndim)))


def _reduced(name: str, x: Tensor, reduction: str) -> Tensor:
    match as_choice(name, "reduction", reduction, ("mean", "sum", "none")):
        case "mean":
            return x.mean()
        case "sum":
            return x.sum()
    return x
