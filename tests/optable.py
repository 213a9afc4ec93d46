"""One table for the tests of all layers: each row builds a Graph from leaves, and says what NumPy would give.

`rows()` lists them; `leaves(row)` makes the INPUTs and `values(row, rng, specials)` their arrays.
A result may differ from the reference by `ulp` units in the last place of max(|reference|, magnitude).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import graphs as g
import numpy as np

from weft.ir import dtype as dt
from weft.ir import graph
from weft.ir.dtype import DType
from weft.ir.graph import Node, Op, node

Array = np.ndarray[Any, Any]
FLOATS = (dt.float32, dt.float64)
INTS = (dt.int32, dt.int64, dt.uint8, dt.int8, dt.uint32, dt.uint64)


@dataclass(frozen=True)
class Spec:
    """One input. Domains: any, positive, unit (-1, 1), small (-4, 4), away (from 0), spread (distinct), zeros (some 0),
    bool, whole (any integer), shift (0 .. bits + 2), index (below `extent`)."""

    shape: tuple[int, ...]
    dtype: DType
    domain: str = "any"
    extent: int = 0


@dataclass(frozen=True)
class Row:
    name: str
    build: Callable[..., Node]
    reference: Callable[..., Any]
    inputs: tuple[Spec, ...]
    differentiable: bool = False
    ulp: float = 0
    magnitude: float = 0.0
    specials: bool = True  # inf, nan, -0.0 and subnormals may be among the inputs


_serial = iter(range(1 << 40, 1 << 41))


def leaves(row: Row) -> list[Node]:
    """Fresh INPUTs for the row."""
    return [graph.leaf(next(_serial), s.dtype, s.shape) for s in row.inputs]


def values(row: Row, rng: np.random.Generator, specials: bool = False) -> list[Array]:
    """One array per input, from its domain; with specials where the row allows them."""
    return [draw(s, rng, specials and row.specials) for s in row.inputs]


def draw(spec: Spec, rng: np.random.Generator, specials: bool) -> Array:
    kind = spec.dtype.kind
    shape, to = spec.shape, spec.dtype.numpy
    if kind == "b":
        return np.asarray(rng.integers(0, 2, shape) == 1)
    if spec.domain == "index":
        return np.asarray(rng.integers(0, spec.extent, shape), dtype=to)
    if kind in "iu":
        return _draw_integer(spec, rng, specials)
    x = np.asarray(rng.normal(size=shape) * 2)
    match spec.domain:
        case "positive":
            x = np.exp(x)
        case "unit":
            x = np.tanh(x)
        case "small":
            x = np.tanh(x) * 4
        case "away":
            x = np.sign(x) * (np.abs(x) + 0.5)
        case "spread":
            x = np.asarray(rng.permutation(x.size).reshape(shape) * 0.3 - x.size * 0.1)
        case "zeros":
            x = np.where(rng.random(shape) < 0.3, 0.0, x)
    x = np.asarray(x, dtype=to)
    return _sprinkle(x, rng, _special_floats(to)) if specials else x


def _draw_integer(spec: Spec, rng: np.random.Generator, specials: bool) -> Array:
    info = np.iinfo(spec.dtype.numpy)
    lo, hi = {"shift": (0, spec.dtype.bits + 2), "small": (max(int(info.min), -9), 10)}.get(spec.domain, (int(info.min), int(info.max)))
    x = np.asarray(rng.integers(lo, hi, spec.shape, dtype=spec.dtype.numpy))
    extremes = np.array([info.min, info.max, 0, 1, info.max - info.max // 2], dtype=spec.dtype.numpy)
    return _sprinkle(x, rng, extremes) if specials and spec.domain == "any" else x


def _special_floats(to: np.dtype[Any]) -> Array:
    info = np.finfo(to)
    tiny = info.smallest_subnormal
    return np.array([np.inf, -np.inf, np.nan, -0.0, 0.0, 1.0, -1.0, tiny, -tiny, info.tiny, info.max, -info.max, 0.5, 1e4], dtype=to)


def _sprinkle(x: Array, rng: np.random.Generator, specials: Array) -> Array:
    flat = x.reshape(-1).copy()
    for at in rng.permutation(flat.size)[: max(1, flat.size // 2)]:
        flat[at] = rng.choice(specials)
    return flat.reshape(x.shape)


def assert_matches(got: Array, want: Array, ulp: float = 0, magnitude: float = 0.0) -> None:
    """Equal up to `ulp`, NaN where NaN; bit for bit (signs of zeros too) for ulp 0."""
    want = np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, (got.dtype, want.dtype, got.shape, want.shape)
    if got.dtype.kind != "f":
        np.testing.assert_array_equal(got, want)
        return
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    got, want = np.where(np.isnan(want), 0, got), np.where(np.isnan(want), 0, want)
    if ulp == 0:
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(want))
        return
    info = np.finfo(want.dtype)
    finite = np.isfinite(want)
    np.testing.assert_array_equal(got[~finite], want[~finite])
    scale = np.maximum(np.maximum(np.abs(want[finite]).astype(np.float64), magnitude), float(info.tiny))
    error = np.abs(got[finite].astype(np.float64) - want[finite].astype(np.float64))
    assert (error <= ulp * float(info.eps) * scale).all(), (error / scale / float(info.eps)).max(initial=0)


# ---------------------------------------------------------------- elementwise

_erf = np.vectorize(math.erf, otypes=[np.float64])
_ODD = (3, 7)  # a shape that no vector width divides


def _op(op: Op, arg: Any = None) -> Callable[..., Node]:
    return lambda *src: node(op, src, arg)


def _in_double(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *xs: np.asarray(f(*(x.astype(np.float64) for x in xs))).astype(xs[0].dtype)


def _maximum(a: Array, b: Array) -> Array:
    return np.where((a >= b) | (a != a), a, b)


def _integer_division(f: Callable[..., Any]) -> Callable[..., Any]:
    """Python's // or % for each element, 0 for a divisor 0, wrapped."""

    def reference(a: Array, b: Array) -> Array:
        bits = (1 << (8 * a.dtype.itemsize)) - 1
        wrapped = [(f(int(p), int(q)) & bits) if q else 0 for p, q in zip(a.ravel(), b.ravel(), strict=True)]
        return np.array(wrapped, dtype=np.uint64).astype(a.dtype).reshape(a.shape)

    return reference


