"""Losses that ask for a margin, as layers. In: scores or vectors, and targets. Out: a scalar, or
one number per row."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from ...frontend.tensor.tensor import Tensor
from .. import functional as F
from ..functional.margin import Distance
from .loss import Loss, PairLoss, WeightedLoss
from .stateless import Stateless, called

__all__ = [
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class _OfTriplets(Stateless):
    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return called(self, anchor, positive, negative)  # type: ignore[no-any-return]


class MarginRankingLoss(PairLoss, function=F.margin_ranking_loss):
    margin: float = 0.0
    _: KW_ONLY
    reduction: str = "mean"


class TripletMarginLoss(_OfTriplets, function=F.triplet_margin_loss):
    margin: float = 1.0
    p: float = 2.0
    eps: float = 1e-6
    swap: bool = False
    _: KW_ONLY
    reduction: str = "mean"


class TripletMarginWithDistanceLoss(
    _OfTriplets, function=F.triplet_margin_with_distance_loss, kw_only=True
):
    distance_function: Distance | None = None
    margin: float = 1.0
    swap: bool = False
    reduction: str = "mean"


class SoftMarginLoss(Loss, function=F.soft_margin_loss, kw_only=True):
    reduction: str = "mean"


class MultiMarginLoss(WeightedLoss, function=F.multi_margin_loss):
    p: int = 1
    margin: float = 1.0
    weight: Any = None
    _: KW_ONLY
    reduction: str = "mean"


class MultiLabelMarginLoss(Loss, function=F.multilabel_margin_loss, kw_only=True):
    reduction: str = "mean"


class MultiLabelSoftMarginLoss(WeightedLoss, function=F.multilabel_soft_margin_loss):
    weight: Any = None
    _: KW_ONLY
    reduction: str = "mean"
