"""Operators of Tensors over all pairs of dtypes, kinds of scalar, reflected and in place, against
NumPy; and what they refuse."""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import weft as wf
from effort import examples, rarely
from exact import assert_floor_quotients
from hypothesis import given
from hypothesis import strategies as st

E = wf.errors
DTYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
]
INTS = DTYPES[1:9]
ARITHMETIC = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
]
BITWISE = [operator.and_, operator.or_, operator.xor]
SHIFTS = [operator.lshift, operator.rshift]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
IN_PLACE = {
    operator.add: operator.iadd, operator.sub: operator.isub, operator.mul: operator.imul,
    operator.truediv: operator.itruediv,
    operator.floordiv: operator.ifloordiv, operator.mod: operator.imod,
    operator.and_: operator.iand, operator.or_: operator.ior,
    operator.xor: operator.ixor, operator.lshift: operator.ilshift,
    operator.rshift: operator.irshift,
}  # fmt: skip


def name_of(f: Callable[..., Any]) -> str:
    return f.__name__


# Dtypes meet by a rule for each kind of operator. By default one of each kind shows it for all
# pairs, in one order or the other, and the others for some.
SHOWING = {operator.sub, operator.truediv, operator.xor, operator.rshift, operator.lt}
OPERATORS = [*ARITHMETIC, *BITWISE, *SHIFTS, *COMPARISONS]
CASES = [
    *(pytest.param(op, "each" if op in SHOWING else "some", id=name_of(op)) for op in OPERATORS),
    *(
        pytest.param(op, "all", id=f"{name_of(op)}, all", marks=pytest.mark.slow)
        for op in OPERATORS
    ),
]


def partners_of(dtype: str, which: str) -> list[str]:
    """All dtypes; those that make each pair in one order; or the same and another one."""
    at = DTYPES.index(dtype)
    if which == "some":
        return [dtype, DTYPES[(at + 3) % len(DTYPES)]]
    return [
        other
        for k, other in enumerate(DTYPES)
        if which == "all" or k == at or (k > at) == ((k + at) % 2 == 0)
    ]


def sample(dtype: str) -> np.ndarray:
    """A few numbers of each magnitude and sign that the dtype has, zero among them."""
    if dtype == "bool":
        return np.array([False, True, True, False, True])
    if dtype.startswith("float"):
        return np.array([0.0, -0.0, 1.0, -2.5, 7.25, 1e-3, -1e30, np.inf, np.nan], dtype)
    info = np.iinfo(dtype)
    some = [
        0,
        1,
        2,
        3,
        7,
        100,
        info.max,
        info.max - 1,
        info.min,
        info.min + 1,
        info.max // 2,
        -1,
        -2,
        -7,
    ]
    return np.array([v for v in some if info.min <= v <= info.max], dtype)


def expected(op: Callable[..., Any], x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """NumPy's value of a pair, in Weft's dtype: an integer with a float gives the float's, and
    integers divide to float32."""
    is_comparison = op in COMPARISONS
    kinds = {x.dtype.kind in "biu", y.dtype.kind in "biu"}
    with np.errstate(all="ignore"):
        if kinds == {True, False} and not is_comparison:
            wanted = next(v.dtype for v in (x, y) if v.dtype.kind == "f")
            return op(x.astype(wanted), y.astype(wanted))
        if op is operator.truediv and np.result_type(x, y).kind != "f":
            return op(x.astype("float32"), y.astype("float32"))
        return op(x, y)


def same(got: wf.Tensor, want: np.ndarray) -> None:
    g = got.numpy()
    assert g.dtype == want.dtype and g.shape == want.shape, (g.dtype, want.dtype)
    np.testing.assert_array_equal(g, want)
    if g.dtype.kind == "f":
        numbers = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(g[numbers]), np.signbit(want[numbers]))


def is_refused(op: Callable[..., Any], *dtypes: str) -> bool:
    """Pairs of dtypes for which NumPy has no loop either, and shifts of bools."""
    kinds = {np.dtype(d).kind for d in dtypes}
    met = np.result_type(*dtypes).kind
    if op in SHIFTS:
        return met not in "iu" or kinds == {"b"}
    return (op in BITWISE and met == "f") or (op is operator.sub and kinds == {"b"})


