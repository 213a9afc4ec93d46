"""`python -m weft report`: one file that holds the document of what was computed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from weft.commands import report as command

ROOT = Path(__file__).resolve().parent.parent
Json = dict[str, Any]


def document_in(path: Path) -> Json:
    """What a page shows."""
    (data,) = re.findall(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', path.read_text(), re.S)
    found: Json = json.loads(data)
    return found


# ---------------------------------------------------------------- the command


def weft(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    line = [sys.executable, "-m", "weft", "report", *arguments]
    return subprocess.run(line, env=env, cwd=folder, capture_output=True, text=True, check=False, timeout=300)


def script(folder: Path, text: str) -> str:
    (folder / "script.py").write_text(text)
    return "script.py"


def test_an_example_gives_a_report_whose_kernels_have_lines_and_sum_to_the_step(tmp_path: Path) -> None:
    done = weft(tmp_path, str(ROOT / "examples" / "expressions.py"))
    assert done.returncode == 0
    shown = document_in(tmp_path / "report.html")
    for p in shown["programs"]:
        assert all(k["lines"] for k in p["kernels"] if k["kind"] != "check")
        assert not p["detailed"] or p["kernel_seconds"] == pytest.approx(p["seconds"], rel=0.5, abs=1e-6)


def test_the_page_says_what_was_run_and_stderr_where_it_is(tmp_path: Path) -> None:
    where = script(tmp_path, "import sys, weft as wf\nprint(wf.arange(int(sys.argv[1])).exp().sum().item() > 0)\n")
    done = weft(tmp_path, where, "-o", "page.html", "--", "20")
    shown = document_in(tmp_path / "page.html")
    assert done.stdout == "True\n" and "page.html shows 1 program" in done.stderr
    assert (shown["title"], shown["command"]) == ("script.py", "python script.py 20")


def test_programs_beyond_a_number_are_listed(tmp_path: Path) -> None:
    where = script(tmp_path, "import weft as wf\nfor n in (3, 4, 5): wf.arange(n).exp().tolist()\n")
    assert weft(tmp_path, where, "--programs", "1").returncode == 0
    assert [p["detailed"] for p in document_in(tmp_path / "report.html")["programs"]] == [True, False, False]


def test_a_script_that_fails_is_reported_with_its_own_status(tmp_path: Path) -> None:
    done = weft(tmp_path, script(tmp_path, "import weft as wf, sys\nwf.arange(3).exp().tolist()\nsys.exit(5)\n"))
    assert done.returncode == 5 and len(document_in(tmp_path / "report.html")["programs"]) == 1


def test_a_script_without_programs_gives_no_report(tmp_path: Path) -> None:
    done = weft(tmp_path, script(tmp_path, "print(1)\n"))
    assert done.returncode == 0 and "no report" in done.stderr and not (tmp_path / "report.html").exists()


NOWHERE = "no/such/folder/page.html"
WRONG = [("missing.py",), ("script.py", "-o", NOWHERE), ("script.py", "-o", "."), ("script.py", "--programs", "0")]


@pytest.mark.parametrize("wrong", WRONG)
def test_misuse_has_status_2_before_anything_runs(wrong: tuple[str, ...], tmp_path: Path) -> None:
    script(tmp_path, "print('ran')\n")
    done = weft(tmp_path, *wrong)
    assert done.returncode == 2 and done.stdout == "" and "Traceback" not in done.stderr


def test_open_shows_it_in_the_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from weft.__main__ import main

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
    from weft.__main__ import main

    monkeypatch.setattr(command, "_write", lambda *_: 1 / 0)
    monkeypatch.setattr(sys, "argv", [*sys.argv])
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    where = tmp_path / script(tmp_path, "import weft as wf\nwf.arange(31).exp().tolist()\n")
    assert main(["report", str(where), "-o", str(tmp_path / "page.html")]) == 1
    assert "the report cannot be made: ZeroDivisionError" in capsys.readouterr().err
