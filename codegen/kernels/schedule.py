"""Schedules, and the choice among them. In: a problem, the schedules of a target for its kind. Out:
the Lowered of the cheapest.

A target lists its schedules: `CPU` in codegen/cpu/lowering.py, `CUDA` in codegen/cuda/lowering.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, ParamSpec

from .lowered import Choice, Lowered

P = ParamSpec("P")


@dataclass(frozen=True)
class Refusal:
    """Why a schedule does not take a problem; `lower`, if a rule of experience refuses what the
    schedule could do, does it all the same."""

    why: str
    lower: Callable[[], Lowered] | None = None

    @property
    def ways(self) -> tuple[Callable[[], Lowered], ...]:
        """As of an Estimate."""
        return () if self.lower is None else (self.lower,)


@dataclass(frozen=True)
class Estimate:
    """What a schedule would take for a problem, and the function that lowers the problem so.

    `cycles` are comparable among the schedules of one problem, in whatever `unit`; 0 where a rule
    rather than a figure says that the schedule suits. `lower` gives in `Lowered.schedule` what
    follows the name of the schedule; `slower` do it in other ways, which would take longer.
    """

    lower: Callable[[], Lowered]
    cycles: float = 0.0
    unit: str = "cycles"
    slower: tuple[Callable[[], Lowered], ...] = ()

    @property
    def ways(self) -> tuple[Callable[[], Lowered], ...]:
        """All that the schedule can do, the best first."""
        return (self.lower, *self.slower)


@dataclass(frozen=True)
class Schedule(Generic[P]):
    """A way to lower problems of one kind. Its `name` is the first word of what is said of a kernel
    in this schedule."""

    name: str
    estimate: Callable[P, Estimate | Refusal]


def always(lower: Callable[P, Lowered]) -> Callable[P, Estimate]:
    """The estimate of the only schedule for its kind of problem."""

    def estimate(*args: P.args, **kwargs: P.kwargs) -> Estimate:
        return Estimate(partial(lower, *args, **kwargs))

    return estimate


@dataclass(frozen=True)
class Decision:
    """For a schedule."""

    estimate: Estimate
    choice: Choice

    @property
    def name(self) -> str:
        """Of the schedule."""
        return self.choice.schedule

    def lowered(self) -> Lowered:
        """The problem in it."""
        return _named(self.name, self.estimate.lower(), self.choice)


def choose(schedules: Sequence[Schedule[P]], *args: P.args, **kwargs: P.kwargs) -> Lowered:
    """The problem in the schedule that suits it."""
    return decide(schedules, *args, **kwargs).lowered()


def decide(schedules: Sequence[Schedule[P]], *args: P.args, **kwargs: P.kwargs) -> Decision:
    """For the schedule of the fewest cycles, the first in the list of equals."""
    answers = {s.name: s.estimate(*args, **kwargs) for s in schedules}
    estimates = {name: a for name, a in answers.items() if isinstance(a, Estimate)}
    name = min(estimates, key=lambda name: estimates[name].cycles)
    others = {
        other: _why_not(a, name, estimates[name]) for other, a in answers.items() if other != name
    }
    ways = {way: len(a.ways) for way, a in answers.items() if a.ways}
    return Decision(estimates[name], Choice(name, others, ways))


def force(
    way: tuple[str, int], schedules: Sequence[Schedule[P]], *args: P.args, **kwargs: P.kwargs
) -> Lowered:
    """The problem in a way of the schedule of this name, if it is one of these and has that way,
    else as `choose` has it."""
    name, number = way
    for s in schedules:
        if s.name == name and number < len(ways := s.estimate(*args, **kwargs).ways):
            return _named(name, ways[number](), Choice(name, {}))
    return choose(schedules, *args, **kwargs)


def _named(name: str, lowered: Lowered, choice: Choice) -> Lowered:
    return replace(lowered, schedule=name + lowered.schedule, choices=(choice, *lowered.choices))


def _why_not(answer: Estimate | Refusal, name: str, best: Estimate) -> str:
    """Why the schedule that gave an answer was not chosen, but the one of this name."""
    if isinstance(answer, Refusal):
        return answer.why
    if best.cycles == 0:
        return f"possible, but {name} suits better"
    return f"about {answer.cycles:.3g} {answer.unit}, {name} {best.cycles:.3g}"
