"""Axes that `wf.jit` is told of: one program from the first call on, names in what it serves,
errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import weft as wf
from weft import errors, options
from weft.compiler.programs import on_disk
from weft.frontend.lazy import program_table
from weft.frontend.lazy.program_table import statistics


@pytest.fixture(autouse=True)
def programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """None is there, nor on disk, and nothing is pending."""
    (wf.zeros(1) + 1).realize()
    monkeypatch.setattr(program_table, "_programs", program_table.Programs())
    monkeypatch.setattr(on_disk, "load_program", lambda key, structure: None)


def weighed(x: wf.Tensor, y: dict[str, wf.Tensor], power: int = 2) -> wf.Tensor:
    return (x.softmax(1) ** power * y["w"].sum(0)).sum(0)


AXES = {"x": {0: "batch", -1: "time"}, "y": {1: "time"}}


def called(f: Any, batch: int, time: int) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(batch)
    x, w = (wf.tensor(rng.normal(size=s).astype("float32")) for s in ((batch, time), (3, time)))
    wf.realize(x, w)
    result: np.ndarray[Any, Any] = f(x, {"w": w}).numpy()
    return result


def test_the_first_program_serves_all_sizes_with_their_bits() -> None:
    f = wf.jit(weighed, dynamic=AXES)
    sizes = [(9, 40), (17, 33), (100, 60), (5, 50)]
    before = statistics["built"]
    made = [called(f, *size) for size in sizes]
    assert statistics["built"] - before == 1
    alone = wf.jit(weighed, dynamic=False)
    before = statistics["built"]
    assert [m.tobytes() for m in made] == [called(alone, *s).tobytes() for s in sizes]
    assert statistics["built"] - before == len(sizes)


def test_explain_shows_the_names() -> None:
    f = wf.jit(weighed, dynamic=AXES)
    note = wf.explain(f, wf.ones(9, 40), {"w": wf.ones(3, 40)}).note
    assert "float32[batch, time]" in note and "serves" in note and "batch >= 2" in note


def test_python_runs_for_other_extents_once_a_signature() -> None:
    seen = []

    @wf.jit(dynamic={"x": {0: "rows"}})
    def f(x: wf.Tensor) -> wf.Tensor:
        seen.append(x.shape)
        return x * 2

    for rows in (4, 7, 1):
        assert f(wf.ones(rows, 3)).shape == (rows, 3)
    assert len(seen) == 4 and seen[0] != (4, 3) and seen[1:] == [(4, 3), (7, 3), (1, 3)]


def test_the_greatest_extent_that_there_is_may_come_first() -> None:
    """As of a table of positions: the function cannot run for a greater one."""
    table = wf.tensor(np.arange(40, dtype="float32").reshape(20, 2))
    f = wf.jit(lambda x: x + table[: x.shape[0]], dynamic={"x": {0: "time"}})
    for time in (20, 12, 17):
        assert f(wf.ones(time, 2)).numpy().tolist() == (table.numpy()[:time] + 1).tolist()


def test_an_axis_that_cannot_vary_is_told_at_the_users_line() -> None:
    f = wf.jit(lambda x: x.reshape(4, 3) * 2, dynamic={"x": {0: "rows"}})
    with pytest.raises(errors.ShapeError, match="reshape") as raised:
        f(wf.ones(4, 3))
    assert raised.value.__notes__ == [
        "jit ran it for rows = 2, since `dynamic` says that these vary"
    ]


def test_a_tensor_that_is_passed_twice() -> None:
    f = wf.jit(lambda x, y: x * 2 + y, dynamic={"x": {0: "rows"}, "y": {0: "rows"}})
    values = [wf.ones(rows, 3).realize() for rows in (5, 9, 20)]
    before = statistics["built"]
    for x in values:
        assert f(x, x).numpy().tolist() == [[3.0] * 3] * len(x)
    assert statistics["built"] - before == 1


def test_what_is_assigned_is_assigned_once() -> None:
    count = wf.zeros(3)

    @wf.jit(dynamic={"x": {0: "rows"}})
    def f(x: wf.Tensor) -> wf.Tensor:
        count.assign(count + x.sum(0))
        return x + count

    f(wf.ones(4, 3))
    assert count.numpy().tolist() == [4, 4, 4]


def test_a_line_tells_what_needs_no_program(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # no times at the end of the tests
    monkeypatch.setattr("weft.inspection.dumps.shown._watched", [])
    with options.override(debug=True):
        f = wf.jit(weighed, dynamic=AXES)
        called(f, 9, 40)
        called(f, 17, 33)
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("jit:")]
    assert told == [
        "jit: weighed is traced: this is the first call",
        "jit: weighed is traced: argument 0 has shape (17, 33), not (9, 40)",
        "jit: weighed is served by a program of several sizes",
    ]


@pytest.mark.parametrize(
    ("dynamic", "error", "text"),
    [
        ({"z": {0: "n"}}, errors.ArgumentError, "dynamic names 'z', the Tensors are in x, y"),
        ({"x": {2: "n"}}, errors.ArgumentError, r"axis 2 of x, whose shape is \(4, 6\)"),
        ({"x": {0: "n", 1: "n"}}, errors.ShapeError, "n is 4 in x and 6 in x"),
        ({"x": {0: "n"}, "y": {1: "n"}}, errors.ShapeError, "n is 4 in x and 6 in y"),
        ({"x": ["n"]}, errors.ArgumentError, "'x' has"),
        ({"x": {0: "a b"}}, errors.ArgumentError, "'x' has"),
        ({"x": {True: "n"}}, errors.ArgumentError, "'x' has"),
        (3, errors.ArgumentError, "dynamic is a bool, or symbols"),
        (None, errors.ArgumentError, "dynamic is a bool, or symbols"),
    ],
)
def test_errors(dynamic: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        wf.jit(weighed, dynamic=dynamic)(wf.ones(4, 6), {"w": wf.ones(3, 6)})
