"""Losses as layers. In: predictions and targets. Out: a scalar, or one number per element with
reduction="none"."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from ...frontend.tensor.binding import as_tensor
from ...frontend.tensor.tensor import Tensor
from .. import functional as F
from ..module import Buffer
from .stateless import Stateless, called

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CosineEmbeddingLoss",
    "CosineSimilarity",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "NLLLoss",
    "PairwiseDistance",
    "PoissonNLLLoss",
    "SmoothL1Loss",
]


class Loss(Stateless):
    """A function of predictions and targets as a layer."""

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return called(self, x, target)  # type: ignore[no-any-return]


class WeightedLoss(Loss):
    """A loss with weights, from Tensors or any arrays. They are part of the state, and no optimiser
    changes them."""

    def __post_init__(self) -> None:
        for name in {"weight", "pos_weight"}.intersection(self._settings):
            weights = getattr(self, name)
            setattr(
                self,
                name,
                None if weights is None else Buffer(as_tensor(type(self).__name__, name, weights)),
            )


# ---------------------------------------------------------------- classes


class CrossEntropyLoss(WeightedLoss, function=F.cross_entropy):
    weight: Any = None
    _: KW_ONLY
    ignore_index: int = -100
    reduction: str = "mean"
    label_smoothing: float = 0.0


class NLLLoss(WeightedLoss, function=F.nll_loss):
    weight: Any = None
    _: KW_ONLY
    ignore_index: int = -100
    reduction: str = "mean"


# ---------------------------------------------------------------- values


class MSELoss(Loss, function=F.mse_loss, kw_only=True):
    reduction: str = "mean"


class L1Loss(Loss, function=F.l1_loss, kw_only=True):
    reduction: str = "mean"


class SmoothL1Loss(Loss, function=F.smooth_l1_loss, kw_only=True):
    reduction: str = "mean"
    beta: float = 1.0


class HuberLoss(Loss, function=F.huber_loss):
    reduction: str = "mean"
    delta: float = 1.0


# ---------------------------------------------------------------- probabilities


class BCELoss(WeightedLoss, function=F.binary_cross_entropy):
    weight: Any = None
    _: KW_ONLY
    reduction: str = "mean"


class BCEWithLogitsLoss(WeightedLoss, function=F.binary_cross_entropy_with_logits):
    weight: Any = None
    _: KW_ONLY
    reduction: str = "mean"
    pos_weight: Any = None


class KLDivLoss(Loss, function=F.kl_div, kw_only=True):
    reduction: str = "mean"
    log_target: bool = False


# ---------------------------------------------------------------- vectors


class _OfPairs(Stateless):
    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return called(self, x1, x2)  # type: ignore[no-any-return]


class PairLoss(Stateless):
    """A function of pairs of vectors or scores, and of targets, as a layer."""

    def forward(self, x1: Tensor, x2: Tensor, target: Tensor) -> Tensor:
        return called(self, x1, x2, target)  # type: ignore[no-any-return]


class CosineSimilarity(_OfPairs, function=F.cosine_similarity):
    axis: int = 1
    eps: float = 1e-8


class PairwiseDistance(_OfPairs, function=F.pairwise_distance):
    p: float = 2.0
    eps: float = 1e-6
    keepdims: bool = False


class CosineEmbeddingLoss(PairLoss, function=F.cosine_embedding_loss):
    margin: float = 0.0
    _: KW_ONLY
    reduction: str = "mean"


class HingeEmbeddingLoss(Loss, function=F.hinge_embedding_loss):
    margin: float = 1.0
    _: KW_ONLY
    reduction: str = "mean"


# ---------------------------------------------------------------- likelihoods


class GaussianNLLLoss(Stateless, function=F.gaussian_nll_loss, kw_only=True):
    full: bool = False
    eps: float = 1e-6
    reduction: str = "mean"

    def forward(self, x: Tensor, target: Tensor, var: Tensor) -> Tensor:
        return called(self, x, target, var)  # type: ignore[no-any-return]


class PoissonNLLLoss(Loss, function=F.poisson_nll_loss):
    log_input: bool = True
    full: bool = False
    eps: float = 1e-8
    _: KW_ONLY
    reduction: str = "mean"


class CTCLoss(Stateless, function=F.ctc_loss):
    blank: int = 0
    reduction: str = "mean"
    zero_infinity: bool = False

    def forward(
        self, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor
    ) -> Tensor:
        return called(self, log_probs, targets, input_lengths, target_lengths)  # type: ignore[no-any-return]
