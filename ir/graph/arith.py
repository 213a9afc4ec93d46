"""The arithmetic of the elementwise ops in NumPy. In: a Node and the values of its sources. Out: its value, in its own dtype.

16-bit floats are computed in float32 (`in_float32`) and rounded once.
The oracle (ir/graph/interp.py) applies it to arrays, constant folding (ir/passes/simplify.py) to scalars.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from . import bfloat16, special
from . import dtype as dt
from .dtype import DType
from .graph import Node
from .halves import computes_half
from .op import Op

Array = np.ndarray[Any, Any]
Evaluator = Callable[..., Any]  # (node, *values of its sources) -> value


def scalar(n: Node, *operands: bool | float) -> bool | float:
    """The value of an elementwise Node over scalar operands of its sources' dtypes."""
    if n.op is Op.CAST and n.dtype.is_half:
        return dt.rounded(operands[0], n.dtype)
    exact = (np.float32 if s.dtype is dt.bfloat16 else s.dtype.numpy for s in n.src)  # bfloat16 itself may be missing
    arrays = [np.asarray(v, d) for v, d in zip(operands, exact, strict=True)]
    with np.errstate(all="ignore"):
        return np.asarray(ELEMENTWISE_VALUES[n.op](n, *arrays)).item()  # type: ignore[no-any-return]


def in_float32(n: Node, evaluate: Evaluator, *operands: Array) -> Array:
    """The value before it is rounded to a 16-bit float: `evaluate` over operands that became float32."""
    wide = dt.float32 if n.dtype.is_half else n.dtype
    as_wide = SimpleNamespace(op=n.op, arg=n.arg, dtype=wide, shape=n.shape, ndim=n.ndim, src=())
    halves = [s.dtype.is_half for s in n.src]
    return np.asarray(evaluate(as_wide, *(x.astype(np.float32) if h else x for x, h in zip(operands, halves, strict=True))))


def with_halves(evaluate: Evaluator) -> Evaluator:
    """An evaluator that knows 16-bit floats, from one that does not."""

    def evaluator(n: Node, *operands: Array) -> Any:
        if not computes_half(n):
            return evaluate(n, *operands)
        return convert(in_float32(n, evaluate, *operands), n.dtype)

    return evaluator


def _plain(function: Callable[..., Any]) -> Evaluator:
    """A NumPy function that takes the operands as they are."""
    return lambda _, *operands: function(*operands)


def _rounded(function: Callable[..., Any]) -> Evaluator:
    """A function computed in float64 and rounded to the operands' dtype."""
    return lambda n, *operands: np.asarray(function(*(a.astype(np.float64) for a in operands))).astype(n.dtype.numpy)


_EXPONENTIALS = {None: np.exp, 2: np.exp2}
_LOGARITHMS = {None: np.log, 2: np.log2, 10: np.log10}
_TURNS: tuple[Callable[[Array], Any], ...] = (np.sin, np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x))


def _sin(n: Node, x: Array) -> Any:
    return _rounded(_TURNS[n.arg])(n, x)


def _power(a: Array, b: Array) -> Array:
    """As NumPy's `**`, which squares by a product."""
    return np.where(b == 2, a * a, np.power(a, b))


def _maximum(a: Array, b: Array) -> Array:
    return np.where((a >= b) | (a != a), a, b)


def _floor_divide(a: Array, b: Array) -> Array:
    return np.where(b == 0, b, np.floor_divide(a, np.where(b == 0, np.ones_like(b), b)))


def _remainder(n: Node, a: Array, b: Array) -> Any:
    if n.dtype.is_float:
        return np.remainder(a, b)
    return np.where(b == 0, b, np.remainder(a, np.where(b == 0, np.ones_like(b), b)))


def convert(x: Array, to: DType) -> Array:
    """A cast: float to integer truncates and saturates, NaN becomes 0; integers wrap; anything not 0 is True."""
    if x.dtype.kind == "V":  # NumPy knows little of bfloat16
        x = x.astype(np.float32)
    if to is dt.bfloat16:
        return bfloat16.rounded(x).astype(to.numpy)
    if not (x.dtype.kind == "f" and to.is_int):
        return x != 0 if to is dt.bool_ else x.astype(to.numpy)
    lowest, highest = np.iinfo(to.numpy).min, np.iinfo(to.numpy).max
    whole = np.trunc(x.astype(np.float64))
    below, above = whole <= float(lowest), whole >= float(highest)
    inside = np.where(below | above | np.isnan(whole), 0.0, whole).astype(to.numpy)
    return np.where(below, to.numpy.type(lowest), np.where(above, to.numpy.type(highest), inside))


_VALUES: dict[Op, Evaluator] = {
    Op.NEG: _plain(np.negative),
    Op.EXP: lambda n, x: _rounded(_EXPONENTIALS[n.arg])(n, x),
    Op.EXPM1: _rounded(np.expm1),
    Op.LOG: lambda n, x: _rounded(_LOGARITHMS[n.arg])(n, x),
    Op.LOG1P: _rounded(np.log1p),
    Op.SQRT: _plain(np.sqrt),
    Op.SIN: _sin,
    Op.TAN: _rounded(np.tan),
    Op.ASIN: _rounded(np.arcsin),
    Op.ACOS: _rounded(np.arccos),
    Op.ATAN: _rounded(np.arctan),
    Op.SINH: _rounded(np.sinh),
    Op.COSH: _rounded(np.cosh),
    Op.TANH: _rounded(np.tanh),
    Op.ASINH: _rounded(np.arcsinh),
    Op.ACOSH: _rounded(np.arccosh),
    Op.ATANH: _rounded(np.arctanh),
    Op.ERF: _rounded(special.erf),
    Op.ERFINV: _rounded(special.erfinv),
    Op.LGAMMA: _rounded(special.lgamma),
    Op.POLYGAMMA: lambda n, x: _rounded(partial(special.polygamma, n.arg))(n, x),
    Op.FLOOR: _plain(np.floor),
    Op.CAST: lambda n, x: convert(x, n.arg),
    Op.BITCAST: lambda n, x: x.copy().view(n.arg.numpy),
    Op.ADD: _plain(np.add),
    Op.SUB: _plain(np.subtract),
    Op.MUL: _plain(np.multiply),
    Op.DIV: _plain(np.divide),
    Op.POW: _rounded(_power),
    Op.ATAN2: _rounded(np.arctan2),
    Op.HYPOT: _rounded(np.hypot),
    Op.MAX: _plain(_maximum),
    Op.IDIV: _plain(_floor_divide),
    Op.MOD: _remainder,
    Op.LT: _plain(np.less),
    Op.EQ: _plain(np.equal),
    Op.AND: _plain(np.bitwise_and),
    Op.OR: _plain(np.bitwise_or),
    Op.XOR: _plain(np.bitwise_xor),
    Op.SHL: _plain(np.left_shift),
    Op.SHR: _plain(np.right_shift),
    Op.WHERE: _plain(np.where),
}
ELEMENTWISE_VALUES = {op: with_halves(evaluate) for op, evaluate in _VALUES.items()}
