"""Expressions: one template per op. In: a loop-level Node, the text of its operands. Out: a C++
expression of its dtype.

Semantics are those of the loop language: IEEE floats, wrapping integers, nothing that traps;
weft.cuh holds what C++ lacks.
"""

from __future__ import annotations

from collections.abc import Callable

from ....ir.graph.graph import Node
from ....ir.graph.op import Op
from .values import OPERATIONS, TYPES


class EmitError(ValueError):
    """Loops that this emitter cannot translate: `verify` and math.expand come first."""


def expression(n: Node, operands: list[str]) -> str:
    if n.op not in OPS:
        raise EmitError(f"{n.op.value} has no CUDA function: expand it first")
    return OPS[n.op](n, *operands)


def _operator(symbol: str, integer: str = "", boolean: str = "") -> Callable[..., str]:
    """An infix operator; of integers and bools, a function or operator of their own where one is
    given."""

    def text(n: Node, a: str, b: str) -> str:
        kind = n.src[0].dtype.kind
        if kind in "iu" and integer:
            return f"{integer}({a}, {b})"
        return f"{a} {boolean if kind == 'b' and boolean else symbol} {b}"

    return text


def _function(name: str) -> Callable[..., str]:
    return lambda n, *operands: f"{name}({', '.join(operands)})"


def _typed(name: str) -> Callable[..., str]:
    return lambda n, a: f"{name}<{TYPES[n.dtype]}>({a})"


OPS: dict[Op, Callable[..., str]] = {
    Op.NEG: lambda n, a: f"-{a}" if n.dtype.is_float else f"weft_neg({a})",
    Op.SQRT: _function("weft_sqrt"),
    Op.FLOOR: _function("weft_floor"),
    Op.CAST: _typed("weft_cast"),
    Op.BITCAST: _typed("weft_bitcast"),
    Op.ADD: _operator("+", "weft_add"),
    Op.SUB: _operator("-", "weft_sub"),
    Op.MUL: _operator("*", "weft_mul"),
    Op.DIV: _operator("/"),
    Op.MAX: lambda n, a, b: f"{a} || {b}" if n.dtype.kind == "b" else f"weft_max({a}, {b})",
    Op.IDIV: _function("weft_floordiv"),
    Op.MOD: _function("weft_mod"),
    Op.LT: _operator("<"),
    Op.EQ: _operator("=="),
    Op.AND: _operator("&", boolean="&&"),
    Op.OR: _operator("|", boolean="||"),
    Op.XOR: _operator("^", boolean="!="),
    Op.SHL: _function("weft_shl"),
    Op.SHR: _function("weft_shr"),
    Op.WHERE: lambda n, cond, yes, no: f"{cond} ? {yes} : {no}",
    Op.FMA: _function("weft_fma"),
    Op.LDEXP: _function("weft_ldexp"),
    Op.ANY: lambda n, cond: cond,  # a thread is a lane of its own
}


def combined(op: str, is_float: bool, old: str, value: str) -> str:
    """One step of a reduction."""
    if is_float and op != "max":
        return f"{old} {'+' if op == 'add' else '*'} {value}"
    return f"weft_combine<{OPERATIONS[op]}>({old}, {value})"
