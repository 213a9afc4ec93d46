"""Questions about dtypes: limits, casts, promotion, kinds; and the dtype objects themselves."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import weft as wf
from weft import options
from weft.ir.graph import dtype as dt

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
    assert (ours.bits, ours.min, ours.max, ours.dtype) == (
        numpys.bits,
        numpys.min,
        numpys.max,
        dtype,
    )
    assert wf.iinfo(wf.zeros(2, dtype=dtype)) == ours


KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
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
        if a.is_inexact != b.is_inexact and "b" not in a.kind + b.kind:
            numpys = (a if a.is_inexact else b).name
        assert wf.result_type(a, b).name == numpys == wf.result_type(wf.zeros(2, dtype=a), b).name
        assert wf.can_cast(a, b) is (wf.result_type(a, b) is b)


def test_python_numbers_are_weak() -> None:
    assert (
        wf.result_type(wf.int8, 1000) is wf.int8
        and wf.result_type(wf.float32, 1.0, 2) is wf.float32
    )
    assert wf.result_type(wf.int8, 1.0) is wf.float32 and wf.result_type(wf.bool_, 1) is wf.int64
    assert wf.result_type(1, wf.uint8, True) is wf.uint8
    assert wf.result_type(np.float64(1), wf.float32) is wf.float64


def test_astype() -> None:
    x = wf.tensor([1.5, -2.5, float("nan"), 1e30])
    assert wf.astype(x, wf.int32).tolist() == [1, -2, 0, 2**31 - 1] == x.astype("int32").tolist()
    assert wf.astype(x, wf.float32, copy=False) is x and wf.astype(x, wf.float32) is not x
    assert wf.astype(x, wf.bool_, device="cpu").tolist() == [True] * 4
    assert wf.astype(wf.tensor([300, -1]), wf.uint8).tolist() == [44, 255]


def test_numpy_takes_a_dtype() -> None:
    for d in dt.ALL:
        assert np.dtype(d) == d.numpy == np.zeros(2, dtype=d).dtype
    assert wf.finfo(wf.bfloat16).dtype is wf.bfloat16  # asks NumPy nothing, which may lack it
    assert np.ones(3).astype(wf.float32).dtype == np.float32


CASES: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: wf.finfo(wf.int8), E.DTypeError, "finfo: int8 is not a float"),
    (lambda: wf.iinfo(wf.float32), E.DTypeError, "iinfo: float32 is not an integer"),
    (lambda: wf.iinfo(wf.bool_), E.DTypeError, "iinfo: bool is not an integer"),
    (lambda: wf.finfo("float33"), E.DTypeError, "there is no dtype 'float33'"),
    (
        lambda: wf.isdtype(wf.int8, "integer"),
        ValueError,
        "isdtype: there is no kind 'integer'; there are bool, signed integer",
    ),
    (lambda: wf.isdtype(wf.int8, ("bool", "float")), E.ArgumentError, "no kind 'float'"),
    (
        lambda: wf.isdtype(wf.int8, 3),
        E.DTypeError,
        "a kind must be a dtype, a name or a tuple of them, not 3",
    ),
    (lambda: wf.isdtype("int8", "bool"), E.DTypeError, "isdtype: expected a dtype, got 'int8'"),
    (lambda: wf.result_type(), E.DTypeError, "at least one"),  # noqa: PLW0108
    (lambda: wf.result_type("int9"), E.DTypeError, "int9"),
    (lambda: wf.can_cast(wf.int8, bytes), E.DTypeError, "there is no dtype <class 'bytes'>"),
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
    for other in (
        None,
        3,
        "x",
        dtype.name,
        object(),
        [dtype],
        np.float64,
        np.dtype("int8"),
        wf.zeros,
    ):
        assert (dtype == other) is False and (dtype != other) is True
    assert pickle.loads(pickle.dumps(dtype)) is dtype and copy.deepcopy(
        dtype
    ) is dtype is copy.copy(dtype)


# ---------------------------------------------------------------- the default dtype


@pytest.fixture
def float64_by_default() -> Iterator[None]:
    wf.set_default_dtype(wf.float64)
    yield
    wf.set_default_dtype("float32")


MADE: dict[str, Callable[[], wf.Tensor]] = {
    "Python floats": lambda: wf.tensor([1.5, 2.0]),
    "full": lambda: wf.full(2, 0.1),
    "zeros": lambda: wf.zeros(2),
    "arange": lambda: wf.arange(0.5),
    "linspace": lambda: wf.linspace(0, 1, 3),
    "eye": lambda: wf.eye(2),
    "rand": lambda: wf.rand(2),
    "a quotient of integers": lambda: wf.tensor([1, 2]) / 3,
    "a mean of integers": lambda: wf.arange(4).mean(),
    "an integer with a float": lambda: wf.arange(4) + 0.1,
    "the type float": lambda: wf.zeros(2, dtype=float),
    "parameters": lambda: wf.nn.Linear(2, 2).weight,
    "a batch": lambda: wf.nn.data.default_collate([0.1, 0.2]),
    "asarray": lambda: wf.array_api.asarray(0.1),
    "a jitted number": lambda: wf.jit(lambda a: a + 0.5)(0.1),
}


@pytest.mark.parametrize("name", MADE)
def test_what_is_made_of_python_floats_has_the_default_dtype(
    name: str, float64_by_default: None
) -> None:
    assert wf.get_default_dtype() is MADE[name]().dtype is wf.float64


def test_the_default_dtype_changes_no_tensor_and_computes_in_itself(
    float64_by_default: None,
) -> None:
    assert (
        wf.ones(2, dtype="float32").exp().dtype
        is wf.float32
        is (wf.zeros(1, dtype="float32") + 0.1).dtype
    )
    assert float(wf.tensor(1) / 3) == 1 / 3 and wf.tensor([0.1]).item() == 0.1
    info = wf.array_api.__array_namespace_info__()
    assert info.default_dtypes()["real floating"] is wf.float64


def test_a_jitted_function_follows_the_default_dtype() -> None:
    traced = []

    @wf.jit
    def f(x: wf.Tensor) -> wf.Tensor:
        traced.append(wf.get_default_dtype())
        return x / 3 + wf.zeros(2)

    x = wf.tensor([1, 2])
    try:
        found = []
        for name in ("float32", "float64", "float64", "float32"):
            wf.set_default_dtype(name)
            found.append(f(x).dtype.name)
    finally:
        wf.set_default_dtype("float32")
    assert found == ["float32", "float64", "float64", "float32"] and traced == [
        wf.float32,
        wf.float64,
    ]


def test_only_floats_are_a_default_dtype() -> None:
    with pytest.raises(
        TypeError, match="set_default_dtype: the default must be a float dtype, not int64"
    ):
        wf.set_default_dtype(wf.int64)
    with options.override(default_dtype="float16"):
        assert wf.tensor(0.1).dtype is wf.float16


@pytest.mark.parametrize(
    "end",
    [np.float64(2), np.array(2.0), wf.tensor(2.0, dtype="float64")],
    ids=lambda x: type(x).__name__,
)
def test_ranges_take_the_dtype_of_floats_that_have_one(end: object) -> None:
    assert wf.linspace(end, 3, 4).dtype is wf.arange(end, 3, 0.5).dtype is wf.float64
    assert (
        wf.linspace(np.float32(0), 3, 4).dtype is wf.linspace(np.int64(0), 3, 4).dtype is wf.float32
    )
    assert wf.linspace(end, 3, 4, dtype="float32").dtype is wf.float32
