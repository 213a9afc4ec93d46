"""Operands that fit together. In: Nodes and Python numbers. Out: Nodes of one dtype and one shape.

Promotion is NumPy's (NEP 50: Python numbers are weak) with one deviation: an integer with a float
gives the float's dtype, and float results of integers have the default dtype. float16 and bfloat16
meet in float32. Broadcasting is explicit: axes of extent 1 are dropped, then EXPANDed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from ... import errors, options
from ...ir.graph import dtype as dt
from ...ir.graph.brief import brief
from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node, cast, const, full, node, reshape, shaped
from ...ir.graph.op import Op
from ...ir.graph.shapes import Shape, addressable
from ...ir.ops.nodes import imag, real
from ..lazy import weak_numbers
from ..lazy.live_number import LiveNumber
from .arguments import as_shape

RealScalar = bool | int | float
Scalar = RealScalar | complex
Operand = Node | Scalar
WEAK = frozenset({bool, int, float, complex, LiveNumber})
_NO_FLOAT64 = (1 << 1024) - (1 << 970)  # the least integer that rounds to no finite float64
default_int = dt.int64


def default_float() -> DType:
    """The dtype of Python floats, of float results of integers, and of Tensors made without a
    dtype: float32, or as set."""
    return dt.BY_NAME[options.current().default_dtype]


def default_complex() -> DType:
    """The dtype of Python's complex numbers: its parts have the default dtype."""
    return default_float().as_complex


def _of_weak(kind: type) -> DType:
    if kind is complex:
        return default_complex()
    return {bool: dt.bool_, int: default_int, float: default_float()}[kind]


def as_dtype(spec: Any) -> DType:
    """A DType from a DType, its name, a NumPy dtype or bool, int (int64), float and complex (the
    defaults). Raises DTypeError."""
    if isinstance(spec, DType):
        return spec
    if isinstance(spec, type) and spec in WEAK:
        return _of_weak(spec)
    try:
        dtype = dt.BY_NAME.get(spec) if isinstance(spec, str) else dt.from_numpy(spec)
    except Exception:  # whatever an object that is no dtype raises where NumPy looks into it
        dtype = None
    if dtype is None:
        names = ", ".join(dt.BY_NAME)
        raise errors.DTypeError(f"there is no dtype {brief(spec)}; there are {names}")
    return dtype


@cache
def promote(a: DType, b: DType) -> DType:
    """The dtype in which values of two dtypes meet."""
    if a is b or b.kind == "b":
        return a
    if a.kind == "b":
        return b
    if a.is_complex or b.is_complex:
        return promote(a.part, b.part).as_complex
    if a.is_float != b.is_float:
        return a if a.is_float else b
    if a.is_float:
        return dt.float32 if a.bits == b.bits else a if a.bits > b.bits else b
    common = dt.from_numpy(np.promote_types(a.numpy, b.numpy))
    assert common is not None
    return common


def _meet_weak(dtype: DType, value: Scalar) -> DType:
    """The dtype in which a strong dtype meets a Python number."""
    if isinstance(value, complex):
        return dtype.as_complex if dtype.is_inexact else default_complex()
    if isinstance(value, float) and not dtype.is_inexact:
        return default_float()
    if dtype.kind == "b" and not isinstance(value, bool):
        return default_int
    return dtype


def common_dtype(name: str, operands: Sequence[Operand]) -> DType:
    """The dtype in which all operands meet; Python numbers come in last, as weak ones."""
    common: DType | None = None
    weak: list[Scalar] = []
    traced = weak_numbers.marks
    for x in operands:
        if not isinstance(x, Node):
            weak.append(x)
        elif traced and x in traced:
            weak.append(weak_numbers.sample(x))
        else:
            common = x.dtype if common is None else promote(common, x.dtype)
    for x in weak:
        if type(x) not in WEAK:
            raise errors.DTypeError(
                f"{name}: expected a Tensor, an array or a number, not {type(x).__name__}"
                f" {brief(x)}"
            )
    if common is None:
        kinds = {x.__class__ for x in weak}  # a LiveNumber has that of a number
        if any(isinstance(x, Node) for x in operands):
            if complex in kinds:
                return dt.complex128
            return weak_numbers.WIDEST[float if float in kinds else int if int in kinds else bool]
        if complex in kinds:
            return default_complex()
        return default_float() if float in kinds else default_int if int in kinds else dt.bool_
    for value in weak:
        common = _meet_weak(common, value)
    return common


