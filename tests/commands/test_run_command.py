"""`python -m weft run`: a script does what it does alone, and then is told about. Plain Python is
the oracle."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from commandkit import python, script, status
from effort import rarely
from weft.frontend.lazy import program_table

HEAD = "program  "  # of what is told


SCRIPTS = {
    "what_a_script_sees": (
        "import sys, os, pickle\nimport helper\nclass Own: pass\nprint(__name__, __file__,"
        " __package__, __spec__, sys.argv, sys.path[0], os.getcwd(), __builtins__,"
        " __cached__)\nprint(type(pickle.loads(pickle.dumps(Own()))) is Own,"
        " sys.modules['__main__'].Own is Own)\n"
    ),
    "exceptions": (
        "def f():\n    raise ValueError('no') from KeyError('cause')\nprint('first')\nf()\n"
    ),
    "errors_of_syntax": "print('never')\nfor:\n",
    "numbers_of_exit": "import sys, atexit\natexit.register(print, 'at exit')\nsys.exit(7)\n",
    "words_of_exit": "import sys\nprint('out')\nsys.exit('that is all')\n",
    "threads_that_go_on": (
        "import threading, time\n"
        "def later():\n    time.sleep(0.3)\n    print('later')\n"
        "threading.Thread(target=later).start()\nprint('main ends')\n"
    ),
    "processes": (
        "import multiprocessing as m\ndef twice(x): return 2 * x\nif __name__ == '__main__':\n   "
        " with m.get_context('spawn').Pool(1) as spawned, m.get_context('fork').Pool(1) as"
        " forked:\n        print(spawned.map(twice, [1, 2]), forked.map(twice, [3]))\n"
    ),
    "a_closed_output": (
        "import weft as wf, sys\nprint(wf.arange(5).exp().sum().item() > 0)\nsys.stdout.close()\n"
    ),
    "a_fork": "import os, sys\nif os.fork():\n    print(os.wait()[1])\nelse:\n    sys.exit(3)\n",
    "several_ends": (
        "import atexit, os, sys, threading, time\n"
        "def later():\n    time.sleep(0.3)\n    print('later')\n"
        "if not os.fork():\n    sys.exit('that is all')\nprint(os.wait()[1])\n"
        "atexit.register(print, 'at exit')\nthreading.Thread(target=later).start()\n"
        "print('main ends', flush=True)\nsys.exit(7)\n"
    ),
}
APART = ["numbers_of_exit", "words_of_exit", "threads_that_go_on", "a_fork"]  # of several_ends


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("name", [*(s for s in SCRIPTS if s not in APART), *rarely(*APART)])
def test_a_script_does_what_it_does_alone(name: str, tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("")
    where = script(tmp_path, SCRIPTS[name])
    alone = python(tmp_path, where, "--epochs", "1")
    looked_into = python(tmp_path, "-m", "weft", "run", where, "--", "--epochs", "1")
    assert (looked_into.stdout, looked_into.returncode) == (alone.stdout, alone.returncode)
    assert looked_into.stderr.startswith(alone.stderr)


Run = Callable[..., SimpleNamespace]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`weft run` of a script's text in this process, with what it changes put back in the end."""

    def done(text: str, *arguments: str) -> SimpleNamespace:
        program_table._programs.clear()
        monkeypatch.chdir(tmp_path)
        monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
        monkeypatch.setattr(sys, "argv", [*sys.argv])
        monkeypatch.setattr(sys, "path", [*sys.path])
        returned = status("run", script(tmp_path, text), *arguments)
        told = capsys.readouterr()
        return SimpleNamespace(returncode=returned, stdout=told.out, stderr=told.err)

    return done


def test_ctrl_c_has_status_130_and_what_was_collected_is_told(tmp_path: Path) -> None:
    where = script(
        tmp_path, "import weft as wf\nwf.arange(3).exp().tolist()\nraise KeyboardInterrupt\n"
    )
    done = python(tmp_path, "-m", "weft", "run", where)
    assert done.returncode == 130 and "KeyboardInterrupt" in done.stderr
    assert HEAD in done.stderr and "script.py:2" in done.stderr.split(HEAD)[1]


@pytest.mark.slow
def test_a_module_is_run_as_python_runs_it(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "inner.py").write_text(
        "import sys\nprint(__name__, __package__, sys.argv)\n"
    )
    alone = python(tmp_path, "-m", "package.inner", "more")
    assert (
        python(tmp_path, "-m", "weft", "run", "-m", "package.inner", "--", "more").stdout
        == alone.stdout
    )


