"""Transcendental functions of Tensors: special cases of the standard, dtypes, gradients."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import weft as wf
from weft import errors
from weft.codegen.math.pow import _SIMPLE
from weft.ir.kernels.kernel import CHEAP_EXPONENTS

NAN, INF = math.nan, math.inf
FLOATS = ("float32", "float64")
UNARY: dict[str, Callable] = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
}  # fmt: skip
BINARY: dict[str, Callable] = {
    "atan2": np.arctan2,
    "hypot": np.hypot,
    "logaddexp": np.logaddexp,
    "pow": np.power,
}
ODD = (
    "expm1",
    "log1p",
    "sin",
    "tan",
    "asin",
    "atan",
    "sinh",
    "tanh",
    "asinh",
    "atanh",
)  # f(x) is x for tiny x


def specials(dtype: str) -> np.ndarray:
    info = np.finfo(dtype)
    limits = [float(v) for v in (info.smallest_subnormal, info.smallest_normal, info.max)]
    sizes = [0.0, *limits, 0.5, 1.0, 2.0, 3.0, 10.0, 89.0, 1e6, INF]
    return np.array([*sizes, *(-s for s in sizes), NAN], dtype)


def near(got: wf.Tensor, want: np.ndarray, ulps: float = 4) -> None:
    """Equal to NumPy within some units of the last place; NaN, infinities and signs of zeros
    exactly."""
    value = np.asarray(got.numpy())
    assert value.dtype == want.dtype and value.shape == want.shape
    np.testing.assert_array_equal(np.isnan(value), np.isnan(want))
    known = ~np.isnan(want)
    value, want = value[known], want[known]
    np.testing.assert_array_equal(np.signbit(value), np.signbit(want))
    np.testing.assert_array_equal(np.isinf(value), np.isinf(want))
    finite = np.isfinite(want)
    with np.errstate(over="ignore"):
        error = np.abs(value[finite] - want[finite]) / np.spacing(np.abs(want[finite]))
    assert (error <= ulps).all(), (error.max(), want[finite][error.argmax()])


def wide(f: Callable, *xs: np.ndarray) -> np.ndarray:
    """f in a wider type, rounded."""
    to = np.float64 if xs[0].dtype == np.float32 else np.longdouble
    with np.errstate(all="ignore"):
        return f(*(x.astype(to) for x in xs)).astype(xs[0].dtype)


@pytest.mark.thinned(to=5)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", UNARY)
def test_special_values_equal_numpy(name: str, dtype: str) -> None:
    x = specials(dtype)
    near(getattr(wf, name)(wf.tensor(x)), wide(UNARY[name], x))
    near(getattr(wf.tensor(x), name)(), wide(UNARY[name], x))


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", BINARY)
def test_special_pairs_equal_numpy(name: str, dtype: str) -> None:
    x, y = (a.ravel() for a in np.meshgrid(specials(dtype), specials(dtype)))
    near(getattr(wf, name)(wf.tensor(x), wf.tensor(y)), wide(BINARY[name], x, y))


@pytest.mark.thinned
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ODD)
def test_zeros_and_subnormals_pass_through(name: str, dtype: str) -> None:
    tiny = np.finfo(dtype).smallest_subnormal
    x = np.array([0.0, -0.0, tiny, -tiny, 7 * tiny, -7 * tiny], dtype)
    got = getattr(wf, name)(wf.tensor(x)).numpy()
    np.testing.assert_array_equal(got, x)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(x))


# (y, x) -> atan2, each line of the standard; pi stands for the nearest float
ATAN2 = [
    (NAN, 1, NAN), (1, NAN, NAN), (0.0, NAN, NAN), (NAN, 0.0, NAN), (INF, NAN, NAN),
    (NAN, INF, NAN),
    (2, 0.0, math.pi / 2), (2, -0.0, math.pi / 2), (0.0, 2, 0.0), (0.0, 0.0, 0.0),
    (0.0, -0.0, math.pi), (0.0, -2, math.pi),
    (-0.0, 2, -0.0), (-0.0, 0.0, -0.0), (-0.0, -0.0, -math.pi), (-0.0, -2, -math.pi),
    (-2, 0.0, -math.pi / 2), (-2, -0.0, -math.pi / 2), (2, INF, 0.0), (2, -INF, math.pi),
    (-2, INF, -0.0), (-2, -INF, -math.pi),
    (INF, 2, math.pi / 2), (-INF, 2, -math.pi / 2), (INF, INF, math.pi / 4),
    (INF, -INF, 3 * math.pi / 4),
    (-INF, INF, -math.pi / 4), (-INF, -INF, -3 * math.pi / 4),
]  # fmt: skip
POW = [
    (2, 0.0, 1), (NAN, 0.0, 1), (NAN, -0.0, 1), (INF, 0.0, 1), (0.0, 0.0, 1), (1, NAN, 1),
    (1, INF, 1), (1, -INF, 1),
    (NAN, 2, NAN), (2, NAN, NAN), (-1, INF, 1), (-1, -INF, 1), (2, INF, INF), (-2, INF, INF),
    (2, -INF, 0.0), (-2, -INF, 0.0),
    (0.5, INF, 0.0), (-0.5, INF, 0.0), (0.5, -INF, INF), (-0.5, -INF, INF), (INF, 2, INF),
    (INF, -2, 0.0),
    (-INF, 3, -INF), (-INF, 2, INF), (-INF, 0.5, INF), (-INF, -3, -0.0), (-INF, -2, 0.0),
    (-INF, -0.5, 0.0),
    (0.0, 2, 0.0), (0.0, 0.5, 0.0), (0.0, -1, INF), (0.0, -0.5, INF), (-0.0, 3, -0.0),
    (-0.0, 2, 0.0), (-0.0, 0.5, 0.0),
    (-0.0, -1, -INF), (-0.0, -3, -INF), (-0.0, -2, INF), (-0.0, -0.5, INF), (-2, 0.5, NAN),
    (-2, 3, -8), (-2, 1.5, NAN),
    (-0.0, INF, 0.0), (-0.0, -INF, INF), (-INF, INF, INF), (-INF, -INF, 0.0),
]  # fmt: skip
HYPOT = [
    (INF, NAN, INF),
    (NAN, -INF, INF),
    (-INF, 1, INF),
    (NAN, 1, NAN),
    (3, 4, 5),
    (-0.0, -0.0, 0.0),
    (0.0, -7, 7),
]
LOGADDEXP = [(-INF, -INF, -INF), (INF, INF, INF), (INF, -INF, INF), (-INF, 5, 5), (5, -INF, 5),
    (NAN, 1, NAN), (1, NAN, NAN),
             (INF, NAN, NAN), (-INF, NAN, NAN), (0.0, 0.0, math.log(2))]  # fmt: skip
TABLES = {"atan2": ATAN2, "pow": POW, "hypot": HYPOT, "logaddexp": LOGADDEXP}


@pytest.mark.thinned
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", TABLES)
def test_special_cases_of_the_standard(name: str, dtype: str) -> None:
    a, b, want = (np.array(column, dtype) for column in zip(*TABLES[name], strict=True))
    near(getattr(wf, name)(wf.tensor(a), wf.tensor(b)), want, 1)


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("dtype", FLOATS)
def test_powers_with_python_numbers_agree_with_tensors(dtype: str) -> None:
    x = specials(dtype)
    for e in (0.5, -0.5, 0, 1, 2, 3, 4, -1, -2, -3, 1.5, INF, -INF, NAN, -0.0, 0.0):
        near(wf.tensor(x) ** e, wide(np.power, x, np.full(x.shape, e, dtype)))
    for base in (2.0, 2, 0.5, -1.0, 1.0, 0.0, -0.0, INF, -INF, NAN, 10):
        near(base ** wf.tensor(x), wide(np.power, np.full(x.shape, base, dtype), x))


@pytest.mark.parametrize("dtype", FLOATS)
def test_exact_results(dtype: str) -> None:
    tens = np.arange(11)
    assert wf.log10(wf.tensor(10.0**tens, dtype=dtype)).tolist() == tens.tolist()
    twos = np.arange(-20, 20)
    assert wf.log2(wf.tensor(2.0**twos, dtype=dtype)).tolist() == twos.tolist()
    assert wf.exp2(wf.tensor(twos, dtype=dtype)).tolist() == (2.0**twos).tolist()
    assert wf.hypot(
        wf.tensor([3.0, 5.0], dtype=dtype), wf.tensor([4.0, 12.0], dtype=dtype)
    ).tolist() == [5, 13]


def test_nothing_overflows_early() -> None:
    for dtype, x in (("float32", 89.0), ("float64", 710.0)):
        t = wf.tensor([x], dtype=dtype)
        assert wf.isfinite(wf.sinh(t)).all() and wf.isfinite(wf.cosh(t)).all()
        large = wf.tensor([np.finfo(dtype).max * 0.6], dtype=dtype)
        assert wf.isfinite(wf.hypot(large, large)).all() and wf.isfinite(wf.asinh(large)).all()
        small = wf.tensor([np.finfo(dtype).smallest_normal], dtype=dtype)
        assert float(wf.hypot(small, small) / small) == pytest.approx(math.sqrt(2))


@pytest.mark.thinned(to=5)
@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint8"])
@pytest.mark.parametrize("name", [*UNARY, "erf"])
def test_integers_give_float32(name: str, dtype: str) -> None:
    x = np.array([0, 1], dtype)
    got = getattr(wf, name)(wf.tensor(x))
    assert got.dtype is wf.float32 and got.shape == (2,)
    if name != "erf":
        near(got, wide(UNARY[name], x.astype("float32")), 2)


@pytest.mark.parametrize("name", ["atan2", "hypot", "logaddexp"])
def test_two_operands_promote_and_broadcast(name: str) -> None:
    f = getattr(wf, name)
    a, b = np.array([1, -2, 3], "int32"), np.array([[2], [5]], "int64")
    near(f(wf.tensor(a), wf.tensor(b)), BINARY[name](a, b).astype("float32"), 2)
    assert (
        f(wf.tensor(a), 2).dtype is wf.float32
        and f(2.0, wf.tensor([1.0], dtype="float64")).dtype is wf.float64
    )
    assert f(wf.zeros((0, 3)), wf.ones(3)).shape == (0, 3) and f(wf.tensor(1.0), 1.0).shape == ()
    assert f(wf.tensor(1.0, dtype="float64"), wf.tensor(1.0)).dtype is wf.float64
    assert getattr(wf.tensor(a), name)(wf.tensor(b)).shape == (2, 3)
    with pytest.raises(errors.ShapeError, match=name):
        f(wf.ones(3), wf.ones(4))


# ---------------------------------------------------------------- gradients


def gradients(f: Callable, *values: float) -> list[float]:
    xs = [wf.tensor(v, dtype="float64").requires_grad_() for v in values]
    f(*xs).backward()
    return [float(x.grad) for x in xs if x.grad is not None]


def test_gradients_where_a_naive_form_fails() -> None:
    assert gradients(wf.atan2, 0.0, 2.0) == [0.5, 0.0] and gradients(wf.atan2, 2.0, 0.0) == [
        0.0,
        -0.5,
    ]
    assert gradients(wf.atan2, 1e200, 1e200) == pytest.approx([5e-201, -5e-201])
    assert gradients(wf.hypot, 0.0, 2.0) == [0, 1] and gradients(
        wf.hypot, 3e200, 4e200
    ) == pytest.approx([0.6, 0.8])
    assert gradients(wf.logaddexp, 1.0, 1.0) == pytest.approx([0.5, 0.5])
    assert gradients(wf.logaddexp, -INF, 1.0) == [0, 1] and gradients(
        wf.logaddexp, 800.0, -800.0
    ) == [1, 0]
    assert gradients(wf.asinh, 1e200) == [1e-200] and gradients(wf.acosh, 1e200) == pytest.approx(
        [1e-200]
    )
    assert gradients(wf.expm1, -50.0) == pytest.approx([math.exp(-50)]) and gradients(
        wf.exp2, 3.0
    ) == [8 * math.log(2)]
    assert (
        gradients(wf.asin, 1.0) == [INF]
        and gradients(wf.acos, 1.0) == [-INF]
        and gradients(wf.atan, INF) == [0]
    )


def test_second_derivative_of_logaddexp_at_a_tie() -> None:
    x, one = wf.tensor(0.3, dtype="float64"), wf.tensor(1.0, dtype="float64")
    assert float(
        wf.hessian_vector_product(lambda t: wf.logaddexp(t, 0.3), x, one)
    ) == pytest.approx(0.25)
    assert float(
        wf.hessian_vector_product(lambda t: wf.logaddexp(0.3, t), x, one)
    ) == pytest.approx(0.25)


def test_gradients_of_powers() -> None:
    assert gradients(lambda a, b: a**b, 0.0, 0.0) == [0, 0]
    assert gradients(lambda a, b: a**b, 0.0, 1.0) == [1, 0] and gradients(
        lambda a, b: a**b, 0.0, 2.0
    ) == [0, 0]
    assert gradients(lambda a, b: a**b, -2.0, 3.0)[0] == 12
    assert gradients(lambda a: a**3, -2.0) == [12] and gradients(lambda a: a**-1, -2.0) == [-0.25]
    assert gradients(lambda a: a**0.5, 4.0) == [0.25] and gradients(lambda a: a**0.5, 0.0) == [INF]
    assert gradients(lambda a: 2.0**a, 3.0) == [8 * math.log(2)]


def test_a_masked_branch_leaves_no_nan() -> None:
    x = wf.tensor([2.0, 0.5, -3.0], dtype="float64").requires_grad_()
    wf.where(abs(x) < 1, wf.asin(x), 0.0).sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), [0, 1 / math.sqrt(0.75), 0])


def test_cheap_exponents_are_those_of_the_code_generator() -> None:
    assert set(_SIMPLE) == CHEAP_EXPONENTS
