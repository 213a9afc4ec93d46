"""The special cases that the Array API standard 2024.12 lists for elementwise functions of floats,
line by line.

A line of a table reads: kind of each operand, then the result. Every pair of the values below that
is of these kinds is tried.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
import pytest
import weft as wf
from effort import rarely

KINDS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "any": lambda x: np.full(x.shape, True),
    "nan": np.isnan,
    "+inf": lambda x: x == np.inf,
    "-inf": lambda x: x == -np.inf,
    "inf": np.isinf,
    "+0": lambda x: (x == 0) & ~np.signbit(x),
    "-0": lambda x: (x == 0) & np.signbit(x),
    "0": lambda x: x == 0,
    ">0": lambda x: x > 0,
    "<0": lambda x: x < 0,
    "pos": lambda x: (x > 0) & np.isfinite(x),
    "neg": lambda x: (x < 0) & np.isfinite(x),
    "nonzero": lambda x: (x != 0) & np.isfinite(x),
    "finite": np.isfinite,
    "number": lambda x: ~np.isnan(x),
    "1": lambda x: x == 1,
    "-1": lambda x: x == -1,
    "<-1": lambda x: x < -1,
    "<1": lambda x: np.abs(x) < 1,
    ">1": lambda x: np.abs(x) > 1,
    "|1|": lambda x: np.abs(x) == 1,
    "not1": lambda x: ~(x == 1),
    "not0": lambda x: ~(x == 0),
    "odd>0": lambda x: (x > 0) & (np.abs(x) % 2 == 1),
    "odd<0": lambda x: (x < 0) & (np.abs(x) % 2 == 1),
    "even>0": lambda x: (x > 0) & ~(np.abs(x) % 2 == 1),
    "even<0": lambda x: (x < 0) & ~(np.abs(x) % 2 == 1),
    "fraction": lambda x: np.isfinite(x) & (x != np.trunc(x)),
    "+nan": lambda x: np.isnan(x) & ~np.signbit(x),
    "-nan": lambda x: np.isnan(x) & np.signbit(x),
    "whole": lambda x: np.isfinite(x) & (x == np.trunc(x)),
    "half": lambda x: np.isfinite(x) & (np.abs(x) < 1e9) & (np.abs(x) % 1 == 0.5),
}
RESULTS: dict[str, Callable[..., np.ndarray]] = {
    "x1": lambda got, a, b: _same(got, a),
    "x2": lambda got, a, b: _same(got, b),
    "|x1|": lambda got, a, b: _same(got, np.abs(a)),
    "-|x1|": lambda got, a, b: _same(got, -np.abs(a)),
    "+": lambda got, a, b: ~np.signbit(got) & ~np.isnan(got),  # a positive mathematical sign
    "-": lambda got, a, b: np.signbit(got) & ~np.isnan(got),
    "+nan": lambda got, a, b: np.isnan(got) & ~np.signbit(got),
    "-nan": lambda got, a, b: np.isnan(got) & np.signbit(got),
    "true": lambda got, a, b: got == True,  # noqa: E712
    "false": lambda got, a, b: got == False,  # noqa: E712
    "even": lambda got, a, b: (got % 2 == 0) & (np.abs(got - a) == 0.5),
}
CONSTANTS = {
    "nan": np.nan,
    "+inf": np.inf,
    "-inf": -np.inf,
    "+0": 0.0,
    "-0": -0.0,
    "1": 1.0,
    "-1": -1.0,
    "0": 0.0,
}


def _same(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Equal bit for bit, any NaN like any other."""
    return (np.isnan(got) & np.isnan(want)) | (
        (got == want) & (np.signbit(got) == np.signbit(want))
    )