def grid(a: str, b: str) -> tuple[np.ndarray, np.ndarray]:
    x, y = sample(a), sample(b)
    return np.repeat(x, y.size), np.tile(y, x.size)


def spared(op: Callable[..., Any], x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Where NumPy and Weft agree: floor_divide of infinities is the standard's, and large quotients
    are nearer the truth."""
    keep = np.full(x.shape, True)
    if (
        op is operator.floordiv and np.result_type(x, y).kind == "f"
    ):  # of floats: tests/kit/exact.py
        with np.errstate(all="ignore"):
            quotient = x.astype("float64") / y.astype("float64")
        keep &= ~(
            np.isinf(x.astype("float64")) | np.isinf(y.astype("float64")) | (abs(quotient) > 1e6)
        )
    return keep


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize(("op", "which"), CASES)
def test_every_pair_of_dtypes(op: Callable[..., Any], which: str) -> None:
    pairs, results = [], []
    for a in DTYPES:
        for b in partners_of(a, which):
            if is_refused(op, a, b):
                with pytest.raises(E.DTypeError):
                    op(wf.ones(2, dtype=a), wf.ones(2, dtype=b))
                continue
            x, y = grid(a, b)
            keep = spared(op, x, y)
            pairs.append((x[keep], y[keep]))
            results.append(op(wf.tensor(x[keep]), wf.tensor(y[keep])))
    wf.realize(*results)
    for (x, y), got in zip(pairs, results, strict=True):
        same(got, expected(op, x, y))


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize(("op", "which"), [p for p in CASES if p.values[0] not in COMPARISONS])
def test_in_place_keeps_the_dtype_or_refuses(op: Callable[..., Any], which: str) -> None:
    """As NumPy's "same kind" rule."""
    pairs, results = [], []
    for a in DTYPES:
        for b in partners_of(a, which):
            if is_refused(op, a, b):
                continue
            x, y = grid(a, b)
            keep = spared(op, x, y)
            x, y = x[keep], y[keep]
            want = expected(op, x, y)
            t = wf.tensor(x)
            if not np.can_cast(want.dtype, x.dtype, "same_kind"):
                with pytest.raises(
                    E.DTypeError, match=f"gives {want.dtype}: cannot cast that to {a}"
                ):
                    IN_PLACE[op](t, wf.tensor(y))
                continue
            out = IN_PLACE[op](t, wf.tensor(y))
            assert out is t and t.dtype.name == a
            with np.errstate(over="ignore"):
                pairs.append(want.astype(a))
            results.append(t)
    wf.realize(*results)
    for want, got in zip(pairs, results, strict=True):
        same(got, want)


SCALARS: list[Any] = [True, 3, -2, 2.5, False, 0, 1, 100, -0.0, float("inf")]


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize(("op", "which"), CASES)
def test_python_scalars(op: Callable[..., Any], which: str) -> None:
    """The result is that of an array of the dtype in which the scalar meets the other operand."""
    wanted, results = [], []
    for d in DTYPES[::3] if which == "some" else DTYPES:
        x = sample(d)
        for s in SCALARS if which == "all" else SCALARS[:4]:
            met = np.dtype(weak(d, s))
            if is_refused(op, met.name, met.name):
                with pytest.raises(E.DTypeError):
                    op(wf.tensor(x), s)
                continue
            fits = met.kind not in "iu" or np.iinfo(met).min <= s <= np.iinfo(met).max
            if not fits and op not in (*COMPARISONS, operator.truediv):
                with pytest.raises(OverflowError, match="out of bounds"):
                    op(wf.tensor(x), s)
                continue
            if op in COMPARISONS:
                left, right = op(x, s), op(s, x)
                got = op(wf.tensor(x), s), op(s, wf.tensor(x))
            else:
                met = np.dtype("float32") if op is operator.truediv and met.kind in "biu" else met
                a, b = x.astype(met), np.full(x.shape, s, met)
                keep = spared(op, a, b)
                x_kept, a, b = x[keep], a[keep], b[keep]
                left, right = expected(op, a, b), expected(op, b, a)
                got = op(wf.tensor(x_kept), s), op(s, wf.tensor(x_kept))
            wanted += [left, right]
            results += got
    wf.realize(*results)
    for want, got in zip(wanted, results, strict=True):
        same(got, want)


def weak(dtype: str, s: Any) -> str:
    """The dtype in which a Python number meets an array."""
    if type(s) is float and not dtype.startswith("float"):
        return "float32"
    return "int64" if dtype == "bool" and type(s) is int else dtype


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    "op",
    [operator.add, operator.sub, operator.truediv, operator.floordiv, operator.lt, operator.eq],
    ids=name_of,
)
@pytest.mark.parametrize(
    "scalar", [np.float32(2.5), np.float64(-3), np.int8(3), np.uint64(7), np.bool_(True)], ids=repr
)
def test_numpy_scalars_and_arrays_are_strong(op: Callable[..., Any], scalar: Any) -> None:
    for d in ("int32", "uint8", "float32", "float64"):
        x = np.array([1, 2, 5], d)
        for other in (scalar, np.full(3, scalar)):
            y = np.full(3, scalar)
            same(op(wf.tensor(x), other), expected(op, x, y))
            same(op(other, wf.tensor(x)), expected(op, y, x))


