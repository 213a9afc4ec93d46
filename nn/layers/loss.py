"""Losses as layers. In: predictions and targets. Out: a scalar, or one number per element with reduction="none"."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from ...frontend.tensor.binding import as_tensor
from ...frontend.tensor.tensor import Tensor
from .. import functional as F
from ..module import Buffer
from .stateless import Stateless, called, layer

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CosineSimilarity",
    "CrossEntropyLoss", "GaussianNLLLoss", "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss",
    "L1Loss", "MSELoss", "NLLLoss", "PairwiseDistance", "PoissonNLLLoss", "SmoothL1Loss",
]


class Loss(Stateless):
    """A function of predictions and targets as a layer."""

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return called(self, x, target)  # type: ignore[no-any-return]


class WeightedLoss(Loss):
    """A loss with weights, from Tensors or any arrays. They are part of the state, and no optimiser changes them."""

    def __post_init__(self) -> None:
        for name in {"weight", "pos_weight"}.intersection(self._settings):
            weights = getattr(self, name)
            setattr(self, name, None if weights is None else Buffer(as_tensor(type(self).__name__, name, weights)))


# ---------------------------------------------------------------- classes


@layer(F.cross_entropy)
class CrossEntropyLoss(WeightedLoss):
    weight: Any = None
    _: KW_ONLY
    ignore_index: int = -100
    reduction: str = "mean"
    label_smoothing: float = 0.0


@layer(F.nll_loss)
class NLLLoss(WeightedLoss):
    weight: Any = None
    _: KW_ONLY
    ignore_index: int = -100
    reduction: str = "mean"


# ---------------------------------------------------------------- values


@layer(F.mse_loss, kw_only=True)
class MSELoss(Loss):
    reduction: str = "mean"


@layer(F.l1_loss, kw_only=True)
class L1Loss(Loss):
    reduction: str = "mean"


@layer(F.smooth_l1_loss, kw_only=True)
class SmoothL1Loss(Loss):
    reduction: str = "mean"
    beta: float = 1.0


@layer(F.huber_loss)
class HuberLoss(Loss):
    reduction: str = "mean"
    delta: float = 1.0


# ---------------------------------------------------------------- probabilities


@layer(F.binary_cross_entropy)
class BCELoss(WeightedLoss):
    weight: Any = None
    _: KW_ONLY
    reduction: str = "mean"


@layer(F.binary_cross_entropy_with_logits)
class BCEWithLogitsLoss(WeightedLoss):
    weight: Any = None
    _: KW_ONLY
    reduction: str = "mean"
    pos_weight: Any = None


@layer(F.kl_div, kw_only=True)
class KLDivLoss(Loss):
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


@layer(F.cosine_similarity)
class CosineSimilarity(_OfPairs):
    axis: int = 1
    eps: float = 1e-8


@layer(F.pairwise_distance)
class PairwiseDistance(_OfPairs):
    p: float = 2.0
    eps: float = 1e-6
    keepdims: bool = False


@layer(F.cosine_embedding_loss)
class CosineEmbeddingLoss(PairLoss):
    margin: float = 0.0
    _: KW_ONLY
    reduction: str = "mean"


@layer(F.hinge_embedding_loss)
class HingeEmbeddingLoss(Loss):
    margin: float = 1.0
    _: KW_ONLY
    reduction: str = "mean"


# ---------------------------------------------------------------- likelihoods


@layer(F.gaussian_nll_loss, kw_only=True)
class GaussianNLLLoss(Stateless):
    full: bool = False
    eps: float = 1e-6
    reduction: str = "mean"

    def forward(self, x: Tensor, target: Tensor, var: Tensor) -> Tensor:
        return called(self, x, target, var)  # type: ignore[no-any-return]


@layer(F.poisson_nll_loss)
class PoissonNLLLoss(Loss):
    log_input: bool = True
    full: bool = False
    eps: float = 1e-8
    _: KW_ONLY
    reduction: str = "mean"


@layer(F.ctc_loss)
class CTCLoss(Stateless):
    blank: int = 0
    reduction: str = "mean"
    zero_infinity: bool = False

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor) -> Tensor:
        return called(self, log_probs, targets, input_lengths, target_lengths)  # type: ignore[no-any-return]
