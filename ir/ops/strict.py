"""Strict mode, bit for bit. In: how functions are made of basic ops. Out: evaluators for
ir/ops/interp.py.

A sum adds one term after the other to 0.0, in row-major order of the reduced axes and in the dtype
of its result (float32 for 16-bit floats); so does a scatter, in the order of its updates. A running
sum begins with the first term, and float32 runs in float64. Products are made in the same order,
and a maximum keeps the first of equals (0.0 and -0.0 are). A function is its polynomial, op by op,
each rounded; its a*b + c is made as on a processor without an instruction for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..graph import dtype as dt
from ..graph.graph import Node, leaf, node, toposort
from ..graph.op import Op
from .interp import EVALUATORS, scatter
from .table import TRANSCENDENTAL, VALUES
from .values import Array, Evaluator, with_halves

# a transcendental Node in terms of basic ops; its sources are left alone
Expand = Callable[[Node], Node]

UFUNCS: dict[str, np.ufunc] = {"add": np.add, "mul": np.multiply}
EMPTY = {"add": 0, "mul": 1}
SPLIT = 134217729.0  # 2**27 + 1: the upper and the lower 26 bits of a float64
MOST_EXPONENT = 5000  # beyond it, x * 2**n is 0 or infinite


def evaluators(expand: Expand) -> dict[Op, Evaluator]:
    """What each op means in strict mode."""

    @cache
    def body(op: Op, arg: Any, dtypes: tuple[dt.DType, ...]) -> tuple[list[Node], list[Node]]:
        operands = [leaf(i, d, ()) for i, d in enumerate(dtypes)]
        return operands, toposort([expand(node(op, operands, arg))])

    def function(n: Node, *operands: Array) -> Array:
        leaves, order = body(n.op, n.arg, tuple(dt.BY_NAME[x.dtype.name] for x in operands))
        values = dict(zip(leaves, operands, strict=True))
        for m in order:
            if m not in values:
                values[m] = BODY[m.op](m, *(values[s] for s in m.src))
        return np.asarray(values[order[-1]])

    functions = dict.fromkeys(TRANSCENDENTAL, with_halves(function))
    return EVALUATORS | functions | {op: with_halves(evaluate) for op, evaluate in IN_ORDER.items()}


# ---------------------------------------------------------------- sums


def _reduce(n: Node, x: Array) -> Any:
    kind, axes = n.arg
    if x.dtype.kind != "f":
        return EVALUATORS[Op.REDUCE](n, x)
    terms = np.moveaxis(x, axes, range(len(axes)))
    terms = terms.reshape(-1 if terms.size else 0, *terms.shape[len(axes) :])
    if not terms.size:
        return np.full(terms.shape[1:], EMPTY.get(kind, -np.inf), x.dtype)
    if kind == "max":
        return np.take_along_axis(terms, terms.argmax(0)[None], 0)[0]
    total = UFUNCS[kind].accumulate(terms)[-1]
    return total + 0.0 if kind == "add" else total  # 0.0 + -0.0 is 0.0


def _scatter(n: Node, values: Array, *indices: Array) -> Any:
    return scatter(n, values, *indices, sums=n.dtype.numpy)


IN_ORDER: dict[Op, Evaluator] = {Op.REDUCE: _reduce, Op.SCATTER: _scatter}


# ---------------------------------------------------------------- functions


def fma(a: Array, b: Array, c: Array) -> Array:
    """a*b + c nearly rounded once: float32 in float64, float64 with the errors of product (Dekker)
    and sum (Knuth) added."""
    if a.dtype == np.float32:
        return (a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)).astype(
            np.float32
        )
    product = a * b
    (ah, al), (bh, bl) = _halves(a), _halves(b)
    error = ((ah * bh - product) + ah * bl + al * bh) + al * bl
    total = product + c
    part = total - product
    rest = error + ((product - (total - part)) + (c - part))
    return np.where((rest != 0) & ~np.isnan(rest), total + rest, total)


def _halves(x: Array) -> tuple[Array, Array]:
    scaled = x * SPLIT
    high = scaled - (scaled - x)
    return high, x - high


def _ldexp(x: Array, n: Array) -> Any:
    return np.ldexp(x, np.clip(n, -MOST_EXPONENT, MOST_EXPONENT).astype(np.int32))


BODY: dict[Op, Evaluator] = {
    **VALUES,
    Op.CONST: EVALUATORS[Op.CONST],
    Op.FMA: lambda _, a, b, c: fma(a, b, c),
    Op.LDEXP: lambda _, x, n: _ldexp(x, n),
}
