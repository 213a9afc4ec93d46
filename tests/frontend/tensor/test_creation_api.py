"""Creation functions: signatures of the Array API standard, exact values, every dtype, errors that
name what is wrong."""

from __future__ import annotations

import array
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import weft as wf
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from weft.ir.graph import dtype as dt

E = wf.errors
DTYPES = [d.name for d in dt.ALL if d.name != "bfloat16"]  # which NumPy lacks
NUMBERS = [d for d in DTYPES if d != "bool"]


def same(got: wf.Tensor, want: np.ndarray) -> None:
    assert got.shape == want.shape and got.dtype.name == want.dtype.name
    np.testing.assert_array_equal(got.numpy(), want)


SIGNATURES = {
    "arange": "start stop=None step=1 dtype=None device=None",
    "asarray": "obj dtype=None device=None copy=None",
    "empty": "shape dtype=None device=None",
    "empty_like": "x dtype=None device=None",
    "eye": "n_rows n_cols=None k=0 dtype=None device=None",
    "full": "shape fill_value dtype=None device=None",
    "full_like": "x fill_value dtype=None device=None",
    "linspace": "start stop num dtype=None device=None endpoint=True",
    "ones": "shape dtype=None device=None",
    "ones_like": "x dtype=None device=None",
    "zeros": "shape dtype=None device=None",
    "zeros_like": "x dtype=None device=None",
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures_have_the_names_and_defaults_of_the_standard(name: str) -> None:
    found = inspect.signature(getattr(wf, name)).parameters
    for item in SIGNATURES[name].split():
        parameter, _, default = item.partition("=")
        assert parameter in found, (name, parameter)
        if default:
            assert str(found[parameter].default) == default


DEVICED: dict[str, Callable[..., Any]] = {
    "arange": lambda **kw: wf.arange(3, **kw),
    "asarray": lambda **kw: wf.asarray([1], **kw),
    "empty": lambda **kw: wf.empty(3, **kw),
    "empty_like": lambda **kw: wf.empty_like(wf.ones(2), **kw),
    "eye": lambda **kw: wf.eye(3, **kw),
    "full": lambda **kw: wf.full(3, 1, **kw),
    "full_like": lambda **kw: wf.full_like(wf.ones(2), 1, **kw),
    "linspace": lambda **kw: wf.linspace(0, 1, 3, **kw),
    "ones": lambda **kw: wf.ones(3, **kw),
    "ones_like": lambda **kw: wf.ones_like(wf.ones(2), **kw),
    "zeros": lambda **kw: wf.zeros(3, **kw),
    "zeros_like": lambda **kw: wf.zeros_like(wf.ones(2), **kw),
}


@pytest.mark.parametrize("name", DEVICED)
def test_every_creation_function_takes_a_device_and_a_dtype(name: str) -> None:
    make = DEVICED[name]
    for device in (None, "cpu", wf.ones(1).device):
        assert make(device=device).device == wf.ones(1).device
    with pytest.raises(E.DeviceError, match="tpu"):
        make(device="tpu")
    for dtype in (wf.float64, "float64", np.float64, np.dtype("float64")):
        assert make(dtype=dtype).dtype is wf.float64
    assert (
        make(dtype=bool).dtype is wf.bool_
        and make(dtype=int).dtype is wf.int64
        and make(dtype=float).dtype is wf.float32
    )


# ---------------------------------------------------------------- constants


@pytest.mark.thinned(to=7)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), 0, 3, (2, 0), (1, 3, 1), [2, 2]], ids=str)
def test_constants(shape: Any, dtype: str) -> None:
    same(wf.zeros(shape, dtype=dtype), np.zeros(shape, dtype))
    same(wf.ones(shape, dtype=dtype), np.ones(shape, dtype))
    same(wf.full(shape, 1, dtype=dtype), np.full(shape, 1, dtype))
    x = wf.ones(shape, dtype=dtype)
    assert wf.empty(shape, dtype=dtype).shape == x.shape and wf.empty_like(x).dtype is x.dtype
    same(wf.zeros_like(x), np.zeros(shape, dtype))
    same(wf.full_like(x, True), np.ones(shape, dtype))


