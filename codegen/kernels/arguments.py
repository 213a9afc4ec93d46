"""Symbolic extents of loops as arguments. In: the loops of a kernel over sizes that are not known.
Out: the same with a Param for each.

    for k < ⟨n⟩ serial    ->    for k < n (at most 1099511627776) serial

So the code is the same for all sizes, and for all programs in which an extent is an argument.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...ir.graph.index import Index, Var, var
from ...ir.graph.symbolic import Symbolic
from ...ir.loops.loop import Extent, For, If, Param, Stmt
from ...ir.loops.walk import Substitution
from .lowered import Lowered

MOST = 1 << 40  # iterations of a loop: more than there are of any size


def with_arguments(lowered: Lowered) -> Lowered:
    """Loops whose extents are numbers or arguments. What else is symbolic stays so, and is refused
    where a kernel gets its name (ir/loops/text.py: key)."""
    loops = lowered.loops
    if not any(isinstance(b.size, Symbolic) for b in loops.buffers):
        return lowered
    made = _Arguments(param.name for param in loops.params)
    phases = [made.loop(phase) for phase in loops.phases]
    if not made.params:
        return lowered
    by = Substitution(made.variables)
    phases = [replace(phase, body=by.body(phase.body)) for phase in phases]
    params = (*loops.params, *made.params.values())
    return replace(
        lowered,
        loops=replace(loops, phases=phases, params=params),
        params=(*lowered.params, *made.params),
    )


class _Arguments:
    """`params` by what they stand for; `variables` that are replaced, as their extents may be any
    number."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.params: dict[Symbolic, Param] = {}
        self.variables: dict[Var, Index] = {}
        self._taken = set(taken)

    def extent(self, e: Extent) -> Extent:
        if not isinstance(e, Symbolic):
            return e
        if e not in self.params:
            name = next(n for i in range(99) if (n := f"n{i or ''}") not in self._taken)
            self._taken.add(name)
            self.params[e] = Param(name)
        return self.params[e]

    def variable(self, v: Var) -> Var:
        if not isinstance(v.extent, Symbolic):
            return v
        if v not in self.variables:
            self.variables[v] = var(Var(v.name, MOST))
        new = self.variables[v].as_var
        assert new is not None
        return new

    def loop(self, s: For) -> For:
        total = None if s.total is None else self.extent(s.total)
        body = [self.statement(t) for t in s.body]
        return replace(
            s, var=self.variable(s.var), extent=self.extent(s.extent), total=total, body=body
        )

    def statement(self, s: Stmt) -> Stmt:
        match s:
            case For():
                return self.loop(s)
            case If():
                return replace(s, body=[self.statement(t) for t in s.body])
        return s
