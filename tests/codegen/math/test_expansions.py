"""Transcendentals as basic ops, evaluated in NumPy and compiled: compared with wider references.
In: codegen/math/expand.py."""

from __future__ import annotations

import ctypes
import math
import runpy
import warnings
from functools import cache

import numpy as np
import pytest
from project_root import ROOT
from weft.codegen.llvm.build import compile_text
from weft.codegen.llvm.emit import emit, phase_name
from weft.codegen.llvm.target import Target, host, named
from weft.codegen.math.expand import expand, expand_loops
from weft.ir.graph import dtype as dt
from weft.ir.graph import graph
from weft.ir.graph.graph import Node
from weft.ir.graph.index import Gathered, Index, Range, Var, var
from weft.ir.graph.op import Op
from weft.ir.loops.loop import GLOBAL, GRID, LANES, Buf, For, Loops, Store
from weft.ir.loops.walk import all_roots, postorder
from weft.ir.ops.table import TRANSCENDENTAL
from weft.runtime.native import load_object

WIDE = runpy.run_path(str(ROOT / "benchmarks" / "wide.py"))
FUNCTIONS = {
    "exp": (Op.EXP, None, np.exp),
    "exp2": (Op.EXP, 2, np.exp2),
    "expm1": (Op.EXPM1, None, np.expm1),
    "log": (Op.LOG, None, np.log),
    "log2": (Op.LOG, 2, np.log2),
    "log10": (Op.LOG, 10, np.log10),
    "log1p": (Op.LOG1P, None, np.log1p),
    "sin": (Op.SIN, 0, np.sin),
    "cos": (Op.SIN, 1, np.cos),
    "-sin": (Op.SIN, 2, lambda x: -np.sin(x)),
    "tan": (Op.TAN, None, np.tan),
    "asin": (Op.ASIN, None, np.arcsin),
    "acos": (Op.ACOS, None, np.arccos),
    "atan": (Op.ATAN, None, np.arctan),
    "sinh": (Op.SINH, None, np.sinh),
    "cosh": (Op.COSH, None, np.cosh),
    "tanh": (Op.TANH, None, np.tanh),
    "asinh": (Op.ASINH, None, np.arcsinh),
    "acosh": (Op.ACOSH, None, np.arccosh),
    "atanh": (Op.ATANH, None, np.arctanh),
    "erf": (
        Op.ERF,
        None,
        lambda x: np.frompyfunc(lambda v: math.erf(float(v)), 1, 1)(x).astype(np.float64),
    ),
    "erfinv": (Op.ERFINV, None, WIDE["erfinv"]),
    "lgamma": (Op.LGAMMA, None, WIDE["lgamma"]),
}
EDGES = {
    "exp": 750.0,
    "exp2": 1080.0,
    "expm1": 750.0,
    "sinh": 720.0,
    "cosh": 720.0,
    "tanh": 22.0,
    "erf": 6.1,
    "erfinv": 1.1,
}
EDGES |= dict.fromkeys(("log", "log2", "log10", "log1p"), 4.0) | dict.fromkeys(
    ("asin", "acos", "atan", "atanh", "asinh"), 1.3
)
BUDGET = {np.float32: 2.0, np.float64: 4.0}
DTYPES = {np.float32: dt.float32, np.float64: dt.float64}
WIDER = {np.float32: np.float64, np.float64: np.longdouble}
# The argument closest to a multiple of pi/2 of its dtype: in float64 61 bits cancel (Muller,
# Elementary Functions).
CLOSEST_TO_MULTIPLE = {np.float32: 16367173 * 2.0**72, np.float64: 6381956970095103.0 * 2.0**797}
BASIC = frozenset(
    {
        Op.CONST,
        Op.INPUT,
        Op.ADD,
        Op.SUB,
        Op.MUL,
        Op.DIV,
        Op.FMA,
        Op.LDEXP,
        Op.NEG,
        Op.BITCAST,
        Op.CAST,
        Op.FLOOR,
        Op.SQRT,
    }
    | {Op.WHERE, Op.LT, Op.EQ, Op.AND, Op.OR, Op.XOR, Op.SHL, Op.SHR}
)