def test_numpy_arrays_of_any_layout() -> None:
    x = wf.arange(6).astype("float32").reshape(2, 3)
    y = np.arange(12.0, dtype=">f4").reshape(3, 4)[:, ::-2].T
    np.testing.assert_array_equal((x + y).numpy(), x.numpy() + y)
    np.testing.assert_array_equal((y - x).numpy(), y - x.numpy())
    np.testing.assert_array_equal((np.zeros((), "float32") + x).numpy(), x.numpy())


# ---------------------------------------------------------------- exactness


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("op", COMPARISONS, ids=name_of)
def test_comparisons_are_those_of_the_values(op: Callable[..., Any]) -> None:
    """int64 with uint64, wide integers with floats, integers beyond the dtype: never through a
    dtype that cannot hold them."""
    i = np.array([-1, 0, 1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)])
    u = np.array([0, 1, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64 - 2], "uint64")
    for x, y in ((i, u), (u, i), (i.astype("int8"), u)):
        want = [[op(int(a), int(b)) for b in y] for a in x]
        assert op(wf.tensor(x[:, None]), wf.tensor(y)).tolist() == want
    narrow = np.array([16777217, 16777216, -16777217], "int32")
    assert op(wf.tensor(narrow), 16777216.0).tolist() == [op(int(v), 16777216) for v in narrow]
    assert op(wf.tensor(narrow), wf.tensor([16777216.0])).tolist() == [
        op(int(v), 16777216) for v in narrow
    ]
    for big in (2**70, -(2**70), 2**63, -(2**63) - 1, 10**400, 256, -1):
        for t in (
            wf.tensor(i),
            wf.tensor(u),
            wf.tensor(np.array([0, 255], "uint8")),
            wf.tensor([1.5, -2.0]),
            wf.tensor([True]),
        ):
            got, values = op(t, big).tolist(), t.tolist()
            assert got == [op(v, big) for v in values], (t.dtype, big)
            assert op(big, t).tolist() == [op(big, v) for v in values]


INTEGERS = {d: st.integers(int(np.iinfo(d).min), int(np.iinfo(d).max)) for d in INTS}


@given(
    st.data(), st.sampled_from(INTS), st.sampled_from([*ARITHMETIC[:3], *ARITHMETIC[4:], *SHIFTS])
)
@examples(150)
def test_integers_wrap_and_never_trap(
    data: st.DataObject, dtype: str, op: Callable[..., Any]
) -> None:
    """Python's value modulo 2**bits; x // 0 and x % 0 are 0; shifts by the width or more (or
    negative) give 0 or the sign."""
    numbers = st.one_of(INTEGERS[dtype], st.sampled_from([int(v) for v in sample(dtype)]))
    a = data.draw(st.lists(numbers, min_size=37, max_size=37))
    b = data.draw(st.lists(numbers, min_size=37, max_size=37))
    got = op(wf.tensor(np.array(a, dtype)), wf.tensor(np.array(b, dtype))).numpy()
    want = [
        wrapped(integer(op, p, q, np.iinfo(dtype).bits), dtype) for p, q in zip(a, b, strict=True)
    ]
    assert got.dtype == dtype and got.tolist() == want


