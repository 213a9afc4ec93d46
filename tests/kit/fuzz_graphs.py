"""Random graphs grown move by move. In: a source of choices. Out: Nodes beside their values, which
stay of moderate size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import graphs as g
import numpy as np
from fuzz_regions import REGIONS
from harness import leaf
from optable import HALVES
from weft.ir.graph import dtype as dt
from weft.ir.graph import graph
from weft.ir.graph.graph import Node, node
from weft.ir.graph.op import SCANS, Op
from weft.ir.ops.interp import EVALUATORS
from weft.ir.ops.table import RECORDS, TRANSCENDENTAL

Array = np.ndarray[Any, Any]
Choose = Callable[[int], int]  # n -> one of 0 .. n-1
ROUNDS = TRANSCENDENTAL | {*SCANS, Op.SCATTER}  # results may differ in the last places
FUNCTIONS = sorted(TRANSCENDENTAL, key=lambda op: op.value)
SUMS = frozenset({Op.REDUCE, Op.SCATTER, *SCANS})
INTS = (dt.int64, dt.int32, dt.uint8, dt.int8, dt.int16, dt.uint16, dt.uint32, dt.uint64)
FLOATS = (dt.float32, dt.float32, dt.float32, dt.float64, *HALVES)
EXTENTS = (1, 2, 3, 4, 5, 7, 8, 16, 17, 33, 70)
SPECIALS = (np.inf, -np.inf, np.nan, -0.0, 0.0, 1e-40, -1e-40, 3e38)
MOST, MOST_DRAWN = 20_000, 6_000  # elements of a value, of one whose shape is drawn
LARGE = 1e4  # a greater value is dropped


@dataclass(eq=False)
class Built:
    """A value of the graph: how it is made, what it is, and whether the compiled code must give the
    same bits."""

    node: Node
    array: Array
    exact: bool


@dataclass
class Builder:
    """Grows a graph by random moves."""

    choose: Choose
    moves: Sequence[Callable[[Builder], Built | None]]
    specials: bool = False  # infinities and NaNs are allowed
    values: list[Built] = field(default_factory=list)
    env: dict[Node, Array] = field(default_factory=dict)
    rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.choose(1 << 16))

    # ------------------------------------------------------------ pieces

    def one_of(self, options: Sequence[Any]) -> Any:
        return options[self.choose(len(options))]

    def shape(self, most_axes: int = 4) -> tuple[int, ...]:
        while True:
            shape = tuple(self.one_of(EXTENTS) for _ in range(self.choose(most_axes + 1)))
            if prod(shape) <= MOST_DRAWN:
                return shape

    def leaf(
        self, shape: tuple[int, ...], dtype: dt.DType, low: int = -20, high: int = 100
    ) -> Built:
        n = leaf(*shape, dtype=dtype)
        if dtype.is_float:
            array = np.asarray(self.rng.standard_normal(shape)).astype(dtype.numpy)
            if self.specials and array.size and self.choose(3) == 0:
                with np.errstate(over="ignore"):
                    array.reshape(-1)[self.rng.integers(0, array.size, 2)] = self.rng.choice(
                        SPECIALS, 2
                    ).astype(dtype.numpy)
        else:
            low = 0 if dtype in (dt.uint8, dt.bool_) else low
            array = np.asarray(
                self.rng.integers(low, 2 if dtype is dt.bool_ else high, shape)
            ).astype(dtype.numpy)
        self.env[n] = array = laid_out(array, self.choose(12))
        return self.keep(Built(n, array, True))

    def keep(self, v: Built) -> Built:
        self.values.append(v)
        return v

    def constant(self, value: float, like: Built) -> Built:
        n = graph.full(value, like.node.dtype, like.node.shape)
        return Built(n, np.full(n.shape, value, n.dtype.numpy), True)

    def apply(self, op: Op, *operands: Built, arg: Any = None) -> Built:
        n = node(op, [o.node for o in operands], arg)
        with np.errstate(all="ignore"):
            array = np.asarray(EVALUATORS[op](n, *(o.array for o in operands)))
        sums = op in SUMS and n.dtype.is_float and not (op is Op.REDUCE and arg[0] == "max")
        return Built(
            n, array, all(o.exact for o in operands) and op not in ROUNDS - SUMS and not sums
        )

    def finish(self, v: Built | None) -> Built | None:
        """Keeps a value of moderate size; scales a large one down by a power of two, drops what is
        not finite."""
        if v is None or v.node.size > MOST or v.node.ndim > 6:
            return None
        if v.node.dtype.is_float and not self.specials:
            largest = float(np.abs(v.array).max(initial=0))
            if not np.isfinite(largest) or largest > LARGE:
                return None
            if largest > 8:
                v = self.apply(Op.MUL, v, self.constant(2.0 ** -np.ceil(np.log2(largest / 4)), v))
        return self.keep(v)

    def pick(self, wanted: Callable[[Built], bool], otherwise: Callable[[], Built]) -> Built:
        found = [v for v in self.values if wanted(v)]
        recent = found[-8:]
        return self.one_of(recent) if recent else otherwise()

    def float(self, least_axes: int = 0) -> Built:
        return self.pick(
            lambda v: v.node.dtype.is_float and v.node.ndim >= least_axes,
            lambda: self.leaf(self._deep(least_axes), self.one_of(FLOATS)),
        )

    def _deep(self, least_axes: int) -> tuple[int, ...]:
        shape = self.shape()
        return shape + (5,) * (least_axes - len(shape))

    def any(self, least_axes: int = 0) -> Built:
        return self.pick(lambda v: v.node.ndim >= least_axes, lambda: self.float(least_axes))

    def integer(self) -> Built:
        fresh = self.choose(2) == 0
        return self.pick(
            lambda v: v.node.dtype.is_int and not fresh,
            lambda: self.leaf(self.shape(), self.one_of(INTS)),
        )

    def partner(self, v: Built) -> Built:
        """Another value of the same shape and dtype, perhaps a broadcast or a constant."""
        shape, dtype = v.node.shape, v.node.dtype
        kind = self.choose(4)
        if kind == 0 and dtype is not dt.bool_:
            return self.constant(
                self.one_of((2, 3, 0.5, -1.25)) if dtype.is_float else self.one_of((1, 3, 7)), v
            )
        if kind == 1 and shape:
            axis = self.choose(len(shape))
            rest = shape[:axis] + shape[axis + 1 :]
            small = self.pick(
                lambda u: u.node.shape == rest and u.node.dtype is dtype,
                lambda: self.leaf(rest, dtype),
            )
            return self.apply(Op.EXPAND, small, arg=((axis, shape[axis]),))
        return self.pick(
            lambda u: u.node.shape == shape and u.node.dtype is dtype and u is not v,
            lambda: self.leaf(shape, dtype),
        )

    def positive(self, v: Built) -> Built:
        return self.apply(Op.ADD, self.apply(Op.MUL, v, v), self.constant(0.5, v))

    def index(self, shape: tuple[int, ...], extent: int) -> Built:
        """An int64 index below extent: a leaf, or computed from integers of that shape."""
        found = [
            v for v in self.values if v.node.shape == shape and v.node.dtype in (dt.int64, dt.int32)
        ]
        if not found or self.choose(2):
            return self.leaf(shape, dt.int64, 0, extent)
        v = self.one_of(found)
        wide = v if v.node.dtype is dt.int64 else self.apply(Op.CAST, v, arg=dt.int64)
        return self.apply(Op.MOD, wide, self.constant(extent, wide))

    def grow(self, moves: int) -> None:
        for _ in range(moves):
            if len(self.values) < 60:
                self.finish(self.one_of(self.moves)(self))


def laid_out(a: Array, how: int) -> Array:
    """The same values transposed or reversed in memory, or with gaps; or the first row repeated."""
    if how == 0 and a.ndim:
        return np.asfortranarray(a)
    if how == 1 and a.ndim:
        wide = np.zeros((*a.shape[:-1], 2 * a.shape[-1] + 1), a.dtype)
        wide[..., 1::2] = a
        return wide[..., 1::2]
    if how == 2 and a.ndim and a.size:
        return np.broadcast_to(a[:1], a.shape)
    return np.ascontiguousarray(a[::-1])[::-1] if how == 3 and a.ndim else a


# ---------------------------------------------------------------- moves: elementwise


def arithmetic(b: Builder) -> Built:
    x = b.float()
    return b.apply(b.one_of((Op.ADD, Op.SUB, Op.MUL)), x, b.partner(x))


def division(b: Builder) -> Built:
    x = b.float()
    return b.apply(Op.DIV, x, b.partner(x) if b.specials else b.positive(b.partner(x)))


def root(b: Builder) -> Built:
    x = b.float()
    return b.apply(Op.SQRT, x if b.specials else b.positive(x))


def negate(b: Builder) -> Built:
    return b.apply(Op.NEG, b.float())


def maximum(b: Builder) -> Built:
    x = b.float()
    return b.apply(Op.MAX, x, b.partner(x))


def compare(b: Builder) -> Built | None:
    x = b.float()
    y = b.partner(x)
    gap = 0.1 if x.node.dtype.is_half else 1e-3
    if (
        not (x.exact and y.exact)
        and np.abs(x.array.astype(np.float64) - y.array.astype(np.float64)).min(initial=1.0) < gap
    ):
        return None
    return b.apply(b.one_of((Op.LT, Op.EQ)), x, y)


def choice(b: Builder) -> Built:
    x = b.float()
    y = b.partner(x)
    found = b.pick(
        lambda v: v.node.dtype is dt.bool_ and v.node.shape == x.node.shape,
        lambda: b.leaf(x.node.shape, dt.bool_),
    )
    return b.apply(Op.WHERE, found, x, y)


def transcendental(b: Builder) -> Built:
    """Each op as often as any other, on operands where it is smooth."""
    x = b.float()
    match op := b.one_of(FUNCTIONS):
        case Op.EXP:
            return b.apply(op, b.apply(Op.MUL, x, b.constant(0.5, x)), arg=b.one_of((None, 2)))
        case Op.LOG:
            return b.apply(op, b.positive(x), arg=b.one_of((None, 2, 10)))
        case Op.SIN:
            return b.apply(op, x, arg=b.choose(4))
        case Op.EXPM1 | Op.SINH | Op.COSH:
            return b.apply(op, b.apply(Op.MUL, x, b.constant(0.5, x)))
        case Op.POLYGAMMA:
            return b.apply(op, b.apply(Op.ADD, b.positive(x), b.constant(1, x)), arg=b.choose(3))
        case Op.ATAN2 | Op.HYPOT:
            return b.apply(op, x, b.positive(b.partner(x)))
        case Op.POW:
            return b.apply(op, b.positive(x), b.constant(b.one_of((2, 0.5, -1.5)), x))
    match RECORDS[op].domain:
        case "positive":
            return b.apply(op, b.positive(x))
        case "inside" | "unit":
            return b.apply(op, b.apply(Op.MUL, b.apply(Op.TANH, x), b.constant(0.75, x)))
        case "above":
            return b.apply(op, b.apply(Op.ADD, b.positive(x), b.constant(1, x)))
    return b.apply(op, x)


def stepwise(b: Builder) -> Built | None:
    x = b.float()
    if not x.exact:
        return None
    return b.apply(Op.FLOOR, x) if b.choose(2) else b.apply(Op.MOD, x, b.positive(b.partner(x)))


def convert(b: Builder) -> Built | None:
    x = b.any()
    if x.node.dtype.is_float and x.exact and b.choose(3) == 0:
        to = b.one_of(
            {2: (dt.int16, dt.int32), 4: (dt.int32,), 8: (dt.int32, dt.int64)}[
                x.node.dtype.itemsize
            ]
        )
        return b.apply(
            Op.BITCAST if to.itemsize == x.node.dtype.itemsize and b.choose(2) else Op.CAST,
            x,
            arg=to,
        )
    to = b.one_of(FLOATS if x.node.dtype.is_float else (*FLOATS, *INTS))
    return b.apply(Op.CAST, x, arg=to) if to is not x.node.dtype else None


def whole(b: Builder) -> Built:
    x = b.integer()
    op = b.one_of(
        (
            Op.ADD,
            Op.SUB,
            Op.MUL,
            Op.MAX,
            Op.IDIV,
            Op.MOD,
            Op.AND,
            Op.OR,
            Op.XOR,
            Op.SHL,
            Op.SHR,
            Op.LT,
            Op.EQ,
        )
    )
    y = b.partner(x)
    return b.apply(op, x, b.apply(Op.AND, y, b.constant(7, y)) if op in (Op.SHL, Op.SHR) else y)


def logic(b: Builder) -> Built:
    x = b.pick(lambda v: v.node.dtype is dt.bool_, lambda: b.leaf(b.shape(), dt.bool_))
    return b.apply(b.one_of((Op.AND, Op.OR, Op.XOR)), x, b.partner(x))


def hint(b: Builder) -> Built:
    return b.apply(b.one_of((Op.KEEP, Op.DETACH)), b.any())


def counter(b: Builder) -> Built:
    n = b.one_of(EXTENTS)
    return Built(node(Op.IOTA, (), n), np.arange(n), True)


# ---------------------------------------------------------------- moves: views


def reshape(b: Builder) -> Built:
    x = b.any()
    size, shape = x.node.size, []
    while size > 1 and len(shape) < 3:
        by = b.one_of([d for d in range(1, size + 1) if size % d == 0][:12])
        shape.append(by)
        size //= by
    shape.insert(b.choose(len(shape) + 1), size)
    return b.apply(Op.RESHAPE, x, arg=tuple(shape)) if x.node.size else x


def permute(b: Builder) -> Built:
    x = b.any(2)
    order = list(range(x.node.ndim))
    for i in range(len(order) - 1, 0, -1):
        j = b.choose(i + 1)
        order[i], order[j] = order[j], order[i]
    return b.apply(Op.PERMUTE, x, arg=tuple(order))


def flip(b: Builder) -> Built:
    x = b.any(1)
    return b.apply(Op.FLIP, x, arg=(b.choose(x.node.ndim),))


def cut(b: Builder) -> Built:
    x = b.any(1)
    arg = []
    for d in x.node.shape:
        start = b.choose(d) if d else 0
        arg.append(
            (start, d - b.choose(d - start) if d > start else d, 1 + b.choose(3))
            if b.choose(2)
            else (0, d, 1)
        )
    return b.apply(Op.SLICE, x, arg=tuple(arg))


def pad(b: Builder) -> Built:
    x = b.any(1)
    return b.apply(
        Op.PAD,
        x,
        arg=tuple(
            (b.choose(3), b.choose(3), b.choose(3) // 2) if b.choose(2) else (0, 0, 0)
            for _ in x.node.shape
        ),
    )


def expand(b: Builder) -> Built:
    x = b.any()
    return b.apply(Op.EXPAND, x, arg=((b.choose(x.node.ndim + 1), b.one_of(EXTENTS[:8])),))


def window(b: Builder) -> Built | None:
    x = b.any(1)
    axis = b.choose(x.node.ndim)
    size, step, stride = 2 + b.choose(2), 1 + b.choose(2), 1 + b.choose(2)
    if (size - 1) * step >= x.node.shape[axis]:
        return None
    y = b.apply(Op.SKEW, b.apply(Op.EXPAND, x, arg=((axis + 1, size),)), arg=(axis, axis + 1, step))
    return b.apply(
        Op.SLICE,
        y,
        arg=tuple((0, d, stride if a == axis else 1) for a, d in enumerate(y.node.shape)),
    )


def unskew(b: Builder) -> Built | None:
    x = b.any(2)
    n, k = b.one_of([(0, 1), (1, 0), (x.node.ndim - 1, 0)])
    return b.apply(Op.UNSKEW, x, arg=(n, k, 1 + b.choose(2))) if x.node.shape[k] >= 1 else None


# ---------------------------------------------------------------- moves: sums and indices


def axes(b: Builder, x: Built) -> tuple[int, ...]:
    chosen = tuple(a for a in range(x.node.ndim) if b.choose(2))
    return chosen or (x.node.ndim - 1,)


def largest(b: Builder) -> Built:
    x = b.any(1)
    return b.apply(Op.REDUCE, x, arg=("max", axes(b, x)))


def total(b: Builder) -> Built | None:
    x = b.any(1)
    if x.node.dtype is dt.bool_:
        return None
    if b.choose(5) == 0 and x.node.dtype.is_float:
        near = b.apply(Op.ADD, b.apply(Op.MUL, x, b.constant(0.01, x)), b.constant(1, x))
        return b.apply(Op.REDUCE, near, arg=("mul", axes(b, x)))
    return b.apply(Op.REDUCE, x, arg=("add", axes(b, x)))


def scan(b: Builder) -> Built:
    x = b.float(1)
    if b.choose(3) == 0:
        near = b.apply(Op.ADD, b.apply(Op.MUL, x, b.constant(0.01, x)), b.constant(1, x))
        return b.apply(Op.SCANMUL, near, arg=b.choose(x.node.ndim))
    return b.apply(Op.SCAN, x, arg=b.choose(x.node.ndim))


def sort(b: Builder) -> Built | None:
    x = b.any(1)
    return (
        b.apply(Op.ARGSORT, x, arg=(b.choose(x.node.ndim), b.choose(2) == 0)) if x.exact else None
    )


def gather(b: Builder) -> Built | None:
    x = b.any(1)
    axis = b.choose(x.node.ndim)
    if not x.node.shape[axis]:
        return None
    at = b.index(b.shape(2), x.node.shape[axis])
    if axis and b.choose(2):
        first = b.index(at.node.shape, x.node.shape[0])
        return b.apply(Op.GATHER, x, first, at, arg=(0, axis))
    return b.apply(Op.GATHER, x, at, arg=(axis,))


def scatter(b: Builder) -> Built | None:
    x = b.pick(lambda v: v.node.ndim >= 1 and v.node.dtype is not dt.bool_, lambda: b.float(1))
    lead = 1 + b.choose(min(2, x.node.ndim))
    extent = 1 + b.choose(20)
    at = b.index(x.node.shape[:lead], extent)
    kind = ("max",) if x.node.dtype.is_int and b.choose(2) else ()
    return b.apply(Op.SCATTER, x, at, arg=((0,), (extent, *x.node.shape[lead:]), *kind))


def put(b: Builder) -> Built | None:
    """A part written at a place that is computed."""
    x = b.any(1)
    axis = b.choose(x.node.ndim)
    if not x.node.shape[axis]:
        return None
    rest = x.node.shape[:axis] + x.node.shape[axis + 1 :]
    part = b.pick(
        lambda v: v.node.shape == rest and v.node.dtype is x.node.dtype,
        lambda: b.leaf(rest, x.node.dtype),
    )
    return b.apply(Op.PUT, x, part, b.index((), x.node.shape[axis]), arg=(axis,))


def composite(build: Callable[..., Node], *operands: Built, b: Builder) -> Built:
    """A piece made by tests/kit/graphs.py, evaluated op by op."""
    n = build(*(o.node for o in operands))
    known = {o.node: o for o in operands}

    def value(m: Node) -> Built:
        if m not in known:
            if m.op is Op.CONST:
                known[m] = Built(m, np.asarray(m.arg, m.dtype.numpy), True)
            else:
                known[m] = b.apply(m.op, *(value(s) for s in m.src), arg=m.arg)
        return known[m]

    return value(n)


def normalise(b: Builder) -> Built | None:
    x = b.float(1)
    return composite(g.softmax, x, b=b) if x.node.size else None


def wide_rows(b: Builder) -> Built:
    """A few long rows: the limits on parallelism."""
    x = b.leaf((20, 900), b.one_of((dt.float32, dt.float64)))
    return composite(g.softmax, x, b=b)


def windowed_rows(b: Builder) -> Built:
    """A map read through overlapping windows of a row."""
    x = composite(b.one_of((g.exp, g.relu)), b.leaf((b.one_of((5, 70)), 40), dt.float32), b=b)
    return b.apply(
        Op.REDUCE, composite(lambda y: g.window(y, 1, 3, 1), x, b=b), arg=("max", (1, 2))
    )


def shifted_product(b: Builder) -> Built:
    """A product plus row sums: two reductions of other lengths over the same outer axis."""
    y = composite(g.matmul, b.leaf((33, 17), dt.float32), b.leaf((17, 16), dt.float32), b=b)
    sums = b.apply(Op.REDUCE, b.leaf((33, 16, 9), dt.float32), arg=("add", (2,)))
    return b.apply(Op.ADD, y, sums)


def product(b: Builder) -> Built | None:
    """A matrix product, transposed in one of three ways, with or without a map before it."""
    x = b.pick(
        lambda v: v.node.dtype.is_float and v.node.ndim == 2 and v.node.size > 60,
        lambda: b.leaf((b.one_of((5, 16, 33, 70)), 17), dt.float32),
    )
    if b.choose(3) == 0:
        x = composite(b.one_of((g.relu, g.gelu)), x, b=b)
    (m, k), n = x.node.shape, b.one_of((16, 17, 33, 900))
    how = b.choose(4)
    if how == 0:
        y = b.leaf((k, n), x.node.dtype)
    elif how == 1:
        y = b.apply(Op.PERMUTE, b.leaf((n, k), x.node.dtype), arg=(1, 0))
    elif how == 2:
        x, y = b.apply(Op.PERMUTE, x, arg=(1, 0)), b.leaf((m, n), x.node.dtype)
    else:
        y = b.apply(Op.PERMUTE, x, arg=(1, 0))
    return composite(g.matmul, x, y, b=b) if x.node.size * y.node.shape[1] < 400_000 else None


def convolution(b: Builder) -> Built:
    x, w = b.leaf((2, 3, 8, 9), dt.float32), b.leaf((4, 3, 3, 3), dt.float32)
    if b.choose(2):
        x = composite(g.relu, x, b=b)
    how = 1 + b.choose(2), b.choose(3), 1 + b.choose(2), 1
    return composite(lambda x, w: g.conv2d(x, w, *how), x, w, b=b)


EXACT = [
    arithmetic, arithmetic, arithmetic, division, root, negate, compare, choice, choice,
    reshape, permute, flip, cut, pad, expand, window, unskew, sort,
]  # fmt: skip
MOVES = [
    *EXACT, arithmetic, transcendental, transcendental, stepwise, maximum, convert, convert, whole,
    whole, whole, logic, hint,
    counter, largest, total, total, total, scan, gather, scatter, put, normalise, wide_rows,
    windowed_rows, shifted_product,
    product, product, convolution, *REGIONS,
]  # fmt: skip
