"""Every op of the loop language in machine code: a reference == the loop interpreter == compiled
code, specials included."""

import numpy as np
import pytest
from harness import TARGETS
from loopkit import (
    Op,
    Store,
    Var,
    argument,
    check_kernel,
    compiled,
    const,
    dt,
    f32,
    i64,
    interpreted,
    kernel,
    lanes,
    load,
    op,
    var,
)
from weft.codegen.llvm.emit import emit
from weft.codegen.llvm.expr import EmitError
from weft.codegen.llvm.target import host, named
from weft.codegen.math.expand import expand_loops

random = np.random.default_rng(0)


@pytest.fixture(params=TARGETS)
def target(request):
    return request.param


def normal(*shape, dtype=np.float32):
    return random.standard_normal(shape).astype(dtype)


def integers(*shape, low=-1000, high=1000, dtype=np.int64):
    return random.integers(low, high, shape).astype(dtype)


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, np.inf, -np.inf, np.nan, 1e-40, 3e38, 7.0, -7.25]
FLOATS = [dt.float32, dt.float64]
INTEGERS = [dt.int32, dt.int64, dt.uint8, dt.int8, dt.uint32, dt.uint64]


def pairs(values, dtype):
    a, b = np.meshgrid(np.array(values, dtype), np.array(values, dtype))
    return a.ravel(), b.ravel()


def integer_values(dtype):
    bits, low = dtype.bits, dt.lowest(dtype)
    high = (1 << (bits - (dtype.kind == "i"))) - 1
    return sorted(
        {low, low + 1, high, high - 1, 0, 1, 2, 3, 7, bits - 1, bits}
        | ({-1, -2, -7} if low else set())
    )


def binary_kernel(which, dtype, n, result=None):
    a, b, y, i = (
        argument("a", dtype),
        argument("b", dtype),
        argument("y", result or dtype),
        Var("i", n),
    )
    return kernel([a, b, y], lanes(i, Store(y, var(i), op(which, load(a, i), load(b, i)))))


@pytest.mark.thinned
@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.name)
@pytest.mark.parametrize("which", [Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.MAX, Op.MOD, Op.LT, Op.EQ])
@pytest.mark.filterwarnings("ignore")
def test_float_operations(target, which, dtype):
    a, b = pairs(SPECIAL, dtype.numpy)
    # NumPy's own maximum does not promise the sign of a zero
    references = {
        Op.ADD: np.add, Op.SUB: np.subtract, Op.MUL: np.multiply, Op.DIV: np.divide,
        Op.MOD: np.remainder,
        Op.LT: np.less, Op.EQ: np.equal,
        Op.MAX: lambda p, q: np.where((p >= q) | np.isnan(p), p, q),
    }  # fmt: skip
    want = references[which](a, b)
    result = dt.bool_ if which in (Op.LT, Op.EQ) else None
    check_kernel(
        binary_kernel(which, dtype, a.size, result),
        [a, b, np.zeros_like(want)],
        [a, b, want],
        target,
    )


def wrapped(value, dtype):
    return np.array([value & ((1 << 64) - 1)], np.uint64).astype(dtype)[0]


def exact(which, a, b, dtype):
    """The operation in Python's integers, by the rules of the documentation."""
    a, b, bits = int(a), int(b), dtype.bits
    match which:
        case Op.IDIV:
            value = a // b if b else 0
        case Op.MOD:
            value = a % b if b else 0
        case Op.SHL:
            value = a << b if 0 <= b < bits else 0
        case Op.SHR:
            value = a >> (b if 0 <= b < bits else bits)
        case _:
            value = {
                Op.ADD: a + b,
                Op.SUB: a - b,
                Op.MUL: a * b,
                Op.MAX: max(a, b),
                Op.AND: a & b,
                Op.OR: a | b,
                Op.XOR: a ^ b,
            }[which]
    return wrapped(value, dtype.numpy)


