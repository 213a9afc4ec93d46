"""Questions about dtypes: limits, casts, promotion, kinds; and the dtype objects themselves."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest
import weft as wf
from weft.ir import dtype as dt

E = wf.errors
STANDARD = [d for d in dt.ALL if not (d.is_float and d.bits == 16)]
INTEGERS = [d for d in dt.ALL if d.is_int]


@pytest.mark.parametrize("dtype", [d for d in STANDARD if d.is_float], ids=lambda d: d.name)
def test_finfo(dtype: wf.DType) -> None:
    ours, numpys = wf.finfo(dtype), np.finfo(dtype.numpy)
    assert ours.bits == numpys.bits and ours.dtype is dtype
    for name in ("eps", "max", "min", "smallest_normal"):
        value = getattr(ours, name)
        assert type(value) is float and value == float(getattr(numpys, name))
    assert wf.finfo(wf.zeros(2, dtype=dtype)) == ours == wf.finfo(dtype.name)


@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda d: d.name)
def test_iinfo(dtype: wf.DType) -> None:
    ours, numpys = wf.iinfo(dtype), np.iinfo(dtype.numpy)
    assert (ours.bits, ours.min, ours.max, ours.dtype) == (numpys.bits, numpys.min, numpys.max, dtype)
    assert wf.iinfo(wf.zeros(2, dtype=dtype)) == ours


KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iuf",
}


@pytest.mark.parametrize("dtype", dt.ALL, ids=lambda d: d.name)
def test_isdtype(dtype: wf.DType) -> None:
    for kind, letters in KINDS.items():
        assert wf.isdtype(dtype, kind) is (dtype.kind in letters)
    assert wf.isdtype(dtype, dtype) and wf.isdtype(dtype, ("complex floating", (dtype, "bool")))
    assert wf.isdtype(dtype, wf.float64) is (dtype is wf.float64) and not wf.isdtype(dtype, ())


@pytest.mark.parametrize("a", STANDARD, ids=lambda d: d.name)
def test_promotion_is_numpys_but_for_integers_with_floats(a: wf.DType) -> None:
    for b in STANDARD:
        numpys = np.result_type(a.numpy, b.numpy).name
        if a.is_float != b.is_float and "b" not in a.kind + b.kind:
            numpys = (a if a.is_float else b).name
        assert wf.result_type(a, b).name == numpys == wf.result_type(wf.zeros(2, dtype=a), b).name
        assert wf.can_cast(a, b) is (wf.result_type(a, b) is b)


def test_python_numbers_are_weak() -> None:
    assert wf.result_type(wf.int8, 1000) is wf.int8 and wf.result_type(wf.float32, 1.0, 2) is wf.float32
    assert wf.result_type(wf.int8, 1.0) is wf.float32 and wf.result_type(wf.bool_, 1) is wf.int64
    assert wf.result_type(1, wf.uint8, True) is wf.uint8
    assert wf.result_type(np.float64(1), wf.float32) is wf.float64


def test_astype() -> None:
    x = wf.tensor([1.5, -2.5, float("nan"), 1e30])
    assert wf.astype(x, wf.int32).tolist() == [1, -2, 0, 2**31 - 1] == x.astype("int32").tolist()
    assert wf.astype(x, wf.float32, copy=False) is x and wf.astype(x, wf.float32) is not x
    assert wf.astype(x, wf.bool_, device="cpu").tolist() == [True] * 4
    assert wf.astype(wf.tensor([300, -1]), wf.uint8).tolist() == [44, 255]


CASES: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: wf.finfo(wf.int8), E.DTypeError, "finfo: int8 is not a float"),
    (lambda: wf.iinfo(wf.float32), E.DTypeError, "iinfo: float32 is not an integer"),
    (lambda: wf.iinfo(wf.bool_), E.DTypeError, "iinfo: bool is not an integer"),
    (lambda: wf.finfo("float33"), E.DTypeError, "there is no dtype 'float33'"),
    (lambda: wf.isdtype(wf.int8, "integer"), ValueError, "isdtype: there is no kind 'integer'; there are bool, signed integer"),
    (lambda: wf.isdtype(wf.int8, ("bool", "float")), E.ArgumentError, "no kind 'float'"),
    (lambda: wf.isdtype(wf.int8, 3), E.DTypeError, "a kind is a dtype, a name or a tuple of them, not 3"),
    (lambda: wf.isdtype("int8", "bool"), E.DTypeError, "isdtype: expected a dtype, got 'int8'"),
    (lambda: wf.result_type(), E.DTypeError, "at least one"),  # noqa: PLW0108
    (lambda: wf.result_type("int9"), E.DTypeError, "int9"),
    (lambda: wf.can_cast(wf.int8, complex), E.DTypeError, "there is no dtype <class 'complex'>"),
    (lambda: wf.astype([1], wf.int8), E.DTypeError, "astype: expected a Tensor, got list"),
    (lambda: wf.astype(wf.zeros(1), wf.int8, device="tpu"), E.DeviceError, "tpu"),
]


@pytest.mark.parametrize(("build", "kind", "text"), CASES, ids=[str(i) for i in range(len(CASES))])
def test_errors(build: Callable[[], object], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        build()


@pytest.mark.parametrize("dtype", dt.ALL, ids=lambda d: d.name)
def test_dtypes_hash_and_compare_with_anything(dtype: wf.DType) -> None:
    assert {dtype: 1}[dtype] == 1 and dtype == dtype and len({*dt.ALL}) == len(dt.ALL)
    for other in (None, 3, "x", dtype.name, object(), [dtype], np.float64, np.dtype("int8"), wf.zeros):
        assert (dtype == other) is False and (dtype != other) is True
    assert pickle.loads(pickle.dumps(dtype)) is dtype and copy.deepcopy(dtype) is dtype is copy.copy(dtype)