# ---------------------------------------------------------------- an evaluator of the basic ops,
# FMA exact


def two_sum(a, b):
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def odd_sum(a, b):
    """a + b rounded to odd in float64: rounding the result once more is as good as rounding a + b
    once."""
    total, error = two_sum(a, b)
    raw = np.asarray(total).view(np.int64)
    inexact = np.isfinite(total) & (error != 0) & (raw & 1 == 0)
    step = np.where((error > 0) == (total > 0), 1, -1)
    return np.where(inexact, raw + step, raw).view(np.float64).reshape(np.shape(total))


def split_product(a, b):
    def halves(x):
        big = x * 134217729.0
        high = big - (big - x)
        return high, x - high

    product = a * b
    (ah, al), (bh, bl) = halves(a), halves(b)
    return product, ((ah * bh - product) + ah * bl + al * bh) + al * bl


def fma(a, b, c):
    if a.dtype == np.float32:
        return odd_sum(np.float64(a) * np.float64(b), np.float64(c)).astype(np.float32)
    product, low = split_product(a, b)
    middle, rest = two_sum(c, low)
    high, error = two_sum(product, middle)
    result = high + odd_sum(rest, error)
    return np.where(np.isfinite(result) & (np.abs(product) > 1e-280), result, a * b + c)


def shift(op, a, n):
    width = a.dtype.itemsize * 8
    inside = (n >= 0) & (n < width)
    shifted = op(a, np.where(inside, n, 0).astype(a.dtype))
    return np.where(
        inside, shifted, np.where((a < 0) & (op is np.right_shift), -1, 0).astype(a.dtype)
    )


EVALUATE = {
    Op.ADD: np.add,
    Op.SUB: np.subtract,
    Op.MUL: np.multiply,
    Op.DIV: np.divide,
    Op.AND: np.bitwise_and,
    Op.OR: np.bitwise_or,
    Op.XOR: np.bitwise_xor,
    Op.LT: np.less,
    Op.EQ: np.equal,
    Op.NEG: np.negative,
    Op.FLOOR: np.floor,
    Op.SQRT: np.sqrt,
    Op.WHERE: np.where,
    Op.FMA: fma,
    Op.LDEXP: lambda x, n: np.ldexp(x, n.astype(np.int32)),
    Op.SHL: lambda a, n: shift(np.left_shift, a, n),
    Op.SHR: lambda a, n: shift(np.right_shift, a, n),
}


def evaluate(root: Node, inputs: dict[Node, np.ndarray]) -> np.ndarray:
    values: dict[Node, np.ndarray] = {}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in graph.toposort([root]):
            src = [values[s] for s in n.src]
            if n.op is Op.INPUT:
                values[n] = inputs[n]
            elif n.op is Op.CONST:
                values[n] = np.asarray(n.arg, n.dtype.numpy)
            elif n.op is Op.BITCAST:
                values[n] = src[0].view(n.dtype.numpy)
            elif n.op is Op.CAST:
                values[n] = src[0].astype(n.dtype.numpy)
            else:
                values[n] = np.asarray(EVALUATE[n.op](*src)).astype(n.dtype.numpy)
            assert values[n].dtype == n.dtype.numpy
    return values[root]


def leaves(dtype: dt.DType, count: int) -> list[Node]:
    return [graph.leaf(900_000 + i, dtype, ()) for i in range(count)]


def run(op: Op, arg: int | None, *operands: np.ndarray) -> np.ndarray:
    src = leaves(DTYPES[operands[0].dtype.type], len(operands))
    return evaluate(expand(graph.node(op, src, arg)), dict(zip(src, operands, strict=True)))


# ---------------------------------------------------------------- arguments and errors