def _unary_rows(d: DType) -> list[Row]:
    ulp = 2 if d is dt.float32 else 4

    def row(name: str, op: Op, f: Any, domain: str = "small", arg: Any = None, **kw: Any) -> Row:
        return Row(f"{name}-{d.name}", _op(op, arg), f, (Spec(_ODD, d, domain),), **({"differentiable": True, "ulp": ulp} | kw))

    turns = [np.sin, np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x)]
    return [
        row("neg", Op.NEG, np.negative, "any", ulp=0),
        row("exp", Op.EXP, _in_double(np.exp)),
        row("log", Op.LOG, _in_double(np.log), "positive"),
        row("sqrt", Op.SQRT, np.sqrt, "positive", ulp=0),
        *(row(f"sin{k}", Op.SIN, _in_double(f), arg=k) for k, f in enumerate(turns)),
        row("tanh", Op.TANH, _in_double(np.tanh)),
        row("erf", Op.ERF, _in_double(_erf)),
        row("floor", Op.FLOOR, np.floor, "any", ulp=0),
    ]


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
            row("pow", Op.POW, _in_double(np.power), "positive", "small", differentiable=True, ulp=ulp),
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
        return np.array([f(int(p), int(q)) & bits for p, q in zip(a.ravel(), b.ravel(), strict=True)], np.uint64).astype(a.dtype).reshape(a.shape)

    return reference


def _bool_rows() -> list[Row]:
    pair = (Spec(_ODD, dt.bool_), Spec(_ODD, dt.bool_))
    pairs = [(Op.AND, np.logical_and), (Op.OR, np.logical_or), (Op.XOR, np.logical_xor), (Op.EQ, np.equal), (Op.LT, np.less)]
    rows = [Row(f"{op.value}-bool", _op(op), f, pair) for op, f in pairs]
    for d in (dt.float32, dt.float64, dt.int64, dt.uint8, dt.bool_):
        inputs = (Spec(_ODD, dt.bool_), Spec(_ODD, d), Spec(_ODD, d))
        rows.append(Row(f"where-{d.name}", _op(Op.WHERE), np.where, inputs, differentiable=d.is_float))
    return rows


