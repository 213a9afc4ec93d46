"""Base of all schedules. In: an optimiser and the number of an epoch. Out: rates in its groups;
nothing is compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar

from ... import errors
from ...frontend.lazy.trace import tracing
from ...frontend.lazy.transaction import go_back, versions
from ...frontend.operands.arguments import as_double, as_int, as_real, as_sequence
from ...frontend.tensor.parameters_elsewhere import Naming
from ...frontend.tensor.tensor import Tensor
from ...ir.graph.brief import brief
from ...signals import deferred
from .groups import put
from .optimizer import Optimizer

F = TypeVar("F", bound=Callable[..., Any])


def whole(step: F) -> F:
    """A step of a schedule that is interrupted, or fails, has changed nothing."""

    @wraps(step)
    def call(self: LRScheduler, *args: Any, **kwargs: Any) -> Any:
        groups = [(group, group.copy()) for group in self.optimizer.param_groups]
        tensors = versions(
            [x for group, _ in groups for x in group.values() if isinstance(x, Tensor)]
        )
        schedules = [(vars(s), vars(s).copy()) for s in _with_inner(self)]
        try:
            return step(self, *args, **kwargs)
        except BaseException:
            with deferred():
                for now, before in [*groups, *schedules]:
                    now.update(before)
                go_back(tensors)
                raise

    return call  # type: ignore[return-value]


def _with_inner(schedule: LRScheduler) -> list[LRScheduler]:
    """The schedule, and those that it is made of."""
    return [
        schedule,
        *(s for inner in getattr(schedule, "schedulers", ()) for s in _with_inner(inner)),
    ]


class LRScheduler(Naming):
    """The base of all schedules: the rate of each group as a function of the epoch, which `step`
    counts from 0.

    An epoch is whatever lies between two calls of `step`. A subclass defines `rate`. The rate that
    a group begins with is kept in it as "initial_lr"; with a last_epoch other than -1 the schedule
    continues after that epoch, from the "initial_lr" there.

    >>> class Halved(nn.optim.LRScheduler):
    ...     def rate(self, base, epoch, k):
    ...         return base / 2**epoch
    >>> schedule = Halved(nn.optim.SGD([nn.Parameter([1.0])], lr=1.0))
    >>> schedule.step(); schedule.get_last_lr()
    [0.5]
    """

    by_epoch = True  # is the rate a function of the epoch alone
    saved: tuple[str, ...] = ("last_epoch", "base_lrs")  # what `state_dict` holds

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        name = type(self).__name__
        self.optimizer = as_optimizer(name, optimizer)
        self.last_epoch: float = as_int(name, "last_epoch", last_epoch)
        for group in optimizer.param_groups:
            if self.last_epoch == -1:
                group.setdefault("initial_lr", as_double(name, "lr", group["lr"]))
            elif "initial_lr" not in group:
                raise errors.StateError(
                    f"{name}: to continue after epoch {last_epoch}, every group needs an"
                    " 'initial_lr'"
                )
        self.base_lrs: list[float] = [group["initial_lr"] for group in optimizer.param_groups]
        self.enter(self.last_epoch + 1)

    @whole
    def step(self, epoch: float | None = None) -> None:
        """Goes to the next epoch, or to the one given, and sets the rates of that."""
        tracing().refuse("the step of a schedule")
        name = f"{type(self).__name__}.step"
        self.enter(self.last_epoch + 1 if epoch is None else as_epoch(name, epoch))

    def enter(self, epoch: float) -> None:
        """Sets what the groups have in an epoch."""
        try:
            rates = [self.rate(base, epoch, k) for k, base in enumerate(self.base_lrs)]
        except OverflowError:
            raise errors.OverflowError(
                f"{type(self).__name__}: the rate of epoch {brief(epoch)} is too large"
            ) from None
        self.last_epoch = epoch
        for group, rate in zip(
            self.optimizer.param_groups, rates, strict=False
        ):  # a group that was added later keeps its own
            put(group, "lr", rate)

    def rate(self, base: float, epoch: Any, k: int) -> float:
        """The rate in an epoch of group k, whose rate was `base` at first."""
        raise NotImplementedError(f"{type(self).__name__} defines no rate()")

    def follow(self, lr: float, base: float, epoch: Any, k: int) -> float:
        """The rate in an epoch where others have made it lr since the last one: what
        `ChainedScheduler` asks for."""
        return self.rate(base, epoch, k)

    def get_last_lr(self) -> list[float]:
        """The rate of each group."""
        return [_number(group["lr"]) for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Where the schedule is, in plain numbers; its settings are those it was made with."""
        return {name: plain(getattr(self, name)) for name in self.saved}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes to where another schedule was. Raises StateError, DTypeError, ArgumentError, and
        changes nothing then."""
        values, before = checked_state(self, state), vars(self).copy()
        vars(self).update(values)
        try:
            self.enter(self.last_epoch)
        except BaseException:
            vars(self).update(before)
            raise

    def __repr__(self) -> str:
        settings = [
            f"{name}={value!r}"
            for name, value in vars(self).items()
            if isinstance(value, (int, float, str, list))
        ]
        return f"{type(self).__name__}({', '.join(settings)})"


class Multiplied(LRScheduler):
    """The base of schedules that multiply the first rate. A subclass defines `multiplier`."""

    def multiplier(self, epoch: Any, k: int) -> float:
        """What the rate of group k is multiplied by in an epoch."""
        raise NotImplementedError(f"{type(self).__name__} defines no multiplier()")

    def rate(self, base: float, epoch: Any, k: int) -> float:
        return base * self.multiplier(epoch, k)

    def follow(self, lr: float, base: float, epoch: Any, k: int) -> float:
        before, now = self.multiplier(epoch - 1, k) if epoch else 1.0, self.multiplier(epoch, k)
        if before == now:
            return lr
        return lr * (now / before) if before else self.rate(base, epoch, k)


def as_optimizer(name: str, optimizer: Any) -> Optimizer:
    if not isinstance(optimizer, Optimizer):
        raise errors.DTypeError(f"{name}: optimizer must be an Optimizer, not {brief(optimizer)}")
    return optimizer


def as_epoch(name: str, epoch: Any) -> float:
    """A number of epochs, an int unless it has a fraction. Raises ArgumentError, DTypeError."""
    number = as_real(name, "epoch", epoch)
    if not number >= 0:
        raise errors.ArgumentError(f"{name}: epoch must be at least 0, not {brief(epoch)}")
    return number


def per_group(name: str, what: str, value: Any, optimizer: Optimizer) -> list[Any]:
    """One value for each group, from one for all or from a list of them. Raises ArgumentError."""
    groups = len(optimizer.param_groups)
    values = list(value) if isinstance(value, (list, tuple)) else [value] * groups
    if len(values) != groups:
        raise errors.ArgumentError(
            f"{name}: {what} has {len(values)} values, but the optimiser has {groups} groups"
        )
    return values


def plain(value: Any) -> Any:
    return [*value] if isinstance(value, list) else value


def checked_state(schedule: Any, state: Any) -> dict[str, Any]:
    """What of a state belongs to the schedule: numbers where it has numbers, lists of as many where
    it has lists."""
    name = f"{type(schedule).__name__}.load_state_dict"
    if not isinstance(state, Mapping):
        raise errors.DTypeError(
            f"{name}: the state must be a dict of numbers by name, not {brief(state)}"
        )
    missing = [what for what in schedule.saved if what not in state]
    if missing:
        raise errors.StateError(f"{name}: the state has no {', '.join(missing)}")
    return {
        what: _like(name, what, getattr(schedule, what), state[what]) for what in schedule.saved
    }


def _like(name: str, what: str, own: Any, value: Any) -> Any:
    if what == "last_epoch":
        return as_epoch(name, value)
    if not isinstance(own, list):
        return as_real(name, what, value)
    values = [as_double(name, f"each of {what}", v) for v in as_sequence(name, what, value)]
    if len(values) != len(own):
        raise errors.StateError(
            f"{name}: {what} has {len(values)} values, but the optimiser has {len(own)} groups"
        )
    return values


def _number(rate: Any) -> float:
    return rate.item() if isinstance(rate, Tensor) else rate  # type: ignore[no-any-return]