INTEGER_OPS = [
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
]


@pytest.mark.thinned(to=6)
@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda d: d.name)
@pytest.mark.parametrize("which", INTEGER_OPS)
def test_integer_operations(target, which, dtype):
    a, b = pairs(integer_values(dtype), dtype.numpy)
    want = np.array([exact(which, p, q, dtype) for p, q in zip(a, b, strict=True)])
    check_kernel(
        binary_kernel(which, dtype, a.size), [a, b, np.zeros_like(a)], [a, b, want], target
    )


@pytest.mark.thinned
@pytest.mark.parametrize("divisor", [1, 2, 3, -1, -3, -8, 16, 0])
@pytest.mark.parametrize("which", [Op.IDIV, Op.MOD])
def test_integer_division_by_a_constant(target, which, divisor):
    x, y, i = argument("x", dt.int32), argument("y", dt.int32), Var("i", 13)
    data = np.array(
        [-(2**31), -(2**31) + 1, -9, -8, -7, -3, -1, 0, 1, 3, 7, 8, 2**31 - 1], np.int32
    )
    want = np.array([exact(which, v, divisor, dt.int32) for v in data])
    loops = kernel(
        [x, y], lanes(i, Store(y, var(i), op(which, load(x, i), const(divisor, dt.int32))))
    )
    check_kernel(loops, [data, np.zeros_like(data)], [data, want], target)


@pytest.mark.thinned(to=7)
@pytest.mark.parametrize(
    "source",
    [dt.float16, dt.bfloat16, dt.float32, dt.float64, dt.int32, dt.int64, dt.uint8, dt.bool_],
    ids=lambda d: d.name,
)
@pytest.mark.parametrize("to", [d for d in dt.ALL if not d.is_complex], ids=lambda d: d.name)
def test_casts(target, source, to):
    x, y, i = argument("x", source), argument("y", to), Var("i", 20)
    values = [0, 1, 2.5, -0.0, 100, 254.9, 3e9, 1e20] if source.is_float else [0, 1, 2, 100, 255]
    values += (
        [
            -1,
            -2.5,
            -3e9,
            -1e20,
            np.inf,
            -np.inf,
            np.nan,
            2.0**31,
            2.0**63,
            2.0**32,
            -(2.0**63),
            1e-40,
        ]
        if source.is_float
        else []
    )
    with np.errstate(over="ignore"):
        data = np.resize(np.array(values).astype(source.numpy), 20)
    loops = kernel([x, y], lanes(i, Store(y, var(i), op(Op.CAST, load(x, i), arg=to))))
    reference, _ = interpreted(loops, [data, np.zeros(20, to.numpy)])
    if not (source.is_float and to.is_int):
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(
                *(a.astype(np.float64) for a in (reference[1], data.astype(to.numpy)))
            )
    loops = expand_loops(loops, named(target).has_float16)
    check_kernel(loops, [data, np.zeros(20, to.numpy)], [data, reference[1]], target)


def test_float_to_int_saturates_and_nan_is_zero():
    x, y, i = argument("x"), argument("y", dt.int32), Var("i", 5)
    loops = kernel([x, y], lanes(i, Store(y, var(i), op(Op.CAST, load(x, i), arg=dt.int32))))
    data = np.array([np.nan, 1e20, -1e20, -1.9, 2.0**31], np.float32)
    result, _ = interpreted(loops, [data, np.zeros(5, np.int32)])
    assert result[1].tolist() == [0, 2**31 - 1, -(2**31), -1, 2**31 - 1]


