"""Losses that ask for a margin. In: scores, or vectors, and which of them are to be greater or
nearer. Out: a scalar, or one number per pair, triplet or row with reduction="none"."""

from __future__ import annotations

from collections.abc import Callable

from ... import errors
from ...frontend import ops
from ...frontend.operands.arguments import as_bool, as_double, as_function
from ...frontend.tensor.tensor import Tensor
from .common import broadcast_weighted, in_float32_at_least, indices, numbers, reduced, same_shapes
from .loss import pairwise_distance

__all__ = [
    "margin_ranking_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]

Distance = Callable[[Tensor, Tensor], Tensor]

# ---------------------------------------------------------------- pairs and triplets


@in_float32_at_least
def margin_ranking_loss(
    x1: Tensor, x2: Tensor, target: Tensor, margin: float = 0.0, *, reduction: str = "mean"
) -> Tensor:
    """max(0, margin - target * (x1 - x2)): x1 is to be greater than x2 where target is 1, less
    where it is -1.

    All three have one shape. Raises ShapeError, DTypeError, ArgumentError.

    >>> F.margin_ranking_loss(wf.tensor([3.0, 1.0]), wf.tensor([1.0, 3.0]), wf.tensor([1, 1]),
    ...     reduction="none").tolist()
    [0.0, 2.0]
    """
    name = "margin_ranking_loss"
    same_shapes(name, x1, x2, "x1", "x2")
    same_shapes(name, x1, target, "x1")
    return reduced(
        name, (as_double(name, "margin", margin) - target * (x1 - x2)).clip(0.0), reduction
    )


@in_float32_at_least
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    *,
    reduction: str = "mean",
) -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) with d = pairwise_distance of
    order p (Balntas et al. 2016).

    The three have shape (N, D) or (D,), or shapes that broadcast. With swap the nearer of anchor
    and positive is the one whose distance to the negative counts. Raises ShapeError, DTypeError,
    ArgumentError.

    >>> a, b, c = wf.tensor([[0.0, 0.0]]), wf.tensor([[3.0, 4.0]]), wf.tensor([[0.0, 2.0]])
    >>> [round(F.triplet_margin_loss(a, *x).item(), 4) for x in ((b, c), (c, b))]
    [4.0, 0.0]
    """
    order, least = (
        as_double("triplet_margin_loss", "p", p),
        as_double("triplet_margin_loss", "eps", eps),
    )
    triplet = anchor, positive, negative
    each = _of_triplets(
        "triplet_margin_loss",
        triplet,
        lambda a, b: pairwise_distance(a, b, order, least),
        margin,
        swap,
    )
    return reduced("triplet_margin_loss", each, reduction)


@in_float32_at_least
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Distance | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """triplet_margin_loss with a custom distance, a function of two Tensors; pairwise_distance
    unless given.

    >>> a, b, c = wf.tensor([[0.0, 0.0]]), wf.tensor([[3.0, 4.0]]), wf.tensor([[0.0, 2.0]])
    >>> manhattan = lambda x, y: (x - y).abs().sum(axis=-1)
    >>> F.triplet_margin_with_distance_loss(a, b, c, distance_function=manhattan).item()
    6.0
    """
    name = "triplet_margin_with_distance_loss"
    distance = (
        pairwise_distance
        if distance_function is None
        else as_function(name, "distance_function", distance_function)
    )
    return reduced(
        name, _of_triplets(name, (anchor, positive, negative), distance, margin, swap), reduction
    )


def _of_triplets(
    name: str, triplet: tuple[Tensor, ...], distance: Distance, margin: float, swap: bool
) -> Tensor:
    limit = as_double(name, "margin", margin)
    anchor, positive, negative = (numbers(name, x) for x in triplet)
    near, far = distance(anchor, positive), distance(anchor, negative)
    if as_bool(name, "swap", swap):
        far = ops.minimum(far, distance(positive, negative))
    return (near - far + limit).clip(0.0)


# ---------------------------------------------------------------- labels


@in_float32_at_least
def soft_margin_loss(x: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target * x)) of scores x and targets 1 or -1, safe for any x; the two shapes
    must be equal.

    >>> F.soft_margin_loss(wf.tensor([0.0, 200.0]), wf.tensor([1, -1]), reduction="none").tolist()
    [0.693147..., 200.0]
    """
    same_shapes("soft_margin_loss", x, target)
    return reduced("soft_margin_loss", (-target * x).softplus(), reduction)


@in_float32_at_least
def multilabel_soft_margin_loss(
    x: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str = "mean"
) -> Tensor:
    """The mean over the classes, the last axis, of binary_cross_entropy_with_logits(x, target);
    weight (C,) scales each class.

    >>> F.multilabel_soft_margin_loss(wf.tensor([[0.0, 100.0]]), wf.tensor([[1.0, 0.0]])).item()
    50.346...
    """
    name = "multilabel_soft_margin_loss"
    same_shapes(name, x, target)
    if not x.ndim:
        raise errors.ShapeError(f"{name}: x needs an axis of classes, but has shape ()")
    each = target * (-x).softplus() + (1.0 - target) * x.softplus()
    return reduced(name, broadcast_weighted(name, each, weight).mean(axis=-1), reduction)


@in_float32_at_least
def multilabel_margin_loss(x: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """The sum of max(0, 1 - x[label] + x[other]) / C over the labels of a row and all classes that
    are none of them.

    x (N, C) or (C,); target, integers of the same shape, holds the labels of a row, then -1 (what
    follows does not count). A label above C - 1 raises IndexError when computed. Raises ShapeError,
    DTypeError, ArgumentError.

    >>> F.multilabel_margin_loss(wf.tensor([[0.25, 0.5, 0.0, 1.0]]),
    ...     wf.tensor([[3, 0, -1, 1]])).item()
    0.625
    """
    name = "multilabel_margin_loss"
    same_shapes(name, x, target)
    if x.ndim not in (1, 2):
        raise errors.ShapeError(f"{name}: expected x of shape (N, C) or (C,), got {x.shape}")
    labels = indices(target, name)
    counts = (labels < 0).cumsum(axis=-1) == 0  # those before the first that is negative
    places = ops.where(counts, labels, 0)
    classes = ops.arange(x.shape[-1])
    is_label = ((places.unsqueeze(-1) == classes) & counts.unsqueeze(-1)).any(axis=-2)
    chosen = ops.take_along_axis(x, places, axis=-1)
    apart = (1.0 - chosen.unsqueeze(-1) + x.unsqueeze(-2)).relu()
    each = ops.where(counts.unsqueeze(-1) & ~is_label.unsqueeze(-2), apart, 0.0)
    return reduced(name, each.sum(axis=(-2, -1)) * (1.0 / max(x.shape[-1], 1)), reduction)