def _saturating(to: DType) -> Callable[[Array], Array]:
    info = np.iinfo(to.numpy)

    def one(v: float) -> int:
        return 0 if math.isnan(v) else int(max(info.min, min(info.max, math.trunc(v)))) if math.isfinite(v) else int(info.max if v > 0 else info.min)

    return lambda x: np.array([one(float(v)) for v in x.ravel()], dtype=to.numpy).reshape(x.shape)


def _cast_rows() -> list[Row]:
    rows = []
    for a in (*FLOATS, *INTS, dt.bool_):
        for b in (*FLOATS, *INTS, dt.bool_):
            if a is b:
                continue
            f = _saturating(b) if a.is_float and b.is_int else (lambda x, to=b: x.astype(to.numpy))
            both = a.is_float and b.is_float
            rows.append(Row(f"cast-{a.name}-{b.name}", _op(Op.CAST, b), f, (Spec(_ODD, a),), differentiable=both))
    for a, b in ((dt.float32, dt.int32), (dt.int64, dt.float64), (dt.uint32, dt.float32), (dt.uint64, dt.int64)):
        rows.append(Row(f"bitcast-{a.name}-{b.name}", _op(Op.BITCAST, b), lambda x, to=b: x.view(to.numpy), (Spec(_ODD, a),)))
    return rows


# ---------------------------------------------------------------- reductions and views


def _summed(f: Any, axes: tuple[int, ...]) -> Callable[[Array], Any]:
    def reference(x: Array) -> Any:
        wide = np.float64 if x.dtype.kind == "f" else x.dtype
        return f.reduce(x, axis=axes, dtype=wide).astype(x.dtype)

    return reference


def _largest(d: DType, axes: tuple[int, ...]) -> Callable[[Array], Any]:
    return lambda x: np.maximum.reduce(x, axis=axes, initial=dt.lowest(d))


def _reduce_rows(d: DType) -> list[Row]:
    rows = []
    ulp = 4 if d.is_float else 0
    for shape, axes in (((3, 7), (1,)), ((3, 7), (0,)), ((2, 3, 5), (0, 2)), ((5,), (0,)), ((3, 1), (1,)), ((0, 3), (0,)), ((3, 0), (0,))):
        for kind, f, domain, magnitude in (
            ("add", _summed(np.add, axes), "any", 8.0),
            ("mul", _summed(np.multiply, axes), "zeros", 0.0),
            ("max", _largest(d, axes), "spread" if d.is_float else "any", 0.0),
        ):
            name = f"reduce-{kind}-{'x'.join(map(str, shape))}-{''.join(map(str, axes))}-{d.name}"
            build = _op(Op.REDUCE, (kind, axes))
            finite = kind == "add"  # NumPy's own sum of huge values depends on the order
            smooth = d.is_float and not (kind == "max" and 0 in shape)
            rows.append(Row(name, build, f, (Spec(shape, d, domain),), smooth, ulp, magnitude, specials=not finite))
    for shape, axis in (((9,), 0), ((3, 5), 0), ((3, 5), 1), ((4, 0), 1)):
        rows.append(
            Row(
                f"scan-{'x'.join(map(str, shape))}-{axis}-{d.name}",
                _op(Op.SCAN, axis),
                lambda x, axis=axis: np.cumsum(x, axis=axis, dtype=np.float64 if x.dtype.kind == "f" else x.dtype).astype(x.dtype),
                (Spec(shape, d),),
                d.is_float,
                ulp,
                8.0,
                specials=False,
            )
        )
    return rows


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
        return Row(f"{op.value}-{name}-{d.name}", _op(op, arg), f, (Spec(shape, d),), differentiable=d.is_float)

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
        row("around", Op.EXPAND, ((0, 3), (2, 2)), (4,), lambda x: np.broadcast_to(x[None, :, None], (3, 4, 2))),
        row("scalar", Op.EXPAND, ((0, 3),), (), lambda x: np.broadcast_to(x, (3,))),
        row("none", Op.EXPAND, ((1, 0),), (2,), lambda x: np.zeros((2, 0), x.dtype)),
    ]
    for n, k, step in ((0, 1, 1), (0, 1, 2), (2, 0, 3), (1, 2, 1)):
        shape, arg = [4, 3, 2], (n, k, step)
        shape[n] = 11
        rows.append(row(f"{n}{k}{step}", Op.SKEW, arg, tuple(shape), lambda x, arg=arg: numpy_skew(x, *arg)))
        rows.append(row(f"{n}{k}{step}", Op.UNSKEW, arg, (2, 3, 2), lambda x, arg=arg: numpy_unskew(x, *arg)))
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

    def gather(name: str, axes: tuple[int, ...], shape: tuple[int, ...], idx: tuple[int, ...], f: Callable[..., Any]) -> Row:
        specs = (Spec(shape, d), *(index(idx, shape[a]) for a in axes))
        return Row(f"gather-{name}-{d.name}", _op(Op.GATHER, axes), f, specs, d.is_float)

    def scatter(name: str, axes: tuple[int, ...], shape: tuple[int, ...], idx: tuple[int, ...]) -> Row:
        rest = tuple(e for a, e in enumerate(shape) if a not in axes)
        specs = (Spec(idx + rest, d), *(index(idx, shape[a]) for a in axes))
        reference = _scatter_reference(shape, axes)
        return Row(f"scatter-{name}-{d.name}", _op(Op.SCATTER, (axes, shape)), reference, specs, d.is_float, 4, 8.0, specials=False)

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
    ]


