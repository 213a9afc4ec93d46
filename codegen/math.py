"""Transcendental ops as basic ops. In: loop-level Nodes. Out: equivalent Nodes of + - * / FMA LDEXP, bits, compare and WHERE.

exp log sin tanh erf pow in float32 (at most 2 ULP) and float64 (at most 4 ULP), valid at any lane width: no tables in
memory, no calls. Rare cases stand in a WHERE with arg "rare", whose second operand is evaluated only when needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from ..ir.graph import Node, Op, provenance
from ..ir.loop import For, Loops
from ..ir.loop_walk import Substitution
from .math_build import Val
from .math_erf import erf
from .math_exp import exp, tanh
from .math_log import log
from .math_pow import pow
from .math_trig import sin

_EXPANSIONS: dict[Op, Callable[[Node], Val]] = {
    Op.EXP: lambda n: exp(Val(n.src[0])),
    Op.LOG: lambda n: log(Val(n.src[0])),
    Op.SIN: lambda n: sin(Val(n.src[0]), n.arg or 0),
    Op.TANH: lambda n: tanh(Val(n.src[0])),
    Op.ERF: lambda n: erf(Val(n.src[0])),
    Op.POW: lambda n: pow(Val(n.src[0]), Val(n.src[1])),
}
TRANSCENDENTAL = frozenset(_EXPANSIONS)


def expand(n: Node) -> Node:
    """One Node: itself unless its op is transcendental. Its sources are left alone."""
    expansion = _EXPANSIONS.get(n.op)
    if expansion is None:
        return n
    with provenance(n.site):
        return expansion(n).node


class _Expansion(Substitution):
    """Expands every Node of expressions and statements, also those inside gathered indices; each distinct Node once."""

    def __init__(self) -> None:
        super().__init__({})

    def _replaced(self, n: Node) -> Node:
        return expand(super()._replaced(n))


def expand_all(roots: Iterable[Node]) -> list[Node]:
    """Every transcendental Node below the roots replaced; the roots in order."""
    expansion = _Expansion()
    return [expansion.node(r) for r in roots]


def expand_loops(kernel: Loops) -> Loops:
    """The same kernel without transcendental Nodes."""
    phases = _Expansion().body([*kernel.phases])
    return replace(kernel, phases=[phase for phase in phases if isinstance(phase, For)])
