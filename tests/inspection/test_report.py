"""`wf.report` and `python -m weft report`: one file that holds the document of what was
computed."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import weft as wf
from commandkit import python, script, status
from cudakit import device, needs_compiler
from documents import document_in
from project_root import ROOT
from weft import errors
from weft.__main__ import main
from weft.commands import report as command
from weft.commands.status import patience


def stored(*shape: int, device: str | None = None) -> wf.Tensor:
    return wf.full(shape, 0.5, device=device).realize()


# ---------------------------------------------------------------- wf.report


def test_it_returns_the_path_of_the_page(tmp_path: Path) -> None:
    path = wf.report(stored(4).exp(), str(tmp_path / "page.html"), profile=False)
    assert path == tmp_path / "page.html" and path.read_text().startswith("<!DOCTYPE html>")


def test_of_tensors_it_shows_their_program_without_computing_it(tmp_path: Path) -> None:
    x = stored(40, 30)
    y = x.softmax(axis=1)
    shown = document_in(wf.report([y, y * 2], tmp_path / "page.html", profile=False))
    (program,) = shown["programs"]
    assert "lazy" in repr(y) and len(program["outputs"]) == 2 and program["seconds"] is None
    assert shown["title"].startswith(
        "test_of_tensors_it_shows_their_program_without_computing_it (test_report.py:"
    )


def test_complex_values_are_texts(tmp_path: Path) -> None:
    shown = document_in(wf.report(wf.tensor([1j, 2 + 1j]), tmp_path / "page.html", profile=False))
    assert "(2+1j)" in str(shown)


@pytest.mark.slow
def test_kernels_are_measured_and_sum_to_a_run(tmp_path: Path) -> None:
    x = stored(300, 300)
    (program,) = document_in(wf.report((x @ x).softmax(axis=1), tmp_path / "page.html"))["programs"]
    assert len(program["kernels"]) > 1 and all(k["measured"] > 0 for k in program["kernels"])
    assert program["kernel_seconds"] == pytest.approx(program["seconds"], rel=0.5)


@pytest.mark.slow
def test_of_a_jitted_function_it_shows_a_call_which_changes_nothing(tmp_path: Path) -> None:
    layer = wf.nn.Linear(6, 3)
    optimizer = wf.nn.optim.SGD(layer.parameters(), 0.1)

    @wf.jit
    def train_step(x: wf.Tensor) -> wf.Tensor:
        loss = layer(x).sum()
        loss.backward()
        optimizer.step()
        return loss

    before, inputs = layer.weight.tolist(), stored(5, 6)
    shown = document_in(wf.report(train_step, tmp_path / "page.html", inputs))
    names = {i["name"] for i in shown["programs"][0]["inputs"]}
    assert layer.weight.tolist() == before and {"weight", "inputs"} <= names
    assert [m["kind"] for m in shown["modules"]] == ["Linear"]


def test_of_a_function_without_arguments_it_shows_the_last_call(tmp_path: Path) -> None:
    double = wf.jit(lambda x: x * 2)
    double(stored(9))
    (program,) = document_in(wf.report(double, tmp_path / "page.html"))["programs"]
    assert program["nodes"][-1]["shape"] == [9] and program["seconds"] is None


def test_of_a_module_it_shows_the_tree_with_shapes(tmp_path: Path) -> None:
    model = wf.nn.Sequential(wf.nn.Linear(6, 3), wf.nn.ReLU())
    shown = document_in(wf.report(model, tmp_path / "page.html", stored(5, 6), profile=False))
    (tree,) = shown["modules"]
    assert tree["output"] == "(5, 3)" and len(shown["programs"][0]["kernels"]) == 1


def test_tensors_in_memory_are_shown_as_they_lie_there(tmp_path: Path) -> None:
    (shown,) = document_in(wf.report(stored(2, 3).T, tmp_path / "page.html", profile=False))[
        "tensors"
    ]
    assert shown["steps"][-1]["strides"] == [1, 3] and not shown["steps"][-1]["contiguous"]


def test_where_all_is_in_memory_there_is_a_page_without_programs(tmp_path: Path) -> None:
    assert document_in(wf.report(stored(3), tmp_path / "page.html"))["programs"] == []


def test_what_cannot_be_explained_is_refused_and_nothing_written(tmp_path: Path) -> None:
    with pytest.raises(errors.ArgumentError, match="is not jitted"):
        wf.report(len, tmp_path / "page.html", [1])
    with pytest.raises(errors.DTypeError, match="report: path"):
        wf.report(stored(3).exp(), 3)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@needs_compiler
def test_of_a_gpu_it_shows_cuda_c_and_times(tmp_path: Path) -> None:
    device()
    shown = document_in(wf.report(stored(8, 40, device="cuda").exp(), tmp_path / "page.html"))
    (kernel,) = shown["programs"][0]["kernels"]
    assert (
        shown["device"] == "cuda:0"
        and "__global__" in kernel["texts"]["cu"]
        and kernel["measured"] > 0
    )


# ---------------------------------------------------------------- the command


def weft(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return python(folder, "-m", "weft", "report", *arguments)


@pytest.mark.slow
def test_an_example_gives_a_report_whose_kernels_all_have_lines(tmp_path: Path) -> None:
    done = weft(tmp_path, str(ROOT / "examples" / "expressions.py"))
    shown = document_in(tmp_path / "report.html")
    assert done.returncode == 0 and shown["programs"]
    assert all(k["lines"] for p in shown["programs"] for k in p["kernels"])


@pytest.mark.slow
def test_kernels_have_lines_and_sum_to_the_step_that_python_sees(tmp_path: Path) -> None:
    text = (
        "import weft as wf\nx = wf.randn(500, 500).realize()\nfor i in range(1, 20): ((x + i) @"
        " x).softmax(axis=1).numpy()\n"
    )
    done = weft(tmp_path, script(tmp_path, text))
    programs = document_in(tmp_path / "report.html")["programs"]
    assert done.returncode == 0 and all(k["lines"] for p in programs for k in p["kernels"])
    step = max(programs, key=lambda p: p["runs"])
    assert len(step["kernels"]) > 1 and step["kernel_seconds"] <= step["seconds"]
    assert step["kernel_seconds"] == pytest.approx(step["seconds"], rel=0.1)


SHOWN = """
import sys, weft as wf
print(wf.arange(int(sys.argv[1])).exp().sum().item() > 0)
for n in (3, 4): wf.arange(n).exp().tolist()
sys.exit(5)
"""


@pytest.fixture(scope="module")
def ended(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """What came of a script of three programs of which one is to be shown, and its document."""
    folder = tmp_path_factory.mktemp("ended")
    done = weft(folder, script(folder, SHOWN), "-o", "page.html", "--programs", "1", "--", "20")
    return done, document_in(folder / "page.html")


def test_the_page_says_what_was_run_and_stderr_where_it_is(
    ended: tuple[Any, dict[str, Any]],
) -> None:
    done, shown = ended
    assert done.stdout == "True\n" and "page.html shows 3 programs" in done.stderr
    assert (shown["title"], shown["command"]) == ("script.py", "python script.py 20")


def test_programs_beyond_a_number_are_listed(ended: tuple[Any, dict[str, Any]]) -> None:
    assert sorted(p["detailed"] for p in ended[1]["programs"]) == [False, False, True]


def test_a_script_that_fails_is_reported_with_its_own_status(
    ended: tuple[Any, dict[str, Any]],
) -> None:
    assert ended[0].returncode == 5 and len(ended[1]["programs"]) == 3


@pytest.mark.slow
def test_a_script_without_programs_gives_no_report(tmp_path: Path) -> None:
    done = weft(tmp_path, script(tmp_path, "print(1)\n"))
    assert (
        done.returncode == 0
        and "no report" in done.stderr
        and not (tmp_path / "report.html").exists()
    )


NOWHERE = "no/such/folder/page.html"
WRONG = [
    ("missing.py",),
    *(("script.py", "-o", p) for p in (NOWHERE, ".", "script.py")),
    ("script.py", "--programs", "0"),
]


@pytest.mark.parametrize("wrong", WRONG)
def test_misuse_has_status_2_before_anything_runs(
    wrong: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    script(tmp_path, "print('ran')\n")
    assert status("report", *wrong) == 2
    told = capsys.readouterr()
    assert told.out == "" and "weft" in told.err
    assert (tmp_path / "script.py").read_text() == "print('ran')\n"


def test_open_shows_it_in_the_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr(sys, "argv", [*sys.argv])
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    where = tmp_path / script(tmp_path, "import weft as wf\nwf.arange(29).exp().tolist()\n")
    assert main(["report", str(where), "-o", str(tmp_path / "page.html"), "--open"]) == 0
    assert opened == [(tmp_path / "page.html").as_uri()]


def test_a_report_that_cannot_be_made_is_told_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "_write", lambda *_: 1 / 0)
    monkeypatch.setattr(sys, "argv", [*sys.argv])
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    where = tmp_path / script(tmp_path, "import weft as wf\nwf.arange(31).exp().tolist()\n")
    assert main(["report", str(where), "-o", str(tmp_path / "page.html")]) == 1
    assert "the report cannot be made: ZeroDivisionError" in capsys.readouterr().err


def test_what_takes_long_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.commands.status.SILENCE", 0.01)
    with patience("thinking"):
        time.sleep(0.2)
    assert capsys.readouterr().err == "weft: thinking ...\n"
    monkeypatch.setattr("weft.commands.status.SILENCE", 60)
    with patience("thinking"):
        pass
    assert capsys.readouterr().err == ""
