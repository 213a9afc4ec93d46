"""Bitwise functions and shifts. In: Nodes and Python numbers. Out: a Node of the operands' common dtype."""

from __future__ import annotations

from collections.abc import Callable

from .. import errors
from ..ir import dtype as dt
from ..ir.graph import Node, Op, node
from .broadcast import Operand, full_like, pair


def _bitwise(name: str, op: Op) -> Callable[[Operand, Operand], Node]:
    def function(a: Operand, b: Operand) -> Node:
        x, y = pair(name, a, b)
        if x.dtype.is_float:
            raise errors.DTypeError(f"{name}: defined for bool and integers, not for {x.dtype.name}")
        return node(op, (x, y))

    function.__name__ = name
    function.__doc__ = f"{name.replace('_', ' ')} of bools or integers; raises DTypeError for floats."
    return function


bit_and = _bitwise("bitwise_and", Op.AND)
bit_or = _bitwise("bitwise_or", Op.OR)
bit_xor = _bitwise("bitwise_xor", Op.XOR)


def _shift(name: str, op: Op) -> Callable[[Operand, Operand], Node]:
    def function(a: Operand, b: Operand) -> Node:
        x, y = pair(name, a, b)
        if not x.dtype.is_int:
            raise errors.DTypeError(f"{name}: defined for integers, not for {x.dtype.name}")
        return node(op, (x, y))

    function.__name__ = name
    function.__doc__ = f"{name.replace('_', ' ')} of integers; by the width or more: 0 or the sign. Raises DTypeError."
    return function


shift_left = _shift("left_shift", Op.SHL)
shift_right = _shift("right_shift", Op.SHR)


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
