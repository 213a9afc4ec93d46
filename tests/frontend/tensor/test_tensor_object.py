"""The Tensor as a Python object: numbers, containers, text, copies, pickles, and what NumPy sees of
it."""

from __future__ import annotations

import copy
import math
import operator
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import weft as wf
from weft.ir.graph import dtype as dt

E = wf.errors
REAL = [d for d in dt.ALL if not d.is_complex]


# ---------------------------------------------------------------- the standard's array object


def test_attributes() -> None:
    x = wf.zeros(2, 3, dtype=wf.int16)
    assert (x.dtype, x.device, x.ndim, x.shape, x.size) == (wf.int16, "cpu", 2, (2, 3), 6)
    assert x.T.shape == x.mT.shape == (3, 2) and wf.zeros(2, 3, 4).mT.shape == (2, 4, 3)
    assert wf.zeros(2, 3, 4).T.shape == (4, 3, 2)
    assert x.to_device("cpu") is x and x.to_device(x.device, stream=None) is x
    with pytest.raises(E.ShapeError):
        wf.zeros(3).mT  # noqa: B018


@pytest.mark.parametrize("dtype", REAL, ids=lambda d: d.name)
def test_numbers(dtype: wf.DType) -> None:
    x = wf.tensor(1, dtype=dtype)
    assert bool(x) is True and int(x) == 1 and float(x) == 1.0 and complex(x) == 1 + 0j
    assert type(x.item()) is {"b": bool, "i": int, "u": int, "f": float}[dtype.kind]
    if dtype.is_int:
        assert (
            operator.index(x) == 1
            and [10, 20][x] == 20
            and list(range(x)) == [0]
            and hex(x) == "0x1"
        )
    else:
        with pytest.raises(
            E.DTypeError, match=f"only an integer can be an index, this is {dtype.name}"
        ):
            operator.index(x)


def test_special_numbers() -> None:
    assert (
        float(wf.tensor(float("inf"))) == float("inf")
        and bool(wf.tensor(float("nan")))
        and not bool(wf.tensor(-0.0))
    )
    assert int(wf.tensor(-2.7)) == -2 and int(wf.tensor(2**63, dtype=wf.uint64)) == 2**63
    with pytest.raises(ValueError, match="nan is not a whole number"):
        int(wf.tensor(float("nan")))
    with pytest.raises(OverflowError, match="-inf is not a whole number"):
        int(wf.tensor(-float("inf")))
    x = wf.tensor(-2.7)
    assert (math.floor(x), math.ceil(x), math.trunc(x)) == (-3, -2, -2) and type(
        math.floor(x)
    ) is int
    assert math.floor(wf.tensor(2**62 + 1)) == 2**62 + 1  # no float in between
    with pytest.raises(ValueError, match="floor: nan is not a whole number"):
        math.floor(wf.tensor(float("nan")))


