"""One table for the tests of all layers: each row builds a Graph from leaves, and says what NumPy
would give.

`rows()` lists them; `leaves(row)` makes the INPUTs and `values(row, rng, specials)` their arrays. A
result may differ from the reference by `ulp` units in the last place of max(|reference|,
magnitude).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from itertools import groupby
from typing import Any

import graphs as g
import numpy as np
from opcomposites import composite_rows
from opspec import Array, Row, Spec, assert_matches, draw, leaves, values
from scipy import special
from weft.ir.graph import dtype as dt
from weft.ir.graph import graph
from weft.ir.graph.dtype import DType
from weft.ir.graph.graph import Node, node
from weft.ir.graph.op import Op
from weft.ir.ops.table import RECORDS

__all__ = [
    "FAMILIES",
    "FLOATS",
    "INTS",
    "ROWS",
    "Row",
    "Spec",
    "assert_matches",
    "draw",
    "leaves",
    "named_in_errors",
    "rows",
    "shown",
    "values",
]
FLOATS = (dt.float32, dt.float64)
HALVES = (dt.float16, dt.bfloat16) if find_spec("ml_dtypes") else (dt.float16,)
INTS = (dt.int32, dt.int64, dt.uint8, dt.int8, dt.uint32, dt.uint64)


# ---------------------------------------------------------------- elementwise

_ODD = (3, 7)  # a shape that no vector width divides


def _op(op: Op, arg: Any = None) -> Callable[..., Node]:
    return lambda *src: node(op, src, arg)


def _in_double(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *xs: np.asarray(f(*(x.astype(np.float64) for x in xs))).astype(xs[0].dtype)


def _log_gamma(x: Array) -> Array:
    """SciPy's, with C's value at -inf."""
    return np.where(x == -np.inf, np.inf, special.gammaln(x))


def _maximum(a: Array, b: Array) -> Array:
    return np.where((a >= b) | (a != a), a, b)


def _integer_division(f: Callable[..., Any]) -> Callable[..., Any]:
    """Python's // or % for each element, 0 for a divisor 0, wrapped."""

    def reference(a: Array, b: Array) -> Array:
        bits = (1 << (8 * a.dtype.itemsize)) - 1
        wrapped = [
            (f(int(p), int(q)) & bits) if q else 0
            for p, q in zip(a.ravel(), b.ravel(), strict=True)
        ]
        return np.array(wrapped, dtype=np.uint64).astype(a.dtype).reshape(a.shape)

    return reference


def _reference(name: str) -> Callable[..., Any]:
    """NumPy's or SciPy's function of the name of an op; the record, which is under test, is not
    asked."""
    homes = ((np, name), (np, f"arc{name[1:]}"), (special, name))
    found = [getattr(home, key) for home, key in homes if hasattr(home, key)]
    assert found, f"neither NumPy nor SciPy has a function called {name}: write a row for it"
    return found[0]  # type: ignore[no-any-return]


def _unary_rows(d: DType) -> list[Row]:
    ulp = 2 if d is dt.float32 else 4
    seen = set()

    def row(name: str, op: Op, f: Any, domain: str = "", arg: Any = None, **kw: Any) -> Row:
        seen.add(op)
        inputs = (Spec(_ODD, d, domain or RECORDS[op].domain),)
        return Row(
            f"{name}-{d.name}",
            _op(op, arg),
            f,
            inputs,
            **({"differentiable": True, "ulp": ulp} | kw),
        )

    turns = [np.sin, np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x)]
    rows = [
        row("neg", Op.NEG, np.negative, ulp=0),
        row("sqrt", Op.SQRT, np.sqrt, ulp=0),
        row("floor", Op.FLOOR, np.floor, ulp=0),
        row("exp", Op.EXP, _in_double(np.exp)),
        row("exp2", Op.EXP, _in_double(np.exp2), arg=2),
        row("log", Op.LOG, _in_double(np.log)),
        row("log2", Op.LOG, _in_double(np.log2), "above", arg=2),
        row("log10", Op.LOG, _in_double(np.log10), "above", arg=10),
        *(row(f"sin{k}", Op.SIN, _in_double(f), arg=k) for k, f in enumerate(turns)),
        row("lgamma", Op.LGAMMA, _in_double(_log_gamma), ulp=8, magnitude=1.0),
        *(
            row(
                f"polygamma{n}",
                Op.POLYGAMMA,
                _in_double(f),
                arg=n,
                ulp=16,
                magnitude=1.0,
                specials=False,
            )
            for n, f in enumerate(
                (special.digamma, partial(special.polygamma, 1), partial(special.polygamma, 2))
            )
        ),
    ]
    others = [
        op
        for op, record in RECORDS.items()
        if record.sources == 1 and record.expanded and op not in seen
    ]
    return rows + [row(op.value, op, _in_double(_reference(op.value))) for op in others]


