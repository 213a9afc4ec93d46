"""Manipulation functions: the standard's names and signatures, values against NumPy, axes in every
spelling, errors."""

from __future__ import annotations

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
RNG = np.random.default_rng(8)


def drawn(shape: tuple[int, ...], dtype: str = "int64") -> np.ndarray:
    return RNG.integers(0, 2 if dtype == "bool" else 100, shape).astype(dtype)


def same(got: wf.Tensor, want: Any) -> None:
    want = np.asarray(want)
    assert got.shape == want.shape and got.dtype.name == want.dtype.name, (
        got.shape,
        want.shape,
        got.dtype,
        want.dtype,
    )
    np.testing.assert_array_equal(got.numpy(), want)


SIGNATURES = {
    "broadcast_arrays": "arrays",
    "broadcast_to": "x shape",
    "concat": "arrays/parts axis=0",
    "expand_dims": "x axis=0",
    "flip": "x axis=None",
    "moveaxis": "x source destination",
    "permute_dims": "x axes",
    "repeat": "x repeats axis=None",
    "reshape": "x shape copy=None",
    "roll": "x shift axis=None",
    "squeeze": "x axis",
    "stack": "arrays/parts axis=0",
    "tile": "x repetitions",
    "unstack": "x axis=0",
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures_have_the_names_and_defaults_of_the_standard(name: str) -> None:
    found = inspect.signature(getattr(wf, name)).parameters
    for item in SIGNATURES[name].split():
        names, _, default = item.partition("=")
        parameter = next(p for p in names.split("/") if p in found)
        if default:
            assert str(found[parameter].default) == default
    if "x" in found:
        assert found["x"].kind is inspect.Parameter.POSITIONAL_ONLY


# ---------------------------------------------------------------- every dtype, full, empty and 0-d

SHAPES: list[tuple[int, ...]] = [(2, 3, 4), (0, 3), (1, 1), (5,), ()]
CALLS: dict[str, tuple[Callable[[wf.Tensor], wf.Tensor], Callable[[np.ndarray], Any]]] = {
    "broadcast_to": (
        lambda t: wf.broadcast_to(t, (2, *t.shape)),
        lambda x: np.broadcast_to(x, (2, *x.shape)),
    ),
    "concat_flat": (
        lambda t: wf.concat([t, t], axis=None),
        lambda x: np.concatenate([x, x], axis=None),
    ),
    "expand_dims": (lambda t: wf.expand_dims(t, axis=-1), lambda x: np.expand_dims(x, -1)),
    "expand_dims_two": (
        lambda t: wf.expand_dims(t, axis=(0, -1)),
        lambda x: np.expand_dims(x, (0, -1)),
    ),
    "flip": (wf.flip, np.flip),
    "permute_dims": (lambda t: wf.permute_dims(t, tuple(range(t.ndim))[::-1]), np.transpose),
    "ravel": (wf.ravel, np.ravel),
    "repeat": (lambda t: wf.repeat(t, 3), lambda x: np.repeat(x, 3)),
    "reshape": (
        lambda t: wf.reshape(t, (1, -1)) if t.size else t,
        lambda x: x.reshape(1, -1) if x.size else x,
    ),
    "roll": (lambda t: wf.roll(t, 7), lambda x: np.roll(x, 7)),
    "squeeze": (wf.squeeze, np.squeeze),
    "stack": (lambda t: wf.stack([t, t, t], axis=-1), lambda x: np.stack([x, x, x], axis=-1)),
    "tile": (lambda t: wf.tile(t, (2, 3)), lambda x: np.tile(x, (2, 3))),
    "hstack": (lambda t: wf.hstack([t, t]), lambda x: np.hstack([x, x])),
    "vstack": (lambda t: wf.vstack([t, t]), lambda x: np.vstack([x, x])),
}


@pytest.mark.thinned(to=8)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CALLS)
def test_manipulations(name: str, dtype: str) -> None:
    ours, numpys = CALLS[name]
    for shape in SHAPES:
        x = drawn(shape, dtype)
        same(ours(wf.tensor(x)), numpys(x))


