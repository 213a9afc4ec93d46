"""Arithmetic. In: Nodes and Python numbers. Out: a Node of the operands' common dtype.

Every function follows NumPy on NaN, infinities and signed zeros; derivatives come out of the
composites, so a form is chosen whose derivative is finite wherever the function is smooth.
"""

from __future__ import annotations

from collections.abc import Callable

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph.graph import Node, node, shaped
from ...ir.graph.op import Op
from ..operands.autocast import runs_in_float32
from ..operands.broadcast import (
    Operand,
    as_node,
    broadcast_shape,
    broadcast_to,
    common_dtype,
    default_float,
    pair,
    to_dtype,
    together,
)
from ..operands.in_float32 import in_float32
from . import complex_functions as cx


def no_bool(name: str, x: Node) -> None:
    """Raises DTypeError for a bool."""
    if x.dtype.kind == "b":
        raise errors.DTypeError(
            f"{name}: not defined for bool; convert with .int() or use logical_not, & or |"
        )


def no_complex(name: str, x: Node) -> None:
    """Raises DTypeError for a complex value."""
    if x.dtype.is_complex:
        raise errors.DTypeError(
            f"{name}: not defined for {x.dtype.name}: complex numbers have no order"
        )


def add(a: Operand, b: Operand) -> Node:
    """a + b; of bools: or."""
    x, y = pair("add", a, b)
    return shaped(Op.OR if x.dtype is dt.bool_ else Op.ADD, (x, y), None, x.dtype, x.shape)


def sub(a: Operand, b: Operand) -> Node:
    """a - b. Raises DTypeError for bools."""
    x, y = pair("subtract", a, b)
    no_bool("subtract", x)
    return shaped(Op.SUB, (x, y), None, x.dtype, x.shape)


def mul(a: Operand, b: Operand) -> Node:
    """a * b; of bools: and."""
    x, y = pair("multiply", a, b)
    return shaped(Op.AND if x.dtype is dt.bool_ else Op.MUL, (x, y), None, x.dtype, x.shape)


def float_pair(name: str, a: Operand, b: Operand) -> list[Node]:
    """Two operands of one float or complex dtype and one shape; integers take the default dtype."""
    if isinstance(a, Node) and a.dtype.is_float:
        return pair(name, a, b)
    dtype = common_dtype(name, (a, b))
    return together(name, (a, b), dtype if dtype.is_inexact else default_float())


def real_pair(name: str, a: Operand, b: Operand) -> list[Node]:
    """The same of real numbers. Raises DTypeError for complex ones."""
    x, y = float_pair(name, a, b)
    no_complex(name, x)
    return [x, y]


def _is_real(b: Operand) -> bool:
    return not (b.dtype.is_complex if isinstance(b, Node) else isinstance(b, complex))


def _complex_by_real(a: Node, b: Operand) -> Node:
    dtype = common_dtype("divide", (a, b))
    divisor = as_node("divide", b, dtype.part)
    shape = broadcast_shape("divide", [a.shape, divisor.shape])
    x, y = broadcast_to(to_dtype(a, dtype), shape), broadcast_to(divisor, shape)
    return cx.quotient_by_real(x, y)


def div(a: Operand, b: Operand) -> Node:
    """a / b, a float; the default dtype for integers."""
    if isinstance(a, Node) and a.dtype.is_complex and _is_real(b):
        return _complex_by_real(a, b)
    x, y = float_pair("divide", a, b)
    if x.dtype.is_complex:
        return cx.quotient(x, y)
    return shaped(Op.DIV, (x, y), None, x.dtype, x.shape)


def integers_for_bool(x: Node, y: Node) -> tuple[Node, Node]:
    """Two bools as int8; others stay."""
    return (to_dtype(x, dt.int8), to_dtype(y, dt.int8)) if x.dtype.kind == "b" else (x, y)


def neg(x: Node) -> Node:
    """-x. Raises DTypeError for bool."""
    no_bool("negative", x)
    return shaped(Op.NEG, (x,), None, x.dtype, x.shape)


def positive(x: Node) -> Node:
    """x itself."""
    return x


def as_float(x: Node) -> Node:
    """x, in the default dtype if it is not a float or complex."""
    return x if x.dtype.is_inexact else to_dtype(x, default_float())


def as_real_float(name: str, x: Node) -> Node:
    """x, in the default dtype if it is not a float. Raises DTypeError for a complex value."""
    no_complex(name, x)
    return as_float(x)


def float_op(op: Op, doc: str, arg: int | None = None, name: str = "") -> Callable[[Node], Node]:
    """A function of one float: the op, after a cast of what is not a float; of complex values by
    their parts."""

    name = name or op.value

    def function(x: Node) -> Node:
        if not x.dtype.is_complex:
            return node(op, (as_float(x),), arg)
        found = cx.function(op, arg, x)
        if found is None:
            raise errors.DTypeError(f"{name}: not defined for {x.dtype.name}")
        return found

    function.__name__ = name
    function.__doc__ = f"{doc}; the default dtype for integers."
    return function


sqrt_ = float_op(Op.SQRT, "Square root: NaN below 0")


@runs_in_float32
@in_float32
def rsqrt(x: Node) -> Node:
    """1 / sqrt(x)."""
    return div(1.0, sqrt_(x))


@runs_in_float32
def reciprocal(x: Node) -> Node:
    """1 / x, a float."""
    return div(1.0, x)


def square(x: Node) -> Node:
    """x * x."""
    squared = cx.square_of_absolute(x)
    return mul(x, x) if squared is None else squared