_DIVISION = """
    nan any nan
    any nan nan
    inf inf nan
    0 0 nan
    +0 >0 +0
    -0 >0 -0
    +0 <0 -0
    -0 <0 +0
    >0 +0 +inf
    >0 -0 -inf
    <0 +0 -inf
    <0 -0 +inf
    +inf pos +inf
    +inf neg -inf
    -inf pos -inf
    -inf neg +inf
    pos +inf +0
    pos -inf -0
    neg +inf -0
    neg -inf +0
    pos pos +
    neg neg +
    pos neg -
    neg pos -
"""
BINARY = {
    "add": """
        nan any nan
        any nan nan
        +inf -inf nan
        -inf +inf nan
        +inf +inf +inf
        -inf -inf -inf
        +inf finite +inf
        -inf finite -inf
        finite +inf +inf
        finite -inf -inf
        -0 -0 -0
        -0 +0 +0
        +0 -0 +0
        +0 +0 +0
        0 nonzero x2
        nonzero 0 x1
    """,
    "subtract": """
        nan any nan
        any nan nan
        +inf +inf nan
        -inf -inf nan
        +inf -inf +inf
        -0 +0 -0
        +0 +0 +0
        nonzero 0 x1
    """,
    "multiply": """
        nan any nan
        any nan nan
        inf 0 nan
        0 inf nan
        >0 >0 +
        <0 <0 +
        >0 <0 -
        <0 >0 -
        +0 -0 -0
        +inf -inf -inf
        -inf -inf +inf
        +inf pos +inf
        +inf neg -inf
        pos -inf -inf
        neg -inf +inf
    """,
    "divide": _DIVISION,
    "floor_divide": _DIVISION,
    "remainder": """
        nan any nan
        any nan nan
        inf inf nan
        0 0 nan
        +0 >0 +0
        -0 >0 +0
        +0 <0 -0
        -0 <0 -0
        >0 +0 nan
        >0 -0 nan
        <0 +0 nan
        <0 -0 nan
        +inf pos nan
        +inf neg nan
        -inf pos nan
        -inf neg nan
        pos +inf x1
        pos -inf x2
        neg +inf x2
        neg -inf x1
        nonzero pos +
        nonzero neg -
    """,
    "pow": """
        not1 nan nan
        any +0 1
        any -0 1
        nan not0 nan
        >1 +inf +inf
        >1 -inf +0
        |1| +inf 1
        |1| -inf 1
        1 number 1
        <1 +inf +0
        <1 -inf +inf
        +inf >0 +inf
        +inf <0 +0
        -inf odd>0 -inf
        -inf even>0 +inf
        -inf odd<0 -0
        -inf even<0 +0
        +0 >0 +0
        +0 <0 +inf
        -0 odd>0 -0
        -0 even>0 +0
        -0 odd<0 -inf
        -0 even<0 +inf
        neg fraction nan
    """,
    "copysign": """
        number <0 -|x1|
        number -0 -|x1|
        number +0 |x1|
        number >0 |x1|
        number -nan -|x1|
        number +nan |x1|
        nan <0 -nan
        nan -0 -nan
        nan +0 +nan
        nan >0 +nan
        nan -nan -nan
        nan +nan +nan
    """,
    "nextafter": """
        nan any nan
        any nan nan
        -0 +0 +0
        +0 -0 -0
        +inf +inf +inf
        -inf -inf -inf
        +0 >0 +
        -0 >0 +
        +0 <0 -
        -0 <0 -
    """,
    "maximum": """
        nan any nan
        any nan nan
        number -inf x1
        -inf number x2
        +inf number +inf
        number +inf +inf
    """,
    "minimum": """
        nan any nan
        any nan nan
        number +inf x1
        +inf number x2
        -inf number -inf
        number -inf -inf
    """,
    "equal": """
        nan any false
        any nan false
        +inf +inf true
        -inf -inf true
        +inf -inf false
        -0 +0 true
        +0 -0 true
        -0 -0 true
        +0 +0 true
        finite inf false
        0 nonzero false
    """,
    "not_equal": """
        nan any true
        any nan true
        +inf -inf true
        -inf +inf true
        0 0 false
        +inf +inf false
        -inf -inf false
        0 nonzero true
    """,
    "less": """
        nan any false
        any nan false
        -inf finite true
        finite +inf true
        0 0 false
        neg pos true
    """,
    "less_equal": """
        nan any false
        any nan false
        0 0 true
        -inf number true
        number +inf true
    """,
    "greater": """
        nan any false
        any nan false
        +inf finite true
        0 0 false
        pos neg true
    """,
    "greater_equal": """
        nan any false
        any nan false
        0 0 true
        +inf number true
        number -inf true
    """,
    "logical_and": """
        0 any false
        any 0 false
        not0 not0 true
    """,
    "logical_or": """
        0 0 false
        not0 any true
        any not0 true
    """,
    "logical_xor": """
        0 0 false
        not0 not0 false
        0 not0 true
        not0 0 true
    """,
}  # fmt: skip
_WHOLE = """
    whole x1
    +inf +inf
    -inf -inf
    +0 +0
    -0 -0
    nan nan
"""
UNARY = {
    "abs": """
        number |x1|
        nan nan
        -0 +0
        -inf +inf
    """,
    "ceil": _WHOLE + "half x1+\n",
    "floor": _WHOLE + "half x1-\n",
    "trunc": _WHOLE,
    "round": _WHOLE + "half even\n",
    "negative": """
        nan nan
        +0 -0
        -0 +0
        +inf -inf
        -inf +inf
    """,
    "positive": """
        nan nan
        number x1
    """,
    "sign": """
        <0 -1
        0 +0
        >0 1
        nan nan
    """,
    "signbit": """
        +0 false
        -0 true
        +inf false
        -inf true
        pos false
        neg true
        +nan false
        -nan true
    """,
    "sqrt": """
        nan nan
        <0 nan
        +0 +0
        -0 -0
        +inf +inf
    """,
    "square": """
        nan nan
        0 +0
        inf +inf
    """,
    "reciprocal": """
        nan nan
        +0 +inf
        -0 -inf
        +inf +0
        -inf -0
    """,
    "isfinite": """
        inf false
        nan false
        finite true
    """,
    "isinf": """
        inf true
        finite false
        nan false
    """,
    "isnan": """
        nan true
        number false
    """,
    "real": """
        number x1
        nan nan
    """,
    "imag": "any +0\n",
    "conj": """
        number x1
        nan nan
    """,
    "logical_not": """
        0 true
        not0 false
    """,
}  # fmt: skip
RESULTS["x1+"] = lambda got, a, b: got == a + 0.5
RESULTS["x1-"] = lambda got, a, b: got == a - 0.5


