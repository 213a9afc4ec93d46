"""Losses of margins and likelihoods, and distances: values against NumPy formulas, derivatives,
layers, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import weft as wf
from effort import rarely
from nnref import Array, close, normal
from weft import nn
from weft.nn import functional as F

X, Y, Z, W = (
    normal(5, 4),
    normal(5, 4, seed=1),
    normal(5, 4, seed=2),
    np.array([0.5, 2.0, 1.0, 0.0]),
)
SIGNS, LABELS = np.sign(Y).astype(int), np.array([0, 3, 1, 1, 2])
SEVERAL = np.array([[2, 0, -1, 1], [-1, 0, 1, 2], [0, 1, 2, 3], [3, 3, -1, -1], [1, -1, -1, -1]])


def distance(a: Array, b: Array, p: float = 2.0, eps: float = 1e-6) -> Array:
    return (abs(a - b + eps) ** p).sum(-1) ** (1 / p)


def of_one_label(p: int, w: Array = np.ones(4)) -> Array:  # noqa: B008
    each = [
        max(0.0, 0.7 - X[i, y] + X[i, j]) ** p * w[y] if j != y else 0.0
        for i, y in enumerate(LABELS)
        for j in range(4)
    ]
    return np.reshape(each, (5, 4)).sum(1) / 4


def of_several_labels() -> Array:
    found = np.zeros(5)
    for i, row in enumerate(SEVERAL):
        labels = [*row[: [*row, -1].index(-1)]]
        found[i] = (
            sum(
                max(0.0, 1 - X[i, y] + X[i, j]) for y in labels for j in range(4) if j not in labels
            )
            / 4
        )
    return found


def log_factorial(t: Array) -> Array:
    return np.where(t > 1, t * np.log(t) - t + 0.5 * np.log(2 * np.pi * t), 0.0)


Case = tuple[
    Callable[..., wf.Tensor], nn.Module, tuple[Array, ...], Array
]  # function, layer, arguments, each loss
SWAPPED = np.minimum(distance(X, Z, 1.5, 0.1), distance(Y, Z, 1.5, 0.1))
LOSSES: dict[str, Case] = {
    "ranking": (
        partial(F.margin_ranking_loss, margin=0.3),
        nn.MarginRankingLoss(0.3),
        (X, Y, SIGNS),
        np.maximum(0, 0.3 - SIGNS * (X - Y)),
    ),
    "triplets": (
        F.triplet_margin_loss,
        nn.TripletMarginLoss(),
        (X, Y, Z),
        np.maximum(0, 1 + distance(X, Y) - distance(X, Z)),
    ),
    "triplets, swapped": (
        partial(F.triplet_margin_loss, p=1.5, eps=0.1, swap=True, margin=0.5),
        nn.TripletMarginLoss(0.5, 1.5, 0.1, True),
        (X, Y, Z),
        np.maximum(0, 0.5 + distance(X, Y, 1.5, 0.1) - SWAPPED),
    ),
    "triplets by a distance": (
        partial(
            F.triplet_margin_with_distance_loss, distance_function=lambda a, b: (a * b).sum(axis=-1)
        ),
        nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: (a * b).sum(axis=-1)),
        (X, Y, Z),
        np.maximum(0, 1 + (X * Y - X * Z).sum(1)),
    ),
    "soft": (
        F.soft_margin_loss,
        nn.SoftMarginLoss(),
        (30 * X, SIGNS),
        np.logaddexp(0, -30 * SIGNS * X),
    ),
    "one label": (
        partial(F.multi_margin_loss, margin=0.7),
        nn.MultiMarginLoss(1, 0.7),
        (X, LABELS),
        of_one_label(1),
    ),
    "one label, squared, weighted": (
        partial(F.multi_margin_loss, margin=0.7, p=2, weight=W),
        nn.MultiMarginLoss(2, 0.7, W),
        (X, LABELS),
        of_one_label(2, W),
    ),
    "several labels": (
        F.multilabel_margin_loss,
        nn.MultiLabelMarginLoss(),
        (X, SEVERAL),
        of_several_labels(),
    ),
    "several labels, soft": (
        partial(F.multilabel_soft_margin_loss, weight=W),
        nn.MultiLabelSoftMarginLoss(W),
        (X, SIGNS.clip(0).astype(float)),
        (W * np.logaddexp(0, -SIGNS * X)).mean(1),
    ),
    "gaussian": (
        partial(F.gaussian_nll_loss, full=True, eps=0.2),
        nn.GaussianNLLLoss(full=True, eps=0.2),
        (X, Y, abs(Z)),
        0.5
        * (np.log(2 * np.pi * np.maximum(abs(Z), 0.2)) + (X - Y) ** 2 / np.maximum(abs(Z), 0.2)),
    ),
    "poisson": (F.poisson_nll_loss, nn.PoissonNLLLoss(), (X, abs(Y)), np.exp(X) - abs(Y) * X),
    "poisson of means": (
        partial(F.poisson_nll_loss, log_input=False, full=True, eps=1e-3),
        nn.PoissonNLLLoss(False, True, 1e-3),
        (abs(X), 3 * abs(Y)),
        abs(X) - 3 * abs(Y) * np.log(abs(X) + 1e-3) + log_factorial(3 * abs(Y)),
    ),
}


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("name", LOSSES)
def test_losses(name: str) -> None:
    loss, layer, arrays, each = LOSSES[name]
    close(loss(*map(wf.tensor, arrays), reduction="none"), each, 1e-9)
    close(loss(*map(wf.tensor, arrays)), each.mean(), 1e-9)
    assert layer(*map(wf.tensor, arrays)).item() == loss(*map(wf.tensor, arrays)).item()
    floats = [wf.tensor(a) for a in arrays if a.dtype.kind == "f"][
        : 2 if name == "gaussian" else None
    ]  # not of a least var
    wf.check_grad(lambda *x: loss(*x, *arrays[len(floats) :]), *floats)


@pytest.mark.parametrize("name", ["ranking", *rarely(*(n for n in LOSSES if n != "ranking"))])
def test_losses_may_be_summed(name: str) -> None:
    loss, _, arrays, each = LOSSES[name]
    close(loss(*map(wf.tensor, arrays), reduction="sum"), each.sum(), 1e-9)


def test_a_variance_may_be_one_per_row_per_column_or_one() -> None:
    rows, loss = abs(Z[:, 0]), partial(F.gaussian_nll_loss, reduction="none")
    close(loss(X, Y, rows), loss(X, Y, np.repeat(rows[:, None], 4, 1)).numpy())
    close(loss(X, Y, rows[:4]), loss(X, Y, np.repeat(rows[None, :4], 5, 0)).numpy())
    close(loss(X, Y, 2.0), loss(X, Y, np.full((5, 4), 2.0)).numpy())
    with pytest.raises(
        wf.errors.ShapeError,
        match=r"gaussian_nll_loss: a var of shape \(2, 5, 4\) does not broadcast",
    ):
        loss(X, Y, np.ones((2, 5, 4)))


def test_a_variance_below_the_least_one_keeps_its_slope() -> None:
    var = wf.tensor([0.0, 1.0], requires_grad=True)
    F.gaussian_nll_loss(wf.zeros(2), wf.ones(2), var, eps=0.5, reduction="sum").backward()
    assert var.grad.tolist() == [-1.0, 0.0]  # (1 / v - 1 / v**2) / 2 at 0.5 and at 1


def test_a_variance_far_below_the_least_one_counts_as_that() -> None:
    var = wf.tensor([-1.0, -100.0, -3e38, 1e-6, float("inf")], requires_grad=True)
    loss = F.gaussian_nll_loss(wf.zeros(5), wf.zeros(5), var, reduction="none")
    close(loss, np.log([1e-6, 1e-6, 1e-6, 1e-6, np.inf]) / 2, 1e-6)
    loss.sum().backward()
    close(var.grad, [5e5, 5e5, 5e5, 5e5, 0.0], 1e-6)


def test_norms_and_distances() -> None:
    for p in (1.0, 2.0, 3.0):
        norms = (abs(X) ** p).sum(0, keepdims=True) ** (1 / p)
        close(F.normalize(wf.tensor(X), p, axis=0), X / norms)
        close(
            F.pairwise_distance(wf.tensor(X), wf.tensor(Y[0]), p, 0.1, True),
            distance(X, Y[:1], p, 0.1)[:, None],
        )
        close(nn.PairwiseDistance(p)(wf.tensor(X), wf.tensor(Y)), distance(X, Y, p))
    wf.check_grad(F.normalize, wf.tensor(X))
    wf.check_grad(F.pairwise_distance, wf.tensor(X), wf.tensor(Y))
    assert F.normalize(wf.zeros(1, 3)).tolist() == [[0.0, 0.0, 0.0]]


def test_a_loss_of_triplets_with_its_gradients_is_two_kernels() -> None:
    triplet = [wf.tensor(a.astype(np.float32), requires_grad=True) for a in (X, Y, Z)]
    loss = F.triplet_margin_loss(*triplet)
    assert len(wf.explain([loss, *wf.grad(loss, triplet)]).kernels) == 2  # the rows, and their mean


def test_a_wrong_label_raises_when_it_is_computed() -> None:
    for loss, labels in (
        (F.multi_margin_loss, [4, 0]),
        (F.multilabel_margin_loss, [[4, -1, 0, 0], [0, -1, 0, 0]]),
    ):
        with pytest.raises(IndexError, match="4"):
            loss(wf.tensor(X[:2]), wf.tensor(labels)).item()


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    (
        "margin_ranking_loss",
        {"x1": X, "x2": Y[0], "target": SIGNS},
        r"x1 has shape \(5, 4\) but x2 has shape \(4,\)",
    ),
    ("multi_margin_loss", {"x": X, "target": LABELS, "p": 3}, "p must be 1 or 2, not 3"),
    (
        "multi_margin_loss",
        {"x": X[None], "target": SIGNS[:1]},
        r"expected x of shape \(N, C\) or \(C,\), got \(1, 5, 4\)",
    ),
    (
        "multilabel_margin_loss",
        {"x": X, "target": SEVERAL[0]},
        r"x has shape \(5, 4\) but target has shape \(4,\)",
    ),
    ("pairwise_distance", {"x1": 1.0, "x2": 2.0}, r"expected vectors \(\.\.\., D\)"),
    ("poisson_nll_loss", {"x": X, "target": Y, "eps": 0}, "eps must be greater than 0"),
]


@pytest.mark.parametrize(("name", "arguments", "says"), REFUSED)
def test_what_is_refused(name: str, arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: .*{says}"):
        getattr(F, name)(**arguments)
