"""The cyclical policy. In: the number of a step. Out: rate and momentum of each group in it, with torch's names and values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...frontend.operands.arguments import as_bool, as_choice, as_count, as_double, as_function, as_nonnegative
from .cycle import cycled, set_momentum
from .optimizer import Optimizer
from .schedule import LRScheduler, as_optimizer, per_group

MODES = ("triangular", "triangular2", "exp_range")


class CyclicLR(LRScheduler):
    """From base_lr to max_lr in step_size_up steps and back in step_size_down (as many unless given), again and again.

    mode: "triangular" for cycles of one height, "triangular2" for half the height in each, "exp_range" for the height times
    gamma**step. scale_fn takes the place of the mode: a function of the number of the cycle, from 1, or with
    scale_mode="iterations" of the step. The momentum, or the first of Adam's betas, goes from max_momentum to base_momentum
    and back unless cycle_momentum is False. Rates and momenta may be lists of one for each group. Source: Smith 2017.

    >>> optimizer = nn.optim.SGD([nn.Parameter([1.0])], momentum=0.9)
    >>> schedule = nn.optim.CyclicLR(optimizer, base_lr=0.0, max_lr=1.0, step_size_up=4)
    >>> schedule.step(); schedule.get_last_lr(), optimizer.param_groups[0]["momentum"]
    ([0.25], 0.875)
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | Sequence[float],
        max_lr: float | Sequence[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.8,
        max_momentum: float | Sequence[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        name = "CyclicLR"
        groups = as_optimizer(name, optimizer).param_groups
        up = as_count(name, "step_size_up", step_size_up, 1)
        self.total_size = up + (up if step_size_down is None else as_count(name, "step_size_down", step_size_down, 1))
        self.step_ratio = up / self.total_size
        self.mode, self.gamma = as_choice(name, "mode", mode, MODES), as_nonnegative(name, "gamma", gamma)
        self.scale_fn = None if scale_fn is None else as_function(name, "scale_fn", scale_fn)
        self.scale_mode = as_choice(name, "scale_mode", scale_mode, ("cycle", "iterations"))
        self.cycled = cycled(name, optimizer) if as_bool(name, "cycle_momentum", cycle_momentum) else None
        limits = {"base_lr": base_lr, "max_lr": max_lr, "base_momentum": base_momentum, "max_momentum": max_momentum}
        numbers = {what: [as_double(name, what, v) for v in per_group(name, what, x, optimizer)] for what, x in limits.items()}
        self.max_lrs, self.momenta = numbers["max_lr"], [*zip(numbers["base_momentum"], numbers["max_momentum"], strict=True)]
        if last_epoch == -1:
            for group, lr in zip(groups, numbers["base_lr"], strict=True):
                group["initial_lr"] = lr
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: Any, k: int) -> float:
        return base + (self.max_lrs[k] - base) * self.height(epoch)

    def enter(self, epoch: float) -> None:
        super().enter(epoch)
        if self.cycled is not None:
            height = self.height(epoch)
            for group, (base, most) in zip(self.optimizer.param_groups, self.momenta, strict=False):
                set_momentum(group, self.cycled, most - (most - base) * height)

    def height(self, epoch: float) -> float:
        """How far a step is on the way from the least to the greatest rate, and how high this cycle is."""
        past, place = divmod(epoch / self.total_size, 1.0)
        part = place / self.step_ratio if place <= self.step_ratio else (1.0 - place) / (1.0 - self.step_ratio)
        return part * self._scale(past + 1.0, epoch)

    def _scale(self, cycle: float, epoch: float) -> float:
        if self.scale_fn is not None:
            place = cycle if self.scale_mode == "cycle" else epoch
            return as_double("CyclicLR", "what scale_fn gives", self.scale_fn(place))
        match self.mode:
            case "triangular2":
                return 0.5 ** (cycle - 1.0)
            case "exp_range":
                return self.gamma**epoch
        return 1.0
