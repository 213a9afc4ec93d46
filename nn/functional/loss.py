"""Losses of values. In: predictions and targets. Out: a scalar, or one number per element with reduction="none"."""

from __future__ import annotations

from ... import errors
from ...frontend import ops
from ...frontend.operands.arguments import as_bool, as_choice, as_nonnegative, as_positive
from ...frontend.tensor.tensor import Tensor
from .common import REDUCTIONS, broadcast_weighted, in_float32_at_least, reduced, same_shapes

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "mse_loss",
    "smooth_l1_loss",
]

LEAST_LOG = -100.0  # torch's bound of the logarithms in binary_cross_entropy


# ---------------------------------------------------------------- distances


@in_float32_at_least
def mse_loss(x: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """(x - target)**2; the two shapes must be equal.

    >>> F.mse_loss(wf.tensor([1.0, 2.0]), wf.tensor([1.0, 4.0])).item()
    2.0
    """
    same_shapes("mse_loss", x, target)
    difference = x - target
    return reduced("mse_loss", difference * difference, reduction)


@in_float32_at_least
def l1_loss(x: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """|x - target|, with derivative 0 where they are equal; the two shapes must be equal.

    >>> F.l1_loss(wf.tensor([1.0, 2.0]), wf.tensor([1.0, 4.0])).item()
    1.0
    """
    same_shapes("l1_loss", x, target)
    return reduced("l1_loss", (x - target).abs(), reduction)


@in_float32_at_least
def smooth_l1_loss(x: Tensor, target: Tensor, *, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """(x - target)**2 / (2 beta) where |x - target| < beta, else |x - target| - beta / 2; the two shapes must be equal.

    >>> F.smooth_l1_loss(wf.tensor([0.0, 3.0]), wf.tensor([0.5, 0.0]), reduction="none").tolist()
    [0.125, 2.5]
    """
    same_shapes("smooth_l1_loss", x, target)
    width = as_nonnegative("smooth_l1_loss", "beta", beta)
    if width == 0.0:
        return reduced("smooth_l1_loss", (x - target).abs(), reduction)
    return reduced("smooth_l1_loss", _huber(x - target, width) * (1.0 / width), reduction)


@in_float32_at_least
def huber_loss(x: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """(x - target)**2 / 2 where |x - target| < delta, else delta * (|x - target| - delta / 2); the two shapes must be equal.

    >>> F.huber_loss(wf.tensor([0.0, 3.0]), wf.tensor([0.5, 0.0]), reduction="none", delta=2.0).tolist()
    [0.125, 4.0]
    """
    same_shapes("huber_loss", x, target)
    return reduced("huber_loss", _huber(x - target, as_positive("huber_loss", "delta", delta)), reduction)


def _huber(difference: Tensor, width: float) -> Tensor:
    size = difference.abs()
    return ops.where(size < width, difference * difference * 0.5, (size - 0.5 * width) * width)


# ---------------------------------------------------------------- probabilities


@in_float32_at_least
def binary_cross_entropy(x: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str = "mean") -> Tensor:
    """-(target * log x + (1 - target) * log(1 - x)) of probabilities x; the two shapes must be equal, weight broadcasts.

    A logarithm below -100 counts as -100, with derivative 0, so that wrong certainties stay finite. What lies outside [0, 1]
    gives NaN. From scores, binary_cross_entropy_with_logits keeps more digits.

    >>> F.binary_cross_entropy(wf.tensor([0.5, 1.0]), wf.tensor([1.0, 0.0]), reduction="none").tolist()
    [0.693147..., 100.0]
    """
    same_shapes("binary_cross_entropy", x, target)
    of_ones, of_zeros = x.log().clip(LEAST_LOG), (-x).log1p().clip(LEAST_LOG)
    each = (target - 1.0) * of_zeros - target * of_ones
    return reduced("binary_cross_entropy", broadcast_weighted("binary_cross_entropy", each, weight), reduction)


@in_float32_at_least
def binary_cross_entropy_with_logits(
    x: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """-(pos_weight * target * log sigmoid(x) + (1 - target) * log(1 - sigmoid(x))), safe for any x.

    The shapes of x and target must be equal; weight and pos_weight (1 unless given) broadcast.

    >>> F.binary_cross_entropy_with_logits(wf.tensor([0.0, -200.0]), wf.tensor([1.0, 1.0]), reduction="none").tolist()
    [0.693147..., 200.0]
    """
    name = "binary_cross_entropy_with_logits"
    same_shapes(name, x, target)
    ones = broadcast_weighted(name, target, pos_weight)
    below = x < 0.0  # one side of each choice has the slopes at 0, so that derivatives of all orders are right there
    wrong = ops.where(below, -ones * x, (1.0 - target) * x)  # 0 where x has the right sign: the rest is kept whole
    rest = ops.where(below, x, -x).exp().log1p()
    rest = rest if pos_weight is None else rest * (ones - target + 1.0)
    return reduced(name, broadcast_weighted(name, wrong + rest, weight), reduction)


@in_float32_at_least
def kl_div(x: Tensor, target: Tensor, *, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """target * (log target - x) of log-probabilities x; log_target says that target holds logarithms too.

    reduction "batchmean" is the divergence (Kullback and Leibler 1951) of a distribution, averaged over axis 0; "mean" divides
    by the number of elements. The two shapes must be equal.

    >>> F.kl_div(wf.tensor([[0.5, 0.5]]).log(), wf.tensor([[1.0, 0.0]]), reduction="batchmean").item()
    0.693147...
    """
    same_shapes("kl_div", x, target)
    as_choice("kl_div", "reduction", reduction, (*REDUCTIONS[:2], "batchmean", REDUCTIONS[2]))
    if as_bool("kl_div", "log_target", log_target):
        each = target.exp() * (target - x)
    else:
        each = ops.where(target == 0.0, 0.0, target * target.log()) - target * x
    if reduction != "batchmean":
        return reduced("kl_div", each, reduction)
    if not x.ndim:
        raise errors.ShapeError("kl_div: reduction='batchmean' needs an axis to average over, but x has shape ()")
    return each.sum() * (1.0 / max(x.shape[0], 1))
