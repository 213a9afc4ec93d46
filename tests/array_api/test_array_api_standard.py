"""weft.array_api is the Python Array API standard 2024.12: names, signatures, dtypes, and values as
NumPy's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import standard
import standard_cases
import weft as wf
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from weft import array_api as xp

NAMES = sorted(set(standard.SIGNATURES) - standard_cases.ELSEWHERE)
# correctly rounded operations, data movement and everything on integers
_APPROXIMATE = (
    "acos acosh asin asinh atan atan2 atanh cos cosh exp expm1 hypot log log10 log1p log2 logaddexp"
    " pow sin sinh tan tanh mean std var linspace cumulative_sum cumulative_prod"
)
APPROXIMATE = frozenset(_APPROXIMATE.split())
# of complex numbers, besides
_PRODUCTS = "abs divide matmul multiply prod reciprocal sign sqrt square sum tensordot vecdot"
OF_COMPLEX = APPROXIMATE | frozenset(_PRODUCTS.split())


def test_no_name_is_missing() -> None:
    assert list(standard.missing_names(xp)) == []


def test_the_array_has_every_member() -> None:
    assert list(standard.missing_members(xp.ones((2, 2)))) == []


def test_signatures_are_the_standards() -> None:
    assert list(standard.signature_deviations(xp, standard.SIGNATURES)) == []
    assert list(standard.signature_deviations(xp.ones((2, 2)), standard.METHODS)) == []


def test_result_dtypes_are_the_standards() -> None:
    assert list(standard.dtype_deviations(xp)) == []


def test_constants() -> None:
    for name, value in standard.CONSTANTS.items():
        found = getattr(xp, name)
        assert found == value or (math.isnan(value) and math.isnan(found))
        assert value is None or type(found) is float


def test_every_function_has_a_case() -> None:
    covered = (
        set(standard.ONE_OPERAND)
        | set(standard.TWO_OPERANDS)
        | set(standard_cases.CASES)
        | standard_cases.ELSEWHERE
    )
    assert covered == set(standard.SIGNATURES)


def as_weft(x: Any, name: str) -> Any:
    """The argument for Weft's function."""
    if isinstance(x, np.ndarray):
        return wf.tensor(x)
    if isinstance(x, list):
        return [as_weft(i, name) for i in x]
    return getattr(xp, x) if isinstance(x, str) and x in standard.EVERY else x


def as_numpy(name: str, args: Any, kwargs: Any) -> Any:
    """NumPy's answer."""
    if name in ("squeeze", "take", "broadcast_to") and not kwargs:
        return getattr(np, name)(*args)
    if name == "flip" and kwargs["axis"] == ():
        return args[0]
    if name == "argsort":
        kwargs = kwargs | {"kind": "stable"}
    if name == "diff" and kwargs["n"] > args[0].shape[kwargs["axis"]]:
        kwargs = kwargs | {"n": args[0].shape[kwargs["axis"]]}
    if (
        name == "pow"
        # NumPy takes sqrt for a single exponent of 0.5, with other signs of zero and NaN than its
        # own pow
    ):
        twice = np.broadcast_arrays(
            *(np.repeat(np.asarray(x)[..., None], 2, axis=-1) for x in args)
        )
        return np.asarray(np.power(*map(np.ascontiguousarray, twice))[..., 0])
    if name in ("std", "var"):  # NumPy's mean overflows, or rounds to a number far from equal ones
        greatest = np.abs(args[0], where=np.isfinite(args[0]), out=np.zeros_like(args[0])).max()
        down = args[0].dtype.type(1 if greatest < np.finfo(args[0].dtype).max / 256 else 1 / 256)
        x = args[0] * down
        spread = getattr(np, name)(x - x.min(axis=kwargs["axis"], keepdims=True), **kwargs)
        return np.asarray(spread / (down if name == "std" else down * down))
    if (
        name in ("cumulative_sum", "cumulative_prod") and args[0].dtype == np.float32
    ):  # in float64, as here
        return getattr(np, name)(args[0].astype(np.float64), **kwargs).astype(np.float32)
    return getattr(np, name)(*args, **kwargs)


def assert_alike(found: Any, wanted: Any, name: str, scale: float = 0.0) -> None:
    """Same shape, dtype and values: bit for bit (NaNs alike) where the operation is exact. `scale`:
    what a sum cancels from."""
    wanted = np.asarray(wanted)
    array = np.asarray(found)
    assert array.shape == wanted.shape
    assert array.dtype == wanted.dtype
    if name == "empty_like":
        return
    if name in APPROXIMATE and wanted.dtype.kind == "f":
        info = np.finfo(wanted.dtype)
        atol = max(64 * float(info.eps) * scale, 4 * float(info.smallest_subnormal))
        np.testing.assert_allclose(array, wanted, rtol=64 * info.eps, atol=atol)
    elif name == "floor_divide" and wanted.dtype.kind == "f":  # both round what no float holds
        np.testing.assert_allclose(array, wanted, rtol=2 * np.finfo(wanted.dtype).eps, atol=0)
    else:
        np.testing.assert_array_equal(array, wanted)
    if wanted.dtype.kind == "f" and name not in (
        "linspace",
        "mean",
        "std",
        "var",
        "max",
        "maximum",
        "min",
        "minimum",
        "clip",
    ):
        numbers = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(array[numbers]), np.signbit(wanted[numbers]))


def has_complex(x: Any) -> bool:
    """Is one of the arguments complex, or one of its parts?"""
    return any(map(has_complex, x)) if isinstance(x, (tuple, list)) else np.iscomplexobj(x)


def assert_near(found: Any, wanted: Any, name: str, args: Any) -> None:
    """Same shape and dtype, and values near in the complex plane; of sums beside what they cancel
    from."""
    wanted, array = np.asarray(wanted), np.asarray(found)
    assert array.shape == wanted.shape
    assert array.dtype == wanted.dtype
    eps = float(np.finfo(wanted.dtype).eps)
    is_elementwise = name in standard.ONE_OPERAND or name in standard.TWO_OPERANDS
    greatest = max(float(np.abs(x).max(initial=1.0)) for x in args)
    atol = 0.0 if is_elementwise else 500 * eps * greatest**2
    np.testing.assert_allclose(array, wanted, rtol=500 * eps, atol=atol)


def scale_of(name: str, args: Any) -> float:
    """The greatest number that a mean or a spread is made of."""
    if name not in ("mean", "std", "var") or not np.isfinite(args[0]).any():
        return 0.0
    greatest = float(np.abs(args[0][np.isfinite(args[0])]).max())
    return min(greatest * greatest, 1e300) if name == "var" else greatest


@pytest.mark.thinned(to=6)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@given(data=st.data())
@examples(12, quick=3)
def test_values_are_numpys(name: str, data: st.DataObject) -> None:
    args, kwargs = data.draw(standard_cases.calls(name))
    found = getattr(xp, name)(
        *(as_weft(a, name) for a in args), **{k: as_weft(v, name) for k, v in kwargs.items()}
    )
    with np.errstate(all="ignore"):
        wanted = as_numpy(name, args, kwargs)
    if isinstance(wanted, (tuple, list)):
        assert len(found) == len(wanted)
        for f, w in zip(found, wanted, strict=True):
            assert_alike(f, w, name)
    elif name in OF_COMPLEX and has_complex(args):
        assert_near(found, wanted, name, args)
    else:
        assert_alike(found, wanted, name, scale_of(name, args))