def _binary_rows(d: DType) -> list[Row]:
    ulp = 2 if d is dt.float32 else 4

    def row(name: str, op: Op, f: Any, a: str = "any", b: str = "any", **kw: Any) -> Row:
        return Row(f"{name}-{d.name}", _op(op), f, (Spec(_ODD, d, a), Spec(_ODD, d, b)), **kw)

    rows = [
        row("add", Op.ADD, np.add, differentiable=d.is_float),
        row("sub", Op.SUB, np.subtract, differentiable=d.is_float),
        row("mul", Op.MUL, np.multiply, differentiable=d.is_float),
        row("max", Op.MAX, _maximum, differentiable=d.is_float),
        row("lt", Op.LT, np.less),
        row("eq", Op.EQ, np.equal, "small", "small"),
    ]
    if d.is_float:
        rows += [
            row("div", Op.DIV, np.divide, "any", "away", differentiable=True),
            row(
                "pow",
                Op.POW,
                _in_double(np.power),
                "positive",
                "small",
                differentiable=True,
                ulp=ulp,
            ),
            row(
                "atan2",
                Op.ATAN2,
                _in_double(np.arctan2),
                "away",
                "away",
                differentiable=True,
                ulp=ulp,
            ),
            row(
                "hypot",
                Op.HYPOT,
                _in_double(np.hypot),
                "away",
                "away",
                differentiable=True,
                ulp=ulp,
            ),
            row("mod", Op.MOD, np.remainder, "away", "away", differentiable=True),
        ]
    else:
        rows += [
            row("idiv", Op.IDIV, _integer_division(lambda p, q: p // q), b="small"),
            row("idiv-any", Op.IDIV, _integer_division(lambda p, q: p // q)),
            row("mod", Op.MOD, _integer_division(lambda p, q: p % q), b="small"),
            row("and", Op.AND, np.bitwise_and),
            row("or", Op.OR, np.bitwise_or),
            row("xor", Op.XOR, np.bitwise_xor),
            row("shl", Op.SHL, _shift(lambda p, q: p << q), b="shift"),
            row("shr", Op.SHR, _shift(lambda p, q: p >> q), b="shift"),
        ]
    return rows


def _shift(f: Callable[..., Any]) -> Callable[..., Any]:
    def reference(a: Array, b: Array) -> Array:
        bits = (1 << (8 * a.dtype.itemsize)) - 1
        wrapped = [f(int(p), int(q)) & bits for p, q in zip(a.ravel(), b.ravel(), strict=True)]
        return np.array(wrapped, np.uint64).astype(a.dtype).reshape(a.shape)

    return reference


def _bool_rows() -> list[Row]:
    pair = (Spec(_ODD, dt.bool_), Spec(_ODD, dt.bool_))
    pairs = [
        (Op.AND, np.logical_and),
        (Op.OR, np.logical_or),
        (Op.XOR, np.logical_xor),
        (Op.EQ, np.equal),
        (Op.LT, np.less),
    ]
    rows = [Row(f"{op.value}-bool", _op(op), f, pair) for op, f in pairs]
    for d in (dt.float32, dt.float64, dt.int64, dt.uint8, dt.bool_):
        inputs = (Spec(_ODD, dt.bool_), Spec(_ODD, d), Spec(_ODD, d))
        rows.append(
            Row(f"where-{d.name}", _op(Op.WHERE), np.where, inputs, differentiable=d.is_float)
        )
    return rows


def _saturating(to: DType) -> Callable[[Array], Array]:
    info = np.iinfo(to.numpy)

    def one(v: float) -> int:
        if math.isinf(v):
            return int(info.max if v > 0 else info.min)
        return 0 if math.isnan(v) else int(max(info.min, min(info.max, math.trunc(v))))

    return lambda x: np.array([one(float(v)) for v in x.ravel()], dtype=to.numpy).reshape(x.shape)


def _converted(x: Array, to: DType) -> Array:
    """NumPy's conversion, but to bfloat16 in one rounding: ml_dtypes goes by float32."""
    if to is not dt.bfloat16:
        return x.astype(to.numpy)
    numbers = x.astype(np.float64 if x.dtype.kind in "fV" else object).ravel()
    return np.array([dt.rounded(v, to) for v in numbers]).astype(to.numpy).reshape(x.shape)


def _cast_rows() -> list[Row]:
    rows = []
    for a in (*FLOATS, *HALVES, *INTS, dt.bool_):
        for b in (*FLOATS, *HALVES, *INTS, dt.bool_):
            if a is b:
                continue
            f = _saturating(b) if a.is_float and b.is_int else (lambda x, to=b: _converted(x, to))
            both = a.is_float and b.is_float
            rows.append(
                Row(
                    f"cast-{a.name}-{b.name}",
                    _op(Op.CAST, b),
                    f,
                    (Spec(_ODD, a),),
                    differentiable=both,
                )
            )
    for a, b in (
        (dt.float32, dt.int32),
        (dt.int64, dt.float64),
        (dt.uint32, dt.float32),
        (dt.uint64, dt.int64),
    ):
        rows.append(
            Row(
                f"bitcast-{a.name}-{b.name}",
                _op(Op.BITCAST, b),
                lambda x, to=b: x.view(to.numpy),
                (Spec(_ODD, a),),
            )
        )
    return rows


# ---------------------------------------------------------------- reductions and views


def _summed(f: Any, axes: tuple[int, ...]) -> Callable[[Array], Any]:
    def reference(x: Array) -> Any:
        wide = np.float64 if x.dtype.kind == "f" else x.dtype
        return f.reduce(x, axis=axes, dtype=wide).astype(x.dtype)

    return reference


def _largest(d: DType, axes: tuple[int, ...]) -> Callable[[Array], Any]:
    return lambda x: np.maximum.reduce(x, axis=axes, initial=dt.lowest(d))


def _running(axis: int) -> Callable[[Array], Any]:
    return lambda x: np.cumsum(
        x, axis=axis, dtype=np.float64 if x.dtype.kind == "f" else x.dtype
    ).astype(x.dtype)


def _products(axis: int) -> Callable[[Array], Any]:
    return lambda x: np.cumprod(x, axis=axis, dtype=x.dtype)


def _reduce_rows(d: DType) -> list[Row]:
    rows = []
    ulp = 4 if d.is_float else 0
    shapes = (
        ((3, 7), (1,)),
        ((3, 7), (0,)),
        ((2, 3, 5), (0, 2)),
        ((5,), (0,)),
        ((3, 1), (1,)),
        ((0, 3), (0,)),
        ((3, 0), (0,)),
    )
    for shape, axes in shapes:
        for kind, f, domain, magnitude in (
            ("add", _summed(np.add, axes), "any", 8.0),
            ("mul", _summed(np.multiply, axes), "zeros", 0.0),
            ("max", _largest(d, axes), "spread" if d.is_float else "any", 0.0),
        ):
            name = f"reduce-{kind}-{'x'.join(map(str, shape))}-{''.join(map(str, axes))}-{d.name}"
            build = _op(Op.REDUCE, (kind, axes))
            finite = kind == "add"  # NumPy's own sum of huge values depends on the order
            smooth = d.is_float and not (kind == "max" and 0 in shape)
            rows.append(
                Row(
                    name,
                    build,
                    f,
                    (Spec(shape, d, domain),),
                    smooth,
                    ulp,
                    magnitude,
                    specials=not finite,
                )
            )
    for shape, axis in (((9,), 0), ((3, 5), 0), ((3, 5), 1), ((4, 0), 1)):
        name = f"scan-{'x'.join(map(str, shape))}-{axis}-{d.name}"
        rows.append(
            Row(
                name,
                _op(Op.SCAN, axis),
                _running(axis),
                (Spec(shape, d),),
                d.is_float,
                ulp,
                8.0,
                specials=False,
            )
        )
        inputs, build = (Spec(shape, d, "zeros" if d.is_float else "any"),), _op(Op.SCANMUL, axis)
        name = "running-product" + name.removeprefix("scan")
        rows.append(Row(name, build, _products(axis), inputs, d.is_float, 9, 1e-30, specials=False))
    return rows


def _sort_rows(d: DType) -> list[Row]:
    rows = []
    for shape, axis in (
        ((0,), 0),
        ((1,), 0),
        ((9,), 0),
        ((3, 40), 0),
        ((3, 40), 1),
        ((2, 140), 1),
        ((5, 0), 0),
        ((5, 130), 1),
    ):
        for descending in (False, True):
            way = "down" if descending else "up"
            name = f"argsort-{'x'.join(map(str, shape))}-{axis}-{way}-{d.name}"
            rows.append(
                Row(
                    name,
                    _op(Op.ARGSORT, (axis, descending)),
                    _stable(axis, descending),
                    (Spec(shape, d),),
                )
            )
    return rows


def _system_rows(d: DType) -> list[Row]:
    """Of matrices with a great diagonal; a factor reads one triangle alone."""
    a, b = Spec((2, 3, 3), d, "unit"), Spec((2, 3, 2), d)

    def solved(x: Array, y: Array) -> Array:
        return np.linalg.solve(x + 6 * np.eye(3), y)

    def factor(x: Array) -> Array:
        return np.linalg.cholesky(np.tril(x) + np.tril(x, -1).swapaxes(1, 2) + 6 * np.eye(3))

    return [
        Row(
            f"solve-{d.name}",
            lambda x, y: node(Op.SOLVE, (g.dominant(x), y)),
            _in_double(solved),
            (a, b),
            ulp=16,
            magnitude=1.0,
            specials=False,
        ),
        Row(
            f"cholesky-{d.name}",
            lambda x: node(Op.CHOLESKY, (g.dominant(x),)),
            _in_double(factor),
            (a,),
            ulp=16,
            magnitude=1.0,
            specials=False,
        ),
    ]


def _stable(axis: int, descending: bool) -> Callable[[Array], Any]:
    """By Python's sort of (is NaN, value) pairs, which is stable in both directions."""

    def line(x: Array) -> Array:
        keys = [(bool(v != v), 0 if v != v else v) for v in x.tolist()]
        return np.array(
            sorted(range(len(keys)), key=keys.__getitem__, reverse=descending), np.int64
        )

    return lambda x: np.apply_along_axis(line, axis, x) if x.size else np.zeros(x.shape, np.int64)


def numpy_skew(x: Array, n: int, k: int, d: int) -> Array:
    """out[o, k] = x[o + k*d, k], element by element."""
    shape = list(x.shape)
    shape[n] -= (x.shape[k] - 1) * d
    out = np.zeros(shape, x.dtype)
    for at in np.ndindex(*shape):
        place = list(at)
        place[n] += at[k] * d
        out[at] = x[tuple(place)]
    return out


def numpy_unskew(x: Array, n: int, k: int, d: int) -> Array:
    """out[n, k] = x[n - k*d, k] or 0, element by element."""
    shape = list(x.shape)
    shape[n] += (x.shape[k] - 1) * d
    out = np.zeros(shape, x.dtype)
    for at in np.ndindex(*x.shape):
        place = list(at)
        place[n] += at[k] * d
        out[tuple(place)] = x[at]
    return out


def numpy_pad(x: Array, margins: tuple[tuple[int, int, int], ...]) -> Array:
    """Zeros before, after and between, one axis at a time."""
    for axis, (lo, hi, interior) in enumerate(margins):
        for at in range(x.shape[axis] - 1, 0, -1):
            x = np.insert(x, [at] * interior, 0, axis=axis)
        x = np.pad(x, [(lo, hi) if a == axis else (0, 0) for a in range(x.ndim)])
    return x


def _view_rows(d: DType) -> list[Row]:
    def row(name: str, op: Op, arg: Any, shape: tuple[int, ...], f: Callable[[Array], Any]) -> Row:
        return Row(
            f"{op.value}-{name}-{d.name}",
            _op(op, arg),
            f,
            (Spec(shape, d),),
            differentiable=d.is_float,
        )

    slices = ((1, 8, 3), (0, 4, 1), (2, 3, 1))
    margins = ((2, 1, 0), (0, 3, 2), (1, 0, 1))
    rows = [
        row("merge", Op.RESHAPE, (12, 5), (4, 3, 5), lambda x: x.reshape(12, 5)),
        row("split", Op.RESHAPE, (2, 2, 3, 5, 1), (4, 3, 5), lambda x: x.reshape(2, 2, 3, 5, 1)),
        row("mix", Op.RESHAPE, (6, 10), (4, 15), lambda x: x.reshape(6, 10)),
        row("empty", Op.RESHAPE, (0, 7), (3, 0), lambda x: x.reshape(0, 7)),
        row("scalar", Op.RESHAPE, (), (1, 1), lambda x: x.reshape(())),
        row("three", Op.PERMUTE, (2, 0, 1), (4, 3, 5), lambda x: x.transpose(2, 0, 1)),
        row("two", Op.PERMUTE, (1, 0), (7, 9), lambda x: x.T),
        row("one", Op.FLIP, (1,), (4, 3), lambda x: np.flip(x, 1)),
        row("both", Op.FLIP, (0, 2), (4, 1, 3), lambda x: np.flip(x, (0, 2))),
        row("steps", Op.SLICE, slices, (9, 4, 5), lambda x: x[1:8:3, :, 2:3]),
        row("none", Op.SLICE, ((2, 2, 1),), (5,), lambda x: x[2:2]),
        row("margins", Op.PAD, margins, (3, 4, 2), lambda x: numpy_pad(x, margins)),
        row("single", Op.PAD, ((0, 0, 3),), (1,), lambda x: x),
        row("empty", Op.PAD, ((1, 2, 3),), (0,), lambda x: np.zeros(3, x.dtype)),
        row("front", Op.EXPAND, ((0, 3),), (4,), lambda x: np.broadcast_to(x, (3, 4))),
        row(
            "around",
            Op.EXPAND,
            ((0, 3), (2, 2)),
            (4,),
            lambda x: np.broadcast_to(x[None, :, None], (3, 4, 2)),
        ),
        row("scalar", Op.EXPAND, ((0, 3),), (), lambda x: np.broadcast_to(x, (3,))),
        row("none", Op.EXPAND, ((1, 0),), (2,), lambda x: np.zeros((2, 0), x.dtype)),
    ]
    for n, k, step in ((0, 1, 1), (0, 1, 2), (2, 0, 3), (1, 2, 1)):
        shape, arg = [4, 3, 2], (n, k, step)
        shape[n] = 11
        rows.append(
            row(f"{n}{k}{step}", Op.SKEW, arg, tuple(shape), lambda x, arg=arg: numpy_skew(x, *arg))
        )
        rows.append(
            row(
                f"{n}{k}{step}", Op.UNSKEW, arg, (2, 3, 2), lambda x, arg=arg: numpy_unskew(x, *arg)
            )
        )
    return rows


# ---------------------------------------------------------------- indexed


def _scatter_reference(shape: tuple[int, ...], axes: tuple[int, ...]) -> Callable[..., Array]:
    def reference(v: Array, *idx: Array) -> Array:
        out = np.zeros(shape, np.float64 if v.dtype.kind == "f" else v.dtype)
        np.add.at(np.moveaxis(out, axes, range(len(axes))), idx, v)
        return out.astype(v.dtype)

    return reference


def _indexed_rows(d: DType) -> list[Row]:
    def index(shape: tuple[int, ...], extent: int) -> Spec:
        return Spec(shape, dt.int64, "index", extent)

    def gather(
        name: str,
        axes: tuple[int, ...],
        shape: tuple[int, ...],
        idx: tuple[int, ...],
        f: Callable[..., Any],
    ) -> Row:
        specs = (Spec(shape, d), *(index(idx, shape[a]) for a in axes))
        return Row(f"gather-{name}-{d.name}", _op(Op.GATHER, axes), f, specs, d.is_float)

    def put(name: str, axes: tuple[int, ...], shape: tuple[int, ...]) -> Row:
        rest = tuple(e for a, e in enumerate(shape) if a not in axes)
        specs = (Spec(shape, d), Spec(rest, d), *(index((), shape[a]) for a in axes))
        return Row(
            f"put-{name}-{d.name}", _op(Op.PUT, axes), _put_reference(axes), specs, d.is_float
        )

    def scatter(
        name: str, axes: tuple[int, ...], shape: tuple[int, ...], idx: tuple[int, ...]
    ) -> Row:
        rest = tuple(e for a, e in enumerate(shape) if a not in axes)
        specs = (Spec(idx + rest, d), *(index(idx, shape[a]) for a in axes))
        build, reference = _op(Op.SCATTER, (axes, shape)), _scatter_reference(shape, axes)
        return Row(
            f"scatter-{name}-{d.name}", build, reference, specs, d.is_float, 4, 8.0, specials=False
        )

    labels = (Spec((6, 4), d), index((6,), 4))
    return [
        gather("rows", (0,), (5, 3), (4, 2), lambda x, i: x[i]),
        gather("columns", (1,), (5, 3), (4,), lambda x, i: np.moveaxis(x[:, i], 1, 0)),
        gather("both", (0, 1), (5, 3, 2), (7,), lambda x, i, j: x[i, j]),
        gather("swapped", (2, 0), (5, 3, 2), (3,), lambda x, i, j: np.moveaxis(x, 1, 2)[j, i]),
        gather("scalar", (0,), (5, 3), (), lambda x, i: x[i]),
        gather("none", (0,), (5, 3), (0,), lambda x, i: x[i]),
        Row(f"gather-labels-{d.name}", g.pick, lambda x, i: x[np.arange(6), i], labels, d.is_float),
        scatter("rows", (0,), (5, 3), (4, 2)),
        scatter("columns", (1,), (5, 3), (4,)),
        scatter("both", (0, 1), (5, 3), (20,)),
        scatter("scalar", (1,), (5, 3), ()),
        put("row", (0,), (5, 3)),
        put("column", (1,), (5, 3)),
        put("element", (0, 1), (5, 3)),
    ]


def _put_reference(axes: tuple[int, ...]) -> Callable[..., Any]:
    def reference(x: Any, value: Any, *at: Any) -> Any:
        out = np.array(x)
        np.moveaxis(out, axes, range(len(axes)))[tuple(int(i) for i in at)] = value
        return out

    return reference


def _leaf_rows() -> list[Row]:
    iota = node(Op.IOTA, arg=5)
    return [
        Row("iota", lambda: iota, lambda: np.arange(5), ()),
        Row("const", lambda: graph.const(0.1, dt.float32), lambda: np.float32(0.1), ()),
        Row(
            "full",
            lambda: graph.full(-7, dt.int32, (2, 3)),
            lambda: np.full((2, 3), -7, np.int32),
            (),
        ),
        Row("detach", _op(Op.DETACH), lambda x: x, (Spec(_ODD, dt.float32),)),
        *(
            Row(f"keep-{d.name}", _op(Op.KEEP), lambda x: x, (Spec(_ODD, d),), differentiable=True)
            for d in FLOATS
        ),
    ]


def _half_rows(d: DType) -> list[Row]:
    """16-bit floats: the float32 reference, rounded; a sum may be off by where float32 rounds."""
    where = Row(
        f"where-{d.name}",
        _op(Op.WHERE),
        np.where,
        (Spec(_ODD, dt.bool_), Spec(_ODD, d), Spec(_ODD, d)),
        True,
    )
    ops = [
        *_unary_rows(d),
        *_binary_rows(d),
        *_reduce_rows(d),
        *_indexed_rows(d),
        *_view_rows(d),
        where,
    ]
    table = [replace(row, ulp=min(row.ulp, 1)) for row in ops] + [
        replace(row, ulp=8) for row in composite_rows(d)
    ]
    return [replace(row, reference=_in_float32(row.reference, d)) for row in table]


def _in_float32(f: Callable[..., Any], d: DType) -> Callable[..., Any]:
    def reference(*xs: Array) -> Any:
        out = np.asarray(f(*(x.astype(np.float32) if x.dtype == d.numpy else x for x in xs)))
        return out.astype(d.numpy) if out.dtype.kind == "f" else out

    return reference


def _complex_rows(d: DType) -> list[Row]:
    """Products of complex numbers, by their parts."""

    def product(op: Op) -> Callable[..., Node]:
        def build(a: Node, b: Node, c: Node, e: Node) -> Node:
            pairs = [node(Op.COMPLEX, pair) for pair in ((a, b), (c, e))]
            return node(op, (node(Op.MUL, pairs),))

        return build

    four = tuple(Spec(_ODD, d, "small") for _ in range(4))
    return [
        Row(f"real-complex-{d.name}", product(Op.REAL), lambda a, b, c, e: a * c - b * e, four,
            differentiable=True, ulp=2, magnitude=32, specials=False),
        Row(f"imag-complex-{d.name}", product(Op.IMAG), lambda a, b, c, e: a * e + b * c, four,
            differentiable=True, ulp=2, magnitude=32, specials=False),
    ]  # fmt: skip


def _family(row: Row) -> str:
    return row.name.partition("-")[0]


def rows() -> list[Row]:
    """Every row. Names are unique."""
    table = [*_leaf_rows(), *_bool_rows(), *_cast_rows()]
    for d in (*FLOATS, dt.int64, dt.uint8, dt.bool_):
        table += _view_rows(d)
    for d in FLOATS:
        table += [
            *_unary_rows(d),
            *_binary_rows(d),
            *_reduce_rows(d),
            *_indexed_rows(d),
            *composite_rows(d),
        ]
    for d in HALVES:
        table += _half_rows(d)
    for d in INTS:
        table += _binary_rows(d)
    table += [*_reduce_rows(dt.int64), *_reduce_rows(dt.uint8), *_indexed_rows(dt.int64)]
    table += [Row(f"neg-{d.name}", _op(Op.NEG), np.negative, (Spec(_ODD, d),)) for d in INTS]
    for d in FLOATS:
        table += _complex_rows(d)
    for d in dt.ALL:
        table += [] if d.is_complex else _sort_rows(d)
    for d in FLOATS:
        table += _system_rows(d)
    table.append(
        Row("any-bool", _op(Op.REDUCE, ("max", (1,))), lambda x: x.any(1), (Spec(_ODD, dt.bool_),))
    )
    return table


ROWS = rows()
FAMILIES = {
    op: [*family] for op, family in groupby(sorted(ROWS, key=_family), key=_family)
}  # rows by the word that their names begin with


@contextmanager
def named_in_errors(row: Row) -> Iterator[None]:
    """What fails inside says of which row."""
    try:
        yield
    except Exception as error:
        error.add_note(f"row {row.name}")
        raise


KINDS = {
    d.name: d.name if d in (dt.float32, dt.float64) else "half" if d.is_half else d.kind
    for d in dt.ALL
}


def shown(row: Row, **others: Any) -> list[Any]:
    """What a row shows, for `thinned`: its variant of the op, and the op for kinds of dtypes."""
    words = row.name.split("-")
    kinds = tuple(KINDS[word] for word in words if word in KINDS)
    things = ["-".join(word for word in words if word not in KINDS), (words[0], kinds)]
    return [(thing, *others.values()) for thing in things]
