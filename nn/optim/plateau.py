"""A rate that falls when training makes no progress. In: a loss or accuracy per epoch. Out: rates
in the groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from ... import errors
from ...frontend.lazy.trace import tracing
from ...frontend.operands.arguments import as_choice, as_double, as_int
from ...ir.graph.brief import brief
from .groups import put
from .optimizer import Optimizer
from .schedule import LRScheduler, as_epoch, as_optimizer, checked_state, per_group, whole


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the rates by factor when `step(metrics)` has not been better than the best for
    more than patience epochs.

    Better is less ("min") or more ("max") by threshold: a part of the best ("rel") or a difference
    ("abs"). After that nothing counts for cooldown epochs. No rate falls below min_lr (one number
    or one per group), nor by less than eps.

    >>> optimizer = nn.optim.SGD([nn.Parameter([1.0])], lr=1.0)
    >>> schedule = nn.optim.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    >>> for loss in (3.0, 2.0, 2.0, 2.0): schedule.step(loss)
    >>> schedule.get_last_lr()
    [0.5]
    """

    by_epoch = False
    saved = ("last_epoch", "best", "num_bad_epochs", "cooldown_counter")

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | Sequence[float] = 0.0,
        eps: float = 1e-8,
    ) -> None:
        name = "ReduceLROnPlateau"
        self.optimizer = as_optimizer(name, optimizer)
        self.mode = as_choice(name, "mode", mode, ("min", "max"))
        self.factor = as_double(name, "factor", factor)
        if not self.factor < 1.0:
            raise errors.ArgumentError(f"{name}: factor must be less than 1, not {brief(factor)}")
        self.patience, self.cooldown = (
            as_int(name, "patience", patience),
            as_int(name, "cooldown", cooldown),
        )
        self.threshold, self.eps = (
            as_double(name, "threshold", threshold),
            as_double(name, "eps", eps),
        )
        self.threshold_mode = as_choice(name, "threshold_mode", threshold_mode, ("rel", "abs"))
        self.min_lrs = [
            as_double(name, "min_lr", x) for x in per_group(name, "min_lr", min_lr, optimizer)
        ]
        self.last_epoch = 0
        self.best = inf if mode == "min" else -inf
        self.num_bad_epochs = self.cooldown_counter = 0

    @whole
    def step(self, metrics: Any, epoch: float | None = None) -> None:  # type: ignore[override]
        """Looks at the loss or accuracy of an epoch: a number or a 0-d Tensor, which is
        computed."""
        tracing().refuse("the step of a schedule")
        current = as_double("ReduceLROnPlateau.step", "metrics", metrics)
        self.last_epoch = (
            self.last_epoch + 1 if epoch is None else as_epoch("ReduceLROnPlateau.step", epoch)
        )
        better = self.is_better(current)
        self.best = current if better else self.best
        self.num_bad_epochs = 0 if better else self.num_bad_epochs + 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self.reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0

    def is_better(self, value: float) -> bool:
        """Is it better than the best by more than the threshold. A NaN never is."""
        margin = self.threshold if self.mode == "max" else -self.threshold
        least = self.best * (1.0 + margin) if self.threshold_mode == "rel" else self.best + margin
        return value > least if self.mode == "max" else value < least

    def reduce(self) -> None:
        """Multiplies each rate by the factor, where that makes a difference."""
        for group, old, least in zip(
            self.optimizer.param_groups, self.get_last_lr(), self.min_lrs, strict=False
        ):
            new = max(old * self.factor, least)
            if old - new > self.eps:
                put(group, "lr", new)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from what another schedule has seen; the rates are those of the optimiser. Errors
        as for all schedules."""
        vars(self).update(checked_state(self, state))
