"""A Lowered kernel: its loops, and what was chosen and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...ir.loops.loop import Loops


@dataclass(frozen=True)
class Choice:
    """The name of the schedule of a part of a kernel, and why it is none of the `others`, by their
    names; in how many `ways` each schedule that is able could have done it."""

    schedule: str
    others: Mapping[str, str]
    ways: Mapping[str, int] = field(default_factory=dict)


@dataclass
class Lowered:
    """Loops, the values of their params, how many operations each phase does, and what was chosen
    and why.

    `choices` are those of all parts: a kernel has several where it has residue classes of its axes,
    or phases after its rows. `terms`: how many its one sum has for all results together, without
    those that such classes leave out since they are 0.
    """

    loops: Loops
    params: tuple[int, ...]
    work: list[int]
    schedule: str
    choices: tuple[Choice, ...] = ()
    terms: int | None = None