def test_extents_may_be_given_one_by_one_or_as_any_sequence() -> None:
    for shape in ((2, 3), [2, 3], np.array([2, 3]), (np.int64(2), wf.tensor(3))):
        assert wf.zeros(shape).shape == wf.full(shape, 1).shape == (2, 3)
    assert wf.ones(2, 3).shape == (2, 3) and wf.zeros().shape == ()


def test_full_takes_its_dtype_from_the_value() -> None:
    assert [wf.full(1, v).dtype.name for v in (True, 3, 0.5)] == ["bool", "int64", "float32"]
    assert wf.full(1, np.float64(2)).dtype is wf.float64 and wf.full(
        (2,), wf.tensor([1, 2])
    ).tolist() == [1, 2]
    assert wf.full((), float("inf")).item() == float("inf") and np.signbit(
        wf.full((), -0.0).numpy()
    )


def test_constants_refuse_what_does_not_fit() -> None:
    for value, dtype in (
        (256, "uint8"),
        (-1, "uint64"),
        (1 << 63, "int64"),
        (float("nan"), "int32"),
    ):
        with pytest.raises(E.OverflowError, match="full"):
            wf.full(2, value, dtype=dtype)
    with pytest.raises(E.DTypeError, match="number"):
        wf.full(2, "one")


# ---------------------------------------------------------------- asarray


def test_asarray_default_dtypes() -> None:
    cases = [
        (True, "bool"),
        (2, "int64"),
        (2.5, "float32"),
        ([1, 2.5], "float32"),
        ([[True], [False]], "bool"),
        ([], "float32"),
        ([True, 2], "int64"),
    ]
    for data, dtype in cases:
        assert wf.asarray(data).dtype.name == dtype and wf.asarray(data).tolist() == data


@pytest.mark.thinned(to=7)
@pytest.mark.parametrize("dtype", DTYPES)
def test_asarray_of_arrays(dtype: str) -> None:
    x = np.array([[0, 1, 2], [3, 4, 5]]).astype(dtype)
    for source in (x, x.T, x[::-1, ::2], wf.tensor(x), x[0, 0]):
        same(wf.asarray(source), np.asarray(source))
        wide = "complex128" if dtype.startswith("complex") else "float64"
        same(wf.asarray(source, dtype=wide), np.asarray(source).astype(wide))


def test_asarray_of_a_tensor_is_that_tensor_unless_a_copy_is_asked_for() -> None:
    x = wf.tensor([1.0, 2.0])
    assert (
        wf.asarray(x) is x and wf.asarray(x, copy=False) is x and wf.asarray(x, dtype=x.dtype) is x
    )
    copied = wf.asarray(x, copy=True)
    x[0] = 5.0
    assert copied.tolist() == [1.0, 2.0] and wf.asarray(x, copy=False).tolist() == [5.0, 2.0]
    with pytest.raises(E.ShapeError, match="copy=False"):
        wf.asarray(x, dtype="int32", copy=False)


def test_asarray_shares_memory_only_where_asked() -> None:
    x = np.zeros(3)
    shared, copied = wf.asarray(x, copy=False), wf.asarray(x)
    x[0] = 1
    assert shared.tolist() == [1, 0, 0] and copied.tolist() == [0, 0, 0]
    for source in ([1, 2], 3, True, 1.5):
        with pytest.raises(E.ShapeError, match="no memory to share"):
            wf.asarray(source, copy=False)


def test_asarray_of_buffers_and_dlpack_objects() -> None:
    class Exported:
        def __init__(self, a: np.ndarray) -> None:
            self.a = a

        def __dlpack__(self, **kwargs: Any) -> Any:
            return self.a.__dlpack__(**kwargs)

        def __dlpack_device__(self) -> Any:
            return self.a.__dlpack_device__()

    same(wf.asarray(array.array("i", [1, 2])), np.array([1, 2], "int32"))
    same(wf.asarray(memoryview(bytearray([1, 2]))), np.array([1, 2], "uint8"))
    same(wf.asarray(b"\1\2"), np.array([1, 2], "uint8"))
    same(wf.asarray(Exported(np.arange(3.0))), np.arange(3.0))