def _leaf_rows() -> list[Row]:
    iota = node(Op.IOTA, arg=5)
    return [
        Row("iota", lambda: iota, lambda: np.arange(5), ()),
        Row("const", lambda: graph.const(0.1, dt.float32), lambda: np.float32(0.1), ()),
        Row("full", lambda: graph.full(-7, dt.int32, (2, 3)), lambda: np.full((2, 3), -7, np.int32), ()),
        Row("detach", _op(Op.DETACH), lambda x: x, (Spec(_ODD, dt.float32),)),
        *(Row(f"keep-{d.name}", _op(Op.KEEP), lambda x: x, (Spec(_ODD, d),), differentiable=True) for d in FLOATS),
    ]


# ---------------------------------------------------------------- composites


def _numpy_softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _numpy_layer_norm(x: Array, w: Array, b: Array) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * w + b


def numpy_conv2d(x: Array, w: Array, stride: int, padding: int, dilation: int, groups: int) -> Array:
    """Convolution by direct loops over the output."""
    x = np.pad(x, ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2))
    n, c, h, wide = x.shape
    o, _, kh, kw = w.shape
    oh, ow = (h - (kh - 1) * dilation - 1) // stride + 1, (wide - (kw - 1) * dilation - 1) // stride + 1
    out = np.zeros((n, o, oh, ow))
    per, outs = c // groups, o // groups
    for k, i, j in np.ndindex(o, oh, ow):
        first = k // outs * per
        rows = slice(i * stride, i * stride + (kh - 1) * dilation + 1, dilation)
        cols = slice(j * stride, j * stride + (kw - 1) * dilation + 1, dilation)
        out[:, k, i, j] = (x[:, first : first + per, rows, cols] * w[k]).sum((1, 2, 3))
    return out


