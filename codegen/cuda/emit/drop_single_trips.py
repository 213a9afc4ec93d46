"""Loops without loops of one turn: what a schedule leaves where an extent happens to be 1. In: a phase. Out: a phase."""

from __future__ import annotations

from dataclasses import replace

from ....ir.graph.index import Index
from ....ir.loops.loop import LANES, SERIAL, THREAD, UNROLL, For, If, Stmt
from ....ir.loops.walk import Substitution
from .layout import accesses


def simplified(phase: For) -> For:
    """Without loops of one turn, the grid's included."""
    once = Substitution({phase.var: Index()}) if phase.extent == 1 else Substitution({})
    return replace(phase, base=once.index(phase.base), body=_without_single_turns(once.body(phase.body)))


def _without_single_turns(body: list[Stmt]) -> list[Stmt]:
    out: list[Stmt] = []
    for s in body:
        match s:
            case For(extent=1, kind=kind, total=None) if kind in (SERIAL, UNROLL) or (kind == LANES and not _has_registers(s)):
                out += _without_single_turns(Substitution({s.var: Index()}).body(s.body))
            case For() | If():
                out.append(replace(s, body=_without_single_turns(s.body)))
            case _:
                out.append(s)
    return out


def _has_registers(s: For) -> bool:
    return any(buf.space == THREAD for buf, _, _ in accesses(s.body))
