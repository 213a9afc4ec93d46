"""The namespace of the Array API standard: its names, signatures and values, these against NumPy's
functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import standard_cases
import weft as wf
import weft.array_api as xp
from effort import rarely

NEW = "dtype=None, device=None"
REDUCE = "x, /, *, axis=None, keepdims=False"
UNARY, BINARY = "x, /", "x1, x2, /"

SIGNATURES: dict[str, str] = {
    "arange": f"start, /, stop=None, step=1, *, {NEW}",
    "asarray": f"obj, /, *, {NEW}, copy=None",
    "empty": f"shape, *, {NEW}",
    "empty_like": f"x, /, *, {NEW}",
    "eye": f"n_rows, n_cols=None, /, *, k=0, {NEW}",
    "from_dlpack": "x, /, *, device=None, copy=None",
    "full": f"shape, fill_value, *, {NEW}",
    "full_like": f"x, /, fill_value, *, {NEW}",
    "linspace": f"start, stop, /, num, *, {NEW}, endpoint=True",
    "meshgrid": "*arrays, indexing='xy'",
    "ones": f"shape, *, {NEW}",
    "ones_like": f"x, /, *, {NEW}",
    "tril": "x, /, *, k=0",
    "triu": "x, /, *, k=0",
    "zeros": f"shape, *, {NEW}",
    "zeros_like": f"x, /, *, {NEW}",
    "astype": "x, dtype, /, *, copy=True, device=None",
    "can_cast": "from_, to, /",
    "finfo": "type, /",
    "iinfo": "type, /",
    "isdtype": "dtype, kind",
    "result_type": "*arrays_and_dtypes",
    "clip": "x, /, min=None, max=None",
    "take": "x, indices, /, *, axis=None",
    "take_along_axis": "x, indices, /, *, axis=-1",
    "matmul": BINARY,
    "matrix_transpose": UNARY,
    "tensordot": "x1, x2, /, *, axes=2",
    "vecdot": "x1, x2, /, *, axis=-1",
    "broadcast_arrays": "*arrays",
    "broadcast_shapes": "*shapes",
    "broadcast_to": "x, /, shape",
    "concat": "arrays, /, *, axis=0",
    "expand_dims": "x, /, axis=0",
    "flip": "x, /, *, axis=None",
    "moveaxis": "x, source, destination, /",
    "permute_dims": "x, /, axes",
    "repeat": "x, repeats, /, *, axis=None",
    "reshape": "x, /, shape, *, copy=None",
    "roll": "x, /, shift, *, axis=None",
    "squeeze": "x, /, axis",
    "stack": "arrays, /, *, axis=0",
    "tile": "x, repetitions, /",
    "unstack": "x, /, *, axis=0",
    "isin": "x1, x2, /, *, invert=False",
    "argmax": REDUCE,
    "argmin": REDUCE,
    "count_nonzero": REDUCE,
    "nonzero": UNARY,
    "searchsorted": "x1, x2, /, *, side='left', sorter=None",
    "where": "condition, x1, x2, /",
    "unique_all": UNARY,
    "unique_counts": UNARY,
    "unique_inverse": UNARY,
    "unique_values": UNARY,
    "argsort": "x, /, *, axis=-1, descending=False, stable=True",
    "sort": "x, /, *, axis=-1, descending=False, stable=True",
    "cumulative_prod": "x, /, *, axis=None, dtype=None, include_initial=False",
    "cumulative_sum": "x, /, *, axis=None, dtype=None, include_initial=False",
    "max": REDUCE,
    "mean": REDUCE,
    "min": REDUCE,
    "prod": "x, /, *, axis=None, dtype=None, keepdims=False",
    "std": "x, /, *, axis=None, correction=0.0, keepdims=False",
    "sum": "x, /, *, axis=None, dtype=None, keepdims=False",
    "var": "x, /, *, axis=None, correction=0.0, keepdims=False",
    "all": REDUCE,
    "any": REDUCE,
    "diff": "x, /, *, axis=-1, n=1, prepend=None, append=None",
    "__array_namespace_info__": "",
}
OF_ONE = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "bitwise_invert",
    "ceil",
    "conj",
    "cos",
    "cosh",
    "exp",
    "expm1",
    "floor",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "log",
    "log1p",
    "log2",
    "log10",
    "logical_not",
    "negative",
    "positive",
    "real",
    "reciprocal",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "square",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
]
OF_TWO = [
    "add",
    "atan2",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "copysign",
    "divide",
    "equal",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "less",
    "less_equal",
    "logaddexp",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "nextafter",
    "not_equal",
    "pow",
    "remainder",
    "subtract",
]
SIGNATURES |= dict.fromkeys(OF_ONE, UNARY) | dict.fromkeys(OF_TWO, BINARY)
CONSTANTS = {"e", "inf", "nan", "newaxis", "pi", "__array_api_version__"}
DTYPES = {
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
    "complex64",
    "complex128",
}


def test_the_names_are_the_standards() -> None:
    assert set(xp.__all__) == SIGNATURES.keys() | CONSTANTS | DTYPES | {
        "float16",
        "bfloat16",
        "fft",
        "linalg",
    }
    assert len(xp.__all__) == len(set(xp.__all__)) and all(hasattr(xp, n) for n in xp.__all__)


def test_the_signatures_are_the_standards() -> None:
    assert {name: _signature(getattr(xp, name)) for name in SIGNATURES} == SIGNATURES


def _signature(function: Callable[..., Any]) -> str:
    parameters = inspect.signature(function).parameters.values()
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    return str(inspect.Signature(plain))[1:-1]


def test_every_function_is_documented() -> None:
    assert [n for n in SIGNATURES if not getattr(xp, n).__doc__] == []


# ---------------------------------------------------------------- values

F = np.array([[0.5, -1.25, 3.0], [0.25, 0.75, -0.5]])
U = np.array([[0.5, 0.25, -0.75], [0.125, 0.0, 1.0]])
INT = np.array([[3, -1, 2], [5, 0, -7]])
BOOL = INT > 0
M = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 10.0]])

ARGUMENTS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "arange": ((2, 11, 3), {}),
    "asarray": ((F,), {}),
    "empty": (((0, 3),), {}),
    "empty_like": ((np.zeros((2, 0)),), {}),
    "eye": ((3, 4), {"k": 1}),
    "from_dlpack": ((F,), {}),
    "full": (((2, 3), 7), {}),
    "full_like": ((F, 7), {}),
    "linspace": ((0.0, 1.0, 5), {"endpoint": False}),
    "meshgrid": ((F[0], F[1]), {"indexing": "ij"}),
    "ones": ((3,), {}),
    "ones_like": ((INT,), {}),
    "tril": ((M,), {"k": -1}),
    "triu": ((M,), {"k": 1}),
    "zeros": (((2, 3),), {}),
    "zeros_like": ((INT,), {}),
    "clip": ((F, -0.5, 0.5), {}),
    "take": ((F, np.array([2, 0])), {"axis": 1}),
    "take_along_axis": ((F, np.array([[2, 0], [1, 1]])), {}),
    "matmul": ((F, M), {}),
    "matrix_transpose": ((F,), {}),
    "tensordot": ((F, M), {"axes": 1}),
    "vecdot": ((F, U), {}),
    "broadcast_arrays": ((F, U[0]), {}),
    "broadcast_to": ((F, (4, 2, 3)), {}),
    "concat": (([F, U],), {"axis": 1}),
    "expand_dims": ((F,), {"axis": 1}),
    "flip": ((F,), {"axis": 1}),
    "moveaxis": ((F, 0, 1), {}),
    "permute_dims": ((F, (1, 0)), {}),
    "repeat": ((F, 2), {"axis": 1}),
    "reshape": ((F, (3, 2)), {}),
    "roll": ((F, 2), {"axis": 1}),
    "squeeze": ((F[None], 0), {}),
    "stack": (([F, U],), {"axis": 1}),
    "tile": ((F, (2, 2)), {}),
    "unstack": ((F,), {"axis": 1}),
    "isin": ((INT, np.array([3, 0, 9])), {"invert": True}),
    "searchsorted": ((np.array([1.0, 2.0, 4.0]), np.array([2.0, 0.5, 9.0])), {"side": "right"}),
    "where": ((BOOL, F, U), {}),
    "argsort": ((F,), {"axis": 0}),
    "sort": ((F,), {"axis": 1}),
    "cumulative_prod": ((F,), {"axis": 1, "include_initial": True}),
    "cumulative_sum": ((F,), {"axis": 0}),
    "std": ((F,), {"axis": 1, "correction": 1.0}),
    "diff": ((F,), {"axis": 1}),
    "bitwise_left_shift": ((INT, np.array([1, 2, 3])), {}),
    "bitwise_right_shift": ((INT, np.array([1, 2, 3])), {}),
    "bitwise_invert": ((INT,), {}),
    "nextafter": ((F, U), {}),
}
ARGUMENTS |= {n: ((U,), {}) for n in ("acos", "asin", "atanh", "log1p")}
ARGUMENTS |= {n: ((np.abs(F) + 1,), {}) for n in ("acosh", "log", "log2", "log10", "sqrt")}
ARGUMENTS |= {n: ((INT, INT[::-1]), {}) for n in ("bitwise_and", "bitwise_or", "bitwise_xor")}
ARGUMENTS |= {n: ((np.abs(F), U), {}) for n in ("pow",)}
QUESTIONS = {
    "astype",
    "broadcast_shapes",
    "can_cast",
    "finfo",
    "iinfo",
    "isdtype",
    "result_type",
    "__array_namespace_info__",
}


def arguments(name: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return ARGUMENTS.get(name, ((F, U) if name in OF_TWO else (F,), {}))


def of_tensors(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return wf.tensor(x)
    return [of_tensors(i) for i in x] if isinstance(x, list) else x


def flat(x: Any) -> list[Any]:
    return [i for part in x for i in flat(part)] if isinstance(x, (list, tuple)) else [x]


FUNCTIONS = sorted(SIGNATURES.keys() - QUESTIONS)
# By default test_array_api_standard.py shows the values of the others.
SHOWN = [name for name in FUNCTIONS if name in standard_cases.ELSEWHERE]


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("name", [*SHOWN, *rarely(*(n for n in FUNCTIONS if n not in SHOWN))])
def test_functions_agree_with_numpy(name: str) -> None:
    args, kwargs = arguments(name)
    expected: Callable[..., Any] = getattr(np, name)
    found = getattr(xp, name)(*[of_tensors(a) for a in args], **kwargs)
    with np.errstate(all="ignore"):
        values = expected(*args, **kwargs)
    for y, z in zip(flat(found), flat(values), strict=True):
        assert isinstance(y, wf.Tensor) and y.shape == z.shape
        default = name in ("linspace", "zeros", "ones", "eye", "empty")
        assert y.dtype.name == ("float32" if default else z.dtype.name)
        np.testing.assert_allclose(y.numpy(), z, rtol=1e-6 if default else 1e-14, atol=1e-15)


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize("name", OF_TWO)
def test_one_operand_may_be_a_python_number(name: str) -> None:
    kind = int if "bitwise" in name else float
    x = wf.tensor(np.array([1, 2, 3], dtype=np.int32 if kind is int else np.float64))
    two = wf.tensor(np.array(2, dtype=np.int32 if kind is int else np.float64))
    f = getattr(xp, name)
    for mixed, whole in ((f(x, kind(2)), f(x, two)), (f(kind(2), x), f(two, x))):
        assert mixed.dtype is whole.dtype and mixed.tolist() == whole.tolist()


# ---------------------------------------------------------------- constants, dtypes, inspection


def test_constants() -> None:
    assert (xp.e, xp.pi, xp.inf, xp.newaxis) == (np.e, np.pi, np.inf, None) and xp.nan != xp.nan
    assert xp.__array_api_version__ == "2024.12" and xp.bool is wf.bool_


def test_a_tensor_knows_its_namespace() -> None:
    x = wf.zeros(2)
    assert x.__array_namespace__() is xp and x.__array_namespace__(api_version="2024.12") is xp
    assert x.__array_namespace__(api_version="2021.12") is xp  # the standard only grows
    for unknown in ("2099.12", 2024, "x"):
        with pytest.raises(ValueError, match="api_version"):
            x.__array_namespace__(api_version=unknown)


def test_inspection_tells_the_truth() -> None:
    info = xp.__array_namespace_info__()
    assert info.capabilities() == {
        "boolean indexing": True,
        "data-dependent shapes": True,
        "max dimensions": 64,
    }
    assert info.default_device() in info.devices() == wf.devices()
    assert info.dtypes() == {n: getattr(xp, n) for n in DTYPES}
    assert set(info.dtypes(kind="complex floating")) == {"complex64", "complex128"}
    assert info.dtypes(kind=("bool", "unsigned integer")).keys() == {
        "bool",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
    }
    defaults = info.default_dtypes(device="cpu")
    assert (
        defaults["real floating"] is xp.asarray(1.0).dtype
        and defaults["integral"] is xp.asarray(1).dtype
    )
    assert defaults["indexing"] is xp.argmax(wf.zeros(2)).dtype
    with pytest.raises(wf.errors.DeviceError):
        info.dtypes(device="cuda:99")


def test_the_default_float_is_the_one_that_is_set() -> None:
    before = wf.get_default_dtype()
    wf.set_default_dtype(wf.float64)
    try:
        made = (xp.asarray(1.5), xp.zeros(2), xp.linspace(0, 1, 3), xp.mean(xp.asarray([1, 2])))
        assert {x.dtype for x in made} == {wf.float64}
        assert xp.__array_namespace_info__().default_dtypes()["real floating"] is wf.float64
    finally:
        wf.set_default_dtype(before)


def test_what_the_standard_calls_tuples_are_tuples() -> None:
    assert xp.broadcast_shapes((2, 1), (3,)) == (2, 3) and xp.broadcast_shapes() == ()
    assert type(xp.meshgrid(wf.ones(2))) is type(xp.broadcast_arrays(wf.ones(2))) is tuple
    assert (
        xp.expand_dims(wf.ones(2, 3), 1).shape
        == xp.expand_dims(wf.ones(2, 3), axis=1).shape
        == (2, 1, 3)
    )
    assert xp.expand_dims(wf.ones(2), (0, -1)).shape == (1, 2, 1)


def test_an_array_may_have_so_many_dimensions() -> None:
    dimensions = xp.__array_namespace_info__().capabilities()["max dimensions"]
    x = wf.arange(6.0).reshape((1,) * (dimensions - 2) + (2, 3)) + 1
    assert x.numpy().shape == x.shape and x.sum(axis=-1).sum().item() == 21
