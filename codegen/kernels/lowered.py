"""A Lowered kernel: its loops, and what was chosen and why."""

from __future__ import annotations

from dataclasses import dataclass

from ...ir.loops.loop import Loops


@dataclass
class Lowered:
    """Loops, the values of their params, how many operations each phase does, and what was chosen and why."""

    loops: Loops
    params: tuple[int, ...]
    work: list[int]
    schedule: str
