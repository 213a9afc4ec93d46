"""Making Tensors and taking values out of them."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import weft as wf


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (1.5, "float32"),
        (2, "int64"),
        (True, "bool"),
        ([1, 2.5], "float32"),
        ([[1], [2]], "int64"),
        ([], "float32"),
    ],
)
def test_python_data(data: object, dtype: str) -> None:
    t = wf.tensor(data)
    assert t.dtype.name == dtype and t.shape == np.shape(data) and t.tolist() == data


@pytest.mark.parametrize(
    "dtype",
    [
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
    ],
)
def test_numpy_round_trip_keeps_the_dtype(dtype: str) -> None:
    x = np.array([[0, 1], [2, 3]]).astype(dtype)
    t = wf.tensor(x)
    assert (
        t.dtype is getattr(wf, f"{dtype}_" if dtype == "bool" else dtype)
        and t.numpy().dtype == dtype
    )
    np.testing.assert_array_equal(t.numpy(), x)


def test_tensor_copies_and_from_numpy_aliases() -> None:
    x = np.zeros(3, "float32")
    copied, aliased = wf.tensor(x), wf.from_numpy(x)
    x[1] = 5
    assert copied.tolist() == [0, 0, 0] and aliased.tolist() == [0, 5, 0]
    assert (aliased[1:] + 1).tolist() == [6, 1]


def test_from_numpy_of_strided_memory() -> None:
    x = np.arange(24.0).reshape(4, 6)
    np.testing.assert_array_equal((wf.from_numpy(x[1::2, ::3].T) + 1).numpy(), x[1::2, ::3].T + 1)
    with pytest.raises(wf.errors.ShapeError, match="copies"):
        wf.from_numpy(x[::-1])


def test_numpy_is_a_read_only_view_unless_copied() -> None:
    t = wf.tensor([1.0, 2.0])
    assert np.shares_memory(t.numpy(), t.numpy())
    with pytest.raises(ValueError, match="read-only"):
        t.numpy()[0] = 3
    c = t.numpy(copy=True)
    c[0] = 3
    assert t.tolist() == [1.0, 2.0]


def test_an_array_outlives_its_tensor() -> None:
    array = (wf.arange(1000) + 1).numpy()
    filler = [(wf.arange(1000) * k).numpy() for k in range(3)]
    assert array.sum() == 500500 and filler


def test_constants() -> None:
    assert wf.zeros(2, 3).tolist() == [[0] * 3] * 2 and wf.zeros((2,)).dtype is wf.float32
    assert wf.ones(2, dtype="int32").tolist() == [1, 1]
    assert (
        wf.full((2,), 7).dtype is wf.int64
        and wf.full((2,), 0.5).dtype is wf.float32
        and wf.full((), True).item() is True
    )
    x = wf.tensor(np.ones((2, 2)))
    assert wf.zeros_like(x).dtype is wf.float64 and wf.ones_like(x, dtype="uint8").tolist() == [
        [1, 1],
        [1, 1],
    ]
    assert wf.full_like(x, 3).tolist() == [[3.0, 3.0], [3.0, 3.0]]
    assert wf.full((2,), wf.tensor(4)).tolist() == [4, 4]


def test_ranges() -> None:
    assert wf.arange(5).tolist() == [0, 1, 2, 3, 4] and wf.arange(5).dtype is wf.int64
    assert (
        wf.arange(2, 9, 3).tolist() == [2, 5, 8]
        and wf.arange(5, 0, -2).tolist() == [5, 3, 1]
        and wf.arange(3, 1).shape == (0,)
    )
    np.testing.assert_allclose(
        wf.arange(0, 1, 0.1).numpy(), np.arange(0, 1, 0.1, "float32"), rtol=1e-6
    )
    np.testing.assert_allclose(
        wf.linspace(-1, 2, 7, dtype="float64").numpy(), np.linspace(-1, 2, 7), rtol=1e-15
    )
    assert wf.linspace(0, 1, 11).numpy()[-1] == 1.0 and wf.linspace(3, 4, 1).tolist() == [3.0]
    np.testing.assert_allclose(wf.linspace(0, 1, 4, endpoint=False).numpy(), [0, 0.25, 0.5, 0.75])
    np.testing.assert_array_equal(wf.eye(3, 4, 1).numpy(), np.eye(3, 4, 1))


def test_lists_of_tensors_are_stacked() -> None:
    assert wf.tensor([wf.tensor([1, 2]), wf.tensor([3, 4])]).tolist() == [[1, 2], [3, 4]]


def test_python_conversions() -> None:
    t = wf.tensor(3)
    assert (int(t), float(t), bool(t), [10, 11, 12, 13][t]) == (3, 3.0, True, 13)
    assert isinstance(wf.tensor(2.5).item(), float) and isinstance(t.item(), int)
    assert f"{wf.tensor(2.5):.2f}" == "2.50" and f"{t}" == "3"
    np.testing.assert_array_equal(np.asarray(wf.tensor([1, 2])), [1, 2])
    assert np.asarray(wf.tensor([1, 2]), dtype="float32").dtype == np.float32
    with pytest.raises(wf.errors.ShapeError):
        bool(wf.tensor([1, 2]))
    with pytest.raises(TypeError):
        [1, 2][wf.tensor(1.0)]


def test_numpy_arrays_mix_with_tensors() -> None:
    t, x = wf.tensor([1.0, 2.0]), np.array([3.0, 4.0], "float32")
    for out in (t + x, x + t):
        assert isinstance(out, wf.Tensor) and out.tolist() == [4.0, 6.0]
    assert isinstance(x @ t, wf.Tensor) and (x @ t).item() == 11.0
    assert wf.exp(np.zeros(2)).tolist() == [1.0, 1.0] and wf.maximum(1.5, t).tolist() == [1.5, 2.0]


def test_attributes() -> None:
    t = wf.zeros(2, 3, 4)
    assert (t.shape, t.ndim, t.size, t.device, t.strides, t.is_contiguous()) == (
        (2, 3, 4),
        3,
        24,
        "cpu",
        (12, 4, 1),
        True,
    )
    assert not t.requires_grad and t.grad is None and t.is_leaf
    assert hash(t) == hash(copy.copy(t)) or t is not None


def test_allclose() -> None:
    x = wf.tensor([1.0, np.nan])
    assert (
        wf.allclose(x[:1], x[:1] + 1e-7)
        and not wf.allclose(x, x)
        and wf.allclose(x, x, equal_nan=True)
    )


def test_devices() -> None:
    assert "cpu" in wf.devices() and wf.tensor([1]).cpu().device == "cpu"
    with pytest.raises(wf.errors.DeviceError, match="cuda"):
        wf.tensor([1]).to("cuda:99")


def test_a_device_that_is_not_there_is_refused_not_ignored() -> None:
    with wf.options.override(device="cuda:99"), pytest.raises(wf.errors.DeviceError, match="'cuda"):
        (wf.tensor([1.0, 2.0, 3.0]) * 0.123).sin().numpy()