def _numpy_pool(x: Array, size: int, stride: int) -> Array:
    h, w = ((e - size) // stride + 1 for e in x.shape[2:])
    out = np.empty((*x.shape[:2], h, w))
    for i, j in np.ndindex(h, w):
        out[:, :, i, j] = x[:, :, i * stride : i * stride + size, j * stride : j * stride + size].max((2, 3))
    return out


def _numpy_cross_entropy(x: Array, labels: Array) -> Any:
    shifted = x - x.max(1, keepdims=True)
    return -(shifted[np.arange(len(x)), labels] - np.log(np.exp(shifted).sum(1))).mean()


def _composite_rows(d: DType) -> list[Row]:
    ulp, rows = 64, []

    def row(name: str, build: Callable[..., Node], f: Any, *inputs: Spec, magnitude: float = 1.0) -> None:
        rows.append(Row(f"{name}-{d.name}", build, _in_double(f), inputs, True, ulp, magnitude, specials=False))

    def index(shape: tuple[int, ...], extent: int) -> Spec:
        return Spec(shape, dt.int64, "index", extent)

    row("softmax", g.softmax, _numpy_softmax, Spec((3, 7), d))
    row("layernorm", g.layer_norm, _numpy_layer_norm, Spec((4, 9), d), Spec((9,), d), Spec((9,), d), magnitude=8.0)
    row("matmul", g.matmul, np.matmul, Spec((5, 7), d), Spec((7, 3), d), magnitude=32.0)
    row("matmul-batched", g.matmul, np.matmul, Spec((2, 5, 4), d), Spec((2, 4, 3), d), magnitude=32.0)
    row("gram", lambda x: g.matmul(x, graph.permute(x, (1, 0))), lambda x: x @ x.T, Spec((4, 6), d), magnitude=32.0)
    row("gelu", g.gelu, lambda x: x * 0.5 * (1 + _erf(x / math.sqrt(2))), Spec(_ODD, d))
    row("relu", g.relu, lambda x: np.maximum(x, 0), Spec(_ODD, d, "away"))
    row("linear-relu", lambda x, w, b: g.relu(g.add_row(g.matmul(x, w), b)), lambda x, w, b: np.maximum(x @ w + b, 0),
        Spec((4, 5), d), Spec((5, 6), d), Spec((6,), d), magnitude=32.0)  # fmt: skip
    for stride, padding, dilation, groups in ((1, 0, 1, 1), (2, 1, 1, 1), (1, 2, 2, 1), (3, 0, 1, 1), (2, 1, 2, 4)):
        how = (stride, padding, dilation, groups)
        row(f"conv2d-{''.join(map(str, how))}", lambda x, w, how=how: g.conv2d(x, w, *how), lambda x, w, how=how: numpy_conv2d(x, w, *how),
            Spec((2, 4, 7, 8), d), Spec((4, 4 // groups, 3, 3), d), magnitude=64.0)  # fmt: skip
    row("patches", lambda x, w: g.conv2d(x, w, 3, 0, 1, 1), lambda x, w: numpy_conv2d(x, w, 3, 0, 1, 1),
        Spec((2, 2, 6, 6), d), Spec((3, 2, 3, 3), d), magnitude=64.0)  # fmt: skip
    for size, stride in ((2, 2), (3, 2), (3, 1)):
        row(f"maxpool-{size}{stride}", lambda x, how=(size, stride): g.max_pool(x, *how), lambda x, how=(size, stride): _numpy_pool(x, *how),
            Spec((2, 2, 6, 7), d, "spread"))  # fmt: skip
    entropy = Spec((6, 5), d), index((6,), 5)
    rows.append(Row(f"crossentropy-{d.name}", g.cross_entropy, lambda x, i: _in_double(lambda y: _numpy_cross_entropy(y, i))(x),
        entropy, True, ulp, 1.0, specials=False))  # fmt: skip
    row("prod-zeros", _op(Op.REDUCE, ("mul", (0, 2))), lambda x: x.prod((0, 2)), Spec((2, 3, 3), d, "zeros"), magnitude=8.0)
    row("cumsum-tanh", lambda x: node(Op.TANH, (node(Op.SCAN, (x,), 1),)), lambda x: np.tanh(np.cumsum(x, 1)), Spec((3, 6), d))
    return rows


def rows() -> list[Row]:
    """Every row. Names are unique."""
    table = [*_leaf_rows(), *_bool_rows(), *_cast_rows()]
    for d in (*FLOATS, dt.int64, dt.uint8, dt.bool_):
        table += _view_rows(d)
    for d in FLOATS:
        table += [*_unary_rows(d), *_binary_rows(d), *_reduce_rows(d), *_indexed_rows(d), *_composite_rows(d)]
    for d in INTS:
        table += _binary_rows(d)
    table += [*_reduce_rows(dt.int64), *_reduce_rows(dt.uint8), *_indexed_rows(dt.int64)]
    table += [Row(f"neg-{d.name}", _op(Op.NEG), np.negative, (Spec(_ODD, d),)) for d in INTS]
    table.append(Row("any-bool", _op(Op.REDUCE, ("max", (1,))), lambda x: x.any(1), (Spec(_ODD, dt.bool_),)))
    return table


ROWS = rows()
