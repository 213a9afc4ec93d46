"""Likelihoods of numbers as losses. In: what a distribution is predicted to be, and values. Out: -log of the density."""

from __future__ import annotations

from math import log, pi

from ... import errors
from ...frontend import ops
from ...frontend.operands.arguments import as_bool, as_positive
from ...frontend.operands.broadcast import broadcast_shape
from ...frontend.tensor.tensor import Tensor
from .common import in_float32_at_least, numbers, reduced, same_shapes

__all__ = ["gaussian_nll_loss", "poisson_nll_loss"]


@in_float32_at_least
def gaussian_nll_loss(
    x: Tensor, target: Tensor, var: Tensor, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """(log var + (x - target)**2 / var) / 2, as of normal distributions with mean x; full adds log(2 pi) / 2.

    var broadcasts to the shape of x, or has it without the last axis, or is a number. Where it is less than eps it counts as
    eps, though its derivative stays (Nix and Weigend 1994). Raises ShapeError, DTypeError, ArgumentError.

    >>> F.gaussian_nll_loss(wf.tensor([1.0, 2.0]), wf.tensor([2.0, 2.0]), wf.tensor([1.0, 1.0]), reduction="none").tolist()
    [0.5, 0.0]
    """
    name = "gaussian_nll_loss"
    same_shapes(name, x, target)
    least = as_positive(name, "eps", eps)
    numbers(name, var)
    if var.ndim == 0 and x.dtype.is_float:
        var = var.astype(x.dtype)  # a number has no dtype of its own
    elif var.shape == x.shape[:-1] != x.shape:
        var = var.unsqueeze(-1)
    if broadcast_shape(f"{name}: var", [x.shape, var.shape]) != x.shape:
        raise errors.ShapeError(f"{name}: a var of shape {var.shape} does not broadcast to x of shape {x.shape}")
    var = ops.where(var < least, least + (var - var.detach()), var)  # the difference is 0, and has the derivative
    difference = x - target
    each = (var.log() + difference * difference / var) * 0.5
    return reduced(name, each + 0.5 * log(2.0 * pi) if as_bool(name, "full", full) else each, reduction)


@in_float32_at_least
def poisson_nll_loss(
    x: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    *,
    reduction: str = "mean",
) -> Tensor:
    """exp(x) - target * x, as of Poisson distributions with the logarithm x of the mean; the two shapes must be equal.

    With log_input=False x is the mean: x - target * log(x + eps). full adds Stirling's approximation of log(target!) where
    target is above 1. Raises ShapeError, DTypeError, ArgumentError.

    >>> F.poisson_nll_loss(wf.tensor([0.0, 0.0]), wf.tensor([0.0, 2.0]), reduction="none").tolist()
    [1.0, 1.0]
    """
    name = "poisson_nll_loss"
    same_shapes(name, x, target)
    least = as_positive(name, "eps", eps)
    each = x.exp() - target * x if as_bool(name, "log_input", log_input) else x - target * (x + least).log()
    if as_bool(name, "full", full):
        t = ops.where(target > 1, target, 2).astype(each.dtype)
        each = each + ops.where(target > 1, t * t.log() - t + 0.5 * (t * (2.0 * pi)).log(), 0.0)
    return reduced(name, each, reduction)