def test_divmod_and_round_are_elementwise() -> None:
    x, y = np.array([7.5, -7.5, 3.0]), np.array([2.0, 2.0, -4.0])
    for quotient, rest in (
        divmod(wf.tensor(x), wf.tensor(y)),
        divmod(wf.tensor(x), y),
        divmod(x, wf.tensor(y)),
    ):
        assert quotient.tolist() == (x // y).tolist() and rest.tolist() == (x % y).tolist()
    assert [t.tolist() for t in wf.divmod(7, [2, -2])] == [
        t.tolist() for t in np.divmod(7, wf.tensor([2, -2]))
    ]
    assert [t.tolist() for t in divmod(7, wf.tensor([2, -2]))] == [[3, -4], [1, -1]]
    assert round(wf.tensor([1.25, -2.5])).tolist() == [1.0, -2.0] and round(
        wf.tensor(1.375), 2
    ).item() == np.float32(1.38)
    with pytest.raises(TypeError, match="unsupported operand"):
        divmod(wf.ones(2), "x")


@pytest.mark.parametrize("convert", [bool, int, float, complex, math.floor, math.ceil, math.trunc])
@pytest.mark.parametrize("shape", [(0,), (2,), (2, 3)])
def test_only_single_elements_are_numbers(convert: Any, shape: tuple[int, ...]) -> None:
    with pytest.raises(E.ShapeError, match=r"only a single element|has no single truth value"):
        convert(wf.zeros(shape))
    assert convert(wf.ones(1, 1)) == 1


OPERATORS = [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "and_",
    "or_",
    "xor",
    "lshift",
    "rshift",
]


@pytest.mark.thinned(to=6)
@pytest.mark.parametrize("name", OPERATORS)
def test_plain_reflected_and_in_place_operators_agree(name: str) -> None:
    f, in_place = getattr(operator, name), getattr(operator, "i" + name.rstrip("_"))
    kind = np.int64 if name in ("and_", "or_", "xor", "lshift", "rshift") else np.float64
    a, b = np.array([5, 7, 9], kind), np.array([1, 2, 3], kind)
    x, y = wf.tensor(a), wf.tensor(b)
    assert f(x, y).tolist() == f(a, b).tolist() == f(a, y).tolist() == f(x, b).tolist()
    scalar = 2 if kind is np.int64 else 2.0
    assert (
        f(scalar, y).tolist() == f(scalar, b).tolist()
        and f(x, scalar).tolist() == f(a, scalar).tolist()
    )
    z = in_place(x, y)
    assert z is x and x.tolist() == f(a, b).tolist()


def test_containers() -> None:
    x = wf.tensor([[1, 2], [3, 4]])
    assert len(x) == 2 and [row.tolist() for row in x] == [[1, 2], [3, 4]]
    assert 3 in x and 5 not in x and "a" not in x and wf.tensor(4) in x
    first, second = x
    assert second.tolist() == [3, 4] and first.shape == (2,)
    assert list(wf.zeros(0, 3)) == [] and len(wf.zeros(0, 3)) == 0
    for function in (len, iter):
        with pytest.raises(TypeError, match="a 0-d Tensor has no length"):
            function(wf.tensor(1))


def test_tensors_hash_by_identity() -> None:
    x, y = wf.ones(2), wf.ones(2)
    assert {x: 1, y: 2}[y] == 2 and len({x, y, x}) == 2
    assert (x == None) is False and (x != "a") is True  # noqa: E711


# ---------------------------------------------------------------- text


def test_repr_never_computes() -> None:
    x = wf.ones(2, 3) + 1
    assert repr(x) == "<Tensor float32[2, 3] cpu lazy>" == repr(x)
    assert str(x) == "tensor([[2., 2., 2.],\n        [2., 2., 2.]], dtype=float32)" == repr(x)


TEXTS = [
    ([True, False], "bool", "tensor([ True, False], dtype=bool)"),
    (3, "int8", "tensor(3, dtype=int8)"),
    ([1.5, -0.0], "float16", "tensor([ 1.5, -0. ], dtype=float16)"),
    ([1.5, 2.0], "bfloat16", "tensor([1.5, 2. ], dtype=bfloat16)"),
    ([float("nan"), float("inf")], "float64", "tensor([nan, inf], dtype=float64)"),
    ([], "float32", "tensor([], dtype=float32)"),
    ([[], []], "int64", "tensor([], shape=(2, 0), dtype=int64)"),
]


@pytest.mark.parametrize(("data", "dtype", "text"), TEXTS)
def test_text(data: Any, dtype: str, text: str) -> None:
    assert str(wf.tensor(data, dtype=dtype)) == text == f"{wf.tensor(data, dtype=dtype)!s}"


def test_long_tensors_are_abbreviated() -> None:
    assert (
        str(wf.arange(100000))
        == "tensor([    0,     1,     2, ..., 99997, 99998, 99999], dtype=int64)"
    )
    assert len(str(wf.zeros(1000, 1000))) < 1000


def test_format() -> None:
    x = wf.tensor(1.5)
    assert (
        f"{x}" == "1.5"
        and f"{x:.3f}" == "1.500"
        and f"{wf.tensor(42):#x}" == "0x2a"
        and f"{wf.ones(1) * 2:5.1f}" == "  2.0"
    )
    assert f"{wf.arange(2)}" == "tensor([0, 1], dtype=int64)"
    with pytest.raises(E.ShapeError):
        f"{wf.arange(2):.2f}"


def test_looking_at_memory_does_not_pin_it() -> None:
    x = (wf.arange(5) + 1).realize()
    assert str(x) and x.tolist() and x[0].item() == 1 and pickle.dumps(x)
    assert not x._stored().buffer.exported
    assert x.numpy() is not None and x._stored().buffer.exported


# ---------------------------------------------------------------- copies and pickles


def test_copies_hold_values() -> None:
    x = wf.tensor([1.0, 2.0], requires_grad=True)
    x.name = "weight"
    for made in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert made is not x and made.tolist() == [1.0, 2.0]
        assert made.requires_grad and made.is_leaf and made.name == "weight" and made.grad is None
    y = x * 2
    for made in (copy.copy(y), copy.deepcopy(y), pickle.loads(pickle.dumps(y))):
        assert made.tolist() == [2.0, 4.0] and not made.requires_grad
    pair = copy.deepcopy([x, x])
    assert pair[0] is pair[1]


@pytest.mark.thinned(to=8)
@pytest.mark.parametrize("dtype", dt.ALL, ids=lambda d: d.name)
def test_every_dtype_and_layout_pickles(dtype: wf.DType) -> None:
    x = wf.arange(6).astype(dtype).reshape(2, 3).realize()
    for t in (x, x.T, x[:, ::2], x[0, 0], x[:0]):
        back = pickle.loads(pickle.dumps(t, protocol=pickle.HIGHEST_PROTOCOL))
        assert back.dtype is dtype and back.shape == t.shape and back.tolist() == t.tolist()


def test_pickles_are_read_by_another_process(tmp_path: Path) -> None:
    model = wf.nn.Sequential(wf.nn.Linear(3, 4), wf.nn.Linear(4, 1))
    x = wf.ones(2, 3) / 3
    file = tmp_path / "model.pickle"
    file.write_bytes(pickle.dumps({"model": model, "x": x, "y": model(x).detach()}))
    code = (
        f"import sys, pickle; sys.path[:0] = {[p for p in sys.path if p]!r}; d ="
        f" pickle.load(open({str(file)!r}, 'rb')); print((d['model'](d['x']) =="
        " d['y']).all().item(), [n for n, _ in d['model'].named_parameters()], all(p.requires_grad"
        " for p in d['model'].parameters()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True ['0.weight', '0.bias', '1.weight', '1.bias'] True"


# ---------------------------------------------------------------- NumPy


def test_numpy_leaves_operators_to_the_tensor() -> None:
    x, a = wf.tensor([1.0, 2.0]), np.array([3.0, 4.0])
    for found in (a + x, a * x, a - x, a @ x, a > x, np.float64(2) * x):
        assert isinstance(found, wf.Tensor) and "lazy" in repr(found)
    assert (a - x).tolist() == [2.0, 2.0] and wf.Tensor.__array_priority__ > 0


def test_numpy_reads_tensors() -> None:
    x = wf.arange(4) * 2
    assert np.asarray(x).tolist() == [0, 2, 4, 6] and np.concatenate([x, x]).shape == (8,)
    assert not np.asarray(x).flags.writeable and np.shares_memory(np.asarray(x), x.numpy())
    assert (
        np.array(x, copy=True).flags.writeable
        and np.asarray(x, dtype=np.float32).dtype == np.float32
    )
    with pytest.raises(E.ShapeError, match="int64 becomes float32 only as a copy"):
        np.asarray(x, dtype=np.float32, copy=False)
    with pytest.raises(ValueError, match="read-only"):
        x.numpy()[0] = 1
    writable = x.numpy(copy=True)
    writable[0] = 9
    assert x.tolist() == [0, 2, 4, 6]


FOREIGN = ["f4", "O", "G", "U3", "S2", "M8[s]", "m8[s]", [("a", "f4")], "V4", "g"]


@pytest.mark.parametrize("dtype", FOREIGN, ids=str)
def test_foreign_element_types_are_refused(dtype: Any) -> None:
    array = np.zeros(2, np.dtype(dtype).newbyteorder(">") if dtype == "f4" else dtype)
    with pytest.raises(E.DTypeError, match="from_numpy"):
        wf.from_numpy(array)
    if dtype != "f4":  # the byte order is converted
        for make in (wf.tensor, wf.asarray, lambda a: wf.ones(2) + a):
            with pytest.raises(E.DTypeError):
                make(array)
    else:
        assert wf.tensor(array + 1).tolist() == (wf.zeros(2) + (array + 1)).tolist() == [1.0, 1.0]


def test_from_numpy_shares_memory() -> None:
    array = np.zeros((4, 6))
    x, view = wf.from_numpy(array), wf.from_numpy(array[::2, 1::2])
    array[2, 3] = 5
    assert x[2, 3].item() == 5 == view[1, 1].item() and view.strides == (12, 2)
    assert np.shares_memory(x.numpy(), array)
    x += 1
    assert x.sum().item() == 29 and array.sum() == 5  # an update never writes into memory of others
    for wrong in (array[::-1], array.view(np.uint8)[:, 1:9].view(np.float64)):
        with pytest.raises(E.ShapeError, match="cannot be aliased"):
            wf.from_numpy(wrong)
        assert wf.tensor(wrong).tolist() == wrong.tolist()
    with pytest.raises(E.DTypeError, match="expected a NumPy array, got list"):
        wf.from_numpy([1.0])  # type: ignore[arg-type]
    broadcast = np.broadcast_to(np.arange(3.0), (2, 3))
    assert (wf.from_numpy(broadcast) + 0).tolist() == broadcast.tolist()


def test_strides_and_contiguity() -> None:
    x = wf.arange(6).reshape(2, 3)
    assert x.strides == (3, 1) and x.is_contiguous()
    y = x.realize().T.realize()
    assert y.strides == (1, 3) and not y.is_contiguous()
    z = y.contiguous()
    assert (
        z.is_contiguous()
        and z.realize().strides == (2, 1)
        and z.tolist() == y.tolist()
        and z.contiguous() is z
    )


def test_no_grad_decorates_functions() -> None:
    x = wf.tensor([1.0], requires_grad=True)

    @wf.no_grad()
    def f(depth: int, /, *, scale: float = 2.0) -> wf.Tensor:
        """Doc."""
        return f(depth - 1, scale=scale) if depth else x * scale

    assert (
        not f(3).requires_grad
        and f.__name__ == "f"
        and f.__doc__ == "Doc."
        and (x * 2).requires_grad
    )
    with wf.no_grad(), pytest.raises(ZeroDivisionError):
        raise ZeroDivisionError
    assert (x * 2).requires_grad


def test_devices() -> None:
    assert (
        wf.devices() == ["cpu"]
        and wf.ones(1).device == wf.devices()[0]
        and wf.ones(1).to("cpu").device == "cpu"
    )


def test_what_numpy_copies_may_be_written_and_what_it_sees_may_not() -> None:
    x = wf.tensor([1.0, 2.0])
    for copied in (np.array(x), np.asarray(x, copy=True), x.numpy(copy=True)):
        copied[0] = 5.0
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(x)[0] = 5.0
    assert x.tolist() == [1.0, 2.0]


def test_astype_takes_the_copy_of_numpy() -> None:
    x = wf.tensor([1.5, 2.0])
    assert x.astype(wf.int32, copy=False).tolist() == x.astype(wf.int32).tolist() == [1, 2]
    with pytest.raises(wf.errors.DTypeError, match="copy must be True or False"):
        x.astype(wf.int32, copy="no")
