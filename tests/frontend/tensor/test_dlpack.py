"""DLPack both ways: values, sharing, lifetimes, errors; with NumPy, and with torch and JAX where
they are installed."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import weft as wf
from weft.ir.graph import dtype as dt
from weft.runtime import dlpack

E = wf.errors
NUMPYS = [d for d in dt.ALL if d.name != "bfloat16"]
SHAPES = [(), (0,), (5,), (2, 3), (1, 0, 4), (2, 1, 3)]


def values(dtype: wf.DType, shape: tuple[int, ...]) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype.name)


class Legacy:
    """A producer from before version 1: no arguments but the stream, the capsule unversioned."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, stream: Any = None) -> Any:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


@pytest.mark.thinned(to=42)
@pytest.mark.parametrize("dtype", NUMPYS, ids=lambda d: d.name)
@pytest.mark.parametrize("shape", SHAPES)
def test_round_trips_with_numpy(dtype: wf.DType, shape: tuple[int, ...]) -> None:
    expected = values(dtype, shape)
    out = np.from_dlpack(wf.tensor(expected))
    assert out.dtype == expected.dtype and out.shape == shape
    np.testing.assert_array_equal(out, expected)
    for producer in (expected, Legacy(expected), wf.tensor(expected), Legacy(wf.tensor(expected))):
        back = wf.from_dlpack(producer)
        assert back.dtype is dtype and back.shape == shape
        np.testing.assert_array_equal(back.numpy(), expected)


def test_pending_values_are_computed() -> None:
    assert np.from_dlpack(wf.arange(4) * 2).tolist() == [0, 2, 4, 6]
    assert wf.from_dlpack(wf.arange(4) * 2).tolist() == [0, 2, 4, 6]


def test_strides_go_both_ways() -> None:
    x = wf.tensor(np.arange(24).reshape(4, 6))
    out = np.from_dlpack(x.T[::2])
    assert out.strides == (16, 48) and out.tolist() == x.numpy().T[::2].tolist()
    array = np.arange(24.0).reshape(4, 6)[::2, 1::3]
    back = wf.from_dlpack(array)
    assert back.strides == (12, 3) and (back + 1).tolist() == (array + 1).tolist()


def test_memory_is_shared() -> None:
    x = wf.ones(4).realize()
    out = np.from_dlpack(x)
    assert np.shares_memory(out, x.numpy()) and not out.flags.writeable
    array = np.zeros(4)
    back = wf.from_dlpack(array)
    array[1] = 5
    assert back.tolist() == [0, 5, 0, 0]


def test_copies() -> None:
    x = wf.ones(4).realize()
    out = np.from_dlpack(x, copy=True)
    assert not np.shares_memory(out, x.numpy())
    assert out.flags.writeable
    array = np.zeros(4)
    back = wf.from_dlpack(array, copy=True)
    array[1] = 5
    assert back.tolist() == [0] * 4
    assert wf.from_dlpack(x, copy=False).tolist() == [1] * 4
    z = wf.tensor([1j, 2], "complex128").realize()
    assert np.from_dlpack(z, copy=True).tolist() == z.tolist()


def test_what_cannot_be_shared_is_copied_unless_that_is_forbidden() -> None:
    array = np.arange(5)[::-1]
    assert wf.from_dlpack(array).tolist() == [4, 3, 2, 1, 0]
    with pytest.raises(E.BufferError, match=r"strides \(-1,\) are negative"):
        wf.from_dlpack(array, copy=False)
    misaligned = np.zeros(17, np.uint8)[1:].view(np.int64)
    misaligned[:] = 3, 4
    assert wf.from_dlpack(misaligned).tolist() == [3, 4]
    with pytest.raises(E.BufferError, match="not aligned to 8 bytes"):
        wf.from_dlpack(misaligned, copy=False)


def test_exported_memory_is_never_written_again() -> None:
    x = wf.zeros(1000).realize()
    out = np.from_dlpack(x)
    for _ in range(3):
        x += 1
        x.realize()
    assert out.tolist() == [0] * 1000 and x.tolist() == [3] * 1000


def test_the_export_outlives_the_tensor() -> None:
    x = (wf.arange(1000) + 1).realize()
    buffer = weakref.ref(x._stored().buffer)
    out = np.from_dlpack(x)
    del x
    gc.collect()
    junk = [(wf.arange(1000) * 0).realize() for _ in range(20)]
    assert out.sum() == 500500 and len(junk) == 20 and buffer() is not None
    del out
    gc.collect()
    assert buffer() is None


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (2, 3)])
def test_a_capsule_that_nobody_takes_lets_go(version: tuple[int, int] | None) -> None:
    x = (wf.arange(100) + 1).realize()
    buffer = weakref.ref(x._stored().buffer)
    capsule = x.__dlpack__(max_version=version)
    assert ("versioned" in repr(capsule)) is (version is not None and version >= (1, 0))
    del x
    gc.collect()
    assert buffer() is not None
    del capsule
    assert buffer() is None


def test_a_dying_capsule_keeps_the_exception_that_is_on_its_way() -> None:
    def fail() -> None:
        capsule = wf.ones(3).__dlpack__()
        raise KeyError(capsule is None)

    with pytest.raises(KeyError, match="False"):
        fail()


def test_the_import_outlives_the_array_and_frees_it() -> None:
    array = np.arange(1000.0)
    alive = weakref.ref(array)
    x = wf.from_dlpack(array)
    y = x[10:] * 1
    del array
    gc.collect()
    assert alive() is not None and x.sum().item() == 499500
    y.realize()
    del x
    gc.collect()
    assert alive() is None


