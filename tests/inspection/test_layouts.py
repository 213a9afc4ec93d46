"""`wf.layout`: shape, strides and memory of values, true to where the elements are."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
import weft as wf
from cudakit import device, needs_compiler
from weft.errors import ArgumentError, DTypeError
from weft.inspection.layout.text import LayoutStep

VIEWS: dict[str, Callable[[wf.Tensor], wf.Tensor]] = {
    "itself": lambda x: x,
    "transposed": lambda x: x.permute(2, 0, 1),
    "sliced": lambda x: x[1:, ::2],
    "a row": lambda x: x[1, :, 2],
    "flipped": lambda x: x.flip(0),
    "repeated": lambda x: x.unsqueeze(0).expand(3, 2, 3, 4),
    "flattened": lambda x: x.flatten(),
    "transposed and flattened": lambda x: x.permute(2, 0, 1).reshape(24),
    "made contiguous": lambda x: x.permute(2, 0, 1).contiguous(),
    "a view of a copy": lambda x: x.flip(0)[:, 1:],
    "cut to nothing": lambda x: x[2:],
    "computed": lambda x: x + 1,
}


def numbers(dtype: wf.DType = wf.float32) -> wf.Tensor:
    return wf.tensor(np.arange(24.0).reshape(2, 3, 4), dtype=dtype).realize()


def read(step: LayoutStep) -> np.ndarray:
    """The value, read out of the storage at the positions of the cells."""
    out = np.full(step.shape, np.nan)
    for index, position in step.cells:
        out[index] = step.storage[position]
    return out


@pytest.mark.parametrize("name", VIEWS)
def test_the_storage_at_the_position_of_an_index_is_the_element(name: str) -> None:
    x = VIEWS[name](numbers())
    step = wf.layout(x).steps[-1]
    seen = read(step)
    chosen = ~np.isnan(seen)  # at most 64 cells are given
    assert chosen.sum() == min(x.size, 64) and np.array_equal(seen[chosen], x.numpy()[chosen])


@pytest.mark.parametrize("name", VIEWS)
def test_strides_and_order_are_those_of_the_tensor(name: str) -> None:
    x = VIEWS[name](numbers())
    step = wf.layout(x).steps[-1]
    assert (step.shape, step.strides, step.contiguous) == (x.shape, x.strides, x.is_contiguous())


@pytest.mark.parametrize("name", sorted(VIEWS.keys() - {"repeated"}))
def test_what_shares_memory_does_so_when_it_is_realized(name: str) -> None:
    x = numbers()
    view = VIEWS[name](x)
    shares = wf.layout(x, view).steps[-1].shares
    assert shares == (view.size == 0 or np.shares_memory(x.numpy(), view.numpy()))


def test_an_element_that_is_repeated_is_read_at_stride_0() -> None:
    step = wf.layout(wf.tensor([5.0, 6.0]).realize().expand(3, 2)).steps[-1]
    assert step.strides == (0, 1) and step.elements == 2 and "stride 0" in step.note
    assert [p for _, p in step.cells] == [0, 1, 0, 1, 0, 1]


def test_a_value_in_memory_has_one_step() -> None:
    (step,) = wf.layout(numbers().T.realize()).steps
    assert step.strides == (1, 4, 12) and step.elements == 24


def test_a_chain_is_shown_from_the_value_that_owns_the_memory() -> None:
    x = numbers().requires_grad_()
    x.name = "image"
    steps = wf.layout(x.permute(1, 0, 2)[1:].reshape(16)).steps
    assert [s.expression for s in steps] == [
        "image",
        ".permute(1, 0, 2)",
        "[1:, :, :]",
        ".reshape(16)",
    ]
    assert [s.shares for s in steps] == [True, True, True, False]
    assert [s.offset for s in steps] == [0, 0, 4, 0]


@pytest.mark.parametrize("names", [True, np.False_, "x", [1], 3])
def test_names_that_are_none_are_refused(names: object) -> None:
    with pytest.raises(wf.errors.DTypeError, match="layout: names must be a sequence"):
        wf.layout(wf.ones(2), names=names)  # type: ignore[arg-type]


def test_several_values_are_called_by_their_names() -> None:
    x = numbers()
    found = wf.layout(x, x.T, names=["x", "x.T"])
    assert [s.expression for s in found.steps] == [
        "x",
        "x.T",
    ] and "that of x, seen otherwise" in str(found)


def test_the_graph_of_the_tensor_stays_as_it_was() -> None:
    x = wf.tensor([1.0, 2.0], requires_grad=True)
    y = (x * 3).flip(0)
    wf.layout(y)
    assert "lazy" in repr(y)
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    "dtype", [wf.bool_, wf.int8, wf.bfloat16, wf.float16, wf.float64], ids=lambda d: d.name
)
def test_every_dtype_is_shown(dtype: wf.DType) -> None:
    (step,) = wf.layout(numbers(dtype)).steps
    assert list(step.storage) == numbers(dtype).flatten().tolist()


def test_at_most_64_elements_are_given_and_the_rest_counted() -> None:
    found = wf.layout(wf.arange(1000).realize())
    assert len(found.steps[0].storage) == len(found.steps[0].cells) == 64
    drawn = sum(line.count("│") - 1 for line in str(found).splitlines() if "│" in line)
    assert drawn <= 64 and f"and {1000 - drawn} more elements" in str(found)


def test_the_picture_of_a_transposed_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    x = wf.arange(6).reshape(2, 3).realize()
    assert str(wf.layout(x.T[1:])).split("\n\n")[-1].splitlines() == [
        "    ┌─────┬─────┬─────┬─────┬─────┬─────┐",
        "    │  0  │  1  │  2  │  3  │  4  │  5  │",
        "    └─────┴─────┴─────┴─────┴─────┴─────┘",
        "            0,0   1,0         0,1   1,1",
    ]
    assert "[i, j] is at 1 + i + 3*j" in str(wf.layout(x.T[1:]))


def test_lines_fit_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    x = wf.tensor(np.random.default_rng(0).standard_normal((5, 12))).realize()
    for columns in (40, 80, 120):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = str(wf.layout(x, x.unsqueeze(0).expand(3, 5, 12))).splitlines()
        assert columns - 16 < max(map(len, lines)) <= columns


def test_the_data_is_json() -> None:
    found = wf.layout(numbers().T).to_dict()
    assert (
        json.loads(json.dumps(found))["steps"][1]["strides"] == [1, 4, 12]
        and found["title"] == ".permute(2, 1, 0)"
    )


def test_a_notebook_gets_a_table() -> None:
    html = wf.layout(numbers(), names=["<x>"])._repr_html_()
    assert html.count("<td") == 48 and "&lt;x&gt;" in html


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (wf.layout, ArgumentError),
        (lambda: wf.layout(3), DTypeError),
        (lambda: wf.layout(numbers(), names=[]), ArgumentError),
    ],
    ids=["nothing", "a number", "no name"],
)
def test_what_cannot_be_shown_is_refused(
    call: Callable[[], object], error: type[Exception]
) -> None:
    with pytest.raises(error, match=r"^layout: "):
        call()


@needs_compiler
def test_a_value_on_a_gpu_is_shown() -> None:
    device()
    x = numbers().to("cuda").T
    assert read(wf.layout(x).steps[-1]).tolist() == x.cpu().tolist()