def special_values(t: type) -> np.ndarray:
    info = np.finfo(t)
    tiny = [
        0.0,
        info.smallest_subnormal,
        info.smallest_normal / 3,
        info.smallest_normal,
        1e-20,
        info.eps,
    ]
    near_one = [
        1 - info.eps / 2,
        1.0,
        1 + info.eps,
        0.5,
        0.625,
        0.927734375,
        1.5,
        2.0,
        3.0,
        np.pi / 2,
        np.pi,
    ]
    limits = [
        4.0,
        5.95,
        9.0,
        10.0,
        87.3,
        88.72,
        88.73,
        103.9,
        104.0,
        708.4,
        709.78,
        709.79,
        745.1,
        745.2,
    ]
    large = [1e5, 1.1e5, 2.0**30, 1e9, 1e22, info.max, np.inf]
    v = np.array([*tiny, *near_one, *limits, *large, np.nan], t)
    return np.concatenate([v, -v])


def arguments(name: str, t: type) -> np.ndarray:
    """A stride over all bit patterns, the range where the function is not trivial, and special
    values."""
    rng = np.random.default_rng(7)
    if t is np.float32:
        patterns = np.arange(0, 2**32, 42_943, dtype=np.uint64).astype(np.uint32).view(t)
    else:
        patterns = rng.integers(0, 2**64, 10_000, dtype=np.uint64).view(t)
    edge = EDGES.get(name, 50.0)
    dense = rng.uniform(-edge, edge, 5_000).astype(t)
    graded = (np.exp(rng.uniform(-60, 23, 5_000)) * rng.choice([-1, 1], 5_000)).astype(t)
    multiples = (np.floor(np.exp(rng.uniform(0, 30, 2_000))) * (np.pi / 2)).astype(t)
    closest = np.array([CLOSEST_TO_MULTIPLE[t]], t)
    x = np.concatenate([patterns, dense, graded, multiples, closest, special_values(t)])
    return np.where(x < -2, -x, x) if name == "lgamma" else x  # below -2 lie its zeros


@cache
def expected(name: str, t: type) -> tuple[np.ndarray, np.ndarray]:
    """The arguments, and the reference's values in a wider dtype."""
    x = arguments(name, t)
    with np.errstate(all="ignore"):
        return x, FUNCTIONS[name][2](x.astype(WIDER[t]))


