"""The cyclical and the one-cycle policy, as torch has them. In: the number of a step. Out: each
group's rate and momentum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import errors
from ...frontend.operands.arguments import (
    as_bool,
    as_choice,
    as_count,
    as_double,
    as_fraction,
    as_function,
    as_nonnegative,
    as_positive,
)
from .groups import Group
from .optimizer import Optimizer
from .schedule import LRScheduler, as_optimizer, per_group
from .schedules import cosine

MODES = ("triangular", "triangular2", "exp_range")


class CyclicLR(LRScheduler):
    """From base_lr to max_lr in step_size_up steps and back in step_size_down (as many unless
    given), again and again.

    mode: "triangular" for cycles of one height, "triangular2" for half the height in each,
    "exp_range" for the height times gamma**step. scale_fn takes the place of the mode: a function
    of the number of the cycle, from 1, or with scale_mode="iterations" of the step. The momentum,
    or the first of Adam's betas, goes from max_momentum to base_momentum and back unless
    cycle_momentum is False. Rates and momenta may be lists of one for each group. Source: Smith
    2017.

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
        self.total_size = up + (
            up if step_size_down is None else as_count(name, "step_size_down", step_size_down, 1)
        )
        self.step_ratio = up / self.total_size
        self.mode, self.gamma = (
            as_choice(name, "mode", mode, MODES),
            as_nonnegative(name, "gamma", gamma),
        )
        self.scale_fn = None if scale_fn is None else as_function(name, "scale_fn", scale_fn)
        self.scale_mode = as_choice(name, "scale_mode", scale_mode, ("cycle", "iterations"))
        self.cycled = (
            cycled(name, optimizer) if as_bool(name, "cycle_momentum", cycle_momentum) else None
        )
        limits = {
            "base_lr": base_lr,
            "max_lr": max_lr,
            "base_momentum": base_momentum,
            "max_momentum": max_momentum,
        }
        numbers = {
            what: [as_double(name, what, v) for v in per_group(name, what, x, optimizer)]
            for what, x in limits.items()
        }
        self.max_lrs, self.momenta = (
            numbers["max_lr"],
            [*zip(numbers["base_momentum"], numbers["max_momentum"], strict=True)],
        )
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
        """How far a step is on the way from the least to the greatest rate, and how high this cycle
        is."""
        past, place = divmod(epoch / self.total_size, 1.0)
        part = (
            place / self.step_ratio
            if place <= self.step_ratio
            else (1.0 - place) / (1.0 - self.step_ratio)
        )
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


# its last step, from which rate to which, the same for the momentum
Phase = tuple[float, tuple[str, str], tuple[str, str]]