def integer(op: Callable[..., Any], p: int, q: int, bits: int) -> int:
    if op in SHIFTS and not 0 <= q < bits:
        return -1 if op is operator.rshift and p < 0 else 0
    if op in (operator.floordiv, operator.mod) and q == 0:
        return 0
    return int(op(p, q))


def wrapped(value: int, dtype: str) -> int:
    info = np.iinfo(dtype)
    value &= (1 << info.bits) - 1
    return value - (1 << info.bits) if value > info.max else value


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    "dtype", ["int8", "int64", "uint8", "uint64", *rarely("int16", "int32", "uint16", "uint32")]
)
def test_integer_functions_at_the_ends_of_the_range(dtype: str) -> None:
    x = sample(dtype)
    t = wf.tensor(x)
    with np.errstate(all="ignore"):
        same(abs(t), np.abs(x))
        same(-t, -x)
        same(~t, ~x)
        same(wf.sign(t), np.sign(x))
        same(wf.square(t), np.square(x))
        same(wf.fmod(t, 3), np.fmod(x, np.dtype(dtype).type(3)))
        same(wf.fmod(t, t), np.fmod(x, x))
        same(wf.signbit(t), x < 0)
    for constant in (0, 1, 2, 3, 7, 64, *([-1, -2, -7] if x.min() < 0 else [])):
        want = [wrapped(v // constant if constant else 0, dtype) for v in x.tolist()]
        assert (t // constant).tolist() == want
        assert (t % constant).tolist() == [
            wrapped(v % constant if constant else 0, dtype) for v in x.tolist()
        ]
        divided = wf.full((), constant, dtype=dtype) // t
        assert divided.tolist() == [wrapped(constant // v if v else 0, dtype) for v in x.tolist()]


def floats(dtype: str) -> st.SearchStrategy[float]:
    width = 32 if dtype == "float32" else 64
    plain = st.floats(width=width)
    return st.one_of(plain, st.floats(-100, 100, width=width), st.integers(-20, 20).map(float))


@pytest.mark.slow
@given(st.data(), st.sampled_from(["float32", "float64"]))
@examples(150)
@np.errstate(all="ignore")
def test_float_remainders_are_exact(data: st.DataObject, dtype: str) -> None:
    """Also of subnormals, and where the quotient has hundreds of digits."""
    a = np.array(data.draw(st.lists(floats(dtype), min_size=41, max_size=41)), dtype)
    b = np.array(data.draw(st.lists(floats(dtype), min_size=41, max_size=41)), dtype)
    x, y = wf.tensor(a), wf.tensor(b)
    same(x % y, np.remainder(a, b))
    same(wf.fmod(x, y), np.fmod(a, b))
    assert_floor_quotients((x // y).numpy(), a, b)


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize(
    "name",
    [
        "remainder",
        "fmod",
        "floor_divide",
        "nextafter",
        "copysign",
        "less",
        "less_equal",
        "equal",
        "fmax",
    ],
)
@np.errstate(all="ignore")
def test_float16_against_numpy(name: str) -> None:
    """Every value, with others drawn at random."""
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    x, y = np.tile(every, 2), np.random.default_rng(0).permutation(np.tile(every, 2))
    keep = spared(operator.floordiv, x, y) if name == "floor_divide" else np.full(x.shape, True)
    same(
        getattr(wf, name)(wf.tensor(x), wf.tensor(y))[wf.tensor(keep)],
        getattr(np, name)(x, y)[keep],
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_remainders_of_huge_ratios(dtype: str) -> None:
    info = np.finfo(dtype)
    a = np.array(
        [info.max, 1e30, -1e30, info.tiny, info.smallest_subnormal, 3.0, -info.max, 5.5], dtype
    )
    b = np.array(
        [
            info.smallest_subnormal * 3,
            3e-30,
            7e-30,
            info.smallest_subnormal * 5,
            info.max,
            -0.1,
            info.tiny,
            1.1,
        ],
        dtype,
    )
    x, y = np.repeat(a, b.size), np.tile(b, a.size)
    same(wf.tensor(x) % wf.tensor(y), np.remainder(x, y))
    same(wf.fmod(wf.tensor(x), wf.tensor(y)), np.fmod(x, y))
    for constant in (3.0, -0.1, 1e-30, float(info.tiny)):
        same(wf.tensor(x) % constant, np.remainder(x, np.dtype(dtype).type(constant)))


# ---------------------------------------------------------------- functions of more than one
# operand


@pytest.mark.thinned(to=6)
@pytest.mark.parametrize("name", ["fmax", "fmin", "copysign", "logical_xor", "maximum", "minimum"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
@np.errstate(all="ignore")
def test_functions_equal_numpy(name: str, dtype: str) -> None:
    x, y = grid(dtype, dtype)
    keep = (x != 0) | (y != 0)  # the order of signed zeros is open
    x, y = x[keep], y[keep]
    want = getattr(np, name)(x, y)
    want = want.astype("float32") if dtype in INTS and want.dtype.kind == "f" else want
    same(getattr(wf, name)(wf.tensor(x), wf.tensor(y)), want)
    same(getattr(wf, name)(x, wf.tensor(y)), want)
    same(getattr(wf.tensor(x), name)(wf.tensor(y)), want)
    same(getattr(wf, name)(wf.tensor(x), y.tolist()), want) if dtype == "float32" else None


@pytest.mark.thinned(to=4)
@pytest.mark.parametrize("decimals", [-3, -1, 0, 1, 2, 5, 20])
@np.errstate(all="ignore")
def test_round_to_decimals(decimals: int) -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [
            rng.normal(size=50) * 1000,
            [0.5, 1.5, 2.5, -0.5, -0.0, 15.0, 25.0, np.inf, -np.inf, np.nan, 1e300],
        ]
    )
    want = np.round(x, decimals)
    same(
        wf.round(wf.tensor(x), decimals=decimals), np.where(np.isinf(want), x, want)
    )  # NumPy's overflow, ours not
    whole = np.array([0, 4, 5, 6, 15, 25, -15, -25, 149, 150, 151, 1499, 1500, 2500, -1500])
    same(wf.tensor(whole).round(decimals), np.round(whole, decimals))


def test_round_to_more_than_the_dtype_has() -> None:
    x = wf.tensor([1.5, -2.5, float("inf")])
    assert x.round(400).tolist() == x.tolist() and x.round(-400).tolist() == [
        0.0,
        -0.0,
        float("inf"),
    ]
    assert wf.tensor(np.array([127, -128], "int8")).round(-3).tolist() == [0, 0]
    with pytest.raises(E.DTypeError, match="round: decimals must be an int"):
        x.round(1.5)


@given(st.data(), st.sampled_from(["int8", "uint8", "int64", "float32", "float64"]))
@examples(80)
def test_clip_against_numpy(data: st.DataObject, dtype: str) -> None:
    numbers = floats(dtype) if dtype.startswith("float") else INTEGERS[dtype]
    x = np.array(data.draw(st.lists(numbers, min_size=12, max_size=12)), dtype).reshape(3, 4)
    shapes = st.sampled_from([(), (4,), (3, 1), (3, 4)])

    def bound() -> Any:
        kind = data.draw(st.sampled_from(["none", "number", "array"]))
        if kind != "array":
            return None if kind == "none" else np.dtype(dtype).type(data.draw(numbers)).item()
        shape = data.draw(shapes)
        drawn = data.draw(st.lists(numbers, min_size=12, max_size=12))
        return np.array(drawn[: int(np.prod(shape))], dtype).reshape(shape)

    low, high = bound(), bound()
    want = x if low is None and high is None else np.clip(x, low, high)
    got = wf.clip(wf.tensor(x), low, high)
    assert got.dtype.name == dtype
    np.testing.assert_array_equal(got.numpy(), want)


def test_clip_keeps_the_dtype() -> None:
    x = wf.tensor(np.array([-100, 0, 100], "int8"))
    assert wf.clip(x, wf.tensor([-(2**40)]), wf.tensor([5])).tolist() == [-100, 0, 5]
    assert (
        wf.clip(x, -1000, 1000).tolist() == [-100, 0, 100]
        and wf.clip(x, -1000, 1000).dtype is wf.int8
    )
    with pytest.raises(OverflowError, match="clip: 1000 is out of bounds for int8"):
        wf.clip(x, 1000)
    assert wf.clip(wf.tensor([0.1, 0.9]), np.float64(0.2), np.array([0.5])).dtype is wf.float32
    assert wf.clip(x, 0.5).dtype is wf.float32 and wf.clip(x, 0.5).tolist() == [0.5, 0.5, 100.0]
    assert wf.clip(wf.tensor([1.0, 2.0, 3.0]), 5, 0).tolist() == [
        0.0,
        0.0,
        0.0,
    ]  # crossed bounds: max


@np.errstate(all="ignore")
def test_nan_to_num() -> None:
    for d in ("float32", "float64"):
        x = np.array([np.nan, np.inf, -np.inf, 1.5, -0.0], d)
        same(wf.nan_to_num(wf.tensor(x)), np.nan_to_num(x))
        same(
            wf.nan_to_num(wf.tensor(x), nan=1.0, posinf=2.0, neginf=-3.0),
            np.nan_to_num(x, nan=1.0, posinf=2.0, neginf=-3.0),
        )
    assert wf.nan_to_num(wf.tensor([1, 2])).tolist() == [1, 2]


@pytest.mark.parametrize("equal_nan", [False, True])
@np.errstate(all="ignore")
def test_isclose(equal_nan: bool) -> None:
    x, y = grid("float64", "float64")
    x, y = np.concatenate([x, x]), np.concatenate([y, x * (1 + 1e-6)])
    for kw in ({}, {"rtol": 0.0, "atol": 0.5}, {"rtol": 1.0}):
        same(
            wf.isclose(wf.tensor(x), wf.tensor(y), equal_nan=equal_nan, **kw),
            np.isclose(x, y, equal_nan=equal_nan, **kw),
        )
    assert wf.isclose(wf.tensor([1, 2**40]), 1).tolist() == [True, False]


def test_where_with_scalars() -> None:
    c = wf.tensor([True, False])
    assert wf.where(c, 1, wf.tensor([2.0, 3.0])).dtype is wf.float32
    assert wf.where(c, wf.tensor(np.array([1, 2], "int8")), 3).dtype is wf.int8
    assert wf.where(c, 1.5, wf.tensor(np.array([1, 2], "int8"))).tolist() == [1.5, 2.0]
    assert wf.where(c, 1, 2).tolist() == [1, 2] and wf.where(True, wf.tensor([1]), 0).tolist() == [
        1
    ]
    with pytest.raises(OverflowError, match="where: 300 is out of"):
        wf.where(c, wf.tensor(np.array([1, 2], "uint8")), 300)


# ---------------------------------------------------------------- in place


def test_in_place_broadcasts_the_right_side_only() -> None:
    t = wf.ones(2, 3)
    t += wf.tensor([1.0, 2.0, 3.0])
    t *= np.float64(2)
    t -= np.ones((2, 1))
    assert t.dtype is wf.float32 and t.tolist() == [[3.0, 5.0, 7.0]] * 2
    with pytest.raises(E.ShapeError, match=r"shape \(2, 3\), which does not fit shape \(3,\)"):
        t[0].__iadd__(t)
    square = wf.tensor([[0.0, 1.0], [1.0, 0.0]])
    square @= wf.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert square.tolist() == [[3.0, 4.0], [1.0, 2.0]]


def test_in_place_on_a_view_changes_no_other_tensor() -> None:
    x = wf.tensor([[1.0, 2.0], [3.0, 4.0]])
    row, alias = x[0], x
    row += 10
    assert row.tolist() == [11.0, 12.0] and x.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    x += 1
    assert (
        alias is x and alias.tolist() == [[2.0, 3.0], [4.0, 5.0]] and row.tolist() == [11.0, 12.0]
    )


def test_a_refused_in_place_operation_changes_nothing() -> None:
    t = wf.tensor([1, 2])
    for wrong in (
        lambda: t.__iadd__(1.5),
        lambda: t.__itruediv__(2),
        lambda: t.__iadd__(wf.ones(2, 2)),
        lambda: t.__iadd__(2**64),
    ):
        with pytest.raises(E.WeftError):
            wrong()
    assert t.tolist() == [1, 2] and t.dtype is wf.int64


# ---------------------------------------------------------------- what is refused


class Colour(enum.IntEnum):
    RED = 3


def test_subclasses_of_numbers_are_numbers() -> None:
    t = wf.tensor([1, 2])
    assert (t + Colour.RED).tolist() == (Colour.RED + t).tolist() == [4, 5]
    assert wf.maximum(t, Colour.RED).tolist() == [3, 3]


@pytest.mark.parametrize(
    "other", ["a", None, [1, 2], (1, 2), object(), {}], ids=lambda x: type(x).__name__
)
def test_operators_leave_foreign_objects_to_python(other: Any) -> None:
    t = wf.tensor([1.0, 2.0])
    assert (t == other) is False and (t != other) is True and (other == t) is False
    for op in (
        operator.add,
        operator.mul,
        operator.lt,
        operator.iadd,
        operator.and_,
        operator.matmul,
    ):
        with pytest.raises(
            TypeError, match=r"Tensor|can be an index"
        ):  # a sequence asks what it is multiplied by for __index__
            op(t, other)
    with pytest.raises(TypeError):
        other + t
    if not isinstance(other, (list, tuple)):
        with pytest.raises(
            E.DTypeError, match=r"add: b must be a Tensor, an array or a number, not "
        ):
            wf.add(t, other)
        with pytest.raises(E.DTypeError, match=r"maximum: b must be a Tensor"):
            t.maximum(other)


def test_functions_take_lists() -> None:
    t = wf.tensor([1.0, 2.0])
    assert wf.add(t, [1, 2]).tolist() == wf.add([1, 2], t).tolist() == [2.0, 4.0]
    assert wf.clip(t, [1.5, 0.0], max=[2.0, 1.0]).tolist() == [1.5, 1.0]


def test_arrays_of_foreign_types_are_named() -> None:
    t = wf.tensor([1.0, 2.0])
    for foreign in (
        np.array(["a", "b"]),
        np.array([None, 1]),
        np.datetime64("2020-01-01"),
    ):
        assert (t == foreign) is False and (t != foreign) is True
        with pytest.raises(E.DTypeError, match="there is no dtype"):
            t + foreign


@pytest.mark.parametrize(
    "op", [operator.add, operator.floordiv, operator.and_, operator.lshift], ids=name_of
)
def test_integers_that_do_not_fit(op: Callable[..., Any]) -> None:
    for d in INTS:
        info = np.iinfo(d)
        for value in (int(info.max) + 1, int(info.min) - 1, 2**70, -(2**70), 10**5000):
            for call in (
                lambda v=value, d=d: op(wf.ones(2, dtype=d), v),
                lambda v=value, d=d: op(v, wf.ones(2, dtype=d)),
            ):
                with pytest.raises(
                    E.OverflowError, match=f": .* is out of bounds for {d}"
                ) as caught:
                    call()
                assert isinstance(caught.value, OverflowError)
    if op in (operator.add, operator.floordiv):
        with pytest.raises(E.OverflowError, match="of 1329 bits is out of bounds for float32"):
            op(wf.ones(2), 10**400)
        assert (wf.ones(2, dtype="float64") + 2**70).tolist() == [2.0**70 + 1] * 2