def holds(dtype: DType, value: Scalar) -> bool:
    """Is a Python number within the range of an integer dtype, or a Python integer within that of
    float64?"""
    if dtype.is_int and not isinstance(value, complex):
        least, greatest = dt.limits(dtype)
        return least <= value <= greatest
    return not isinstance(value, int) or abs(value) < _NO_FLOAT64


def number(name: str, value: Scalar, dtype: DType) -> Node:
    """A constant of this dtype. Raises OverflowError where it cannot hold a Python integer, as
    NumPy does, DTypeError for a complex number in a real one."""
    if isinstance(value, complex) and not dtype.is_complex:
        raise errors.DTypeError(f"{name}: {brief(value)} is complex, {dtype.name} is not")
    if not holds(dtype, value):
        raise errors.OverflowError(f"{name}: {brief(value)} is out of bounds for {dtype.name}")
    return const(value, dtype)


def as_node(name: str, x: Operand, dtype: DType) -> Node:
    """The operand in this dtype."""
    if dtype.is_complex and not isinstance(x, complex) and _is_live(x):
        return to_dtype(as_node(name, x, dtype.part), dtype)
    if not isinstance(x, Node):
        return x.as_input(dtype) if type(x) is LiveNumber else number(name, x, dtype)  # type: ignore[comparison-overlap]
    if x.dtype is dtype:
        return x
    if weak_numbers.marks and x in weak_numbers.marks:
        return weak_numbers.with_dtype(x, dtype)
    return to_dtype(x, dtype)


def _is_live(x: Operand) -> bool:
    """Does it stand for a Python number that may be another one in the next call?"""
    if isinstance(x, Node):
        return bool(weak_numbers.marks) and x in weak_numbers.marks
    return type(x) is LiveNumber  # type: ignore[comparison-overlap]


def to_dtype(x: Node, dtype: DType) -> Node:
    """The value in another dtype; to bool: is it not 0. Raises DTypeError for a complex value in a
    real dtype."""
    if x.dtype.is_complex:
        return _of_complex(x, dtype)
    if dtype.is_complex:
        re = cast(x, dtype.part)
        return node(Op.COMPLEX, (re, full_like(re, 0.0)))
    if dtype is dt.bool_ and x.dtype is not dt.bool_:
        is_zero = node(Op.EQ, (x, full_like(x, 0)))
        return node(Op.XOR, (is_zero, full_like(is_zero, True)))
    return cast(x, dtype)


def _of_complex(x: Node, dtype: DType) -> Node:
    parts = [real(x), imag(x)]
    if dtype.is_complex:
        return node(Op.COMPLEX, [cast(p, dtype.part) for p in parts]) if x.dtype is not dtype else x
    if dtype is dt.bool_:
        return node(Op.OR, [to_dtype(p, dtype) for p in parts])
    raise errors.DTypeError(
        f"{x.dtype.name} cannot be cast to {dtype.name}, which is real: take x.real, x.imag or"
        " abs(x)"
    )


def full_like(x: Node, value: Scalar) -> Node:
    """A number in x's dtype and shape."""
    if x.dtype.is_complex:
        return broadcast_to(as_node("full", value, x.dtype), x.shape)
    if type(value) is LiveNumber:  # type: ignore[comparison-overlap]
        return broadcast_to(value.as_input(x.dtype), x.shape)
    if value == 0 and str(value)[0] == "-":  # the cache cannot tell -0.0 from 0.0
        return full(value, x.dtype, x.shape)
    return _full(value, x.dtype, x.shape)