@st.composite
def arrays(draw: st.DrawFn, min_dims: int = 0) -> np.ndarray:
    shape = draw(st.lists(st.integers(0, 4), min_size=min_dims, max_size=4))
    return np.arange(int(np.prod(shape))).reshape(shape)


@examples(40)
@given(st.data())
def test_roll_is_numpys(data: st.DataObject) -> None:
    x = data.draw(arrays(1))
    shifts = st.integers(-100, 100)
    if data.draw(st.booleans()):
        axis: Any = data.draw(st.integers(-x.ndim, x.ndim - 1))
        shift: Any = data.draw(shifts)
    else:
        axis = tuple(data.draw(st.permutations(range(x.ndim))))[: data.draw(st.integers(1, x.ndim))]
        shift = tuple(data.draw(shifts) for _ in axis)
    same(wf.roll(x, shift, axis=axis), np.roll(x, shift, axis=axis))
    same(wf.roll(x, 3, axis=tuple(range(x.ndim))), np.roll(x, 3, axis=tuple(range(x.ndim))))


@examples(40)
@given(st.data())
def test_moveaxis_is_numpys(data: st.DataObject) -> None:
    x = data.draw(arrays(1))
    count = data.draw(st.integers(1, x.ndim))
    axes = [
        a - x.ndim * data.draw(st.integers(0, 1))
        for a in data.draw(st.permutations(range(x.ndim)))[:count]
    ]
    places = data.draw(st.permutations(range(x.ndim)))[:count]
    same(wf.moveaxis(x, tuple(axes), tuple(places)), np.moveaxis(x, axes, places))
    same(wf.tensor(x).moveaxis(axes[0], places[0]), np.moveaxis(x, axes[0], places[0]))


@pytest.mark.slow
@examples(40)
@given(st.data())
def test_repeat_is_numpys(data: st.DataObject) -> None:
    x = data.draw(arrays())
    axis = data.draw(st.none() | st.integers(-x.ndim, x.ndim - 1)) if x.ndim else None
    extent = x.size if axis is None else x.shape[axis]
    counts = data.draw(st.lists(st.integers(0, 3), min_size=extent, max_size=extent))
    want = np.repeat(x, counts, axis=axis)
    for given_as in (counts, np.array(counts, "int32"), wf.tensor(np.array(counts, "int64"))):
        same(wf.repeat(x, given_as, axis=axis), want)
    count = data.draw(st.integers(0, 4))
    same(wf.tensor(x).repeat(count, axis=axis), np.repeat(x, count, axis=axis))
    same(wf.repeat(x, [count], axis=axis), np.repeat(x, count, axis=axis))


def test_an_element_picked_through_a_computed_scatter() -> None:
    same(
        wf.repeat(wf.tensor([7]), [2]), np.array([7, 7])
    )  # its check reads the scatter after that became a mask


def test_repeat_by_a_computed_tensor_keeps_the_gradient() -> None:
    x = wf.tensor([1.0, 2.0, 3.0], requires_grad=True)
    wf.repeat(x, wf.arange(3) + 1).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [1.0, 2.0, 3.0]


@examples(30)
@given(arrays(), st.lists(st.integers(0, 3), max_size=5))
def test_tile_is_numpys(x: np.ndarray, counts: list[int]) -> None:
    same(wf.tile(x, tuple(counts)), np.tile(x, counts))
    if counts:
        same(wf.tensor(x).tile(*counts), np.tile(x, counts))