def values(dtype: str) -> np.ndarray:
    info = np.finfo(dtype)
    tiny, most = float(info.smallest_subnormal), float(info.max)
    some = [
        0.0,
        1.0,
        2.0,
        3.0,
        0.5,
        1.5,
        2.5,
        0.3,
        7.0,
        1e3,
        5e5,
        float(info.tiny),
        tiny,
        most,
        np.inf,
    ]
    return np.array([v for x in some for v in (x, -x)] + [np.nan, np.copysign(np.nan, -1)], dtype)


@np.errstate(all="ignore")
def check(
    name: str, rows: str, got: np.ndarray, a: np.ndarray, b: np.ndarray | None = None
) -> None:
    for row in rows.strip().splitlines():
        *kinds, result = row.split()
        chosen = KINDS[kinds[0]](a) & (
            KINDS[kinds[1]](b) if b is not None and len(kinds) > 1 else True
        )
        assert chosen.any(), row
        x, y = a[chosen], None if b is None else b[chosen]
        right = (
            RESULTS[result](got[chosen], x, y)
            if result in RESULTS
            else _same(got[chosen], np.float64(CONSTANTS[result]))
        )
        wrong = np.flatnonzero(~right)
        operands = [] if not wrong.size else [v[wrong[0]] for v in (x, y) if v is not None]
        assert not wrong.size, f"{name}: {row.strip()}: {operands} -> {got[chosen][wrong[0]]!r}"


@pytest.mark.thinned(to=10)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(name: str, dtype: str) -> None:
    a = values(dtype)
    check(name, UNARY[name], getattr(wf, name)(wf.tensor(a)).numpy(), a)


