"""Losses of values, distributions, pairs of vectors. In: predictions, targets. Out: a scalar; with
reduction="none" all."""

from __future__ import annotations

from math import log, pi

from ... import errors
from ...frontend import ops
from ...frontend.operands.arguments import (
    as_bool,
    as_choice,
    as_double,
    as_nonnegative,
    as_positive,
    normalise_axis,
)
from ...frontend.operands.broadcast import broadcast_shape
from ...frontend.tensor.tensor import Tensor
from .common import (
    REDUCTIONS,
    broadcast_weighted,
    in_float32_at_least,
    numbers,
    reduced,
    same_shapes,
)

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "cosine_similarity",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "mse_loss",
    "normalize",
    "pairwise_distance",
    "poisson_nll_loss",
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
def smooth_l1_loss(
    x: Tensor, target: Tensor, *, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """(x - target)**2 / (2 beta) where |x - target| < beta, else |x - target| - beta / 2; the two
    shapes must be equal.

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
    """(x - target)**2 / 2 where |x - target| < delta, else delta * (|x - target| - delta / 2); the
    two shapes must be equal.

    >>> F.huber_loss(wf.tensor([0.0, 3.0]), wf.tensor([0.5, 0.0]), reduction="none",
    ...     delta=2.0).tolist()
    [0.125, 4.0]
    """
    same_shapes("huber_loss", x, target)
    return reduced(
        "huber_loss", _huber(x - target, as_positive("huber_loss", "delta", delta)), reduction
    )


def _huber(difference: Tensor, width: float) -> Tensor:
    size = difference.abs()
    return ops.where(size < width, difference * difference * 0.5, (size - 0.5 * width) * width)


# ---------------------------------------------------------------- probabilities


@in_float32_at_least
def binary_cross_entropy(
    x: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str = "mean"
) -> Tensor:
    """-(target * log x + (1 - target) * log(1 - x)) of probabilities x; the two shapes must be
    equal, weight broadcasts.

    A logarithm below -100 counts as -100, with derivative 0, so that wrong certainties stay finite.
    What lies outside [0, 1] gives NaN. From scores, binary_cross_entropy_with_logits keeps more
    digits.

    >>> F.binary_cross_entropy(wf.tensor([0.5, 1.0]), wf.tensor([1.0, 0.0]),
    ...     reduction="none").tolist()
    [0.693147..., 100.0]
    """
    same_shapes("binary_cross_entropy", x, target)
    of_ones, of_zeros = x.log().clip(LEAST_LOG), (-x).log1p().clip(LEAST_LOG)
    each = (target - 1.0) * of_zeros - target * of_ones
    return reduced(
        "binary_cross_entropy", broadcast_weighted("binary_cross_entropy", each, weight), reduction
    )


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

    >>> F.binary_cross_entropy_with_logits(wf.tensor([0.0, -200.0]), wf.tensor([1.0, 1.0]),
    ...     reduction="none").tolist()
    [0.693147..., 200.0]
    """
    name = "binary_cross_entropy_with_logits"
    same_shapes(name, x, target)
    ones = broadcast_weighted(name, target, pos_weight)
    # one side of each choice has the slopes at 0, so that derivatives of all orders are right there
    below = x < 0.0
    # 0 where x has the right sign: the rest is kept whole
    wrong = ops.where(below, -ones * x, (1.0 - target) * x)
    rest = ops.where(below, x, -x).exp().log1p()
    rest = rest if pos_weight is None else rest * (ones - target + 1.0)
    return reduced(name, broadcast_weighted(name, wrong + rest, weight), reduction)


@in_float32_at_least
def kl_div(
    x: Tensor, target: Tensor, *, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """target * (log target - x) of log-probabilities x; log_target says that target holds
    logarithms too.

    reduction "batchmean" is the divergence (Kullback and Leibler 1951) of a distribution, averaged
    over axis 0; "mean" divides by the number of elements. The two shapes must be equal.

    >>> F.kl_div(wf.tensor([[0.5, 0.5]]).log(), wf.tensor([[1.0, 0.0]]),
    ...     reduction="batchmean").item()
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
        raise errors.ShapeError(
            "kl_div: reduction='batchmean' needs an axis to average over, but x has shape ()"
        )
    return each.sum() * (1.0 / max(x.shape[0], 1))


# ---------------------------------------------------------------- likelihoods


@in_float32_at_least
def gaussian_nll_loss(
    x: Tensor,
    target: Tensor,
    var: Tensor,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """(log var + (x - target)**2 / var) / 2, as of normal distributions with mean x; full adds
    log(2 pi) / 2.

    var broadcasts to the shape of x, or has it without the last axis, or is a number. Where it is
    less than eps it counts as eps, though its derivative stays (Nix and Weigend 1994). Raises
    ShapeError, DTypeError, ArgumentError.

    >>> F.gaussian_nll_loss(wf.tensor([1.0, 2.0]), wf.tensor([2.0, 2.0]), wf.tensor([1.0, 1.0]),
    ...     reduction="none").tolist()
    [0.5, 0.0]
    """
    name = "gaussian_nll_loss"
    same_shapes(name, x, target)
    least = as_positive(name, "eps", eps)
    numbers(name, var)
    if var.ndim == 0 and x.dtype.is_float:
        var = var.astype(x.dtype)  # a number has no dtype of its own
    elif var.shape == x.shape[:-1] != x.shape:
        var = var.unsqueeze(-1)
    if broadcast_shape(f"{name}: var", [x.shape, var.shape]) != x.shape:
        raise errors.ShapeError(
            f"{name}: a var of shape {var.shape} does not broadcast to x of shape {x.shape}"
        )
    # the difference is 0, and has the derivative
    var = ops.where(var < least, least + (var - var.detach()), var)
    difference = x - target
    each = (var.log() + difference * difference / var) * 0.5
    return reduced(
        name, each + 0.5 * log(2.0 * pi) if as_bool(name, "full", full) else each, reduction
    )


@in_float32_at_least
def poisson_nll_loss(
    x: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    *,
    reduction: str = "mean",
) -> Tensor:
    """exp(x) - target * x, as of Poisson distributions with the logarithm x of the mean; the two
    shapes must be equal.

    With log_input=False x is the mean: x - target * log(x + eps). full adds Stirling's
    approximation of log(target!) where target is above 1. Raises ShapeError, DTypeError,
    ArgumentError.

    >>> F.poisson_nll_loss(wf.tensor([0.0, 0.0]), wf.tensor([0.0, 2.0]), reduction="none").tolist()
    [1.0, 1.0]
    """
    name = "poisson_nll_loss"
    same_shapes(name, x, target)
    least = as_positive(name, "eps", eps)
    each = (
        x.exp() - target * x
        if as_bool(name, "log_input", log_input)
        else x - target * (x + least).log()
    )
    if as_bool(name, "full", full):
        t = ops.where(target > 1, target, 2).astype(each.dtype)
        each = each + ops.where(target > 1, t * t.log() - t + 0.5 * (t * (2.0 * pi)).log(), 0.0)
    return reduced(name, each, reduction)


# ---------------------------------------------------------------- vectors


@in_float32_at_least
def normalize(x: Tensor, p: float = 2.0, axis: int = 1, eps: float = 1e-12) -> Tensor:
    """x divided by its norm of order p along an axis; norms below eps count as eps.

    >>> F.normalize(wf.tensor([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    place, least = (
        normalise_axis("normalize", axis, numbers("normalize", x).ndim),
        as_double("normalize", "eps", eps),
    )
    return x / x.norm(as_double("normalize", "p", p), place, keepdims=True).clip(least)


@in_float32_at_least
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdims: bool = False
) -> Tensor:
    """The norm of order p of x1 - x2 + eps along the last axis, of shapes that broadcast.

    >>> F.pairwise_distance(wf.tensor([[3.0, 0.0]]), wf.tensor([[0.0, 4.0]]), eps=0.0).tolist()
    [5.0]
    """
    name = "pairwise_distance"
    shape = broadcast_shape(name, [numbers(name, x1).shape, numbers(name, x2).shape])
    if not shape:
        raise errors.ShapeError(
            f"{name}: expected vectors (..., D), got shapes {x1.shape} and {x2.shape}"
        )
    difference = x1 - x2 + as_double(name, "eps", eps)
    return difference.norm(as_double(name, "p", p), -1, as_bool(name, "keepdims", keepdims))


@in_float32_at_least
def cosine_similarity(x1: Tensor, x2: Tensor, axis: int = 1, eps: float = 1e-8) -> Tensor:
    """sum(x1 * x2) / (|x1| * |x2|) along an axis, of shapes that broadcast; lengths below eps count
    as eps.

    >>> F.cosine_similarity(wf.tensor([3.0, 4.0]), wf.tensor([4.0, 3.0]), axis=0).item()
    0.96...
    """
    least, shape = (
        as_double("cosine_similarity", "eps", eps),
        broadcast_shape("cosine_similarity", [x1.shape, x2.shape]),
    )
    place = normalise_axis("cosine_similarity", axis, len(shape))
    a, b = (
        x / x.norm(axis=place, keepdims=True).clip(least)
        for x in (x1.broadcast_to(shape), x2.broadcast_to(shape))
    )
    return (a * b).sum(axis=place)


@in_float32_at_least
def cosine_embedding_loss(
    x1: Tensor, x2: Tensor, target: Tensor, margin: float = 0.0, *, reduction: str = "mean"
) -> Tensor:
    """1 - cosine_similarity where target is 1, max(0, cosine_similarity - margin) where it is -1.

    x1 and x2: (N, D), target (N,); or (D,) and a scalar.

    >>> F.cosine_embedding_loss(wf.tensor([[1.0, 0.0]]), wf.tensor([[1.0, 1.0]]),
    ...     wf.tensor([-1])).item()
    0.7071...
    """
    if x1.shape != x2.shape or x1.ndim not in (1, 2) or target.shape != x1.shape[:-1]:
        shapes = f"{x1.shape}, {x2.shape} and {target.shape}"
        raise errors.ShapeError(
            f"cosine_embedding_loss: x1 and x2 have shape (N, D) and target (N,), not {shapes}"
        )
    cosine = cosine_similarity(x1, x2, axis=-1)
    apart = (cosine - as_double("cosine_embedding_loss", "margin", margin)).relu()
    return reduced("cosine_embedding_loss", _of_sign(target, 1.0 - cosine, apart), reduction)


@in_float32_at_least
def hinge_embedding_loss(
    x: Tensor, target: Tensor, margin: float = 1.0, *, reduction: str = "mean"
) -> Tensor:
    """x where target is 1, max(0, margin - x) where it is -1; the two shapes must be equal.

    >>> F.hinge_embedding_loss(wf.tensor([0.5, 0.25]), wf.tensor([1, -1]),
    ...     reduction="none").tolist()
    [0.5, 0.75]
    """
    same_shapes("hinge_embedding_loss", x, target)
    apart = (as_double("hinge_embedding_loss", "margin", margin) - x).relu()
    return reduced("hinge_embedding_loss", _of_sign(target, x, apart), reduction)


def _of_sign(target: Tensor, alike: Tensor, apart: Tensor) -> Tensor:
    """One value where target is 1, another one where it is -1, 0 elsewhere."""
    return ops.where(target == 1, alike, ops.where(target == -1, apart, 0.0))