@examples(30)
@given(arrays(1), st.data())
def test_unstack_and_chunk(x: np.ndarray, data: st.DataObject) -> None:
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    parts = wf.unstack(x, axis=axis)
    assert isinstance(parts, tuple) and len(parts) == x.shape[axis]
    for got, want in zip(parts, np.moveaxis(x, axis, 0), strict=True):
        same(got, want)
    pieces = wf.chunk(x, data.draw(st.integers(1, 5)), axis=axis)
    same(wf.concat(pieces, axis=axis), x)


@examples(30)
@given(st.lists(st.sampled_from([(), (1,), (3,), (2, 1), (1, 3), (2, 3), (4, 1, 1)]), max_size=4))
def test_broadcasting(shapes: list[tuple[int, ...]]) -> None:
    xs = [drawn(s) for s in shapes]
    got, want = wf.broadcast_arrays(*xs), np.broadcast_arrays(*xs)
    assert len(got) == len(want) and wf.broadcast_shapes(*shapes) == np.broadcast_shapes(*shapes)
    for g, w in zip(got, want, strict=True):
        same(g, w)


MODES = ["edge", "reflect", "symmetric", "wrap"]


@examples(40)
@given(st.data())
def test_pad_is_numpys(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    widths = [(data.draw(st.integers(0, 9)), data.draw(st.integers(0, 9))) for _ in shape]
    x = np.arange(np.prod(shape)).reshape(shape)
    mode = data.draw(st.sampled_from(MODES))
    same(wf.pad(x, widths, mode=mode), np.pad(x, widths, mode=mode))
    same(wf.pad(x, widths, 7), np.pad(x, widths, constant_values=7))


def test_pad_of_one_element_and_of_nothing() -> None:
    for mode in MODES:
        same(wf.pad(wf.tensor([5]), (2, 3), mode=mode), np.full(6, 5))
        with pytest.raises(E.ShapeError, match="nothing to repeat"):
            wf.pad(wf.zeros(0), 1, mode=mode)
    same(wf.pad(wf.tensor(5), 1), np.array(5))


DIAGONALS = [
    ((3, 3), 0),
    ((3, 5), 1),
    ((5, 3), -2),
    ((2, 3), 9),
    ((2, 3), -9),
    ((0, 3), 0),
    ((1, 1), 0),
]


@pytest.mark.thinned(to=4)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "offset"), DIAGONALS, ids=str)
def test_diagonals(shape: tuple[int, ...], offset: int, dtype: str) -> None:
    x = drawn(shape, dtype)
    same(wf.diagonal(x, offset), np.diagonal(x, offset))
    same(wf.diag(x, offset), np.diag(x, offset))
    same(wf.trace(x, offset), np.trace(x, offset))
    same(wf.diag(x[:, 0], offset), np.diag(x[:, 0], offset))
    stack = drawn((2, *shape, 3), dtype)
    same(wf.diagonal(stack, offset, 1, -2), np.diagonal(stack, offset, 1, -2))
    same(wf.tensor(stack).diagonal(offset, 2, 1), np.diagonal(stack, offset, 2, 1))


def test_a_diagonal_of_memory_is_a_view() -> None:
    x = wf.tensor(drawn((4, 4)))
    d = wf.diagonal(x).realize()
    assert d.strides == (5,) and np.shares_memory(d.numpy(), x.numpy())


SMOOTH: dict[str, Callable[[wf.Tensor], wf.Tensor]] = {
    "roll": lambda x: wf.roll(x, 1, axis=1),
    "repeat": lambda x: wf.repeat(x, [1, 0, 2], axis=1),
    "tile": lambda x: wf.tile(x, (2, 1, 3)),
    "diagonal": lambda x: wf.diagonal(x, 1),
    "diag": lambda x: wf.diag(x[0], -1),
    "reflect": lambda x: wf.pad(x, 2, mode="reflect"),
    "moveaxis": lambda x: wf.moveaxis(x, (0, 1), (1, 0)),
    "unstack": lambda x: wf.stack(wf.unstack(x)[::-1]),
    "concat": lambda x: wf.concat([x, x * 2], axis=None),
}


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize("name", SMOOTH)
def test_gradients(name: str) -> None:
    x = wf.tensor(RNG.standard_normal((2, 3)))
    wf.check_grad(lambda t: (SMOOTH[name](t) ** 3).sum(), x)


