"""Schedules with a formula. In: the number of an epoch. Out: the rate of each group in it, with
torch's names and values."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from math import cos, pi
from typing import Any

from ... import errors
from ...frontend.operands.arguments import (
    as_count,
    as_double,
    as_fraction,
    as_function,
    as_int,
    as_ints,
    as_nonnegative,
)
from .optimizer import Optimizer
from .schedule import LRScheduler, Multiplied, as_optimizer, per_group


def cosine(start: float, end: float, part: float) -> float:
    """From start (part 0) to end (part 1) along half a wave."""
    return end + (start - end) * (1.0 + cos(pi * part)) / 2.0


class StepLR(Multiplied):
    """The first rate times gamma ** (epoch // step_size).

    >>> schedule = nn.optim.StepLR(nn.optim.SGD([nn.Parameter([1.0])], lr=1.0), step_size=2,
    ...     gamma=0.5)
    >>> schedule.step(); schedule.step(); schedule.get_last_lr()
    [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size, self.gamma = (
            as_count("StepLR", "step_size", step_size, 1),
            as_nonnegative("StepLR", "gamma", gamma),
        )
        super().__init__(optimizer, last_epoch)

    def multiplier(self, epoch: Any, k: int) -> float:
        return self.gamma ** (epoch // self.step_size)


class MultiStepLR(Multiplied):
    """The first rate times gamma for each of the milestones that is reached.

    >>> schedule = nn.optim.MultiStepLR(nn.optim.SGD([nn.Parameter([1.0])], lr=1.0),
    ...     milestones=[1, 5], gamma=0.5)
    >>> schedule.step(); schedule.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Sequence[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones = sorted(as_ints("MultiStepLR", "milestones", milestones))
        self.gamma = as_nonnegative("MultiStepLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def multiplier(self, epoch: Any, k: int) -> float:
        return self.gamma ** bisect_right(self.milestones, epoch)


class ExponentialLR(Multiplied):
    """The first rate times gamma ** epoch.

    >>> schedule = nn.optim.ExponentialLR(nn.optim.SGD([nn.Parameter([1.0])], lr=1.0), gamma=0.5)
    >>> schedule.step(); schedule.step(); schedule.get_last_lr()
    [0.25]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = as_nonnegative("ExponentialLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def multiplier(self, epoch: Any, k: int) -> float:
        return self.gamma**epoch


class ConstantLR(Multiplied):
    """The first rate times factor until epoch total_iters, then the first rate.

    >>> schedule = nn.optim.ConstantLR(nn.optim.SGD([nn.Parameter([1.0])], lr=1.0), factor=0.5,
    ...     total_iters=1)
    >>> first = schedule.get_last_lr(); schedule.step(); first, schedule.get_last_lr()
    ([0.5], [1.0])
    """

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        self.factor = as_fraction("ConstantLR", "factor", factor)
        self.total_iters = as_int("ConstantLR", "total_iters", total_iters)
        super().__init__(optimizer, last_epoch)

    def multiplier(self, epoch: Any, k: int) -> float:
        return self.factor if epoch < self.total_iters else 1.0


class LinearLR(Multiplied):
    """The first rate times a factor that goes from start_factor to end_factor in total_iters
    epochs: a warm-up.

    >>> schedule = nn.optim.LinearLR(nn.optim.SGD([nn.Parameter([1.0])], lr=1.0), start_factor=0.5,
    ...     total_iters=2)
    >>> first = schedule.get_last_lr(); schedule.step(); first, schedule.get_last_lr()
    ([0.5], [0.75])
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        self.start_factor = as_fraction("LinearLR", "start_factor", start_factor)
        self.end_factor = as_fraction("LinearLR", "end_factor", end_factor)
        if not self.start_factor:
            raise errors.ArgumentError(
                "LinearLR: start_factor must be greater than 0, so that the rate can grow from it"
            )
        self.total_iters = as_count("LinearLR", "total_iters", total_iters, 1)
        super().__init__(optimizer, last_epoch)

    def multiplier(self, epoch: Any, k: int) -> float:
        part = min(epoch, self.total_iters) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * part


class PolynomialLR(Multiplied):
    """The first rate times (1 - epoch / total_iters) ** power, down to 0 after total_iters epochs.

    >>> schedule = nn.optim.PolynomialLR(nn.optim.SGD([nn.Parameter([1.0])], lr=1.0), total_iters=2,
    ...     power=2.0)
    >>> schedule.step(); schedule.get_last_lr()
    [0.25]
    """

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters = as_count("PolynomialLR", "total_iters", total_iters, 1)
        self.power = as_nonnegative("PolynomialLR", "power", power)
        super().__init__(optimizer, last_epoch)

    def multiplier(self, epoch: Any, k: int) -> float:
        return (1.0 - min(epoch, self.total_iters) / self.total_iters) ** self.power


class CosineAnnealingLR(LRScheduler):
    """From the first rate to eta_min in T_max epochs along half a cosine wave, and back, and so on
    (Loshchilov, Hutter 2017).

    >>> schedule = nn.optim.CosineAnnealingLR(nn.optim.SGD([nn.Parameter([1.0])], lr=1.0), T_max=2)
    >>> schedule.step(); schedule.get_last_lr()
    [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max = as_count("CosineAnnealingLR", "T_max", T_max, 1)
        self.eta_min = as_double("CosineAnnealingLR", "eta_min", eta_min)
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: Any, k: int) -> float:
        return cosine(base, self.eta_min, epoch / self.T_max)

    def follow(self, lr: float, base: float, epoch: Any, k: int) -> float:
        if not epoch:
            return lr
        before = 1.0 + cos(pi * (epoch - 1) / self.T_max)
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # from the lowest point on
            return lr + (base - self.eta_min) * (1.0 - cos(pi / self.T_max)) / 2.0
        return self.eta_min + (lr - self.eta_min) * ((1.0 + cos(pi * epoch / self.T_max)) / before)


class CosineAnnealingWarmRestarts(LRScheduler):
    """From the first rate to eta_min along half a cosine wave, again and again: in T_0 epochs, then
    in T_mult times as many.

    `step(epoch)` takes fractions, for rates that change within an epoch. Source: Loshchilov and
    Hutter 2017 (SGDR).

    >>> schedule = nn.optim.CosineAnnealingWarmRestarts(nn.optim.SGD([nn.Parameter([1.0])], lr=1.0),
    ...     T_0=1, T_mult=2)
    >>> schedule.step(0.5); half = schedule.get_last_lr()
    >>> schedule.step(2); half, schedule.get_last_lr()
    ([0.5], [0.5])
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        name = "CosineAnnealingWarmRestarts"
        self.T_0, self.T_mult = as_count(name, "T_0", T_0, 1), as_count(name, "T_mult", T_mult, 1)
        self.eta_min = as_double(name, "eta_min", eta_min)
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: Any, k: int) -> float:
        length = self.T_0
        while self.T_mult > 1 and epoch >= length:
            epoch, length = epoch - length, length * self.T_mult
        return cosine(base, self.eta_min, epoch % length / length)


class LambdaLR(LRScheduler):
    """The first rate times lr_lambda(epoch); one function for all groups, or a list of one for
    each.

    >>> schedule = nn.optim.LambdaLR(nn.optim.SGD([nn.Parameter([1.0])], lr=1.0),
    ...     lambda epoch: 0.5**epoch)
    >>> schedule.step(); schedule.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        functions = per_group(
            "LambdaLR", "lr_lambda", lr_lambda, as_optimizer("LambdaLR", optimizer)
        )
        self.lr_lambdas = [as_function("LambdaLR", "lr_lambda", f) for f in functions]
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: Any, k: int) -> float:
        return base * as_double("LambdaLR", "what lr_lambda gives", self.lr_lambdas[k](epoch))


class MultiplicativeLR(Multiplied):
    """The rate of the epoch before times lr_lambda(epoch); one function for all groups, or a list
    of one for each.

    >>> schedule = nn.optim.MultiplicativeLR(nn.optim.SGD([nn.Parameter([1.0])], lr=1.0),
    ...     lambda epoch: 1 / (1 + epoch))
    >>> schedule.step(); half = schedule.get_last_lr()
    >>> schedule.step(); half, schedule.get_last_lr()
    ([0.5], [0.16666666666666666])
    """

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        functions = per_group(
            "MultiplicativeLR", "lr_lambda", lr_lambda, as_optimizer("MultiplicativeLR", optimizer)
        )
        self.lr_lambdas = [as_function("MultiplicativeLR", "lr_lambda", f) for f in functions]
        self.products = [[1.0] for _ in functions]  # of each group's factors up to an epoch
        super().__init__(optimizer, last_epoch)

    def multiplier(self, epoch: Any, k: int) -> float:
        known = self.products[k]
        for t in range(len(known), int(epoch) + 1):
            known.append(
                known[-1]
                * as_double("MultiplicativeLR", "what lr_lambda gives", self.lr_lambdas[k](t))
            )
        return known[int(epoch)]
