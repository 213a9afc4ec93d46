"""Errors: their class, what they say, and that they are raised at the user's line."""

from __future__ import annotations

import traceback
from collections.abc import Callable

import numpy as np
import pytest
import weft as wf

E = wf.errors
A, B, N = wf.zeros(2, 3), wf.zeros(4, 5), wf.arange(6)

CASES: list[tuple[Callable[[], object], type[Exception], str]] = [
    (
        lambda: A + B,
        E.ShapeError,
        r"add: shapes \(2, 3\) and \(4, 5\) could not be broadcast together: axis -2 is 2 and 4",
    ),
    (lambda: wf.where(A > 0, A, B), E.ShapeError, r"where: shapes \(2, 3\).*\(4, 5\)"),
    (
        lambda: A @ B,
        E.ShapeError,
        r"matmul: shapes \(2, 3\) and \(4, 5\) do not fit: 3 columns, 4 rows",
    ),
    (lambda: A @ wf.tensor(1.0), E.ShapeError, "matmul: both operands need at least one axis"),
    (
        lambda: wf.zeros(2, 2, 3) @ wf.zeros(3, 3, 1),
        E.ShapeError,
        r"matmul: shapes \(2,\) and \(3,\) could not be broadcast",
    ),
    (
        lambda: A.reshape(4, 2),
        E.ShapeError,
        r"reshape: 6 elements of shape \(2, 3\) do not fit shape \(4, 2\)",
    ),
    (lambda: A.reshape(-1, -1), E.ShapeError, "reshape"),
    (lambda: A.reshape(-1, 4), E.ShapeError, "reshape"),
    (
        lambda: A.permute(0, 0),
        E.ShapeError,
        r"permute: \(0, 0\) is not a permutation of the 2 axes",
    ),
    (lambda: A.permute(0, 2), E.ShapeError, "permute: axis 2 is out of range for 2 axes"),
    (lambda: A.sum(2), E.ShapeError, "sum: axis 2 is out of range for 2 axes"),
    (lambda: A.sum((0, -2)), E.ShapeError, "sum: an axis is named twice"),
    (lambda: A.sum("0"), E.DTypeError, "sum: an axis must be an int"),
    (lambda: A.squeeze(0), E.ShapeError, r"squeeze: axes \(0,\) of shape \(2, 3\)"),
    (lambda: A.expand(3, 3), E.ShapeError, "broadcast_to"),
    (lambda: A.expand(3), E.ShapeError, "expand"),
    (lambda: A.pad(((1, 1),)), E.ShapeError, "pad: .* is not one pair of widths"),
    (lambda: A.pad(-1), E.ShapeError, "pad"),
    (
        lambda: wf.concat([A, B]),
        E.ShapeError,
        r"part 0 of shape .* and part 1 of shape \(4, 5\) differ in more than axis 0",
    ),
    (lambda: wf.stack([A, B]), E.ShapeError, "stack"),
    (lambda: wf.concat([]), E.ShapeError, "nothing to join"),
    (lambda: A.split([1, 2]), E.ShapeError, "split"),
    (lambda: wf.window(A, 1, 4), E.ShapeError, "window: size 4"),
    (lambda: A[2], E.IndexError, "index 2 is out of range for axis 0 of extent 2"),
    (lambda: A[0, -4], E.IndexError, "index -4 is out of range for axis 1 of extent 3"),
    (lambda: A[0, 0, 0], E.IndexError, r"3 indices for 2 axes of shape \(2, 3\)"),
    (lambda: A[..., ...], E.IndexError, "only one"),
    (lambda: A[1.5], E.DTypeError, "neither an int"),
    (lambda: A[A], E.DTypeError, "expected an integer tensor, got float32"),
    (lambda: A.take(A, 0), E.DTypeError, "expected an integer tensor"),
    (lambda: A & A, E.DTypeError, "bitwise_and: defined for bool and integers, not for float32"),
    (A.__invert__, E.DTypeError, "invert"),
    (lambda: A << 1, E.DTypeError, "left_shift"),
    (lambda: -(A > 0), E.DTypeError, "negative: not defined for bool"),
    (lambda: (A > 0) - (A > 0), E.DTypeError, "subtract: not defined for bool"),
    (lambda: wf.tensor([1 + 2j], dtype=wf.int8), E.DTypeError, "complex128"),
    (lambda: wf.tensor(["a"]), E.DTypeError, "tensor"),
    (
        lambda: wf.zeros(2, dtype="float8"),
        E.DTypeError,
        "there is no dtype 'float8'; there are bool, int8",
    ),
    (lambda: wf.zeros(-1), E.ShapeError, "negative extent"),
    (lambda: wf.tensor([[1], [1, 2]]), E.ShapeError, "not of equal lengths"),
    (N.requires_grad_, E.DTypeError, "only floats have gradients, this is int64"),
    (lambda: wf.tensor([1], requires_grad=True), E.DTypeError, "only floats"),
    (lambda: wf.tensor([1.0], device="cuda:99"), E.DeviceError, "cuda"),
    (A.item, E.ShapeError, r"shape \(2, 3\)"),
    (lambda: A.assign(B), E.ShapeError, "assign"),
    (A.backward, E.GradientError, "does not depend"),
    (lambda: wf.randint(3, 3), E.ShapeError, "no integer"),
]