# ---------------------------------------------------------------- concat and dtypes


def test_concat_promotes_and_joins_empty_parts() -> None:
    same(wf.concat([wf.ones(2, dtype="int8"), wf.zeros(0, dtype="int16")]), np.ones(2, "int16"))
    same(wf.concat([wf.ones((2, 0)), wf.ones((2, 1))], axis=-1), np.ones((2, 1), "float32"))
    same(
        wf.concat([wf.ones((2, 3), dtype="uint8"), wf.tensor(4, dtype="uint8")], axis=None),
        np.array([1] * 6 + [4], "uint8"),
    )
    same(wf.concatenate([wf.ones(1), wf.ones(1)]), np.ones(2, "float32"))


# ---------------------------------------------------------------- arguments

AXES: dict[str, Callable[[Any], Any]] = {
    "sum": lambda a: wf.sum(wf.ones(2, 3), axis=a),
    "max": lambda a: wf.ones(2, 3).max(axis=a),
    "flip": lambda a: wf.flip(wf.ones(2, 3), axis=a),
    "squeeze": lambda a: wf.squeeze(wf.ones(1, 1), axis=a),
    "expand_dims": lambda a: wf.expand_dims(wf.ones(()), axis=a),
    "moveaxis": lambda a: wf.moveaxis(wf.ones(2, 3), a, a),
    "roll": lambda a: wf.roll(wf.ones(2, 3), 1, axis=a),
}
ONE_AXIS: dict[str, Callable[[Any], Any]] = {
    "concat": lambda a: wf.concat([wf.ones(2, 3)], axis=a),
    "stack": lambda a: wf.stack([wf.ones(2)], axis=a),
    "unstack": lambda a: wf.unstack(wf.ones(2, 3), axis=a),
    "repeat": lambda a: wf.repeat(wf.ones(2, 3), 2, axis=a),
    "split": lambda a: wf.split(wf.ones(2, 3), 1, axis=a),
    "argmax": lambda a: wf.argmax(wf.ones(2, 3), axis=a),
    "cumsum": lambda a: wf.cumsum(wf.ones(2, 3), axis=a),
    "swapaxes": lambda a: wf.swapaxes(wf.ones(2, 3), a, 0),
    "take": lambda a: wf.take(wf.ones(2, 3), wf.tensor([0]), axis=a),
}


@pytest.mark.parametrize("name", [*AXES, *ONE_AXIS])
def test_an_axis_is_any_int_but_a_bool(name: str) -> None:
    call = (AXES | ONE_AXIS)[name]
    for axis in (0, -1, np.int64(0), np.int8(-1), wf.tensor(0)):
        call(axis)
    for axis in (True, 0.0, "0", np.float32(0), 1j):
        with pytest.raises(E.DTypeError, match=f"{name}.*an axis must be an int"):
            call(axis)
    for axis in (7, -7, 10**30):
        with pytest.raises(
            IndexError, match=rf"{name}: axis {axis} is out of range for \d axes"
        ) as caught:
            call(axis)
        assert isinstance(caught.value, E.ShapeError) and isinstance(caught.value, ValueError)


@pytest.mark.parametrize("name", [n for n in AXES if n not in ("expand_dims", "roll")])
def test_an_axis_is_named_once(name: str) -> None:
    for axis in ((0, 0), (0, -2)):
        with pytest.raises(E.ShapeError, match=f"{name}: an axis is named twice"):
            AXES[name](axis)