def test_programs_are_told_with_their_runs(run: Run) -> None:
    text = (
        "import weft as wf\n@wf.jit\ndef step(x):\n    return (x * 2).sum()\nfor i in range(5):"
        " step(wf.tensor([float(i)]))\n"
    )
    done = run(text)
    (row,) = (
        line.split() for line in done.stderr.splitlines() if line.startswith("step (script.py:4)")
    )
    assert row[2] == "5" and done.stdout == ""


def test_a_script_without_programs_is_told_so(run: Run) -> None:
    done = run("print(1)\n")
    assert (done.returncode, done.stdout) == (0, "1\n") and "computed nothing" in done.stderr


def test_of_very_many_programs_the_slowest_are_listed(run: Run) -> None:
    text = "import weft as wf\nfor n in range(1, 51): (wf.arange(n) * 2).tolist()\n"
    told = run(text).stderr.splitlines()
    assert (
        sum(line.startswith("script.py:2") for line in told) == 40
        and told[-1] == "and 10 more, which took less time"
    )


@pytest.mark.slow
def test_explain_and_dump(tmp_path: Path) -> None:
    where = script(tmp_path, "import weft as wf\nwf.arange(300).exp().sum().item()\n")
    done = python(tmp_path, "-m", "weft", "run", where, "--explain", "--dump", "stages")
    assert done.returncode == 0 and "script.py:2  wf.arange(300).exp().sum().item()" in done.stderr
    assert list((tmp_path / "stages").rglob("*.loops"))


@pytest.mark.slow
def test_profile_lists_kernels_by_time_up_to_their_sum(run: Run) -> None:
    text = (
        "import weft as wf\nx = wf.randn(300, 300).realize()\nfor i in range(1, 6): ((x + i) @"
        " x).softmax(axis=1).tolist()\n"
    )
    done = run(text, "--profile")
    programs = [
        part
        for part in done.stderr.split("── ")
        if part.startswith("script.py:3") and "matmul" in part
    ]
    (warm,) = (part for part in programs if "the only run" not in part)
    listed = warm.splitlines()
    shares = [
        int(line.split("%")[0].split()[-1])
        for line in listed
        if "script.py:3" in line and "%" in line
    ]
    assert (
        done.returncode == 0
        and len(shares) > 1
        and shares == sorted(shares, reverse=True)
        and abs(sum(shares) - 100) <= 2
    )


def test_a_program_that_ran_once_is_not_said_to_be_warm(run: Run) -> None:
    """Of its first run, what is cold would seem to be a kernel's own time."""
    text = "import weft as wf\nwf.arange(30).exp().tolist()\n"
    done = run(text, "--profile")
    _, runs, *times = next(
        line for line in done.stderr.splitlines() if line.startswith("script.py:2")
    ).split()
    assert runs == "1" and len(times) == 4 and times[:2] == times[2:], "its first run is all runs"
    assert ", in the only run: " in done.stderr


WRONG = [
    ("missing.py",),
    (".",),
    ("-m", "no.such.module"),
    (),
    ("a.py", "-m", "b"),
    ("a.py", "--nonsense"),
]
WRONG += [("script.py", "--dump", "script.py"), ("script.py", "--dump", "script.py/below")]


def test_debug_nans_names_the_line(run: Run) -> None:
    text = "import weft as wf\nx = wf.tensor([1.0, 0.0])\nprint((x.log() + 1).tolist())\n"
    done = run(text, "--debug-nans")
    assert (
        done.returncode == 1
        and "script.py:3" in done.stderr.split("Error")[1]
        and "weft: " not in done.stderr
    )


def test_debug_nans_says_that_it_found_nothing(run: Run) -> None:
    text = "import weft as wf\nprint(wf.tensor([1.0, 2.0]).log().sum().item() > 0)\n"
    done = run(text, "--debug-nans")
    assert (
        done.stdout == "True\n"
        and done.stderr == "weft: no operation made a NaN or an infinity of finite numbers\n"
    )


def test_arguments_that_are_not_known_are_perhaps_those_of_the_script(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert status("run", "train.py", "--epochs", "1") == 2
    assert "python -m weft run train.py -- --epochs 1" in capsys.readouterr().err
    assert status("cache", "--stats", "--more") == 2
    assert "-- " not in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("wrong", WRONG)
def test_misuse_has_status_2_and_no_traceback(
    wrong: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    script(tmp_path, "print('ran')\n")
    assert status("run", *wrong) == 2
    told = capsys.readouterr()
    assert told.out == "" and "weft" in told.err


def test_arguments_behind_two_dashes_are_for_scripts_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert status("cache", "--stats", "--", "more") == 2
    assert "takes no arguments after --" in capsys.readouterr().err


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    assert status("run", "--help") == 0
    text = capsys.readouterr().out
    assert all(
        word in text
        for word in ("--explain", "--dump", "examples:", "train.py -- --epochs 1", "exit status")
    )
