"""Elementwise functions and operators of Tensors against NumPy: values, special values, promotion,
broadcasting."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest
import weft as wf

SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    -1.5,
    2.5,
    0.3,
    -0.3,
    1e-3,
    7.0,
    -7.0,
    np.inf,
    -np.inf,
    np.nan,
    1e-40,
    -1e-40,
]

erf = np.vectorize(math.erf)
UNARY = {
    "abs": np.abs, "sign": np.sign, "floor": np.floor, "ceil": np.ceil, "round": np.round,
    "trunc": np.trunc,
    "neg": np.negative, "square": np.square, "sqrt": np.sqrt, "reciprocal": np.reciprocal,
}  # fmt: skip
APPROXIMATE = {
    "exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos, "tan": np.tan, "tanh": np.tanh,
    "erf": erf,
    "log1p": np.log1p, "expm1": np.expm1, "exp2": np.exp2, "log2": np.log2, "log10": np.log10,
    "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "softplus": lambda x: np.logaddexp(0, x),
    "silu": lambda x: x / (1 + np.exp(-x)), "gelu": lambda x: x * 0.5 * (1 + erf(x / np.sqrt(2))),
    "relu": lambda x: np.maximum(x, 0), "leaky_relu": lambda x: np.where(x < 0, 0.01 * x, x),
}  # fmt: skip
PREDICATES = {
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "logical_not": np.logical_not,
}


def same(got: wf.Tensor, expected: np.ndarray) -> None:
    """Equal bit for bit (any NaN equals any NaN), dtype included."""
    g = got.numpy()
    assert g.dtype == expected.dtype and g.shape == expected.shape
    np.testing.assert_array_equal(g, expected)
    if g.dtype.kind == "f":
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(g[numbers]), np.signbit(expected[numbers]))


@pytest.mark.thinned(to=12)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", UNARY)
@np.errstate(all="ignore")
def test_exact_functions_equal_numpy(name: str, dtype: str) -> None:
    x = np.array(SPECIAL, dtype)
    same(getattr(wf.tensor(x), name)(), UNARY[name](x))


@pytest.mark.thinned(to=10)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", APPROXIMATE)
@np.errstate(all="ignore")
def test_transcendental_functions(name: str, dtype: str) -> None:
    x = np.array(
        [v for v in SPECIAL if not (np.isinf(v) and name in ("silu", "gelu", "tan", "sin", "cos"))],
        dtype,
    )
    expected = APPROXIMATE[name](x.astype("float64"))
    got = getattr(wf.tensor(x), name)().numpy()
    assert got.dtype == dtype
    tiny = 1e-12 if dtype == "float64" else 1e-7
    np.testing.assert_allclose(got, expected, rtol=4e-6 if dtype == "float32" else 1e-13, atol=tiny)


@pytest.mark.parametrize("name", PREDICATES)
def test_predicates(name: str) -> None:
    x = np.array(SPECIAL, "float32")
    same(getattr(wf.tensor(x), name)(), PREDICATES[name](x))
    whole = np.array([0, 1, -2])
    same(getattr(wf.tensor(whole), name)(), PREDICATES[name](whole))


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
@pytest.mark.parametrize("name", ["abs", "sign", "floor", "ceil", "round", "square", "neg"])
def test_integer_functions_keep_the_dtype(name: str, dtype: str) -> None:
    x = np.array(
        [0, 1, 5, 200] if dtype == "uint8" else [0, 1, -5, 200, np.iinfo(dtype).min]
    ).astype(dtype)
    with np.errstate(all="ignore"):
        same(getattr(wf.tensor(x), name)(), getattr(np, {"neg": "negative"}.get(name, name))(x))


ARITHMETIC = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


@pytest.mark.thinned(to=6)
@pytest.mark.parametrize("op", ARITHMETIC + COMPARISONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@np.errstate(all="ignore")
def test_float_operators_equal_numpy(op: operator, dtype: str) -> None:
    values = np.array(
        [v for v in SPECIAL if abs(v) != np.inf or op not in (operator.floordiv, operator.mod)],
        dtype,
    )
    x, y = values[:, None], values[None, :]
    got, expected = op(wf.tensor(x), wf.tensor(y)).numpy(), op(x, y)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


@pytest.mark.thinned(to=11)
@pytest.mark.parametrize(
    "op",
    [*ARITHMETIC, *COMPARISONS, operator.and_, operator.or_, operator.xor],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
def test_integer_operators_equal_numpy(op: operator, dtype: str) -> None:
    values = np.array(
        [1, 2, 7, 100, 255] if dtype == "uint8" else [1, 2, 7, -3, -100, np.iinfo(dtype).max]
    ).astype(dtype)
    x, y = values[:, None], values[None, :]
    with np.errstate(all="ignore"):
        expected = op(x, y)
    expected = expected.astype("float32") if expected.dtype.kind == "f" else expected
    got = op(wf.tensor(x), wf.tensor(y)).numpy()
    assert got.dtype == expected.dtype
    (np.testing.assert_allclose if got.dtype.kind == "f" else np.testing.assert_array_equal)(
        got, expected
    )


def test_integer_division_by_zero_is_zero() -> None:
    x = wf.tensor([5, -5])
    assert (x // 0).tolist() == (x % 0).tolist() == [0, 0]


def test_shifts() -> None:
    x = np.array([1, -8, 1 << 40])
    assert (wf.tensor(x) << 3).tolist() == (x << 3).tolist()
    assert (wf.tensor(x) >> 2).tolist() == (x >> 2).tolist()
    assert (2 << wf.tensor([1, 2])).tolist() == [4, 8]
    assert (wf.tensor(x) << 64).tolist() == [0, 0, 0] and (wf.tensor(x) >> 64).tolist() == [
        0,
        -1,
        0,
    ]


@pytest.mark.parametrize(
    "op",
    [operator.add, operator.mul, operator.and_, operator.or_, operator.xor, *COMPARISONS],
    ids=lambda f: f.__name__,
)
def test_bool_operators(op: operator) -> None:
    x, y = np.array([True, True, False, False]), np.array([True, False, True, False])
    same(op(wf.tensor(x), wf.tensor(y)), op(x, y))


def test_invert() -> None:
    assert (~wf.tensor([True, False])).tolist() == [False, True]
    assert (~wf.tensor([0, 5])).tolist() == [-1, -6]
    assert (~wf.tensor(np.array([1], "uint8"))).tolist() == [254]


@pytest.mark.thinned(to=4)
@pytest.mark.parametrize("op", [*ARITHMETIC, operator.pow], ids=lambda f: f.__name__)
def test_reflected_operators(op: operator) -> None:
    x = np.array([1.0, 2.0, 3.0], "float32")
    np.testing.assert_allclose(op(5.0, wf.tensor(x)).numpy(), op(np.float32(5), x), rtol=1e-6)
    np.testing.assert_allclose(op(x, wf.tensor(x)).numpy(), op(x, x), rtol=1e-6)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 4, 5, -1, -2, 0.5, 1.5, -0.5])
def test_float_power(exponent: float) -> None:
    x = np.array([0.5, 1.0, 2.0, 3.7, 10.0])
    np.testing.assert_allclose((wf.tensor(x) ** exponent).numpy(), x**exponent, rtol=1e-13)


def test_integer_power() -> None:
    x = np.array([0, 1, -2, 3, 10])
    e = np.array([0, 5, 3, 13, 2])
    assert (wf.tensor(x) ** 13).tolist() == (x**13).tolist()
    assert (wf.tensor(x) ** wf.tensor(e)).tolist() == (x**e).tolist()
    assert (2 ** wf.tensor(e)).tolist() == (2**e).tolist()
    with pytest.raises(ValueError, match="are not integers"):
        wf.tensor(x) ** -1


@pytest.mark.thinned(to=6)
@pytest.mark.parametrize("name", ["maximum", "minimum"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8", "bool"])
def test_extremes_equal_numpy(name: str, dtype: str) -> None:
    values = np.array(SPECIAL) if dtype.startswith("float") else np.array([0, 1, 5, 100])
    values = (
        values[values != 0] if dtype.startswith("float") else values
    )  # NumPy leaves the sign of a zero open
    x = values.astype(dtype)
    same(getattr(wf, name)(wf.tensor(x[:, None]), wf.tensor(x)), getattr(np, name)(x[:, None], x))


def test_clip_and_where() -> None:
    x = np.array([-2.0, -0.5, 0.5, 2.0, np.nan], "float32")
    t = wf.tensor(x)
    same(t.clip(-1, 1), np.clip(x, -1, 1))
    same(t.clip(min=0.0), np.clip(x, 0, None))
    same(wf.where(t > 0, t, 0.0), np.where(x > 0, x, np.float32(0)))
    same(t.where(t > 0, -1), np.where(x > 0, x, np.float32(-1)))
    assert wf.where(wf.tensor([1, 0]), 1, 2).tolist() == [1, 2]


PROMOTIONS = [
    ("int32", "int64", "int64"),
    ("uint8", "int32", "int32"),
    ("uint8", "int8", "int16"),
    ("float32", "float64", "float64"),
    ("int64", "float32", "float32"),
    ("bool", "int32", "int32"),
    ("bool", "float32", "float32"),
]


@pytest.mark.parametrize(("a", "b", "expected"), PROMOTIONS)
def test_promotion_of_tensors(a: str, b: str, expected: str) -> None:
    assert (wf.ones(2, dtype=a) + wf.ones(2, dtype=b)).dtype.name == expected
    assert (wf.ones(2, dtype=b) + wf.ones((), dtype=a)).dtype.name == expected


WEAK = [
    ("float32", 2, "float32"),
    ("float32", 2.5, "float32"),
    ("float64", 2.5, "float64"),
    ("int32", 2, "int32"),
    ("uint8", 2, "uint8"),
    ("int32", 2.5, "float32"),
    ("bool", 2, "int64"),
    ("bool", 2.5, "float32"),
    ("int32", True, "int32"),
    ("float32", np.float64(2), "float64"),
    ("float32", np.float32(2), "float32"),
]


@pytest.mark.parametrize(("dtype", "scalar", "expected"), WEAK)
def test_python_numbers_are_weak(dtype: str, scalar: float, expected: str) -> None:
    assert (wf.ones(2, dtype=dtype) + scalar).dtype.name == expected
    assert (scalar + wf.ones(2, dtype=dtype)).dtype.name == expected


def test_a_python_integer_must_fit() -> None:
    with pytest.raises(OverflowError, match="300 is out of bounds for uint8"):
        wf.ones(2, dtype="uint8") + 300


def test_division_of_integers_is_float32() -> None:
    assert (wf.tensor([1, 2]) / 2).dtype is wf.float32
    assert wf.tensor([1, 4]).sqrt().dtype is wf.float32


@pytest.mark.parametrize(
    "shapes",
    [
        ((3, 4), (4,)),
        ((3, 1), (1, 4)),
        ((2, 1, 3), (5, 1)),
        ((), (2, 3)),
        ((1, 1), (1,)),
        ((0, 3), (1,)),
        ((0,), (1, 1)),
    ],
)
def test_broadcasting(shapes: tuple) -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(s) for s in shapes)
    same(wf.tensor(x) * wf.tensor(y), np.asarray(x * y))


def test_casts() -> None:
    x = np.array([-1.7, 1.7, 300.0, np.nan, np.inf], "float32")
    t = wf.tensor(x)
    assert t.int().tolist() == [-1, 1, 300, 0, 2**31 - 1]
    assert (
        t.long().dtype is wf.int64
        and t.double().dtype is wf.float64
        and t.bool().tolist() == [True] * 5
    )
    assert t.astype("uint8").tolist() == [0, 1, 255, 0, 255]
    assert wf.tensor([300, -1]).astype("uint8").tolist() == [44, 255]
    assert wf.tensor([True, False]).float().tolist() == [1.0, 0.0]
    assert wf.tensor([0.0, -0.0, 2.0]).bool().tolist() == [False, False, True]
    assert t.to("cpu") is t and t.to(wf.float64).dtype is t.to(dtype="float64").dtype is wf.float64


def test_in_place_operators_rebind_this_tensor_only() -> None:
    x = wf.tensor([1.0, 2.0])
    alias, double = x.clone(), x * 2
    same_object = x
    x += 1
    x *= 3
    assert same_object is x and x.tolist() == [6.0, 9.0]
    assert alias.tolist() == [1.0, 2.0] and double.tolist() == [2.0, 4.0]
    x /= 2
    assert x.dtype is wf.float32 and x.tolist() == [3.0, 4.5]


def test_constants_that_differ_by_the_sign_of_zero_are_different() -> None:
    x = wf.tensor([1.0, 2.0])
    assert np.signbit((x * -0.0).numpy()).all() and not np.signbit((x * 0.0).numpy()).any()