@pytest.mark.thinned(to=6)
@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.name)
@pytest.mark.parametrize("which", [Op.NEG, Op.SQRT, Op.FLOOR])
@pytest.mark.filterwarnings("ignore")
def test_unary_operations(target, which, dtype):
    x, y, i = argument("x", dtype), argument("y", dtype), Var("i", 16)
    data = np.resize(np.array([*SPECIAL, 1e15 + 0.5, -0.3], dtype.numpy), 16)
    want = {Op.NEG: np.negative, Op.SQRT: np.sqrt, Op.FLOOR: np.floor}[which](data)
    loops = kernel([x, y], lanes(i, Store(y, var(i), op(which, load(x, i)))))
    check_kernel(loops, [data, np.zeros_like(data)], [data, want], target)


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.name)
def test_ldexp(target, dtype):
    whole = dt.int32 if dtype is f32 else i64
    x, n, y, i = argument("x", dtype), argument("n", whole), argument("y", dtype), Var("i", 24)
    data, by = (
        np.linspace(-1.9, 1.7, 24).astype(dtype.numpy),
        integers(24, low=-130, high=127).astype(whole.numpy),
    )
    loops = kernel(
        [x, n, y], lanes(i, Store(y, var(i), op(Op.LDEXP, load(x, i), load(n, i), dtype=dtype)))
    )
    check_kernel(
        loops,
        [data, by, np.zeros_like(data)],
        [data, by, np.ldexp(data, by.astype(np.int32))],
        target,
    )


def test_fma_rounds_once(target):
    x, y, i = argument("x"), argument("y"), Var("i", 20)
    data = normal(20)
    loops = kernel(
        [x, y],
        lanes(i, Store(y, var(i), op(Op.FMA, load(x, i), load(x, i), const(-1, f32), dtype=f32))),
    )
    exact_square = (data.astype(np.float64) ** 2 - 1).astype(np.float32)
    got = compiled(loops, [data, np.zeros_like(data)], target)[0][1]
    np.testing.assert_array_equal(got, exact_square)


def test_bitcasts(target):
    x, y, i = argument("x"), argument("y", dt.int32), Var("i", 14)
    data = np.array(SPECIAL, np.float32)
    loops = kernel([x, y], lanes(i, Store(y, var(i), op(Op.BITCAST, load(x, i), arg=dt.int32))))
    check_kernel(loops, [data, np.zeros(14, np.int32)], [data, data.view(np.int32)], target)


def test_bools_are_bytes(target):
    a, b, y = (argument(n, dt.bool_) for n in "aby")
    i = Var("i", 100)
    either = op(Op.XOR, load(a, i), op(Op.LT, load(b, i), load(a, i)))
    p, q = integers(100, low=0, high=2, dtype=bool), integers(100, low=0, high=2, dtype=bool)
    loops = kernel(
        [a, b, y], lanes(i, Store(y, var(i), op(Op.AND, either, op(Op.EQ, load(a, i), load(b, i)))))
    )
    check_kernel(loops, [p, q, np.zeros(100, bool)], [p, q, (p ^ (q < p)) & (p == q)], target)


@pytest.mark.parametrize("many", [False, True])
def test_rare_branch(target, many):
    """The slow operand of a rare WHERE: the result is the same whether no lane, some or all need
    it."""
    x, y, i = argument("x"), argument("y"), Var("i", 50)
    value = load(x, i)
    slow = op(Op.DIV, const(1, f32), op(Op.SUB, value, const(100, f32)))
    picked = op(
        Op.WHERE, op(Op.LT, const(100, f32), value), slow, op(Op.ADD, value, value), arg="rare"
    )
    loops = kernel([x, y], lanes(i, Store(y, var(i), op(Op.MUL, picked, picked)), unroll=2))
    data = normal(50)
    if many:
        data[::3] = 200
    want = np.where(data > 100, 1 / (data - np.float32(100)), data + data)
    check_kernel(loops, [data, np.zeros_like(data)], [data, want * want], target)


def test_unexpanded_transcendentals_are_refused():
    x, y, i = argument("x"), argument("y"), Var("i", 4)
    with pytest.raises(EmitError, match="exp"):
        emit(kernel([x, y], lanes(i, Store(y, var(i), op(Op.EXP, load(x, i))))), host())
