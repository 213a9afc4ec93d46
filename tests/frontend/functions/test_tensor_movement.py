"""Views, joins and indexing of Tensors against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import weft as wf
from effort import rarely
from numpy.lib.stride_tricks import as_strided

X = np.arange(2 * 3 * 4, dtype="float32").reshape(2, 3, 4)


def same(got: wf.Tensor, expected: np.ndarray) -> None:
    assert got.shape == expected.shape
    np.testing.assert_array_equal(got.numpy(), expected)
    np.testing.assert_array_equal(
        (got * 2 + 1).numpy(), expected * 2 + 1
    )  # the same view inside a program


VIEWS = {
    "reshape": (lambda t: t.reshape(4, -1), lambda x: x.reshape(4, -1)),
    "view": (lambda t: t.view((6, 4)), lambda x: x.reshape(6, 4)),
    "permute": (lambda t: t.permute(2, 0, 1), lambda x: x.transpose(2, 0, 1)),
    "permute_negative": (lambda t: t.permute((-1, 0, 1)), lambda x: x.transpose(2, 0, 1)),
    "T": (lambda t: t.T, lambda x: x.T),
    "mT": (lambda t: t.mT, lambda x: x.swapaxes(1, 2)),
    "transpose_two": (lambda t: t.transpose(-1, 0), lambda x: x.swapaxes(2, 0)),
    "moveaxis": (lambda t: t.moveaxis(0, -1), lambda x: np.moveaxis(x, 0, -1)),
    "expand": (
        lambda t: t.unsqueeze(1).expand(-1, 5, -1, -1),
        lambda x: np.broadcast_to(x[:, None], (2, 5, 3, 4)),
    ),
    "broadcast_to": (
        lambda t: t.broadcast_to((2, 2, 3, 4)),
        lambda x: np.broadcast_to(x, (2, 2, 3, 4)),
    ),
    "unsqueeze": (lambda t: t.unsqueeze((0, -1)), lambda x: x[None, ..., None]),
    "squeeze": (lambda t: t.unsqueeze(1).squeeze(1), lambda x: x),
    "squeeze_all": (lambda t: t[:1, :, :1].squeeze(), lambda x: x[0, :, 0]),
    "flatten": (lambda t: t.flatten(), lambda x: x.reshape(-1)),
    "flatten_from": (lambda t: t.flatten(1), lambda x: x.reshape(2, 12)),
    "flip": (lambda t: t.flip((0, -1)), lambda x: x[::-1, :, ::-1]),
    "flip_all": (lambda t: t.flip(), lambda x: x[::-1, ::-1, ::-1]),
    "pad": (
        lambda t: t.pad(((0, 0), (1, 2), (3, 0))),
        lambda x: np.pad(x, ((0, 0), (1, 2), (3, 0))),
    ),
    "pad_value": (lambda t: t.pad(1, -np.inf), lambda x: np.pad(x, 1, constant_values=-np.inf)),
    "pad_pair": (lambda t: t.pad((1, 2), 5.0), lambda x: np.pad(x, (1, 2), constant_values=5)),
    "tile": (lambda t: t.tile(2, 1, 3), lambda x: np.tile(x, (2, 1, 3))),
    "tile_more": (lambda t: t.tile(2, 1, 2, 1), lambda x: np.tile(x, (2, 1, 2, 1))),
    "chain": (
        lambda t: t.permute(2, 0, 1).reshape(4, 6)[1:3].T,
        lambda x: x.transpose(2, 0, 1).reshape(4, 6)[1:3].T,
    ),
    "contiguous": (lambda t: t.T.contiguous(), lambda x: x.T),
    "tril": (lambda t: wf.tril(t, 1), lambda x: np.tril(x, 1)),
    "triu": (wf.triu, np.triu),
}


@pytest.mark.thinned(to=7)
@pytest.mark.parametrize("name", VIEWS)
def test_views(name: str) -> None:
    ours, numpys = VIEWS[name]
    same(ours(wf.tensor(X)), numpys(X))
    same(ours(wf.tensor(X) + 1), numpys(X + 1))  # of a value that is not in memory


KEYS = [
    0,
    -1,
    slice(1, None),
    (0, 1, 2),
    (..., -1),
    (slice(None), 1),
    (None, 0, ..., None),
    slice(None, None, -1),
    slice(None, None, 2),
    (slice(None), slice(None, None, -2), slice(3, 0, -1)),
    (slice(5, 9),),
    (slice(2, 1), 0),
    (..., None),
    (slice(-2, None), slice(-1, -3, -1)),
    (),
    Ellipsis,
]


@pytest.mark.thinned(to=8)
@pytest.mark.parametrize("key", KEYS, ids=str)
def test_basic_indexing(key: object) -> None:
    same(wf.tensor(X)[key], np.asarray(X[key]))
    same((wf.tensor(X) + 1)[key], np.asarray((X + 1)[key]))


FLAT, SQUARE = np.array([1, 0, -1, 1]), np.array([[2, -1], [0, 0]])
ARRAY_KEYS = [
    (FLAT,),
    (slice(None), SQUARE),
    (..., FLAT),
    (FLAT, slice(None), FLAT),
    (0, slice(None), FLAT),
    (slice(None), 1, FLAT),
    (SQUARE[0] % 2, SQUARE),
    (None, FLAT, 1),
    (slice(None), slice(0, 2), FLAT),
    (np.array(1),),
    (slice(None, None, -1), FLAT),
]


@pytest.mark.thinned(to=6)
@pytest.mark.parametrize("key", ARRAY_KEYS, ids=str)
def test_integer_array_indexing(key: tuple) -> None:
    ours = tuple(wf.tensor(k) if isinstance(k, np.ndarray) else k for k in key)
    same(wf.tensor(X)[ours], np.asarray(X[key]))
    same(wf.tensor(X)[key], np.asarray(X[key]))


def test_a_list_indexes_like_an_array() -> None:
    same(wf.tensor(X)[[0, 1, 0]], X[[0, 1, 0]])
    same(wf.tensor(X)[[]], X[[]])


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_take(axis: int | None) -> None:
    same(wf.take(wf.tensor(X), wf.tensor(SQUARE % 2), axis), np.take(X, SQUARE % 2, axis))


def test_take_along_axis() -> None:
    i = np.argsort(-X, axis=2)[:, :2, :1]
    same(
        wf.take_along_axis(wf.tensor(X[:, :2]), wf.tensor(i), 2), np.take_along_axis(X[:, :2], i, 2)
    )


def test_gather_and_scatter_add_are_adjoint() -> None:
    rows, columns = wf.tensor([0, 1, 1]), wf.tensor([2, 0, 0])
    same(wf.gather(wf.tensor(X), (rows, columns), (0, 1)), X[[0, 1, 1], [2, 0, 0]])
    expected = X.copy()
    np.add.at(expected, ([0, 1, 1], [2, 0, 0]), 1.0)
    same(wf.scatter_add(wf.tensor(X), (rows, columns), wf.ones(3, 4), (0, 1)), expected)


def test_places_by_strides() -> None:
    x = wf.rand(4, 6, dtype="float64")
    views = [
        ((3, 2), (2, 5), 1),
        ((2, 3, 2), (0, 4, 1), 0),
        ((4,), (-6,), 23),
        ((), (), 7),
        ((0, 2), (1, 1), 99),
    ]
    for shape, strides, offset in views:
        memory = x.numpy().ravel()[min(offset, 23) :]
        same(
            x.as_strided(shape, strides, offset),
            as_strided(memory, shape, tuple(8 * s for s in strides)),
        )
    wf.check_grad(
        lambda t: wf.as_strided(t, (3, 4), (1, 2)).square(), x
    )  # elements seen several times
    with pytest.raises(
        IndexError, match=r"as_strided: places 0 to 24 are not all in a Tensor of 24 elements"
    ):
        x.as_strided((2,), (24,))
    with pytest.raises(ValueError, match=r"as_strided: 1 strides for the 2 axes of shape \(2, 2\)"):
        wf.as_strided(x, (2, 2), (1,))


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize("old", ["bool", "int8", "uint64", "float16", "float32", "float64"])
def test_a_view_in_another_dtype_has_the_same_bytes(old: str) -> None:
    raw = np.random.default_rng(0).integers(0, 2 if old == "bool" else 256, (2, 16), np.uint8)
    x = raw.view(old)
    for new in ("uint8", "int16", "float16", "int32", "float32", "uint64", "float64"):
        got = wf.tensor(x).view(new).numpy()
        assert got.dtype == new and got.shape == x.view(new).shape
        assert got.tobytes() == raw.tobytes()
    assert wf.tensor(x).view(wf.bool_).numpy().tolist() == (raw != 0).tolist()


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("old", ["complex64", "complex128", "float32", "int8"])
def test_a_view_of_complex_numbers_has_their_parts_in_turn(old: str) -> None:
    raw = np.random.default_rng(0).integers(0, 64, (2, 32), np.uint8)
    x = raw.view(old)
    for new in ("uint8", "float32", "uint64", "complex64", "complex128"):
        got = wf.tensor(x).view(new).numpy()
        assert got.dtype == new and got.shape == x.view(new).shape
        assert got.tobytes() == raw.tobytes()
    one = wf.tensor(1 + 2j)
    assert one.view("int64").item() == one.numpy().view("int64")
    with pytest.raises(ValueError, match="complex64, is not a whole number of float32"):
        one.view("float32")


def test_a_view_as_a_type_of_python_keeps_the_width() -> None:
    x = wf.ones(3, dtype="float64")
    assert (
        x.view(float) is not x
        and x.view(float).dtype is wf.float64
        and x.view(int).dtype is wf.int64
    )
    assert wf.ones(2).view(dtype=int).tolist() == [0x3F800000] * 2
    assert wf.zeros(1, dtype="bfloat16").view(float).dtype is wf.bfloat16
    with pytest.raises(
        ValueError,
        match=r"view: the last axis of shape \(3,\), float32, is not a whole number of float64",
    ):
        wf.ones(3).view(wf.float64)
    with pytest.raises(TypeError, match="there is no dtype 'float8'"):
        x.view("float8")


def test_lists_of_indices_name_rows() -> None:
    same(wf.gather(wf.tensor(X), [1, 0, 1]), X[[1, 0, 1]])
    same(wf.scatter_add(wf.zeros(4), [1, 3, 1], [1.0, 2.0, 3.0]), np.array([0, 4, 0, 2], "float32"))
    same(wf.gather(wf.tensor(X), wf.tensor([2, 0]), axis=1), X[:, [2, 0]].swapaxes(0, 1))


def test_join_and_split() -> None:
    parts = [X, X[:, :1] + 100, X[:, :2] * -1]
    same(wf.concat([wf.tensor(p) for p in parts], axis=1), np.concatenate(parts, 1))
    same(wf.concat([wf.tensor(X)], axis=-1), X)
    same(wf.concat([wf.zeros(0, 2), wf.ones(1, 2)]), np.ones((1, 2)))
    same(wf.stack([wf.tensor(X), wf.tensor(-X)], axis=2), np.stack([X, -X], 2))
    assert wf.concat([wf.ones(1, dtype="int32"), wf.ones(1)]).dtype is wf.float32
    assert np.signbit(wf.concat([wf.tensor([-0.0]), wf.tensor([-0.0])]).numpy()).all()
    pieces = wf.tensor(X).split(2, axis=1)
    assert [p.shape for p in pieces] == [(2, 2, 4), (2, 1, 4)]
    same(wf.concat(pieces, 1), X)
    same(wf.split(wf.tensor(X), [1, 3], axis=-1)[1], X[..., 1:])


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("count", [32, 33, 65, *rarely(31, 63, 200)])
def test_join_many(count: int) -> None:
    parts = [np.full((2, 1 + i % 3), i, np.float32) for i in range(count)]
    tensors = [wf.tensor(p, requires_grad=True) for p in parts]
    joined, weights = (
        wf.concat(tensors, axis=1),
        np.arange(2.0 * sum(p.shape[1] for p in parts)).reshape(2, -1),
    )
    same(joined, np.concatenate(parts, 1))
    (joined * weights).sum().backward()
    wf.realize([t.grad for t in tensors])
    same(wf.concat([t.grad for t in tensors], axis=1), weights.astype(np.float32))


def test_join_very_many_in_few_passes() -> None:
    joined = wf.stack([wf.tensor(np.full(3, i, np.float32)) for i in range(100)])
    report = wf.explain(joined)
    assert len(report.kernels) <= 5
    same(joined, np.repeat(np.arange(100, dtype=np.float32)[:, None], 3, 1))


def test_window() -> None:
    x = np.arange(20.0).reshape(2, 10)
    got = wf.window(wf.tensor(x), 1, 3, stride=2, dilation=2)
    expected = np.stack([x[:, o * 2 : o * 2 + 5 : 2] for o in range(3)], 1)
    same(got, expected)


SETTERS = [
    (0, 5.0),
    ((slice(None), 1), [1, 2, 3, 4]),
    ((..., slice(None, None, -2)), 7),
    (slice(1, 2), X[:1]),
    ((1, 2, 3), 9),
    (slice(2, 1), 3),
]


@pytest.mark.parametrize(("key", "value"), SETTERS, ids=str)
def test_assignment_to_a_view(key: object, value: object) -> None:
    t, expected = wf.tensor(X), X.copy()
    before = t + 0
    t[key] = value
    expected[key] = value
    same(t, expected)
    same(before, X)


def test_assignment_by_mask() -> None:
    t, expected = wf.tensor(X), X.copy()
    t[t > 10] = -1.0
    expected[expected > 10] = -1
    same(t, expected)


def test_iteration_and_len() -> None:
    t = wf.tensor(X)
    assert len(t) == 2 and [row.shape for row in t] == [(3, 4)] * 2
    _, b = t
    same(b, X[1])
    with pytest.raises(TypeError):
        len(wf.tensor(1.0))


def test_views_of_memory_are_free() -> None:
    from weft.frontend.lazy.program_table import statistics

    t = wf.tensor(X)
    before = statistics["runs"]
    v = t[1:, ::2].T.reshape(4, 2)[1:3]
    assert v.realize().strides == (1, 8) or v.numpy() is not None
    w = t[1, :, 1:3].realize()
    assert w.strides == (4, 1) and not w.is_contiguous() and np.shares_memory(w.numpy(), t.numpy())
    assert statistics["runs"] - before <= 1
    assert w.contiguous().realize().strides == (2, 1)
    np.testing.assert_array_equal(w.contiguous().numpy(), X[1, :, 1:3])


def test_a_scalar_has_one_axis_to_flatten() -> None:
    assert wf.tensor(1.0).flatten().shape == (1,)
    with pytest.raises(wf.errors.AxisError, match="flatten: axis 1 is out of range for 1 axes"):
        wf.tensor(1.0).flatten(1)
