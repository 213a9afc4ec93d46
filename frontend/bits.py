"""Bitwise functions and shifts. In: Nodes and Python numbers. Out: a Node of the operands' common dtype."""

from __future__ import annotations

from collections.abc import Callable

from .. import errors
from ..ir import dtype as dt
from ..ir.graph import Node, node
from ..ir.op import Op
from .broadcast import Operand, full_like, pair


def _of_kinds(name: str, op: Op, kinds: str, doc: str) -> Callable[[Operand, Operand], Node]:
    """The function of two operands whose common dtype is of one of these kinds."""
    takes = "bool and integers" if "b" in kinds else "integers"

    def function(a: Operand, b: Operand) -> Node:
        x, y = pair(name, a, b)
        if x.dtype.kind not in kinds:
            raise errors.DTypeError(f"{name}: defined for {takes}, not for {x.dtype.name}")
        return node(op, (x, y))

    function.__name__, function.__doc__ = name, f"{name.replace('_', ' ')} of {doc}"
    return function


def _bitwise(name: str, op: Op) -> Callable[[Operand, Operand], Node]:
    return _of_kinds(name, op, "biu", "bools or integers; raises DTypeError for floats.")


def _shift(name: str, op: Op) -> Callable[[Operand, Operand], Node]:
    return _of_kinds(name, op, "iu", "integers; by the width or more: 0 or the sign. Raises DTypeError.")


bit_and, bit_or, bit_xor = _bitwise("bitwise_and", Op.AND), _bitwise("bitwise_or", Op.OR), _bitwise("bitwise_xor", Op.XOR)
shift_left, shift_right = _shift("bitwise_left_shift", Op.SHL), _shift("bitwise_right_shift", Op.SHR)


def invert(x: Node) -> Node:
    """~x: not, of bools; every bit flipped, of integers. Raises DTypeError for floats."""
    if x.dtype.is_float:
        raise errors.DTypeError(f"invert: defined for bool and integers, not for {x.dtype.name}")
    return node(Op.XOR, (x, full_like(x, True if x.dtype.kind == "b" else (1 << x.dtype.bits) - 1)))


# ---------------------------------------------------------------- floats as integers


def as_bits(x: Node) -> Node:
    """The bits of a float, as a signed integer of its width: negative where the sign bit is set."""
    return node(Op.BITCAST, (x,), dt.BY_NAME[f"int{x.dtype.bits}"])


def signbit(x: Node) -> Node:
    """Is the sign bit set: x < 0, or -0.0, or a NaN with the sign of a negative number."""
    if x.dtype.is_float:
        x = as_bits(x)
    return node(Op.LT, (x, full_like(x, False if x.dtype.kind == "b" else 0)))
