"""The one-cycle policy. In: the number of a step. Out: rate and momentum of each group in it, with torch's names and values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import errors
from ...frontend.operands.arguments import as_bool, as_choice, as_count, as_double, as_fraction, as_positive
from .groups import Group
from .optimizer import Optimizer
from .schedule import LRScheduler, as_optimizer, per_group
from .schedules import cosine

Phase = tuple[float, tuple[str, str], tuple[str, str]]  # its last step, from which rate to which, the same for the momentum


class OneCycleLR(LRScheduler):
    """From max_lr / div_factor to max_lr in the part pct_start of total_steps, then down to 1 / final_div_factor of the first.

    The momentum, or the first of Adam's betas, goes from max_momentum to base_momentum and back unless cycle_momentum is False.
    total_steps, or epochs * steps_per_epoch, counts the calls of `step` and the first rate; more calls raise ArgumentError.
    With three_phase the way down goes to the first rate, as fast as it came up, before the last phase. max_lr and the momenta
    may be lists of one for each group; anneal_strategy is "cos" or "linear". Source: Smith and Topin 2017.

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
        self.anneal = cosine if as_choice(name, "anneal_strategy", anneal_strategy, ("cos", "linear")) == "cos" else _linear
        self.phases = _phases(start, self.total_steps, as_bool(name, "three_phase", three_phase))
        self.cycled = cycled(name, optimizer) if as_bool(name, "cycle_momentum", cycle_momentum) else None
        first, last = as_positive(name, "div_factor", div_factor), as_positive(name, "final_div_factor", final_div_factor)
        limits = {"max_lr": max_lr, "base_momentum": base_momentum, "max_momentum": max_momentum}
        numbers = {what: [as_double(name, what, v) for v in per_group(name, what, x, optimizer)] for what, x in limits.items()}
        self.levels = [
            {"first": top / first, "top": top, "last": top / first / last, "base": numbers["base_momentum"][k], "max": high}
            for k, (top, high) in enumerate(zip(numbers["max_lr"], numbers["max_momentum"], strict=True))
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
            raise errors.ArgumentError(f"OneCycleLR: step {epoch} is beyond the {self.total_steps} steps of the cycle")
        super().enter(epoch)
        if self.cycled is None:
            return
        _, _, (start, end) = self.phase(epoch)
        for group, level in zip(self.optimizer.param_groups, self.levels, strict=False):
            set_momentum(group, self.cycled, self.anneal(level[start], level[end], self.part(epoch)))

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
    return as_count(name, "epochs", epochs, 1) * as_count(name, "steps_per_epoch", steps_per_epoch, 1)


def _phases(start: float, total: int, three: bool) -> list[Phase]:
    up: Phase = (start - 1.0, ("first", "top"), ("max", "base"))
    if not three:
        return [up, (total - 1.0, ("top", "last"), ("base", "max"))]
    return [up, (2.0 * start - 2.0, ("top", "first"), ("base", "max")), (total - 1.0, ("first", "last"), ("max", "max"))]


def cycled(name: str, optimizer: Optimizer) -> str:
    """Which hyperparameter is the momentum. Raises ArgumentError where there is none."""
    for what in ("betas", "momentum"):
        if what in optimizer.checks:
            return what
    kind = type(optimizer).__name__
    raise errors.ArgumentError(f"{name}: {kind} has neither momentum nor betas to cycle: pass cycle_momentum=False")


def set_momentum(group: Group, what: str, value: float) -> None:
    """Sets the momentum of a group, or the first of its betas."""
    group[what] = value if what == "momentum" else (value, *group["betas"][1:])


def _linear(start: float, end: float, part: float) -> float:
    return start + (end - start) * part