def test_a_capsule_is_taken_once() -> None:
    capsule = wf.ones(3).__dlpack__()

    class Once:
        def __dlpack__(self) -> Any:
            return capsule

    assert wf.from_dlpack(Once()).tolist() == [1, 1, 1]
    with pytest.raises(E.BufferError, match="consumed before"):
        wf.from_dlpack(Once())


def test_many_round_trips_keep_memory_flat() -> None:
    from weft.runtime.buffer import memory

    x = wf.arange(10000).realize()
    before = memory.allocated_bytes
    for _ in range(200):
        wf.from_dlpack(np.from_dlpack(wf.from_dlpack(x, copy=True)))
    gc.collect()
    assert memory.allocated_bytes <= before


# ---------------------------------------------------------------- requests that cannot be met

X = wf.ones(3)


def changed(**fields: Any) -> Any:
    """A producer whose capsule differs from a good one in these fields."""
    capsule = wf.ones(3).__dlpack__(max_version=(1, 0))
    pointer, _ = dlpack._pointer(capsule)
    managed = dlpack._Versioned.from_address(pointer)
    for name, value in fields.items():
        setattr(managed if hasattr(managed, name) else managed.tensor, name, value)

    class Producer:
        def __dlpack__(self, max_version: Any = None) -> Any:
            return capsule

    return Producer()


class OnGpu:
    def __dlpack__(self) -> Any:
        raise AssertionError("asked for memory of another device")

    def __dlpack_device__(self) -> tuple[int, int]:
        return (4, 1)


CASES: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: X.__dlpack__(stream=1), E.BufferError, "stream 1: the CPU has no streams"),
    (lambda: X.__dlpack__(copy=np.ones(2)), E.DTypeError, "copy must be True or False, not array"),
    (
        lambda: X.__dlpack__(dl_device=(2, 0)),
        BufferError,
        r"on cpu \(1, 0\), not on the device \(2, 0\)",
    ),
    (lambda: wf.from_dlpack([1, 2]), E.DTypeError, "list has no __dlpack__"),
    (
        lambda: wf.from_dlpack(np.zeros(3, np.clongdouble)),
        E.BufferError,
        "only supports IEEE",
    ),
    (lambda: wf.from_dlpack(np.zeros(3), device="cuda:99"), E.DeviceError, "cuda"),
    (
        lambda: wf.from_dlpack(OnGpu()),
        E.BufferError,
        "device of DLPack type 4, number 1; move it to the CPU first",
    ),
    (
        lambda: wf.from_dlpack(changed(device_type=2)),
        E.BufferError,
        "on a device of DLPack type 2, not on its own",
    ),
    (lambda: wf.from_dlpack(changed(device_type=4)), E.BufferError, "on a device of DLPack type 4"),
    (lambda: wf.from_dlpack(changed(major=9)), E.BufferError, r"version is 9\.0"),
    (lambda: wf.from_dlpack(changed(lanes=4)), E.BufferError, "4 lanes"),
    (lambda: wf.from_dlpack(changed(bits=4)), E.DTypeError, "float4"),
    (lambda: wf.from_dlpack(changed(code=17)), E.DTypeError, "type code 17, bits 32"),
]


@pytest.mark.parametrize(("build", "kind", "text"), CASES, ids=[str(i) for i in range(len(CASES))])
def test_errors(build: Callable[[], object], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        build()


def test_strides_may_be_missing() -> None:
    no_strides = ctypes.POINTER(ctypes.c_int64)()
    assert wf.from_dlpack(changed(strides=no_strides)).tolist() == [1, 1, 1]


def test_letting_go_after_the_end_of_python(tmp_path: Any) -> None:
    code = (
        "import numpy as np, weft as wf, builtins; builtins.kept = np.from_dlpack(wf.ones(3)),"
        " wf.ones(2).__dlpack__()"
    )
    prelude = f"import sys; sys.path[:0] = {[p for p in sys.path if p]!r}; "
    done = subprocess.run(
        [sys.executable, "-c", prelude + code], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


# ---------------------------------------------------------------- other libraries


@pytest.fixture(params=["torch", "jax.numpy"])
def library(request: pytest.FixtureRequest) -> Iterator[Any]:
    yield pytest.importorskip(request.param)


def test_round_trips_with_other_libraries(library: Any) -> None:
    for dtype in ("bool", "uint8", "int32", "float32"):
        expected = values(wf.ir.graph.dtype.BY_NAME[dtype], (2, 3))
        theirs = library.from_dlpack(wf.tensor(expected))
        assert dtype in str(theirs.dtype)
        np.testing.assert_array_equal(np.asarray(theirs), expected)
        ours = wf.from_dlpack(theirs)
        assert ours.dtype.name == dtype
        np.testing.assert_array_equal(ours.numpy(), expected)


def test_memory_is_shared_with_other_libraries(library: Any) -> None:
    x = (wf.arange(64.0) + 1).realize()
    theirs = library.from_dlpack(x)
    address = theirs.data_ptr() if hasattr(theirs, "data_ptr") else theirs.unsafe_buffer_pointer()
    assert address == x.numpy().ctypes.data
    assert wf.from_dlpack(theirs).numpy().ctypes.data == address
    del x
    gc.collect()
    assert float(theirs.sum()) == 2080.0


def test_bfloat16_with_other_libraries(library: Any) -> None:
    x = wf.tensor([1.5, -2.0, 3.25]).astype("bfloat16")
    theirs = library.from_dlpack(x)
    assert "bfloat16" in str(theirs.dtype)
    back = wf.from_dlpack(theirs)
    assert back.dtype is x.dtype and back.float().tolist() == [1.5, -2.0, 3.25]
