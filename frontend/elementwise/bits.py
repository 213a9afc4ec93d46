"""Bitwise functions, shifts, and values as their bits. In: Nodes and Python numbers. Out: a
Node."""

from __future__ import annotations

import math
from collections.abc import Callable

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node, expand, node, reduce, reshape
from ...ir.graph.op import Op
from ...ir.graph.shapes import Shape
from ..operands.broadcast import Operand, full_like, pair, spread, to_dtype
from . import complex_functions as cx


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
    return _of_kinds(
        name, op, "iu", "integers; by the width or more: 0 or the sign. Raises DTypeError."
    )


bit_and, bit_or, bit_xor = (
    _bitwise("bitwise_and", Op.AND),
    _bitwise("bitwise_or", Op.OR),
    _bitwise("bitwise_xor", Op.XOR),
)
shift_left, shift_right = (
    _shift("bitwise_left_shift", Op.SHL),
    _shift("bitwise_right_shift", Op.SHR),
)


def invert(x: Node) -> Node:
    """~x: not, of bools; every bit flipped, of integers. Raises DTypeError for floats."""
    if x.dtype.is_inexact:
        raise errors.DTypeError(f"invert: defined for bool and integers, not for {x.dtype.name}")
    return node(Op.XOR, (x, full_like(x, True if x.dtype.kind == "b" else (1 << x.dtype.bits) - 1)))


# ---------------------------------------------------------------- floats as integers


def as_bits(x: Node) -> Node:
    """The bits of a float, as a signed integer of its width: negative where the sign bit is set."""
    return node(Op.BITCAST, (x,), dt.BY_NAME[f"int{x.dtype.bits}"])


def signbit(x: Node) -> Node:
    """True where the sign bit is set: x < 0, or -0.0, or a NaN with the sign of a negative
    number."""
    if x.dtype.is_complex:
        raise errors.DTypeError(f"signbit: not defined for {x.dtype.name}")
    if x.dtype.is_float:
        x = as_bits(x)
    return node(Op.LT, (x, full_like(x, False if x.dtype.kind == "b" else 0)))


# ---------------------------------------------------------------- bytes as elements of another
# dtype


def reinterpreted(x: Node, dtype: DType) -> Node:
    """The bytes of x as elements of another dtype; where their widths differ, elements of the last
    axis are cut up or joined.

    The least significant part comes first. A byte other than 0 is True. The parts of complex
    numbers lie in turn. Raises ShapeError where elements do not come out even.
    """
    if dtype is x.dtype:
        return x
    parts = x.dtype.itemsize / dtype.itemsize
    if parts != 1 and (not x.ndim or (x.shape[-1] * parts) % 1):
        raise errors.ShapeError(
            f"view: the last axis of shape {x.shape}, {x.dtype.name}, is not a whole number of"
            f" {dtype.name}"
        )
    if x.dtype.is_complex or dtype.is_complex:
        shape = x.shape if parts == 1 else (*x.shape[:-1], int(x.shape[-1] * parts))
        return _by_parts(x, dtype, shape)
    raw = (
        to_dtype(x, dt.uint8) if x.dtype.kind == "b" else node(Op.BITCAST, (x,), _unsigned(x.dtype))
    )
    if parts > 1:
        raw = _cut_up(raw, _unsigned(dtype), int(parts))
    elif parts < 1:
        raw = _joined(raw, _unsigned(dtype), int(1 / parts))
    return to_dtype(raw, dtype) if dtype.kind == "b" else node(Op.BITCAST, (raw,), dtype)


def _by_parts(x: Node, dtype: DType, shape: Shape) -> Node:
    """The same from or to complex numbers, whose real and imaginary parts lie in turn."""
    floats = _parts_in_turn(x) if x.dtype.is_complex else x if x.ndim else reshape(x, (1,))
    if not dtype.is_complex:
        return reshape(reinterpreted(floats, dtype), shape)
    pairs = reshape(reinterpreted(floats, dtype.part), (*shape, 2))
    lead = tuple((0, d, 1) for d in shape)
    re, im = (reshape(node(Op.SLICE, (pairs,), (*lead, (i, i + 1, 1))), shape) for i in (0, 1))
    return cx.of(re, im)


def _parts_in_turn(z: Node) -> Node:
    re, im = (expand(part, ((z.ndim, 2),)) for part in cx.parts(z))
    place = node(Op.IOTA, (), 2)
    is_real = spread(node(Op.EQ, (place, full_like(place, 0))), [z.ndim], re.shape)
    return reshape(node(Op.WHERE, (is_real, re, im)), (*z.shape[:-1], 2 * math.prod(z.shape[-1:])))


def _unsigned(dtype: DType) -> DType:
    """The unsigned integers of its width."""
    return dt.BY_NAME[f"uint{8 * dtype.itemsize}"]


def _cut_up(x: Node, to: DType, parts: int) -> Node:
    *rest, last = x.shape
    whole = expand(x, ((x.ndim, parts),))
    return reshape(to_dtype(shift_right(whole, _places(whole, to)), to), (*rest, last * parts))


def _joined(x: Node, to: DType, parts: int) -> Node:
    *rest, last = x.shape
    pieces = to_dtype(reshape(x, (*rest, last // parts, parts)), to)
    return reduce("add", shift_left(pieces, _places(pieces, x.dtype)), (x.ndim,))


def _places(x: Node, part: DType) -> Node:
    """The bits before each part, along the last axis."""
    counts = to_dtype(node(Op.IOTA, (), x.shape[-1]), x.dtype)
    return spread(
        node(Op.MUL, (counts, full_like(counts, part.itemsize * 8))), [x.ndim - 1], x.shape
    )
