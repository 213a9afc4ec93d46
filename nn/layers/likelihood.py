"""Likelihoods as layers. In: what a distribution is predicted to be, and values. Out: a scalar, or one number per value."""

from __future__ import annotations

from ...frontend.tensor.tensor import Tensor
from .. import functional as F
from .stateless import Stateless

__all__ = ["CTCLoss", "GaussianNLLLoss", "PoissonNLLLoss"]


class GaussianNLLLoss(Stateless):
    """F.gaussian_nll_loss of means, targets and variances.

    >>> nn.GaussianNLLLoss()(wf.tensor([1.0]), wf.tensor([2.0]), wf.tensor([1.0])).item()
    0.5
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        self.full, self.eps, self.reduction = full, eps, reduction

    def forward(self, x: Tensor, target: Tensor, var: Tensor) -> Tensor:
        return F.gaussian_nll_loss(x, target, var, self.full, self.eps, self.reduction)


class PoissonNLLLoss(Stateless):
    """F.poisson_nll_loss of the logarithms of means, and targets.

    >>> nn.PoissonNLLLoss()(wf.tensor([0.0]), wf.tensor([2.0])).item()
    1.0
    """

    def __init__(self, log_input: bool = True, full: bool = False, eps: float = 1e-8, *, reduction: str = "mean") -> None:
        self.log_input, self.full, self.eps, self.reduction = log_input, full, eps, reduction

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(x, target, self.log_input, self.full, self.eps, reduction=self.reduction)


class CTCLoss(Stateless):
    """F.ctc_loss of log-probabilities (T, N, C), label sequences (N, S) and the lengths of both.

    >>> loss = nn.CTCLoss(reduction="none")
    >>> loss(wf.full((2, 1, 3), 1 / 3).log(), wf.tensor([[1]]), [2], [1]).exp().tolist()
    [3.0...]
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        self.blank, self.reduction, self.zero_infinity = blank, reduction, zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor) -> Tensor:
        lengths = input_lengths, target_lengths
        return F.ctc_loss(log_probs, targets, *lengths, self.blank, self.reduction, self.zero_infinity)
