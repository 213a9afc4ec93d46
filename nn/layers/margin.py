"""Losses that ask for a margin, as layers. In: scores or vectors, and targets. Out: a scalar, or one number per row."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from ...frontend.tensor.tensor import Tensor
from .. import functional as F
from ..functional.margin import Distance
from .loss import Loss, PairLoss, WeightedLoss
from .stateless import Stateless, called, layer

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


@layer(F.margin_ranking_loss)
class MarginRankingLoss(PairLoss):
    margin: float = 0.0
    _: KW_ONLY
    reduction: str = "mean"


@layer(F.triplet_margin_loss)
class TripletMarginLoss(_OfTriplets):
    margin: float = 1.0
    p: float = 2.0
    eps: float = 1e-6
    swap: bool = False
    _: KW_ONLY
    reduction: str = "mean"


@layer(F.triplet_margin_with_distance_loss, kw_only=True)
class TripletMarginWithDistanceLoss(_OfTriplets):
    distance_function: Distance | None = None
    margin: float = 1.0
    swap: bool = False
    reduction: str = "mean"


@layer(F.soft_margin_loss, kw_only=True)
class SoftMarginLoss(Loss):
    reduction: str = "mean"


@layer(F.multi_margin_loss)
class MultiMarginLoss(WeightedLoss):
    p: int = 1
    margin: float = 1.0
    weight: Any = None
    _: KW_ONLY
    reduction: str = "mean"


@layer(F.multilabel_margin_loss, kw_only=True)
class MultiLabelMarginLoss(Loss):
    reduction: str = "mean"


@layer(F.multilabel_soft_margin_loss)
class MultiLabelSoftMarginLoss(WeightedLoss):
    weight: Any = None
    _: KW_ONLY
    reduction: str = "mean"
