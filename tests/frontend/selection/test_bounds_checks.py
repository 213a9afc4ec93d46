"""Indices out of range: found by compiled kernels on any number of threads, named in full, with
nothing changed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import weft as wf
import weft.array_api as xp
from weft import nn, options
from weft.compiler import compile
from weft.frontend.lazy import realize
from weft.nn import functional as F

HERE = Path(__file__).name
ROWS, COLUMNS, MANY = 500, 64, 20_000


def here() -> int:
    """The line of the caller."""
    return sys._getframe(1).f_lineno


def table(**kwargs: Any) -> wf.Tensor:
    return wf.tensor(np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS), **kwargs)


def indices(*bad: tuple[int, int], dtype: str = "int64") -> np.ndarray[Any, Any]:
    """Many good ones, and at some places bad ones."""
    found = np.random.default_rng(0).integers(0, 100, MANY).astype(dtype)
    for place, value in bad:
        found[place] = value
    return found


def text_of(t: wf.Tensor) -> str:
    with pytest.raises(wf.errors.IndexError) as caught:
        t.numpy()
    return str(caught.value)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_of_several_bad_indices_the_first_is_reported(threads: int) -> None:
    bad = wf.tensor(indices((17_003, 900), (9_001, ROWS), (9_002, 7000), (19_999, -501)))
    with options.override(num_threads=threads, serial_threshold=0, min_chunks=8):
        for _ in range(3):
            x = table()
            message, line = text_of(x[bad]), here()
            where = f"axis 0 of extent {ROWS}, in {__file__}:{line}"
            assert message == (
                f"index into shape (500, 64): index {ROWS} is out of range for {where}"
            )
            np.testing.assert_array_equal(x.numpy(), table().numpy())


@pytest.mark.slow
def test_of_hundreds_of_arrays_of_indices_the_first_bad_one_is_reported() -> None:
    x, total = wf.arange(10.0), wf.zeros(1)
    for i in range(250):
        total = total + x[wf.tensor([{150: 44, 210: 55}.get(i, i % 10)])]
    calls = compile.program_of(realize.structure_of(total)).program.calls
    assert sum(call.is_check for call in calls) == 3
    assert all(len(call.refs) < 200 for call in calls if call.is_check), (
        "more arguments than a GPU takes"
    )
    assert "index 44 is out of range" in text_of(total)


def test_another_program_that_is_kept_does_not_lend_its_line() -> None:
    x, i = table(), wf.tensor([ROWS])
    kept = realize.structure_of(x[i] * 2).graph()
    assert text_of(x.take(i, 0) + 1).endswith(f"in {__file__}:{here()}") and kept


def test_the_array_is_named() -> None:
    for function, build in NAMED.items():
        x = table()
        x.name = "vocabulary"
        what = f"{function} 'vocabulary' of shape (500, 64)"
        message = text_of(build(x, wf.tensor([0, 777])))
        assert message.startswith(
            f"{what}: index 777 is out of range for axis 0 of extent 500, in "
        )


def assigned(x: wf.Tensor, key: Any, value: Any) -> wf.Tensor:
    y = x.clone()
    y.name = x.name
    y[key] = value
    return y


NAMED: dict[str, Callable[[wf.Tensor, wf.Tensor], wf.Tensor]] = {
    "index into": lambda x, i: x[i],
    "take from": lambda x, i: x.take(i, 0),
    "gather from": wf.gather,
    "scatter_add into": lambda x, i: wf.scatter_add(x, i, wf.ones(2, 64)),
    "assignment into": lambda x, i: assigned(x, i, 0.0),
    "take_along_axis from": lambda x, i: wf.take_along_axis(x, i.reshape(2, 1), 0),
    "put_along_axis into": lambda x, i: wf.put_along_axis(x, i.reshape(2, 1), 1.0, 0),
}


def test_the_axis_is_that_of_the_whole_array() -> None:
    x = wf.zeros(3, 4, 5) + 1
    assert "index 9 is out of range for axis 2 of extent 5" in text_of(x[0, :, wf.tensor([9])])
    assert "index 4 is out of range for axis 1 of extent 4" in text_of(x[1:, wf.tensor([4])])
    assert "index -6 is out of range for axis 2 of extent 5" in text_of(
        x[None, ..., wf.tensor([-6])]
    )
    key = (0, slice(None, None, 2), wf.tensor([9]))
    assert "index 9 is out of range for axis 2 of extent 5" in text_of(assigned(x, key, 7.0))
    assert "index 3 is out of range for axis 0 of extent 3" in text_of(
        assigned(x, wf.tensor([3]), wf.zeros(1, 4, 5))
    )


EXTREMES = [
    ("uint64", 2**64 - 1),
    ("uint64", 2**63),
    ("uint64", 2**63 - 1),
    ("uint32", 2**32 - 1),
    ("uint8", 200),
    ("int8", -128),
    ("int16", 32767),
    ("int32", -(2**31)),
    ("int64", -(2**63)),
    ("int64", 2**63 - 1),
]


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize(("dtype", "bad"), EXTREMES)
def test_the_index_is_shown_as_it_was_written(dtype: str, bad: int) -> None:
    x, i = wf.zeros(100, 3) + 1, wf.tensor(indices((7, bad), dtype=dtype))
    for t in (x[i], assigned(x, i, 2.0), wf.gather(x, i), x.take(i, 0)):
        assert f"index {bad} is out of range for axis 0 of extent 100" in text_of(t)


def test_a_uint8_index_into_256_rows_needs_no_check() -> None:
    i = np.arange(256, dtype=np.uint8)
    np.testing.assert_array_equal(table()[wf.tensor(i)].numpy(), table().numpy()[:256])


@pytest.mark.parametrize("threads", [1, 3])
def test_computed_indices_are_checked_inside_the_program(threads: int) -> None:
    x, scores = (
        table(),
        wf.tensor(np.random.default_rng(1).normal(size=(MANY, 8)).astype(np.float32)),
    )
    with options.override(num_threads=threads, serial_threshold=0, min_chunks=8):
        good = scores.argmax(1) + wf.tensor(indices()) // 2
        expected = np.argmax(scores.numpy(), 1) + indices() // 2
        np.testing.assert_array_equal(x[good].numpy(), x.numpy()[expected])
        bad = good + wf.tensor(np.where(np.arange(MANY) == 11_111, 5000, 0))
        message, line = text_of(x[bad].exp().sum(1)), here()
        wrong = expected[11_111] + 5000
        where = f"axis 0 of extent {ROWS}, in {__file__}:{line}"
        assert f"index {wrong} is out of range for {where}" in message


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("late", [False, True])
def test_a_training_step_with_a_bad_index_changes_nothing(threads: int, late: bool) -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            self.embedding = nn.Embedding(ROWS, COLUMNS)
            self.out = nn.Linear(COLUMNS, 10)

        def __call__(self, tokens: wf.Tensor) -> wf.Tensor:
            return self.out(self.embedding(tokens))

    model = Model()
    optimizer = nn.optim.Adam(list(model.parameters()), lr=0.1)

    def step(tokens: np.ndarray[Any, Any]) -> None:
        i = wf.tensor(tokens)
        if late:
            i = i + (i.cumsum(0) < 0).sum()
        optimizer.zero_grad()
        model(i).square().mean().backward()
        optimizer.step()
        wf.realize(*model.parameters())

    with options.override(num_threads=threads, serial_threshold=0):
        step(indices())
        before = [p.numpy(copy=True) for p in model.parameters()]
        with pytest.raises(
            IndexError,
            match=r"gather from 'embedding.weight' of shape \(500, 64\): index 501 is out",
        ):
            step(indices((5, 501), (6, -1)))
        for p, old in zip(model.parameters(), before, strict=True):
            np.testing.assert_array_equal(p.numpy(), old)
        step(indices())
        assert all(np.isfinite(p.numpy()).all() for p in model.parameters())


def test_gathers_of_one_line_are_told_apart_by_what_they_index() -> None:
    a, b = table(), wf.zeros(3, 2) + 1
    a.name, b.name = "a", "b"
    i, j = wf.tensor([1, 1000]), wf.tensor([0, 2])
    assert "'a'" in text_of(a[i].sum() + b[j].sum())
    assert "'b'" in text_of(a[j].sum() + b[wf.tensor([0, 3])].sum())


def test_a_program_found_again_reports_the_present_array_and_line() -> None:
    for name in ("first", "second"):
        x = table()
        x.name = name
        bad, line = x[wf.tensor([9999])] * 3.0, here()
        assert text_of(bad).startswith(f"index into '{name}'")
        assert f"{HERE}:{line}" in text_of(bad)


def test_nothing_is_selected_yet_the_index_is_wrong() -> None:
    x = wf.zeros(3, 4) + 1
    with pytest.raises(
        wf.errors.IndexError, match="index 5 is out of range for axis 0 of extent 3"
    ):
        x[wf.tensor([5]), :0]
    with pytest.raises(
        wf.errors.IndexError, match="index 5 is out of range for axis 0 of extent 3"
    ):
        x[wf.tensor([5]), :0] = 1.0


def test_the_interpreter_says_the_same() -> None:
    with options.override(interpret=True):
        message = text_of(table().take(wf.tensor([-501]), 0))
        assert (
            "take from shape (500, 64): index -501 is out of range for axis 0 of extent 500"
            in message
        )
        assert f"index {2**64 - 1} is out of range" in text_of(
            table()[wf.tensor(np.array([2**64 - 1], np.uint64))]
        )


# ---------------------------------------------------------------- what is no index at all

A = wf.zeros(3, 4) + 1.0
E = wf.errors
WRONG: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: wf.gather(A, ([0], [1])), E.ShapeError,
        r"gather: 2 indices for axes \(0,\) of shape \(3, 4\)"),
    (lambda: wf.gather(A, 1, wf.zeros(3, 1, dtype=int)), E.DTypeError,
        r"for one index per element .* write wf.take_along_axis"),
    (lambda: wf.scatter_add(A, 1, wf.zeros(3, 1, dtype=int), A), E.DTypeError,
        r"write wf.scatter_add\(x, \(rows, columns\)"),
    (lambda: wf.gather(A, ([0], [1]), (0, 0)), E.ShapeError, "gather: 2 indices for axes"),
    (lambda: wf.gather(A, np.array([0.5])), E.DTypeError,
        "gather: expected an integer tensor, got float64"),
    (lambda: wf.scatter_add(A, ([0, 1],), "a"), E.DTypeError,
        "values must be a Tensor, an array or a number, not 'a'"),
    (lambda: wf.scatter_add(A, ([0, 1],), wf.ones(3, 4)), E.ShapeError, "scatter_add"),
    (lambda: wf.scatter_add(wf.zeros(0, 4), ([0],), 1.0), E.IndexError,
        "index into axis 0 of extent 0"),
    (lambda: wf.take(A, [[0], [1, 2]], 0), E.ShapeError,
        "take: the nested lists are not of equal lengths"),
    (lambda: wf.take(A, [2**70], 0), E.DTypeError, "take: expected numbers"),
    (lambda: wf.take(A, True, 0), E.DTypeError, "take: expected an integer tensor, got bool"),
    (lambda: wf.take(A, [wf.tensor(0), 0.5], 0), E.DTypeError,
        "take: expected an integer tensor, got float"),
    (lambda: wf.take(A, range(10**12), 0), E.OverflowError,
        "take: a range of indices is range.*too long"),
    (lambda: wf.take_along_axis(A, [0]), E.ShapeError,
        r"indices of shape \(1,\) do not have as many axes as shape \(3, 4\)"),
    (lambda: wf.put_along_axis(A, [[0]], None, 1), E.DTypeError,
        "put_along_axis: values must be a Tensor, .* not None"),
    (lambda: wf.put_along_axis(A, [[0]], wf.ones(7), 1), E.ShapeError,
        r"values of shape \(7,\) do not fit indices of"),
    (lambda: A.masked_fill(1, 2), E.DTypeError, "masked_fill: expected a bool mask, got int64"),
    (lambda: A.masked_fill(A, 2), E.DTypeError, "masked_fill: expected a bool mask, got float32"),
    (lambda: A.masked_fill(None, 2), E.DTypeError,
        "masked_fill: mask must be a Tensor, .* not None"),
    (lambda: A[(None,) * 63], E.IndexError, "the result has more than 64 axes"),
    (lambda: A[: wf.tensor([1, 2])], E.ShapeError, "single element"),
    (lambda: A[: wf.tensor(1.5)], E.DTypeError, "only an integer can be an index"),
    (lambda: A[2**70], E.IndexError,
        f"index into shape .*index {2**70} is out of range for axis 0 of extent 3"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_arguments_are_named(number: int) -> None:
    build, kind, text = WRONG[number]
    with pytest.raises(kind, match=text):
        build()


def test_indices_in_sequences() -> None:
    rows = np.arange(12.0).reshape(3, 4)
    x = wf.tensor(rows)
    for indices in (
        [2, 0],
        (2, 0),
        range(2, -1, -2),
        [wf.tensor(2), 0],
        [np.array(2), wf.tensor(0)],
    ):
        np.testing.assert_array_equal(x.take(indices, 0).numpy(), rows[[2, 0]])
        np.testing.assert_array_equal(wf.gather(x, (indices,)).numpy(), rows[[2, 0]])


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize(
    "indices",
    [[[0, 1]], [[0, 1], [1, 0]], [np.int64(0), np.int64(1)], [[[1]]], [], [range(2)]],
    ids=str,
)
def test_lists_are_the_indices_of_one_axis(indices: Any) -> None:
    x, places = np.arange(6.0).reshape(2, 3), np.asarray(indices, np.int64)
    for axis, a in ((0, 0), ((0,), 0), ([1], 1), (-1, 1)):
        want = np.moveaxis(np.take(x, places, a), range(a, a + places.ndim), range(places.ndim))
        np.testing.assert_array_equal(wf.gather(wf.tensor(x), indices, axis).numpy(), want)
        added, expected = wf.scatter_add(wf.tensor(x), indices, 1.0, axis), x + np.zeros_like(x)
        np.add.at(expected, (slice(None),) * a + (places,), 1.0)
        np.testing.assert_array_equal(added.numpy(), expected)


def test_tuples_and_lists_of_tensors_are_the_indices_of_each_axis() -> None:
    x = wf.tensor([[1, 2, 3], [4, 5, 6]])
    for one in (
        ([1, 0],),
        [wf.tensor([1, 0])],
        [np.array([1, 0])],
        (1, 0),
        (np.int64(1), 0),
        [wf.tensor(1), 0],
        [1, 0],
    ):
        assert wf.gather(x, one, 0).tolist() == [[4, 5, 6], [1, 2, 3]]
    assert wf.gather(x, [[wf.tensor(1), 0]]).tolist() == [[[4, 5, 6], [1, 2, 3]]]
    for two in (([1, 0], [2, 0]), [[1, 0], [2, 0]], [wf.tensor([1, 0]), np.array([2, 0])]):
        assert wf.gather(x, two, (0, 1)).tolist() == [6, 1]
    with pytest.raises(E.ShapeError, match="2 indices for axes"):
        wf.gather(x, [wf.tensor([1, 0]), wf.tensor([2, 0])])


def test_the_line_is_the_users_through_every_namespace() -> None:
    x, i = table(), wf.tensor([ROWS])
    first = here() + 2
    builders = (
        lambda: x.take(i, 0),
        lambda: xp.take(x, i, axis=0),
        lambda: F.embedding(i, x),
        lambda: wf.take(x, i, 0),
    )
    for line, build in enumerate(builders, first):
        assert text_of(build()).endswith(f"in {__file__}:{line}")


def test_a_gradient_that_cannot_be_computed_leaves_later_updates_alone() -> None:
    layer, x = nn.Linear(3, 5), wf.ones(4, 3)
    before = layer.weight.numpy().copy()
    F.cross_entropy(layer(x), wf.tensor([0, 1, 2, 5])).backward()  # there is no class 5
    with wf.no_grad():
        layer.weight += 0.25
    np.testing.assert_array_equal(layer.weight.numpy(), before + np.float32(0.25))
    with pytest.raises(wf.errors.IndexError):
        layer.weight.grad.numpy()