class OneCycleLR(LRScheduler):
    """From max_lr / div_factor to max_lr in the part pct_start of total_steps, then down to 1 /
    final_div_factor of the first.

    The momentum, or the first of Adam's betas, goes from max_momentum to base_momentum and back
    unless cycle_momentum is False. total_steps, or epochs * steps_per_epoch, counts the calls of
    `step` and the first rate; more calls raise ArgumentError. With three_phase the way down goes to
    the first rate, as fast as it came up, before the last phase. max_lr and the momenta may be
    lists of one for each group; anneal_strategy is "cos" or "linear". Source: Smith and Topin 2017.

    >>> optimizer = nn.optim.SGD([nn.Parameter([1.0])], momentum=0.9)
    >>> schedule = nn.optim.OneCycleLR(optimizer, max_lr=1.0, total_steps=10, pct_start=0.2)
    >>> schedule.step(); schedule.get_last_lr(), optimizer.param_groups[0]["momentum"]
    ([1.0], 0.85)
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | Sequence[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.85,
        max_momentum: float | Sequence[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        name = "OneCycleLR"
        groups = as_optimizer(name, optimizer).param_groups
        self.total_steps = _total(name, total_steps, epochs, steps_per_epoch)
        start = as_fraction(name, "pct_start", pct_start) * self.total_steps
        self.anneal = (
            cosine
            if as_choice(name, "anneal_strategy", anneal_strategy, ("cos", "linear")) == "cos"
            else _linear
        )
        self.phases = _phases(start, self.total_steps, as_bool(name, "three_phase", three_phase))
        self.cycled = (
            cycled(name, optimizer) if as_bool(name, "cycle_momentum", cycle_momentum) else None
        )
        first, last = (
            as_positive(name, "div_factor", div_factor),
            as_positive(name, "final_div_factor", final_div_factor),
        )
        limits = {"max_lr": max_lr, "base_momentum": base_momentum, "max_momentum": max_momentum}
        numbers = {
            what: [as_double(name, what, v) for v in per_group(name, what, x, optimizer)]
            for what, x in limits.items()
        }
        self.levels = [
            {
                "first": top / first,
                "top": top,
                "last": top / first / last,
                "base": numbers["base_momentum"][k],
                "max": high,
            }
            for k, (top, high) in enumerate(
                zip(numbers["max_lr"], numbers["max_momentum"], strict=True)
            )
        ]
        if last_epoch == -1:
            for group, level in zip(groups, self.levels, strict=True):
                group["initial_lr"] = level["first"]
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: Any, k: int) -> float:
        _, (start, end), _ = self.phase(epoch)
        return self.anneal(self.levels[k][start], self.levels[k][end], self.part(epoch))

    def enter(self, epoch: float) -> None:
        if epoch > self.total_steps:
            raise errors.ArgumentError(
                f"OneCycleLR: step {epoch} is beyond the {self.total_steps} steps of the cycle"
            )
        super().enter(epoch)
        if self.cycled is None:
            return
        _, _, (start, end) = self.phase(epoch)
        for group, level in zip(self.optimizer.param_groups, self.levels, strict=False):
            set_momentum(
                group, self.cycled, self.anneal(level[start], level[end], self.part(epoch))
            )

    def phase(self, epoch: float) -> Phase:
        """The phase that a step is in."""
        return next((p for p in self.phases if epoch <= p[0]), self.phases[-1])

    def part(self, epoch: float) -> float:
        """The part of its phase that is over at a step, from 0 to 1."""
        end = self.phase(epoch)[0]
        start = max((p[0] for p in self.phases if p[0] < end), default=0.0)
        return (epoch - start) / (end - start) if end > start else 1.0


def _total(name: str, total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
    if total_steps is not None:
        return as_count(name, "total_steps", total_steps, 1)
    if epochs is None or steps_per_epoch is None:
        raise errors.ArgumentError(f"{name}: pass total_steps, or epochs and steps_per_epoch")
    return as_count(name, "epochs", epochs, 1) * as_count(
        name, "steps_per_epoch", steps_per_epoch, 1
    )


def _phases(start: float, total: int, three: bool) -> list[Phase]:
    up: Phase = (start - 1.0, ("first", "top"), ("max", "base"))
    if not three:
        return [up, (total - 1.0, ("top", "last"), ("base", "max"))]
    return [
        up,
        (2.0 * start - 2.0, ("top", "first"), ("base", "max")),
        (total - 1.0, ("first", "last"), ("max", "max")),
    ]


def cycled(name: str, optimizer: Optimizer) -> str:
    """Which hyperparameter is the momentum. Raises ArgumentError where there is none."""
    for what in ("betas", "momentum"):
        if what in optimizer.checks:
            return what
    kind = type(optimizer).__name__
    raise errors.ArgumentError(
        f"{name}: {kind} has neither momentum nor betas to cycle: pass cycle_momentum=False"
    )


def set_momentum(group: Group, what: str, value: float) -> None:
    """Sets the momentum of a group, or the first of its betas."""
    group[what] = value if what == "momentum" else (value, *group["betas"][1:])


def _linear(start: float, end: float, part: float) -> float:
    return start + (end - start) * part