@pytest.mark.thinned(to=5)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_numbers(name: str, dtype: str) -> None:
    v = values(dtype)
    a, b = np.repeat(v, v.size), np.tile(v, v.size)
    check(name, BINARY[name], getattr(wf, name)(wf.tensor(a), wf.tensor(b)).numpy(), a, b)


OPERATORS = {
    "add": (operator.add, operator.iadd), "subtract": (operator.sub, operator.isub),
    "multiply": (operator.mul, operator.imul),
    "divide": (operator.truediv, operator.itruediv),
    "floor_divide": (operator.floordiv, operator.ifloordiv),
    "remainder": (operator.mod, operator.imod), "pow": (operator.pow, operator.ipow),
    "equal": (operator.eq,), "less": (operator.lt,), "less_equal": (operator.le,),
}  # fmt: skip


@pytest.mark.thinned(to=5)
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_of_tensors(name: str) -> None:
    v = values("float64")
    a, b = np.repeat(v, v.size), np.tile(v, v.size)
    for op in OPERATORS[name]:
        check(f"{op.__name__}", BINARY[name], op(wf.tensor(a), wf.tensor(b)).numpy(), a, b)


_SCALARS = [0.0, -0.0, 1.0, np.inf], [-1.0, 2.0, -3.0, 1.5, -np.inf, np.nan]


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("scalars", [_SCALARS[0], *rarely(_SCALARS[1])], ids=str)
def test_operators_with_python_numbers(name: str, scalars: list[float]) -> None:
    v = values("float32")
    op = OPERATORS[name][0]
    t = wf.tensor(v)
    left, right = [op(s, t) for s in scalars], [op(t, s) for s in scalars]
    wf.realize(*left, *right)
    for s, of_left, of_right in zip(scalars, left, right, strict=True):
        filled = np.full_like(v, s)
        _check_present(f"{s} {name}", BINARY[name], of_left.numpy(), filled, v)
        _check_present(f"{name} {s}", BINARY[name], of_right.numpy(), v, filled)


@np.errstate(all="ignore")
def _check_present(name: str, rows: str, got: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
    """Checks the rows whose kinds occur."""
    for row in rows.strip().splitlines():
        first, second, _ = row.split()
        if (KINDS[first](a) & KINDS[second](b)).any():
            check(name, row, got, a, b)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_clip_with_nan(dtype: str) -> None:
    x = values(dtype)
    t, bad = wf.tensor(x), wf.tensor(np.where(np.arange(x.size) % 2, np.nan, 1.0).astype(dtype))
    is_bad = np.isnan(bad.numpy())
    for got in (wf.clip(t, bad, 2.0), wf.clip(t, -1.0, bad)):
        assert got.dtype.name == dtype
        np.testing.assert_array_equal(np.isnan(got.numpy()), np.isnan(x) | is_bad)
    assert (
        np.isnan(wf.clip(t, np.nan, 1.0).numpy()).all()
        and np.isnan(wf.clip(t, max=np.nan).numpy()).all()
    )
    assert wf.clip(t).tolist() is not None and wf.clip(t).dtype is t.dtype


@np.errstate(all="ignore")
def test_the_order_of_all_neighbours() -> None:
    """nextafter goes up one step over the whole line of floats: from -inf through both zeros to
    inf."""
    x = np.concatenate(
        [values("float32"), np.float32(np.random.default_rng(0).standard_normal(100))]
    )
    for towards in (np.inf, -np.inf, 0.0, 1.0):
        np.testing.assert_array_equal(
            wf.nextafter(wf.tensor(x), towards).numpy(), np.nextafter(x, np.float32(towards))
        )


def test_real_parts_of_integers() -> None:
    t = wf.tensor([1, -2])
    assert wf.real(t).tolist() == wf.conj(t).tolist() == [1, -2] and wf.imag(t).tolist() == [0, 0]
    assert t.real.dtype is t.imag.dtype is t.conj().dtype is wf.int64
