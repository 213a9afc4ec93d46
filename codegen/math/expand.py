"""Transcendental ops and float remainders as basic ops: + - * / FMA LDEXP, bits, compare and WHERE.
In, out: loop-level Nodes.

The transcendental ones are within 2 ULP in float32 and 4 ULP in float64. All are valid at any lane
width: no tables in memory, no calls. Rare cases stand in a WHERE with arg "rare", whose second
operand is evaluated only when needed. Casts of 16-bit floats become integer arithmetic where the
target has no instruction for them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...ir.graph.graph import Node
from ...ir.graph.op import Op
from ...ir.graph.site import provenance
from ...ir.loops.loop import For, Loops
from ...ir.loops.walk import Substitution
from ...ir.ops.table import TRANSCENDENTAL
from .arc import acos, asin, atan, atan2, hypot
from .build import Val
from .erf import erf, erfinv
from .exp import exp, expm1, tanh
from .gamma import lgamma, polygamma
from .half import expand_cast
from .hyper import acosh, asinh, atanh, cosh, sinh
from .log import log, log1p
from .mod import QUOTIENT, remainder
from .pow import general_pow, pow
from .trig import sin, tan

# (operand, arg)
_WITH_ARG: dict[Op, Callable[..., Val]] = {
    Op.EXP: exp,
    Op.LOG: log,
    Op.SIN: sin,
    Op.POLYGAMMA: polygamma,
}
_PLAIN: dict[Op, Callable[..., Val]] = {
    Op.EXPM1: expm1,
    Op.LOG1P: log1p,
    Op.TAN: tan,
    Op.ASIN: asin,
    Op.ACOS: acos,
    Op.ATAN: atan,
    Op.SINH: sinh,
    Op.COSH: cosh,
    Op.TANH: tanh,
    Op.ASINH: asinh,
    Op.ACOSH: acosh,
    Op.ATANH: atanh,
    Op.ERF: erf,
    Op.ERFINV: erfinv,
    Op.LGAMMA: lgamma,
    Op.POW: pow,
    Op.ATAN2: atan2,
    Op.HYPOT: hypot,
}


def expand(
    n: Node, has_float16: bool = False, has_bfloat16: bool = False, strict: bool = False
) -> Node:
    """One Node: itself unless its op is transcendental, a remainder of floats or a cast of 16-bit
    floats.

    Its sources are left alone. `strict`: the steps do not depend on whether an exponent is a
    constant.
    """
    if n.op is Op.CAST:
        return n if has_float16 and has_bfloat16 else expand_cast(n, has_float16)
    if n.op is Op.MOD and n.dtype in QUOTIENT:
        with provenance(n.site):
            return remainder(n).node
    if n.op not in TRANSCENDENTAL:
        return n
    operands = map(Val, n.src)
    with provenance(n.site):
        if strict and n.op is Op.POW:
            return general_pow(*operands).node
        return (
            _WITH_ARG[n.op](*operands, n.arg) if n.op in _WITH_ARG else _PLAIN[n.op](*operands)
        ).node


class _Expansion(Substitution):
    """Expands every Node of expressions and statements, also those inside gathered indices; each
    distinct Node once."""

    def __init__(
        self, has_float16: bool = False, has_bfloat16: bool = False, strict: bool = False
    ) -> None:
        super().__init__({})
        self.how = has_float16, has_bfloat16, strict

    def _replaced(self, n: Node) -> Node:
        return expand(super()._replaced(n), *self.how)


def expand_loops(
    kernel: Loops, has_float16: bool = False, has_bfloat16: bool = False, strict: bool = False
) -> Loops:
    """The same kernel without transcendental Nodes; has_float16, has_bfloat16: the target converts
    these itself."""
    phases = _Expansion(has_float16, has_bfloat16, strict).body([*kernel.phases])
    return replace(kernel, phases=[phase for phase in phases if isinstance(phase, For)])