def test_nested_lists_may_hold_tensors() -> None:
    assert wf.asarray([[wf.tensor(1), 2], [wf.tensor(3), 4]]).tolist() == [[1, 2], [3, 4]]


def test_python_integers_that_do_not_fit_are_refused() -> None:
    for data, dtype in (
        ([300], "uint8"),
        (-1, "uint32"),
        ([1 << 63], "int64"),
        (1 << 64, None),
        ([1 << 63, -1], None),
    ):
        with pytest.raises(E.OverflowError):
            wf.asarray(data, dtype=dtype)
    assert wf.asarray((1 << 64) - 1, dtype="uint64").item() == (1 << 64) - 1


def test_floats_become_integers_as_in_astype() -> None:
    x = np.array([1.9, -1.9, np.nan, np.inf, -np.inf])
    assert (
        wf.asarray(x, dtype="int8").tolist()
        == wf.asarray(x).astype("int8").tolist()
        == [1, -1, 0, 127, -128]
    )


def test_asarray_refuses_what_is_not_an_array() -> None:
    for data in ("abc", None, object(), {1: 2}):
        with pytest.raises(E.DTypeError):
            wf.asarray(data)
    with pytest.raises(E.ShapeError, match="lengths"):
        wf.asarray([[1], [1, 2]])


# ---------------------------------------------------------------- ranges

INTS = st.integers(-1000, 1000)


@examples(150)
@given(INTS, INTS, INTS.filter(bool), st.sampled_from([None, *NUMBERS]))
def test_arange_of_ints_is_range(start: int, stop: int, step: int, dtype: str | None) -> None:
    got = wf.arange(start, stop, step, dtype=dtype)
    want = np.array(range(start, stop, step), "int64").astype(dtype or "int64")
    same(got, want)


@examples(150)
@given(st.floats(-50, 50), st.floats(-50, 50), st.floats(0.5, 9) | st.floats(-9, -0.5))
def test_arange_of_floats_is_start_plus_multiples(start: float, stop: float, step: float) -> None:
    want = np.arange(start, stop, step)
    got = wf.arange(start, stop, step, dtype="float64")
    same(got, start + np.arange(len(want)) * step)
    same(wf.arange(start, stop, step), got.numpy().astype("float32"))


def test_arange_beyond_int64() -> None:
    top = (1 << 64) - 1
    assert wf.arange(top - 2, top, dtype="uint64").tolist() == [top - 2, top - 1]
    assert wf.arange(-(1 << 63), -(1 << 63) + 2).tolist() == [-(1 << 63), -(1 << 63) + 1]


def test_arange_takes_numpy_numbers_and_tensors() -> None:
    assert wf.arange(np.int32(2), wf.tensor(5)).tolist() == [2, 3, 4] and wf.arange(
        stop=3, start=1
    ).tolist() == [1, 2]
    assert wf.arange(np.float32(2)).dtype is wf.float32


def test_arange_errors() -> None:
    cases: list[tuple[tuple[Any, ...], type[Exception], str]] = [
        ((0, 5, 0), E.ShapeError, "step must not be 0"),
        ((0, float("inf")), E.ShapeError, "no number of elements"),
        ((float("nan"),), E.ShapeError, "no number of elements"),
        (
            (10**400, 0.5),
            E.OverflowError,
            "an integer of 1329 bits, which is too large for a float",
        ),
        ((1 << 62,), E.ShapeError, "too many elements"),
        (("a",), E.DTypeError, "stop must be a real number"),
        ((1j,), E.DTypeError, "real number"),
    ]
    for args, kind, text in cases:
        with pytest.raises(kind, match=text):
            wf.arange(*args)


