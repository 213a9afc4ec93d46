"""Notebooks: what a cell that ends with a Tensor shows, what lines of cells are called, what a
report is there."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import weft as wf
from documents import document_in
from weft import errors
from weft.frontend.lazy import program_table, state
from weft.inspection.documents.report import ReportPath
from weft.ir.graph import site

CELL = "/tmp/ipykernel_1/2723528953.py"


class Printer:
    """What IPython hands to `_repr_pretty_`; `around` are the objects that hold the one to be
    printed."""

    def __init__(self, *around: object) -> None:
        self.stack, self.said = [*map(id, around), 0], ""

    def text(self, text: str) -> None:
        self.said += text


def shown(t: wf.Tensor, *around: object) -> str:
    printer = Printer(*around)
    t._repr_pretty_(printer, False)
    return printer.said


def waiting() -> wf.Tensor:
    """A parameter that has neither its first value nor the assigned one."""
    w = wf.nn.Parameter(wf.full((2,), 3.0))
    w.assign(w * 2)
    return w


SMALL: dict[str, tuple[Callable[[], wf.Tensor], str]] = {
    "in memory": (lambda: wf.tensor([1.0, 2.0]), "tensor([1., 2.], dtype=float32)"),
    "lazy": (lambda: wf.tensor([1.0, 2.0]) * 3, "tensor([3., 6.], dtype=float32)"),
    "0-d": (lambda: wf.tensor(1.0, requires_grad=True) * 9, "tensor(9., dtype=float32)"),
    "random": (
        lambda: wf.randn(2, 2) * 0 + 1,
        "tensor([[1., 1.],\n        [1., 1.]], dtype=float32)",
    ),
    "a view": (lambda: wf.arange(3).realize()[1:], "tensor([1, 2], dtype=int64)"),
    "waiting": (waiting, "tensor([6., 6.], dtype=float32)"),
}


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize("kind", SMALL)
def test_a_cell_shows_values_that_are_little_work_and_computes_nothing_else(kind: str) -> None:
    make, text = SMALL[kind]
    t = make()
    before = repr(t), len(state.thread.pending), t.requires_grad
    assert shown(t) == text == shown(t)
    assert (repr(t), len(state.thread.pending), t.requires_grad) == before
    assert str(t) == text


def test_what_is_shown_keeps_its_graph_and_so_do_scalars_inside() -> None:
    w = wf.tensor([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()
    assert shown(loss * 2) == "tensor(10., dtype=float32)" and "lazy" in repr(loss)
    assert len(wf.explain(loss).kernels) == 1
    loss.backward()
    assert w.grad is not None and w.grad.tolist() == [2.0, 4.0]


LARGE: dict[str, Callable[[], wf.Tensor]] = {
    "result": lambda: wf.ones(400, 400) + 1,
    "work": lambda: (wf.full((100, 100), 0.5).realize() @ wf.full((100, 100), 0.5))[0, 0],
    "graph": lambda: sum((wf.tensor([1.0]) * k for k in range(300)), wf.zeros(1)),
}


@pytest.mark.parametrize("kind", LARGE)
def test_a_cell_says_how_to_see_what_is_more_work(kind: str) -> None:
    t, runs = LARGE[kind](), program_table.statistics["runs"]
    assert shown(t) == f"{repr(t)[:-1]}: print it, or call .realize(), to compute its values>"
    assert program_table.statistics["runs"] == runs


OBSERVED: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "one_kernel": wf.one_kernel,
    "debug_nans": wf.debug_nans,
    "debug": lambda: wf.options.override(debug=1),
}


@pytest.mark.parametrize("kind", OBSERVED)
def test_nothing_is_computed_where_somebody_looks_on(kind: str) -> None:
    with OBSERVED[kind]():
        runs = program_table.statistics["runs"]
        assert (
            ".realize()" in shown(wf.tensor([1.0]) * 2) and program_table.statistics["runs"] == runs
        )


def test_nothing_is_computed_in_a_trace_in_a_list_or_where_it_fails() -> None:
    said = []
    wf.jit(lambda x: (said.append(shown(x * 2)), x)[1])(wf.ones(2))
    t = wf.arange(3)[wf.tensor([7])]
    said += [shown(wf.ones(2) + 1, [t]), shown(t)]
    assert [text.split(" cpu ")[1][:5] for text in said] == ["lazy>", "lazy>", "lazy:"]


# ---------------------------------------------------------------- lines of cells


def run(monkeypatch: pytest.MonkeyPatch, source: str) -> dict[str, Any]:
    """Runs the source as IPython runs the cell [6]; it may call shown()."""
    compiler = SimpleNamespace(
        format_code_name=lambda file: ("Cell", "In[6]") if file == CELL else None
    )
    module = SimpleNamespace(get_ipython=lambda: SimpleNamespace(compile=compiler))
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(
        linecache.cache, CELL, (len(source), None, source.splitlines(keepends=True), CELL)
    )
    names: dict[str, Any] = {"wf": wf, "shown": shown}
    exec(compile(source, CELL, "exec"), names)
    return names


def test_outside_of_ipython_a_file_is_no_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert site.site_text((CELL, 2)) == "2723528953.py:2" and site.located((CELL, 2)) == f"{CELL}:2"


def test_lines_of_a_cell_are_named_after_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    y = run(monkeypatch, "x = wf.full((3, 3), 2.0).realize()\ny = (x * 3).sin()\n")["y"]
    assert "from      cell [6], line 2  y = (x * 3).sin()" in str(wf.explain(y))
    assert wf.explain(y).kernels[0].sources[0].where == "cell [6], line 2"
    assert "cell [6], line 2" in str(wf.profile(y)) and "cell [6], line 2" in str(wf.draw(y))
    assert "# cell [6], line 2" in wf.dump(y, tmp_path / "dumped").joinpath("graph.txt").read_text()
    document = document_in(wf.report(y, tmp_path / "page.html", profile=False))
    source = {
        "name": "cell [6]",
        "before_line": ", line ",
        "lines": ["x = wf.full((3, 3), 2.0).realize()", "y = (x * 3).sin()"],
    }
    assert (
        document["sources"][CELL] == source
        and document["programs"][0]["name"] == "cell [6], line 2"
    )


def test_what_is_shown_comes_from_the_line_where_it_was_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = "x, y = wf.ones(2).realize(), wf.ones(2) * 3\nshown(x), shown(y)\nz = x * y\n"
    assert {step.line[0] for step in wf.draw(run(monkeypatch, source)["z"]).steps if step.line} == {
        CELL
    }


FAILS = {
    "wf.arange(3)[wf.tensor([5])].tolist()": (
        errors.IndexError,
        "extent 3, in cell \\[6\\], line 1$",
    ),
    "wf.jit(lambda x: x.item())(wf.ones(1))": (errors.JitError, "^cell \\[6\\], line 1: the value"),
    "with wf.debug_nans():\n    (wf.zeros(1) / 0).item()": (
        errors.FloatingPointError,
        "in cell \\[6\\], line 2:  \\(wf.zeros",
    ),
}


@pytest.mark.parametrize("source", FAILS)
def test_errors_name_the_line_of_a_cell(monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    kind, text = FAILS[source]
    with pytest.raises(kind, match=text):
        run(monkeypatch, source)


# ---------------------------------------------------------------- reports


def test_a_notebook_shows_a_report_in_a_frame_if_it_can_reach_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "my notes").mkdir()
    monkeypatch.chdir(tmp_path)
    path = wf.report(wf.ones(3) + 1, "my notes/a <b>.html", profile=False)
    assert (
        path == Path("my notes/a <b>.html")
        and isinstance(path, ReportPath)
        and path.parent == Path("my notes")
    )
    html = path._repr_html_()
    assert (
        html is not None
        and '<iframe src="my%20notes/a%20%3Cb%3E.html"' in html
        and ">my notes/a &lt;b&gt;.html</a>" in html
    )
    assert path.parent._repr_html_() is None
    monkeypatch.chdir(tmp_path / "my notes")
    assert ReportPath(tmp_path / "elsewhere.html")._repr_html_() is None


def test_showing_a_value_again_and_again_leaves_it_as_it_was() -> None:
    x = wf.tensor([1.0, 2.0, 3.0])
    y = x.cumsum()
    z = (y * 2).exp()
    before = y.node, z.node
    for _ in range(3):
        assert "lazy" not in shown(z)
    assert (y.node, z.node) == before and y._stored() is None
