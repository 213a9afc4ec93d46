"""Losses that ask for a margin, as layers. In: scores or vectors, and targets. Out: a scalar, or one number per row."""

from __future__ import annotations

from typing import Any

from ...frontend.tensor.tensor import Tensor
from .. import functional as F
from ..functional.margin import Distance
from .loss import fixed
from .stateless import Stateless

__all__ = [
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class MarginRankingLoss(Stateless):
    """F.margin_ranking_loss of pairs of scores of which the first is to be greater (target 1) or less (-1).

    >>> nn.MarginRankingLoss(margin=0.5)(wf.tensor([1.0]), wf.tensor([1.25]), wf.tensor([1])).item()
    0.75
    """

    def __init__(self, margin: float = 0.0, *, reduction: str = "mean") -> None:
        self.margin, self.reduction = margin, reduction

    def forward(self, x1: Tensor, x2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(x1, x2, target, self.margin, reduction=self.reduction)


class TripletMarginLoss(Stateless):
    """F.triplet_margin_loss: an anchor is to be nearer to the positive than to the negative, by a margin.

    >>> nn.TripletMarginLoss(p=1, eps=0.0)(wf.tensor([[0.0]]), wf.tensor([[2.0]]), wf.tensor([[1.5]])).item()
    1.5
    """

    def __init__(
        self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False, *, reduction: str = "mean"
    ) -> None:
        self.margin, self.p, self.eps, self.swap, self.reduction = margin, p, eps, swap, reduction

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        settings = self.margin, self.p, self.eps, self.swap
        return F.triplet_margin_loss(anchor, positive, negative, *settings, reduction=self.reduction)


class TripletMarginWithDistanceLoss(Stateless):
    """F.triplet_margin_with_distance_loss: the same with a distance of one's own, a function of two Tensors or a Module.

    >>> loss = nn.TripletMarginWithDistanceLoss(distance_function=lambda x, y: 1.0 - F.cosine_similarity(x, y))
    >>> loss(wf.tensor([[1.0, 0.0]]), wf.tensor([[2.0, 0.0]]), wf.tensor([[0.0, 1.0]])).item()
    0.0
    """

    def __init__(
        self,
        *,
        distance_function: Distance | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        self.distance_function, self.margin, self.swap, self.reduction = distance_function, margin, swap, reduction

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        settings: Any = {"margin": self.margin, "swap": self.swap, "reduction": self.reduction}
        triplet = anchor, positive, negative
        return F.triplet_margin_with_distance_loss(*triplet, distance_function=self.distance_function, **settings)


class SoftMarginLoss(Stateless):
    """F.soft_margin_loss: log(1 + exp(-target * x)) of targets 1 or -1.

    >>> nn.SoftMarginLoss()(wf.tensor([0.0]), wf.tensor([1])).item()
    0.693147...
    """

    def __init__(self, *, reduction: str = "mean") -> None:
        self.reduction = reduction

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(x, target, reduction=self.reduction)


class MultiMarginLoss(Stateless):
    """F.multi_margin_loss: scores (N, C) and labels (N,), whose score is to be greater than all others by a margin.

    >>> nn.MultiMarginLoss(p=2)(wf.tensor([[0.5, 0.0, 1.5]]), wf.tensor([0])).item()
    1.4166...
    """

    def __init__(self, p: int = 1, margin: float = 1.0, weight: Any = None, *, reduction: str = "mean") -> None:
        self.p, self.margin, self.reduction = p, margin, reduction
        self.weight = fixed(self, "weight", weight)

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(x, target, self.p, self.margin, self.weight, reduction=self.reduction)


class MultiLabelMarginLoss(Stateless):
    """F.multilabel_margin_loss: scores (N, C), and the labels of each row followed by -1.

    >>> nn.MultiLabelMarginLoss()(wf.tensor([[2.0, 0.0]]), wf.tensor([[0, -1]])).item()
    0.0
    """

    def __init__(self, *, reduction: str = "mean") -> None:
        self.reduction = reduction

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(x, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(Stateless):
    """F.multilabel_soft_margin_loss: scores (N, C), and 1 for each class that a row has, else 0.

    >>> nn.MultiLabelSoftMarginLoss()(wf.tensor([[0.0, 0.0]]), wf.tensor([[1.0, 0.0]])).item()
    0.693147...
    """

    def __init__(self, weight: Any = None, *, reduction: str = "mean") -> None:
        self.weight, self.reduction = fixed(self, "weight", weight), reduction

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(x, target, self.weight, reduction=self.reduction)