ERRORS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: wf.tile(wf.ones(2), -1), E.ShapeError, "tile: .* negative count"),
    (lambda: wf.tile(wf.ones(2), 1 << 61), E.ShapeError, "tile: .* too many elements"),
    (lambda: wf.tile(wf.ones(2), 1.5), E.DTypeError, "tile"),
    (lambda: wf.repeat(wf.ones(2), -1), E.ShapeError, "repeat: -1 is a negative count"),
    (lambda: wf.repeat(wf.ones(2), [1, -3]), E.ShapeError, "repeat: -3 is a negative count"),
    (lambda: wf.repeat(wf.ones(2), wf.tensor(-4)), E.ShapeError, "repeat: -4 is a negative count"),
    (lambda: wf.repeat(wf.ones(2), [1, 2, 3]), E.ShapeError,
        r"repeat: counts of shape \(3,\) for 2 elements"),
    (lambda: wf.repeat(wf.ones(2), wf.ones(2)), E.DTypeError,
        "repeat: counts must be integers, not float32"),
    (lambda: wf.repeat(wf.ones(2), 2, 1), E.DTypeError, r"tile\(x, \(2, 1\)\)"),
    (lambda: wf.repeat(wf.ones(2), 1 << 60), E.ShapeError, "repeat: .* too many elements"),
    (lambda: wf.repeat(wf.ones(2), [1 << 60, 1 << 60]), E.ShapeError,
        "repeat: .* too many elements"),
    (lambda: wf.roll(wf.ones(2, 3), (1, 2), axis=0), E.ShapeError, "roll: 2 shifts for 1 axes"),
    (lambda: wf.roll(wf.ones(2), 0.5), E.DTypeError, "roll"),
    (lambda: wf.moveaxis(wf.ones(2, 3), (0, 1), (0,)), E.ShapeError,
        "moveaxis: 2 axes do not go to 1 places"),
    (lambda: wf.broadcast_to(wf.ones(2), (1 << 62, 2)), E.ShapeError,
        "broadcast_to: .* too many elements"),
    (lambda: wf.broadcast_to(wf.ones(2), (3, -1)), E.ShapeError, "negative extent"),
    (lambda: wf.broadcast_arrays(wf.ones(2), wf.ones(3)), E.ShapeError, "broadcast_arrays: shapes"),
    (lambda: wf.broadcast_shapes((2,), (3,)), E.ShapeError, "broadcast_shapes: shapes"),
    (lambda: wf.pad(wf.ones(2), 1, mode="mirror"), E.ArgumentError, "pad: mode must be"),
    (lambda: wf.pad(wf.ones(2), (1, 2.5)), E.DTypeError, "pad: a width must be an int"),
    (lambda: wf.pad(wf.ones(2), 1 << 60), E.ShapeError, "pad: .* too many elements"),
    (lambda: wf.diagonal(wf.ones(2)), E.AxisError, "diagonal: axis 1"),
    (lambda: wf.diag(wf.ones(2, 2, 2)), E.ShapeError, "diag: expected a vector or a matrix"),
    (lambda: wf.diag(wf.ones(2), 1 << 62), E.ShapeError, "diag: .* too many elements"),
    (lambda: wf.chunk(wf.ones(2), 0), E.ShapeError, "chunk: 0"),
    (lambda: wf.split(wf.ones(2), 1.5), E.DTypeError, "split"),
    (lambda: wf.reshape(wf.ones(2), (1.5,)), E.DTypeError, "reshape"),
    (lambda: wf.reshape(wf.ones(0), (1 << 62, 1 << 62, 0)), E.ShapeError,
        "reshape: .* too many elements"),
    (lambda: wf.permute_dims(wf.ones(2, 3), (0,)), E.ShapeError, "permutation of the 2 axes"),
]  # fmt: skip


@pytest.mark.parametrize("case", ERRORS, ids=[str(i) for i in range(len(ERRORS))])
def test_errors_name_function_and_argument(
    case: tuple[Callable[[], Any], type[Exception], str],
) -> None:
    build, kind, text = case
    with pytest.raises(kind, match=text):
        build()
