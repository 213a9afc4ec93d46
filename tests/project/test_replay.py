"""Two revisions replayed: equal ones differ in nothing, and any text that differs is named."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import weft as wf
from project_root import ROOT

SMALL = ("--graphs", "1", "--only", "graph", "--targets", "sse2")


@pytest.fixture
def replay(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return import_module("replay")


@pytest.fixture
def texts(replay: ModuleType) -> ModuleType:
    return import_module("replay_texts")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose only revision is this checkout, without its tests and documentation."""
    if shutil.which("git") is None:
        pytest.skip("no git")
    found = tmp_path / "repository"
    skipped = shutil.ignore_patterns(".*", "__pycache__", "tests", "docs", "build", "dist")
    shutil.copytree(ROOT, found, ignore=skipped)
    committed(found)
    return found


def committed(folder: Path) -> None:
    """Makes a repository of a folder, with a revision that holds all of it."""
    author = (
        "-c",
        "user.name=Weft",
        "-c",
        "user.email=weft@example.org",
        "-c",
        "commit.gpgsign=false",
    )
    for line in (("init", "--quiet"), ("add", "."), (*author, "commit", "--quiet", "-m", "all")):
        subprocess.run(["git", *line], cwd=folder, check=True, env=environment())


def environment() -> dict[str, str]:
    """Git asked from within one of its hooks would take the repository of the hook."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}


@pytest.mark.slow
def test_a_revision_equals_the_working_tree_that_it_is(repository: Path) -> None:
    command = [sys.executable, repository / "benchmarks/replay.py", "HEAD", *SMALL]
    run = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=120, env=environment()
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.startswith("no change: 1 programs of ")
    assert "; not there: 0, " in run.stdout
    assert not [*(repository / ".git/worktrees").glob("*")], "what was checked out is removed"


def test_each_side_is_collected_from_its_own_files(
    replay: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if shutil.which("git") is None:
        pytest.skip("no git")
    root = tmp_path / "repository"
    root.mkdir()
    (root / "graph").write_text("before\n")
    committed(root)

    def collected(folder: Path, target: str, *more: str) -> dict[str, Any]:
        return {f"p, {target}": {"program": {"graph": (folder / "weft" / "graph").read_text()}}}

    for name in {*os.environ} - {*environment()}:
        monkeypatch.delenv(name)
    monkeypatch.setattr(replay, "ROOT", root)
    monkeypatch.setattr(replay, "collected", collected)
    monkeypatch.setattr(sys, "argv", ["replay.py", "HEAD", *SMALL, "--show"])
    assert replay.main() == 0 and capsys.readouterr().out.startswith("no change: 1 programs of ")
    (root / "graph").write_text("after\n")
    told = replay.main(), capsys.readouterr().out
    assert told[0] == 1 and "-before\n" in told[1] and "+after\n" in told[1]
    assert not [*(root / ".git/worktrees").glob("*")], "what was checked out is removed"


def dumped(texts: ModuleType, folder: Path, scale: float = 1.0) -> dict[str, dict[str, str]]:
    """The texts of a small program of two kernels."""
    x = wf.tensor(np.ones((64, 256), np.float32))
    y = wf.tensor(np.ones((100, 30), np.float32))
    wf.dump([(x * scale).softmax(axis=1), y.tanh()], folder)
    return texts.read(folder, ROOT)  # type: ignore[no-any-return]


def test_the_texts_of_a_program_say_nothing_of_its_run(texts: ModuleType, tmp_path: Path) -> None:
    first, second = (dumped(texts, tmp_path / name) for name in "ab")
    assert first == second and not texts.changes(first, second)
    assert set(first.pop("program")) == {"graph", "grad", "simplified", "program", "memory"}
    assert len(first) == 2, "kernels"
    for kernel in first.values():
        assert set(kernel) == {"loops", "schedule", "LLVM IR", "assembly"}
        assert all(text.strip() for text in kernel.values()) and "# " not in kernel["assembly"]


@pytest.mark.slow
def test_another_constant_is_found_in_its_kernel_alone(texts: ModuleType, tmp_path: Path) -> None:
    found = texts.changes(dumped(texts, tmp_path / "a", 2.5), dumped(texts, tmp_path / "b", 3.5))
    (kernel,) = [c for c in found if c.where != "program"]
    assert kernel.how == "changed" and set(kernel.texts) == {"loops", "LLVM IR", "assembly"}


def test_each_kind_of_change_is_printed_and_counted(
    replay: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = {"loops": "a\nb\n", "assembly": "ret\n"}
    before = {"program": {"graph": "x\n"}, "map": kernel, "rows": kernel}
    after = {"program": {"graph": "y\n"}, "map": kernel | {"loops": "a\nc\n"}, "sums": kernel}
    old = {"p": before, "q": {"program": {}}, "r": "AttributeError: no f"}
    assert replay.compare(old, {"p": after, "q": {"program": {}}, "r": after}, show=True)
    printed = capsys.readouterr().out
    assert "-b\n" in printed and "+c\n" in printed
    assert "r: not there, OLD: AttributeError: no f\n" in printed
    assert "1 changed, of 2 programs of 2 kernels; " in printed
    assert "kernels: 1 changed (loops 1), 1 added, 1 removed; programs (graph 1); " in printed


def test_only_a_program_that_is_gone_is_a_change(replay: ModuleType) -> None:
    there = {"program": {"graph": "x"}}
    assert not replay.compare({"p": "lacks f"}, {"p": there}, show=False)
    assert replay.compare({"p": there}, {"p": "lacks f"}, show=False)


CRASHING = """
import os, sys
import replay_corpus

def lacking(): raise AttributeError("no f")
def ending(): os.kill(os.getpid(), 9)

with open(sys.argv[1], "w") as out:
    replay_corpus.write([("a", lacking), ("b", ending)], out)
"""


def test_a_program_that_ends_the_process_has_said_so(tmp_path: Path) -> None:
    out, folder = tmp_path / "texts", ROOT / "benchmarks"
    run = subprocess.run([sys.executable, "-c", CRASHING, out], cwd=folder, check=False, timeout=60)
    told = dict(json.loads(line) for line in out.read_text().splitlines())
    assert run.returncode < 0 and told["a"] == "AttributeError: no f"
    assert told["b"].endswith(" or ends the process")
