"""Losses of classes. In: scores of classes, and labels or probabilities. Out: a scalar, or one
number per label."""

from __future__ import annotations

from typing import NamedTuple

from ... import errors
from ...frontend import ops
from ...frontend.operands.arguments import as_double, as_fraction, as_int
from ...frontend.operands.broadcast import holds
from ...frontend.tensor.tensor import Tensor
from .common import in_float32_at_least, indices, reduced, weighted

__all__ = ["cross_entropy", "multi_margin_loss", "nll_loss"]


@in_float32_at_least
def cross_entropy(
    x: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """-log softmax(x)[target] over axis 1 of (N, C, ...), or over the only axis of (C,).

    target holds integer labels of shape (N, ...), or probabilities of x's shape: then -sum(target *
    log softmax(x)). weight (C,) scales each class, and the mean is that of the labels' weights. A
    label equal to ignore_index counts for nothing; the mean of none is NaN. Smoothing mixes the
    target with the uniform distribution (Szegedy et al. 2016).

    A label outside 0 .. C-1 raises IndexError when computed. Raises ShapeError, DTypeError,
    ArgumentError.

    >>> F.cross_entropy(wf.tensor([[2.0, 0.0], [0.0, 1.0]]), wf.tensor([0, -100])).item()
    0.1269...
    """
    smoothing = as_fraction("cross_entropy", "label_smoothing", label_smoothing)
    of_probabilities = target.dtype.is_float and target.ndim > 0 and target.shape == x.shape
    axis = min(1, x.ndim - 1) if of_probabilities else _class_axis("cross_entropy", x, target)
    along = None if weight is None else _along_classes("cross_entropy", x, weight, axis)
    top = x.max(axis=axis, keepdims=True).detach()
    log_sum = (x - top).exp().sum(axis=axis).log()
    if of_probabilities:
        _refuse_label_to_ignore(ignore_index)
        shares = target * (1.0 - smoothing) + smoothing / x.shape[axis] if smoothing else target
        return reduced(
            "cross_entropy",
            (weighted(_surprise(x, top, log_sum, axis), along) * shares).sum(axis=axis),
            reduction,
        )
    labels = _labels("cross_entropy", target, weight, ignore_index)
    each = weighted(log_sum - (_pick(x, labels.places, axis) - top.squeeze(axis)), labels.weights)
    if smoothing:
        all_classes = weighted(_surprise(x, top, log_sum, axis), along).sum(axis=axis)
        each = each * (1.0 - smoothing) + all_classes * (smoothing / x.shape[axis])
    return _averaged("cross_entropy", each, labels, reduction)


@in_float32_at_least
def nll_loss(
    x: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """-x[target] over axis 1 of log-probabilities (N, C, ...); labels, weight and ignore_index as
    in cross_entropy.

    >>> F.nll_loss(wf.tensor([[0.5, 0.5], [0.25, 0.75]]).log(), wf.tensor([0, 1])).item()
    0.4904...
    """
    axis = _class_axis("nll_loss", x, target)
    if weight is not None:
        _along_classes("nll_loss", x, weight, axis)
    labels = _labels("nll_loss", target, weight, ignore_index)
    return _averaged(
        "nll_loss", weighted(-_pick(x, labels.places, axis), labels.weights), labels, reduction
    )


@in_float32_at_least
def multi_margin_loss(
    x: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    *,
    reduction: str = "mean",
) -> Tensor:
    """The sum of max(0, margin - x[target] + x[other])**p / C over all classes but the target, of
    scores (N, C) or (C,).

    p is 1 or 2; weight (C,) scales the terms of each target. A label outside 0 .. C-1 raises
    IndexError when computed. Raises ShapeError, DTypeError, ArgumentError.

    >>> F.multi_margin_loss(wf.tensor([[0.5, 0.0, 2.0]]), wf.tensor([0])).item()
    1.0
    """
    name = "multi_margin_loss"
    axis, limit = _class_axis(name, x, target), as_double(name, "margin", margin)
    if x.ndim > 2:
        raise errors.ShapeError(f"{name}: expected x of shape (N, C) or (C,), got {x.shape}")
    if as_int(name, "p", p) not in (1, 2):
        raise errors.ArgumentError(f"{name}: p must be 1 or 2, not {p}")
    labels, classes = target.long(), ops.arange(x.shape[axis])
    apart = (limit - _pick(x, labels, axis).unsqueeze(axis) + x).relu()
    if weight is not None:
        _along_classes(name, x, weight, axis)
    each = weighted(
        apart * apart if p == 2 else apart,
        None if weight is None else ops.gather(weight, [labels]).unsqueeze(axis),
    )
    others = ops.where(classes == labels.unsqueeze(axis), 0.0, each)
    return reduced(name, others.sum(axis=axis) * (1.0 / max(x.shape[axis], 1)), reduction)


# ---------------------------------------------------------------- labels


class Labels(NamedTuple):
    """Where each label points; which of them count (None: all); the weight of each (None: 1)."""

    places: Tensor
    kept: Tensor | None
    weights: Tensor | None


def _labels(name: str, target: Tensor, weight: Tensor | None, ignore_index: int) -> Labels:
    ignored = as_int(name, "ignore_index", ignore_index)
    kept = target != ignored if holds(target.dtype, ignored) else None
    places = target.long() if kept is None else ops.where(kept, target.long(), 0)
    weights = None if weight is None else ops.gather(weight, [places])
    return Labels(
        places, kept, weights if weights is None or kept is None else ops.where(kept, weights, 0.0)
    )


def _averaged(name: str, each: Tensor, labels: Labels, reduction: str) -> Tensor:
    """The losses of the labels that count, reduced; their mean divides by the sum of weights."""
    each = each if labels.kept is None else ops.where(labels.kept, each, 0.0)
    shares = labels.kept if labels.weights is None else labels.weights
    if shares is None or reduction != "mean":
        return reduced(name, each, reduction)
    return each.sum() / shares.sum().astype(each.dtype)


def _surprise(x: Tensor, top: Tensor, log_sum: Tensor, axis: int) -> Tensor:
    """-log softmax(x)."""
    return log_sum.unsqueeze(axis) - (x - top)


def _pick(x: Tensor, labels: Tensor, axis: int) -> Tensor:
    """x at index labels[...] of `axis` for every other index: one element per row."""
    places = [
        ops.arange(n).reshape(n, *[1] * (labels.ndim - 1 - i)) for i, n in enumerate(labels.shape)
    ]
    places.insert(axis, labels)
    return ops.gather(x, places, tuple(range(x.ndim)))


# ---------------------------------------------------------------- what is checked


def _class_axis(name: str, x: Tensor, target: Tensor) -> int:
    if x.ndim == 0:
        raise errors.ShapeError(f"{name}: x needs an axis of classes, but has shape ()")
    axis = min(1, x.ndim - 1)
    shape = x.shape[:axis] + x.shape[axis + 1 :]
    if target.shape != shape:
        raise errors.ShapeError(
            f"{name}: for x of shape {x.shape} the labels must have shape {shape}, not"
            f" {target.shape}"
        )
    indices(target, name)
    return axis


def _along_classes(name: str, x: Tensor, weight: Tensor, axis: int) -> Tensor:
    """The weights of the classes, where x has its classes."""
    if weight.shape != (x.shape[axis],):
        raise errors.ShapeError(
            f"{name}: weight must have shape {(x.shape[axis],)}, one for each class, not"
            f" {weight.shape}"
        )
    return weight.reshape(-1, *[1] * (x.ndim - 1 - axis))


def _refuse_label_to_ignore(ignore_index: int) -> None:
    if as_int("cross_entropy", "ignore_index", ignore_index) >= 0:
        raise errors.ArgumentError(
            f"cross_entropy: ignore_index={ignore_index} is a label, but target holds probabilities"
        )