def ulps(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """The error in units of the last place of the rounded reference; inf where a special value is
    wrong."""
    t = got.dtype.type
    with np.errstate(all="ignore"):
        rounded = want.astype(t)
        same = (np.isnan(got) & np.isnan(rounded)) | (
            (got == rounded) & (np.signbit(got) == np.signbit(rounded))
        )
        unit = np.spacing(np.minimum(np.abs(rounded), np.finfo(t).max)).astype(want.dtype)
        # Past the largest number the next one would be 2**maxexp.
        finite = np.where(
            np.isinf(got),
            np.copysign(WIDER[t](2.0) ** np.finfo(t).maxexp, got),
            got.astype(want.dtype),
        )
        error = np.abs(finite - want) / unit
    error = np.where(
        np.isnan(error) | np.isinf(want) | (np.signbit(got) != np.signbit(rounded)), np.inf, error
    )
    return np.where(same, np.where(np.isfinite(error), error, 0), error)


def assert_close(got: np.ndarray, want: np.ndarray, budget: float, *args: np.ndarray) -> None:
    errors = ulps(got, want)
    i = int(np.argmax(errors))
    assert errors[i] <= budget, (
        f"{errors[i]} ULP at {[a[i] for a in args]}: {got[i]!r}, not {want[i]!r}"
    )


def powers(t: type) -> tuple[np.ndarray, np.ndarray]:
    """Bases of every size, with exponents that keep the result in range or just leave it."""
    rng, n, top = np.random.default_rng(3), 4_000, np.finfo(t).maxexp
    wide = np.exp2(rng.uniform(-top - 20, top, n)).astype(t)
    near_one = (1 + rng.choice([-1, 1], n) * np.exp2(-rng.uniform(1, np.finfo(t).nmant, n))).astype(
        t
    )
    x = np.concatenate([wide, near_one, rng.uniform(0, 20, n).astype(t)])
    limit = 1.08 * top / np.maximum(np.abs(np.log2(x.astype(np.float64))), 1e-20)
    y = (rng.uniform(-1, 1, 3 * n) * limit).astype(t)
    whole = rng.integers(-20, 20, n).astype(t)
    return np.concatenate([x, -np.floor(x[2 * n :])]), np.concatenate([y, whole])


def compiled(op: Op, arg: int | None, target: Target, *operands: np.ndarray) -> np.ndarray:
    """The op in a LANES loop as machine code."""
    d, n, i = DTYPES[operands[0].dtype.type], len(operands[0]), Var("i", len(operands[0]))
    buffers = [Buf(f"b{k}", d, n, GLOBAL) for k in range(len(operands) + 1)]
    src = [graph.scalar_node(Op.LOAD, (), (b, var(i), ()), d) for b in buffers[:-1]]
    loop = For(i, n, LANES, [Store(buffers[-1], var(i), graph.node(op, src, arg))])
    kernel = expand_loops(
        Loops("math", tuple(buffers), (), [For(Var("chunk", 1), 1, GRID, [loop])])
    )
    name = phase_name(kernel, 0)
    library = load_object(compile_text(emit(kernel, target), target), [name])
    arrays = [*operands, np.zeros_like(operands[0]), np.full(2, -1, np.int64)]
    slots = np.array([a.ctypes.data for a in arrays], np.int64)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(library[name])(
        slots.ctypes.data, 0, 0
    )
    library.release()
    return arrays[-2]


TARGETS = [t for t in ("host", "avx2", "sse2") if named(t).runs_on(host())]


# ---------------------------------------------------------------- tests


@pytest.mark.thinned(to=4)
@pytest.mark.parametrize("t", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_error_over_the_full_range(name, t):
    op, arg, _ = FUNCTIONS[name]
    x, want = expected(name, t)
    assert_close(run(op, arg, x), want, BUDGET[t], x)


@pytest.mark.thinned(to=6)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("t", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_compiled_error(name, t, target):
    op, arg, _ = FUNCTIONS[name]
    x, want = (a[-30_000:] for a in expected(name, t))
    assert_close(compiled(op, arg, named(target), x), want, BUDGET[t], x)


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("t", DTYPES)
def test_compiled_powers_equal_evaluated_ones(t, target):
    v = special_values(t)
    x, y = (
        np.concatenate([a.ravel(), b]) for a, b in zip(np.meshgrid(v, v), powers(t), strict=True)
    )
    got, want = compiled(Op.POW, None, named(target), x, y), run(Op.POW, None, x, y)
    assert_close(got, want.astype(WIDER[t]), 1.0, x, y)


@pytest.mark.parametrize("t", DTYPES)
def test_error_of_powers(t):
    x, y = powers(t)
    with np.errstate(all="ignore"):
        want = np.power(x.astype(WIDER[t]), y.astype(WIDER[t]))
    assert_close(run(Op.POW, None, x, y), want, BUDGET[t], x, y)


@pytest.mark.parametrize("t", DTYPES)
def test_special_cases_of_powers(t):
    v = np.concatenate(
        [special_values(t), np.array([-2, -3, -7, 5, 1e6, 16777217, 2.0**53 - 1], t)]
    )
    x, y = (a.ravel().copy() for a in np.meshgrid(v, v))
    with np.errstate(all="ignore"):
        want = np.power(x.astype(WIDER[t]), y.astype(WIDER[t]))
    assert_close(run(Op.POW, None, x, y), want, BUDGET[t], x, y)


@pytest.mark.thinned(to=8)
@pytest.mark.parametrize("t", DTYPES)
@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 2.0, 3.0, -1.0, 2.5, -0.5])
def test_powers_with_constant_exponent(exponent, t):
    x = arguments("log", t)
    (leaf,) = leaves(DTYPES[t], 1)
    power = graph.node(Op.POW, (leaf, graph.const(exponent, DTYPES[t])))
    with np.errstate(all="ignore"):
        want = np.power(
            x.astype(WIDER[t]), np.full(x.shape, exponent, WIDER[t])
        )  # a scalar 0.5 would be a sqrt
    assert_close(evaluate(expand(power), {leaf: x}), want, BUDGET[t], x)


@pytest.mark.parametrize("t", DTYPES)
def test_exact_values(t):
    def at(op, *values, arg=None):
        return float(run(op, arg, *(np.array([v], t) for v in values))[0])

    assert at(Op.EXP, -np.inf) == 0 and at(Op.EXP, 0.0) == 1 and at(Op.EXP, np.inf) == np.inf
    assert (
        at(Op.LOG, 0.0) == at(Op.LOG, -0.0) == -np.inf
        and math.isnan(at(Op.LOG, -1e-30))
        and at(Op.LOG, 1.0) == 0
    )
    assert math.isnan(at(Op.SIN, np.inf, arg=0)) and at(Op.SIN, 0.0, arg=1) == 1
    assert at(Op.TANH, 100.0) == 1 and at(Op.ERF, -100.0) == -1
    assert at(Op.POW, 1.0, np.nan) == at(Op.POW, np.nan, 0.0) == at(Op.POW, -1.0, np.inf) == 1
    assert (
        at(Op.POW, -0.0, -3.0) == -np.inf
        and at(Op.POW, -np.inf, -2.0) == 0
        and math.isnan(at(Op.POW, -2.0, 0.5))
    )
    assert at(Op.POW, 10.0, 2.0) == 100 and at(Op.POW, -2.0, 3.0) == -8


def points(t: type) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of every size and ratio, and all pairs of special values."""
    rng, n, top = np.random.default_rng(5), 6_000, np.finfo(t).maxexp
    with np.errstate(all="ignore"):
        wide = (np.exp2(rng.uniform(-top - 20, top, (2, n))) * rng.choice([-1, 1], (2, n))).astype(
            t
        )
        near = (wide[0] * np.exp2(rng.uniform(-3, 3, n)) * rng.choice([-1, 1], n)).astype(t)
    grid = (a.ravel() for a in np.meshgrid(special_values(t), special_values(t)))
    y, x = (
        np.concatenate(p)
        for p in zip(wide, (wide[0], near), grid, rng.normal(size=(2, n)).astype(t), strict=True)
    )
    return y, x


PAIRS = {"atan2": (Op.ATAN2, np.arctan2), "hypot": (Op.HYPOT, np.hypot)}


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("t", DTYPES)
@pytest.mark.parametrize("name", PAIRS)
def test_error_of_functions_of_points(name, t):
    op, reference = PAIRS[name]
    y, x = points(t)
    with np.errstate(all="ignore"):
        want = reference(y.astype(WIDER[t]), x.astype(WIDER[t]))
    assert_close(run(op, None, y, x), want, BUDGET[t], y, x)
    for target in TARGETS:
        assert_close(compiled(op, None, named(target), y, x), want, BUDGET[t], y, x)


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("t", DTYPES)
def test_logarithms_of_powers_are_whole(t, target):
    info = np.finfo(t)
    twos = np.arange(info.minexp - info.nmant, info.maxexp)
    np.testing.assert_array_equal(
        compiled(Op.LOG, 2, named(target), np.ldexp(t(1), twos)), twos.astype(t)
    )
    np.testing.assert_array_equal(
        compiled(Op.EXP, 2, named(target), twos.astype(t)), np.ldexp(t(1), twos)
    )
    tens = np.arange(-37 if t is np.float32 else -307, 39 if t is np.float32 else 309)
    powers = np.array([f"1e{k}" for k in tens]).astype(np.float64).astype(t)
    with np.errstate(all="ignore"):
        want = np.log10(powers.astype(WIDER[t])).astype(t)
    np.testing.assert_array_equal(compiled(Op.LOG, 10, named(target), powers), want)
    assert (want[tens >= 0][:11] == tens[tens >= 0][:11]).all()


@pytest.mark.thinned(to=23)
@pytest.mark.parametrize("t", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_nan_of_any_payload_stays_nan(name, t):
    op, arg, _ = FUNCTIONS[name]
    rng = np.random.default_rng(0)
    quiet = np.array(np.nan, t).view(f"i{np.dtype(t).itemsize}")
    x = (quiet | rng.integers(0, 2 ** (np.finfo(t).nmant - 1), 500).astype(quiet.dtype)).view(t)
    assert np.isnan(run(op, arg, x)).all()


@pytest.mark.thinned(to=24)
@pytest.mark.parametrize("d", DTYPES.values(), ids=str)
@pytest.mark.parametrize("name", [*FUNCTIONS, "pow"])
def test_only_basic_ops(name, d):
    op, arg = (Op.POW, None) if name == "pow" else FUNCTIONS[name][:2]
    nodes = graph.toposort([expand(graph.node(op, leaves(d, 1 + (op is Op.POW)), arg))])
    assert {n.op for n in nodes} <= BASIC
    assert all(n.shape == () for n in nodes)


def test_sine_and_cosine_share_the_reduction():
    (x,) = leaves(dt.float32, 1)
    sine, cosine = (expand(graph.node(Op.SIN, (x,), k)) for k in (0, 1))
    apart = [len(graph.toposort([n])) for n in (sine, cosine)]
    assert len(graph.toposort([sine, cosine])) < 0.6 * sum(apart)


def test_expand_keeps_other_nodes():
    x, y = leaves(dt.float32, 2)
    total = graph.node(Op.ADD, (x, y))
    assert expand(total) is total


def test_a_deep_chain_is_expanded_without_recursion():
    i, target = Var("i", 8), Buf("y", dt.float32, 8, GLOBAL)
    (x,) = leaves(dt.float32, 1)
    n = x
    for _ in range(5_000):
        n = graph.node(Op.ADD, (graph.node(Op.MUL, (n, x)), graph.node(Op.EXP, (x,))))
    (phase,) = expand_loops(
        Loops("deep", (target,), (), [For(i, 8, GRID, [Store(target, var(i), n)])])
    ).phases
    assert not any(m.op in TRANSCENDENTAL for m in graph.toposort([phase.body[0].value]))


def test_expand_loops_reaches_values_masks_and_gathered_indices():
    source, target = Buf("x", dt.float32, 8, GLOBAL), Buf("y", dt.float32, 8, GLOBAL)
    i = Var("i", 8)
    element = graph.scalar_node(Op.LOAD, (), (source, var(i), ()), dt.float32)
    gathered = Index(
        {Gathered(graph.node(Op.CAST, (graph.node(Op.EXP, (element,)),), dt.int64), 8): 1}
    )
    value = graph.scalar_node(Op.LOAD, (), (source, gathered, (Range(gathered, 0, 4),)), dt.float32)
    loop = For(i, 8, LANES, [Store(target, var(i), graph.node(Op.TANH, (value,)))])
    kernel = Loops("k", (source, target), (), [For(Var("chunk", 1), 1, GRID, [loop])])
    before, after = (postorder(all_roots(k.phases)) for k in (kernel, expand_loops(kernel)))
    assert {n.op for n in before} & TRANSCENDENTAL == {Op.EXP, Op.TANH}
    assert not {n.op for n in after} & TRANSCENDENTAL
    assert next(n.arg for n in after if n.op is Op.LOAD) == element.arg