@examples(200)
@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(0, 20),
    st.booleans(),
)
def test_linspace_keeps_its_ends_and_its_order(
    start: float, stop: float, num: int, endpoint: bool
) -> None:
    got = wf.linspace(start, stop, num, endpoint=endpoint, dtype="float64").numpy()
    assert got.shape == (num,) and np.isfinite(got).all()
    if num:
        assert got[0] == start
    if endpoint and num > 1:
        assert got[-1] == stop
    steps = np.diff(got[:-1] if endpoint else got)
    assert (steps >= 0).all() if stop >= start else (steps <= 0).all()
    same(
        wf.linspace(start, stop, num + 1, endpoint=True, dtype="float64")[:num]
        if not endpoint
        else wf.tensor(got),
        got,
    )


@examples(100)
@given(
    st.integers(-100, 100),
    st.integers(-100, 100),
    st.integers(0, 20),
    st.booleans(),
    st.sampled_from(["int8", "int64", "float32", "float64"]),
)
def test_linspace_is_numpys(start: int, stop: int, num: int, endpoint: bool, dtype: str) -> None:
    want = np.linspace(start, stop, num, endpoint=endpoint, dtype=dtype)
    got = wf.linspace(start, stop, num, endpoint=endpoint, dtype=dtype)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-6, atol=0 if dtype[0] == "i" else 1e-5)


def test_linspace_of_complex_bounds_spaces_both_parts() -> None:
    for start, stop in ((0, 1 + 3j), (1j, 2), (np.complex128(1 - 1j), np.float32(0))):
        for endpoint in (True, False):
            want = np.linspace(start, stop, 7, endpoint=endpoint)
            got = wf.linspace(start, stop, 7, endpoint=endpoint, dtype="complex128")
            np.testing.assert_allclose(got.numpy(), want, rtol=1e-15)
    dtypes = [wf.linspace(0, z, 2).dtype for z in (1j, np.complex128(1), wf.tensor([1j]))]
    assert dtypes == [wf.complex64, wf.complex128, wf.complex64]
    with pytest.raises(E.DTypeError, match="linspace: the bounds are complex, float32 is not"):
        wf.linspace(0, 1j, 3, dtype="float32")
    with pytest.raises(E.ShapeError, match="linspace: stop must be one number"):
        wf.linspace(0, wf.tensor([1j, 2j]), 3)


def test_linspace_of_extreme_integers_has_exact_ends() -> None:
    low, high = -(1 << 63), (1 << 63) - 1
    got = wf.linspace(low, high, 5, dtype="int64").tolist()
    assert got[0] == low and got[-1] == high
    assert wf.linspace((1 << 64) - 3, (1 << 64) - 1, 2, dtype="uint64").tolist() == [
        (1 << 64) - 3,
        (1 << 64) - 1,
    ]


def test_linspace_errors() -> None:
    with pytest.raises(E.ShapeError, match="negative"):
        wf.linspace(0, 1, -1)
    with pytest.raises(E.DTypeError, match="num must be an int"):
        wf.linspace(0, 1, 2.5)  # type: ignore[arg-type]
    with pytest.raises(E.DTypeError, match="start"):
        wf.linspace("a", 1, 2)
    with pytest.raises(E.OverflowError, match="too large for a float"):
        wf.linspace(0, 10**400, 2)
    with pytest.raises(E.DTypeError, match="endpoint must be True or False"):
        wf.linspace(0, 1, 2, endpoint=np.ones(2))  # type: ignore[arg-type]


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: wf.tril({1, 2}), "tril: x must be a Tensor, an array or a number"),
    (lambda: wf.concat(3), "concat: parts must be a sequence, not 3"),
    (lambda: wf.stack(np.array(1)), "stack: parts must be a sequence"),
    (lambda: wf.meshgrid("a"), "meshgrid: arrays must be .* not 'a'$"),
    (lambda: wf.zeros(2, dtype=[1]), "there is no dtype"),
    (lambda: wf.zeros(2, dtype=wf.ones(1)), "there is no dtype"),
    (lambda: wf.tensor(b"ab", dtype="float32"), "tensor: b'ab' is no number"),
    (lambda: wf.ones(2).sum(keepdims=np.ones(2)), "keepdims must be True or False"),
]


