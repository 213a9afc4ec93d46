"""Losses as layers. In: predictions and targets. Out: a scalar, or one number per element with reduction="none"."""

from __future__ import annotations

from typing import Any

from ...frontend.tensor.binding import as_tensor
from ...frontend.tensor.tensor import Tensor
from .. import functional as F
from ..module import Buffer
from .stateless import Stateless

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CosineEmbeddingLoss",
    "CosineSimilarity",
    "CrossEntropyLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "NLLLoss",
    "PairwiseDistance",
    "SmoothL1Loss",
]


def fixed(loss: Stateless, what: str, x: Any) -> Buffer | None:
    """Weights that are part of the state and that no optimiser changes, from a Tensor or any array."""
    return None if x is None else Buffer(as_tensor(type(loss).__name__, what, x))


class CrossEntropyLoss(Stateless):
    """F.cross_entropy: scores (N, C, ...) and labels (N, ...) or probabilities of the scores' shape.

    >>> nn.CrossEntropyLoss(label_smoothing=0.1)(wf.tensor([[2.0, 0.0]]), wf.tensor([0])).item()
    0.2269...
    """

    def __init__(
        self, weight: Any = None, *, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0
    ) -> None:
        self.weight, self.ignore_index = fixed(self, "weight", weight), ignore_index
        self.reduction, self.label_smoothing = reduction, label_smoothing

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            x,
            target,
            self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class NLLLoss(Stateless):
    """F.nll_loss: log-probabilities (N, C, ...) and labels (N, ...).

    >>> nn.NLLLoss()(wf.tensor([[0.5, 0.5]]).log(), wf.tensor([0])).item()
    0.693147...
    """

    def __init__(self, weight: Any = None, *, ignore_index: int = -100, reduction: str = "mean") -> None:
        self.weight, self.ignore_index, self.reduction = fixed(self, "weight", weight), ignore_index, reduction

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(x, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class MSELoss(Stateless):
    """F.mse_loss: (x - target)**2.

    >>> nn.MSELoss(reduction="sum")(wf.tensor([1.0, 2.0]), wf.tensor([1.0, 4.0])).item()
    4.0
    """

    def __init__(self, *, reduction: str = "mean") -> None:
        self.reduction = reduction

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(x, target, reduction=self.reduction)


class L1Loss(Stateless):
    """F.l1_loss: |x - target|.

    >>> nn.L1Loss()(wf.tensor([1.0, 2.0]), wf.tensor([1.0, 4.0])).item()
    1.0
    """

    def __init__(self, *, reduction: str = "mean") -> None:
        self.reduction = reduction

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(x, target, reduction=self.reduction)


class SmoothL1Loss(Stateless):
    """F.smooth_l1_loss: a parabola within beta, |x - target| - beta / 2 outside.

    >>> nn.SmoothL1Loss(beta=2.0)(wf.tensor([1.0]), wf.tensor([0.0])).item()
    0.25
    """

    def __init__(self, *, reduction: str = "mean", beta: float = 1.0) -> None:
        self.reduction, self.beta = reduction, beta

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(x, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(Stateless):
    """F.huber_loss: a parabola within delta, of slope delta outside.

    >>> nn.HuberLoss(delta=0.5)(wf.tensor([1.0]), wf.tensor([0.0])).item()
    0.375
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        self.reduction, self.delta = reduction, delta

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(x, target, self.reduction, self.delta)


class BCELoss(Stateless):
    """F.binary_cross_entropy of probabilities.

    >>> nn.BCELoss()(wf.tensor([0.5]), wf.tensor([1.0])).item()
    0.693147...
    """

    def __init__(self, weight: Any = None, *, reduction: str = "mean") -> None:
        self.weight, self.reduction = fixed(self, "weight", weight), reduction

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(x, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(Stateless):
    """F.binary_cross_entropy_with_logits of scores.

    >>> nn.BCEWithLogitsLoss(pos_weight=[2.0])(wf.tensor([0.0]), wf.tensor([1.0])).item()
    1.386294...
    """

    def __init__(self, weight: Any = None, *, reduction: str = "mean", pos_weight: Any = None) -> None:
        self.weight, self.pos_weight = fixed(self, "weight", weight), fixed(self, "pos_weight", pos_weight)
        self.reduction = reduction

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(x, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight)


class KLDivLoss(Stateless):
    """F.kl_div of log-probabilities.

    >>> nn.KLDivLoss(reduction="batchmean")(wf.tensor([[0.5, 0.5]]).log(), wf.tensor([[1.0, 0.0]])).item()
    0.693147...
    """

    def __init__(self, *, reduction: str = "mean", log_target: bool = False) -> None:
        self.reduction, self.log_target = reduction, log_target

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(x, target, reduction=self.reduction, log_target=self.log_target)


class CosineSimilarity(Stateless):
    """F.cosine_similarity along an axis.

    >>> nn.CosineSimilarity()(wf.tensor([[3.0, 4.0]]), wf.tensor([[4.0, 3.0]])).item()
    0.96...
    """

    def __init__(self, axis: int = 1, eps: float = 1e-8) -> None:
        self.axis, self.eps = axis, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.axis, self.eps)


class PairwiseDistance(Stateless):
    """F.pairwise_distance: the norm of order p of the difference of vectors (N, D) or (D,).

    >>> nn.PairwiseDistance(eps=0.0)(wf.tensor([[3.0, 0.0]]), wf.tensor([[0.0, 4.0]])).tolist()
    [5.0]
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdims: bool = False) -> None:
        self.p, self.eps, self.keepdims = p, eps, keepdims

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.p, self.eps, self.keepdims)


class CosineEmbeddingLoss(Stateless):
    """F.cosine_embedding_loss of pairs that are to be alike (target 1) or not (-1).

    >>> nn.CosineEmbeddingLoss()(wf.tensor([[1.0, 0.0]]), wf.tensor([[0.0, 1.0]]), wf.tensor([1])).item()
    1.0
    """

    def __init__(self, margin: float = 0.0, *, reduction: str = "mean") -> None:
        self.margin, self.reduction = margin, reduction

    def forward(self, x1: Tensor, x2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(x1, x2, target, self.margin, reduction=self.reduction)


class HingeEmbeddingLoss(Stateless):
    """F.hinge_embedding_loss of distances between pairs that are to be near (target 1) or not (-1).

    >>> nn.HingeEmbeddingLoss()(wf.tensor([0.25]), wf.tensor([-1])).item()
    0.75
    """

    def __init__(self, margin: float = 1.0, *, reduction: str = "mean") -> None:
        self.margin, self.reduction = margin, reduction

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(x, target, self.margin, reduction=self.reduction)
