"""Schedules made of others. In: schedules of one optimiser, and the number of an epoch. Out: the
rate of each group in it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from ... import errors
from ...frontend.lazy.trace import tracing
from ...frontend.operands.arguments import as_int, as_sequence
from ...ir.graph.brief import brief
from .groups import put
from .optimizer import Optimizer
from .schedule import LRScheduler, checked_state, whole


class SequentialLR(LRScheduler):
    """One schedule after the other: the next one begins at each of the milestones, which are one
    fewer.

    >>> optimizer = nn.optim.SGD([nn.Parameter([1.0])], lr=1.0)
    >>> warm = nn.optim.LinearLR(optimizer, 0.5, total_iters=2)
    >>> then = nn.optim.StepLR(optimizer, 1, gamma=0.5)
    >>> schedule = nn.optim.SequentialLR(optimizer, [warm, then], milestones=[2])
    >>> [schedule.step() or schedule.get_last_lr()[0] for _ in range(4)]
    [0.75, 1.0, 0.5, 0.25]
    """

    saved = ("last_epoch",)

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ) -> None:
        name = "SequentialLR"
        self.schedulers = as_sequence(name, "schedulers", schedulers)
        self.milestones = [
            as_int(name, "each of milestones", m)
            for m in as_sequence(name, "milestones", milestones)
        ]
        for s in self.schedulers:
            if not isinstance(s, LRScheduler) or s.optimizer is not optimizer or not s.by_epoch:
                raise errors.ArgumentError(
                    f"{name}: schedulers must be schedules of this optimiser by epochs, not"
                    f" {brief(s)}"
                )
        if (
            not self.schedulers
            or len(self.milestones) != len(self.schedulers) - 1
            or sorted(self.milestones) != self.milestones
        ):
            both = f"{len(self.schedulers)} schedulers and the milestones {self.milestones}"
            raise errors.ArgumentError(
                f"{name}: one milestone must stand between two schedulers, in ascending order, not"
                f" {both}"
            )
        super().__init__(optimizer, last_epoch)

    def enter(self, epoch: float) -> None:
        k = bisect_right(self.milestones, epoch)
        self.schedulers[k].enter(epoch - (self.milestones[k - 1] if k else 0))
        self.last_epoch = epoch

    def state_dict(self) -> dict[str, Any]:
        """Where each of the schedules is."""
        return {**super().state_dict(), "schedulers": [s.state_dict() for s in self.schedulers]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes to where another schedule was. Raises StateError, DTypeError, ArgumentError, and
        changes nothing then."""
        own, inner = (
            checked_state(self, state),
            _inner_states("SequentialLR.load_state_dict", self.schedulers, state),
        )
        for schedule, values in zip(self.schedulers, inner, strict=True):
            vars(schedule).update(values)
        self.enter(own["last_epoch"])


class ChainedScheduler(LRScheduler):
    """Several schedules at once: each goes on from the rate that those before it in the list have
    set in an epoch.

    Schedules that multiply the rate, as most do, so have the product of their factors. They have a
    formula each and one optimiser; the rates begin as all of them say.

    >>> optimizer = nn.optim.SGD([nn.Parameter([1.0])], lr=1.0)
    >>> constant = nn.optim.ConstantLR(optimizer, 0.5, total_iters=2)
    >>> down = nn.optim.ExponentialLR(optimizer, 0.5)
    >>> schedule = nn.optim.ChainedScheduler([constant, down])
    >>> first = schedule.get_last_lr()
    >>> first + [schedule.step() or schedule.get_last_lr()[0] for _ in range(3)]
    [0.5, 0.25, 0.25, 0.125]
    """

    by_epoch = False
    saved = ("rates",)

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        name = "ChainedScheduler"
        self.schedulers = as_sequence(name, "schedulers", schedulers)
        if not self.schedulers:
            raise errors.ArgumentError(f"{name}: there are no schedulers")
        first: Any = getattr(self.schedulers[0], "optimizer", None)
        self.optimizer = first if optimizer is None else optimizer
        for s in self.schedulers:
            if (
                not isinstance(s, LRScheduler)
                or s.optimizer is not self.optimizer
                or type(s).rate is LRScheduler.rate
            ):
                raise errors.ArgumentError(
                    f"{name}: schedulers must be formula schedules of one optimiser, not {brief(s)}"
                )
        self.rates = self.get_last_lr()
        if not any(s.last_epoch for s in self.schedulers):
            self._put([*self.schedulers[0].base_lrs])

    @whole
    def step(self) -> None:  # type: ignore[override]
        """Goes to the next epoch of each schedule."""
        tracing().refuse("the step of a schedule")
        before = self.get_last_lr()
        for s in self.schedulers:
            s.enter(s.last_epoch + 1)
        self._put(before)

    def _put(self, rates: list[float]) -> None:
        """Sets what the schedules make of these rates in the epochs they are in."""
        for s in self.schedulers:
            # a group that was added later keeps its own
            known = zip(rates, s.base_lrs, strict=False)
            rates = [s.follow(lr, base, s.last_epoch, k) for k, (lr, base) in enumerate(known)]
        self.rates = rates
        for group, rate in zip(self.optimizer.param_groups, rates, strict=False):
            put(group, "lr", rate)

    def state_dict(self) -> dict[str, Any]:
        """Where each of the schedules is, and the rates."""
        return {**super().state_dict(), "schedulers": [s.state_dict() for s in self.schedulers]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes to where another schedule was. Raises StateError, DTypeError, ArgumentError, and
        changes nothing then."""
        own, inner = (
            checked_state(self, state),
            _inner_states("ChainedScheduler.load_state_dict", self.schedulers, state),
        )
        for schedule, values in zip(self.schedulers, inner, strict=True):
            vars(schedule).update(values)
            schedule.enter(schedule.last_epoch)
        self.rates = own["rates"]
        for group, rate in zip(self.optimizer.param_groups, self.rates, strict=False):
            put(group, "lr", rate)


def _inner_states(
    name: str, schedulers: list[Any], state: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The checked state of each schedule in that of all."""
    inner = as_sequence(name, "schedulers", state.get("schedulers", ()))
    if len(inner) != len(schedulers):
        raise errors.StateError(
            f"{name}: there are {len(schedulers)} schedules, and {len(inner)} in the state"
        )
    return [checked_state(s, t) for s, t in zip(schedulers, inner, strict=True)]