@pytest.mark.parametrize("case", WRONG, ids=[str(i) for i in range(len(WRONG))])
def test_things_that_are_no_arguments_are_named(case: tuple[Callable[[], Any], str]) -> None:
    with pytest.raises(E.DTypeError, match=case[1]):
        case[0]()


# ---------------------------------------------------------------- diagonals and grids


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "columns"), [(3, None), (2, 4), (0, 2), (3, 1)])
def test_eye(rows: int, columns: int | None, dtype: str) -> None:
    for k in (-9, -1, 0, 2, 5):
        same(wf.eye(rows, columns, k=k, dtype=dtype), np.eye(rows, columns, k=k, dtype=dtype))
    assert not wf.eye(2, k=10**30).numpy().any()


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 4), (2, 4, 3), (0, 3), (1, 1), (2, 0, 3)], ids=str)
def test_triangles(shape: tuple[int, ...], dtype: str) -> None:
    x = np.arange(1, 1 + np.prod(shape)).reshape(shape).astype(dtype)
    for k in (-(10**30), -2, 0, 1, 10**30):
        near = max(-9, min(k, 9))
        same(wf.tril(wf.tensor(x), k=k), np.tril(x, near))
        same(wf.triu(x, k=k), np.triu(x, near))
    with pytest.raises(E.ShapeError, match="two axes"):
        wf.tril(wf.ones(3))


def test_a_triangle_of_nan_has_zeros_outside() -> None:
    assert wf.tril(wf.full((2, 2), float("nan"))).numpy()[0, 1] == 0


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("extents", [(), (3,), (3, 2), (3, 2, 4), (2, 0)], ids=str)
def test_meshgrid(extents: tuple[int, ...], indexing: str) -> None:
    arrays = [np.arange(n) + 10 * i for i, n in enumerate(extents)]
    got = wf.meshgrid(*map(wf.tensor, arrays), indexing=indexing)
    want = np.meshgrid(*arrays, indexing=indexing)
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        same(g, w)


def test_meshgrid_of_scalars_and_errors() -> None:
    assert [g.shape for g in wf.meshgrid(wf.tensor(1), wf.arange(3))] == [(3, 1), (3, 1)]
    with pytest.raises(E.ShapeError, match="vectors"):
        wf.meshgrid(wf.ones(2, 2))
    with pytest.raises(E.ArgumentError, match="indexing must be 'xy' or 'ij', not 'zz'"):
        wf.meshgrid(wf.ones(2), indexing="zz")


# ---------------------------------------------------------------- shapes that cannot be


@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "full", "eye", "arange", "linspace"])
def test_absurd_sizes_are_refused_when_they_are_asked_for(name: str) -> None:
    make: dict[str, Callable[[int], Any]] = {
        "full": lambda n: wf.full((n, 4), 1.0),
        "eye": lambda n: wf.eye(n, 4),
        "linspace": lambda n: wf.linspace(0, 1, n),
    }
    for n in (1 << 60, 1 << 62, 1 << 70):
        with pytest.raises(E.ShapeError, match=rf"{name}: shape .* too many elements"):
            make.get(name, getattr(wf, name))(n)


def test_wrong_shapes() -> None:
    cases: list[tuple[Any, type[Exception]]] = [
        (-1, E.ShapeError),
        ((2, -1), E.ShapeError),
        (2.0, E.DTypeError),
        ("2", E.DTypeError),
        (True, E.DTypeError),
        ((2, None), E.DTypeError),
        ((1 << 40, 1 << 40, 0), E.ShapeError),
    ]
    for shape, kind in cases:
        with pytest.raises(kind, match="zeros"):
            wf.zeros(shape)