_full = lru_cache(4096)(full)  # constants recur at every step


@lru_cache(4096)
def _meeting_shape(name: str, a: Shape, b: Shape) -> Shape:
    """broadcast_shape of two; they recur at every step of a loop."""
    return broadcast_shape(name, [a, b])


def broadcast_shape(name: str, shapes: Sequence[Shape]) -> Shape:
    """The shape to which all broadcast. Raises ShapeError."""
    first = shapes[0]
    if shapes.count(first) == len(shapes):
        return first
    ndim = max(len(s) for s in shapes)
    out = [1] * ndim
    for s in shapes:
        for i, extent in enumerate(s, ndim - len(s)):
            if extent != 1:
                if out[i] not in (1, extent):
                    listed = " and ".join(str(tuple(s)) for s in shapes)
                    why = f"axis {i - ndim} is {out[i]} and {extent}"
                    raise errors.ShapeError(
                        f"{name}: shapes {listed} could not be broadcast together: {why}"
                    )
                out[i] = extent
    return addressable(name, tuple(out))


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape to which arrays of these shapes broadcast. Raises ShapeError."""
    given = [as_shape("broadcast_shapes", (s,)) for s in shapes]
    return broadcast_shape("broadcast_shapes", given) if given else ()


def spread(x: Node, places: Sequence[int], shape: Shape) -> Node:
    """x with its axis i at axis places[i] of `shape` (ascending), repeated along all other axes and
    its axes of extent 1."""
    kept, new = _spreading(x.shape, tuple(places), shape)
    x = reshape(x, kept)
    return shaped(Op.EXPAND, (x,), new, x.dtype, shape) if new else x


@lru_cache(4096)
def _spreading(
    extents: Shape, places: tuple[int, ...], shape: Shape
) -> tuple[Shape, tuple[tuple[int, int], ...]]:
    """(the extents without those of 1 that are repeated, the new axes)."""
    kept = [i for i, p in enumerate(places) if extents[i] == shape[p]]
    taken = {places[i] for i in kept}
    addressable("expand", shape)
    return tuple(extents[i] for i in kept), tuple(
        (axis, extent) for axis, extent in enumerate(shape) if axis not in taken
    )


def broadcast_to(x: Node, shape: Shape) -> Node:
    """x repeated along new leading axes and along its axes of extent 1; the shapes must fit."""
    extents = x.shape
    if extents == shape:
        return x
    kept, new = _trailing(extents, shape)
    return shaped(Op.EXPAND, (x if kept == extents else reshape(x, kept),), new, x.dtype, shape)


@lru_cache(4096)
def _trailing(extents: Shape, shape: Shape) -> tuple[Shape, tuple[tuple[int, int], ...]]:
    """As _spreading, for the last axes of the shape."""
    return _spreading(extents, tuple(range(len(shape) - len(extents), len(shape))), shape)


def together(name: str, operands: Sequence[Operand], dtype: DType | None = None) -> list[Node]:
    """The operands as Nodes of one dtype and one shape."""
    if dtype is None:
        dtype = common_dtype(name, operands)
    nodes = [as_node(name, x, dtype) for x in operands]
    shape = broadcast_shape(name, [n.shape for n in nodes])
    return [n if n.shape == shape else broadcast_to(n, shape) for n in nodes]


_EXACT = 1 << 53


def pair(name: str, a: Operand, b: Operand) -> list[Node]:
    """Two operands of one dtype and one shape; the usual cases first, because every binary operator
    comes by here."""
    if isinstance(a, Node):
        if isinstance(b, Node):
            if a.dtype is b.dtype and a.shape == b.shape:
                return [a, b]
            if a.dtype is b.dtype and not weak_numbers.marks:
                shape = _meeting_shape(name, a.shape, b.shape)
                return [broadcast_to(a, shape), broadcast_to(b, shape)]
        elif a.dtype.is_float and (type(b) is float or (type(b) is int and -_EXACT <= b <= _EXACT)):
            return [a, full_like(a, b)]
    return together(name, (a, b))
