"""Likelihoods as layers. In: what a distribution is predicted to be, and values. Out: a scalar, or one number per value."""

from __future__ import annotations

from dataclasses import KW_ONLY

from ...frontend.tensor.tensor import Tensor
from .. import functional as F
from .loss import Loss
from .stateless import Stateless, called, layer

__all__ = ["CTCLoss", "GaussianNLLLoss", "PoissonNLLLoss"]


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