@pytest.mark.parametrize(("build", "kind", "text"), CASES, ids=[str(i) for i in range(len(CASES))])
def test_errors_come_when_the_expression_is_built(
    build: Callable[[], object], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=text):
        build()


def test_errors_are_what_a_numpy_user_would_catch() -> None:
    for kind, builtin in (
        (E.ShapeError, ValueError),
        (E.DTypeError, TypeError),
        (E.IndexError, IndexError),
        (E.DeviceError, RuntimeError),
        (E.FusionError, AssertionError),
    ):
        assert issubclass(kind, builtin) and issubclass(kind, E.WeftError)


def test_the_last_user_frame_is_the_users_line() -> None:
    try:
        A.relu() + B  # here
    except ValueError as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == __file__]
        assert frames[-1].line is not None and frames[-1].line.endswith("# here")
    else:
        raise AssertionError("no error")


def test_operators_with_foreign_types_raise_type_errors() -> None:
    for build in (lambda: A + "x", lambda: "x" * A, lambda: object() > A, lambda: A @ None):
        with pytest.raises(TypeError):
            build()


INDICES = [([0, 7, 1], 7), ([0, -5, 1], -5), ([-1, 4], 4)]


@pytest.mark.parametrize(("indices", "wrong"), INDICES)
def test_a_wrong_index_names_axis_value_extent_and_line(indices: list[int], wrong: int) -> None:
    x = wf.zeros(2, 4) + 1
    y = x.take(wf.tensor(indices), 1) * 2  # the line to be named
    line = traceback.extract_stack()[-1].lineno - 1
    told = (
        rf"index {wrong} is out of range for axis 1 of extent 4, in"
        rf" .*test_lines_of_errors.py:{line}"
    )
    with pytest.raises(IndexError, match=told):
        y.numpy()
    with pytest.raises(E.IndexError):
        y.numpy()  # still pending, still wrong
    assert x.sum().item() == 8


def test_gather_does_not_count_from_the_end() -> None:
    with pytest.raises(E.IndexError, match="index -1 is out of range for axis 0 of extent 2"):
        wf.gather(wf.zeros(2, 3) + 1, wf.tensor([0, -1])).numpy()


def test_a_wrong_index_in_a_scatter() -> None:
    with pytest.raises(E.IndexError, match="index 9 is out of range for axis 0 of extent 2"):
        wf.scatter_add(wf.zeros(2, 3) + 1, wf.tensor([0, 9]), wf.ones(2, 3)).numpy()


def test_two_wrong_gathers_do_not_hide_good_values() -> None:
    x = wf.tensor(np.arange(4.0))
    good = x[wf.tensor([3, -4])]
    assert good.tolist() == [3.0, 0.0]


def test_index_into_an_empty_axis_raises_where_it_is_built() -> None:
    with pytest.raises(wf.errors.IndexError, match=r"axis 0 of extent 0"):
        wf.zeros((0, 3))[wf.tensor([0])]
    assert wf.zeros((0, 3))[wf.tensor(np.zeros(0, np.int64))].shape == (0, 3)
