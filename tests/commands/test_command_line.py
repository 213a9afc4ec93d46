"""`python -m weft`: what it prints, what it removes, and its exit status."""

from __future__ import annotations

import errno
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import weft as wf
from commandkit import status
from effort import rarely
from weft.__main__ import COMMANDS, main
from weft.runtime import cache
from weft.runtime.cache import DiskCache


def weft(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)} | environment
    return subprocess.run(
        [sys.executable, "-m", "weft", *arguments],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that a process has used."""
    folder = tmp_path_factory.mktemp("used")
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "WEFT_CACHE_DIR": str(folder),
    }
    program = "import weft as wf; print((wf.arange(5) * 2.5).sum().item())"
    subprocess.run([sys.executable, "-c", program], env=env, check=True, capture_output=True)
    return folder


@pytest.fixture
def filled(used: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(used, tmp_path, dirs_exist_ok=True)


@dataclass
class Told:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def here(capsys: pytest.CaptureFixture[str]) -> Callable[..., Told]:
    """What a command prints in this process, under options."""

    def run(*arguments: str, **values: Any) -> Told:
        with wf.options.override(**values):
            code = status(*arguments)
        return Told(code, *capsys.readouterr())

    return run


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


@pytest.mark.slow
def test_alone_it_prints_its_help(
    here: Callable[..., Told], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    alone, asked = weft(), here("--help")
    assert (
        alone.returncode == asked.returncode == 0
        and alone.stdout == asked.stdout
        and "cache --stats" in alone.stdout
    )


def test_every_command_of_the_folder_is_known() -> None:
    folder = Path(wf.__file__).parent / "commands"
    assert sorted(COMMANDS) == sorted(
        path.stem for path in folder.glob("*.py") if "def add(" in path.read_text()
    )


def test_version(here: Callable[..., Told]) -> None:
    assert here("--version").stdout == f"weft {wf.__version__}\n"


def test_the_help_of_a_command_teaches(here: Callable[..., Told]) -> None:
    text = here("cache", "--help").stdout
    assert all(
        word in text
        for word in ("--stats", "--clear", "WEFT_CACHE_DIR", "WEFT_CACHE_LIMIT", "exit status")
    )


@pytest.mark.parametrize(
    "wrong", [("cache",), ("cache", "--stats", "--clear"), ("nonsense",), ("--nonsense",)]
)
def test_wrong_usage_has_status_2(here: Callable[..., Told], wrong: tuple[str, ...]) -> None:
    done = here(*wrong)
    assert done.returncode == 2 and "usage: python -m weft" in done.stderr and done.stdout == ""


@pytest.mark.slow
def test_stats_of_a_cache(here: Callable[..., Told], filled: Path) -> None:
    done = here("cache", "--stats", cache_dir=filled, cache_limit=64 << 20)
    assert (done.returncode, done.stderr) == (0, "")
    lines = dict(line.split(None, 1) for line in done.stdout.splitlines())
    assert lines["folder"] == str(filled)
    assert re.fullmatch(r"[\d.]+ KiB in 1 file, limit 64.0 MiB", lines["size"])
    for kind in ("kernel", "program", "runtime"):
        assert re.fullmatch(r"\d+ (entry|entries), [\d.]+ (bytes|KiB)", lines[kind])
    day = time.strftime("%Y-%m-")
    assert lines["last"].startswith(f"used   {day}") and lines["oldest"].startswith(f"use  {day}")


@pytest.mark.slow
def test_stats_change_nothing(here: Callable[..., Told], filled: Path) -> None:
    (path,) = filled.iterdir()
    os.utime(path, (1000, 1000))
    whole = path.read_bytes()
    assert "1970-01-01" in here("cache", "--stats", cache_dir=filled).stdout
    assert path.read_bytes() == whole and path.stat().st_mtime == 1000


def test_a_name_that_is_kept_twice_counts_once(here: Callable[..., Told], tmp_path: Path) -> None:
    for data in (b"a" * 100, b"b" * 50):
        store = DiskCache(tmp_path)
        store.put("k", data, "tuning")
        store.close()
    assert "tuning      1 entry, 114 bytes" in here("cache", "--stats", cache_dir=tmp_path).stdout


def test_clear_removes_the_files_of_the_cache_and_no_others(
    here: Callable[..., Told], filled: Path
) -> None:
    freed = size_of(filled)
    (filled / "0000.pack").write_text("mine")
    (filled / "deeper").mkdir()
    done = here("cache", "--clear", cache_dir=filled)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"freed {freed / 1024:.1f} KiB in 1 file of {filled}\n"
    assert sorted(path.name for path in filled.iterdir()) == ["0000.pack", "deeper"]
    assert (
        here("cache", "--clear", cache_dir=filled).stdout
        == f"freed 0 bytes in 0 files of {filled}\n"
    )


@pytest.mark.slow
def test_a_process_goes_on_after_its_cache_was_cleared(tmp_path: Path) -> None:
    store = DiskCache(tmp_path)
    store.put("0", b"zero")
    weft("cache", "--clear", WEFT_CACHE_DIR=str(tmp_path))
    assert store.get("0") == b"zero"
    store.put("1", b"one")
    store.close()
    again = DiskCache(tmp_path)
    assert again.get("1") == b"one" and again.get("0") is None
    again.close()


@pytest.mark.parametrize("command", ["--stats", "--clear"])
def test_without_a_cache_it_says_so(
    here: Callable[..., Told], tmp_path: Path, command: str
) -> None:
    missing = here("cache", command, cache_dir=tmp_path / "none yet")
    assert (
        missing.returncode == 0
        and f"there is no cache yet: {tmp_path / 'none yet'} does not exist" in missing.stdout
    )
    off = here("cache", command, cache_dir=wf.options.PARSERS["cache_dir"]("none"))
    assert off.returncode == 0 and "nothing is kept on disk: WEFT_CACHE_DIR is none" in off.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["--stats", "--clear"])
def test_a_folder_that_cannot_be_read_has_status_1(
    here: Callable[..., Told], tmp_path: Path, command: str
) -> None:
    (tmp_path / "file").write_text("mine")
    done = here("cache", command, cache_dir=tmp_path / "file")
    assert (
        done.returncode == 1
        and done.stderr.startswith("weft: ")
        and str(tmp_path / "file") in done.stderr
    )


def test_a_file_that_cannot_be_removed_has_status_1(
    filled: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(name: str, dir_fd: int) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted", name)

    monkeypatch.setattr(os, "unlink", refuse)
    with wf.options.override(cache_dir=filled):
        assert main(["cache", "--clear"]) == 1
    printed = capsys.readouterr()
    assert "in 0 files" in printed.out and "weft-0000.pack" in printed.err


def test_a_wrong_option_has_status_2() -> None:
    done = weft("cache", "--stats", WEFT_CACHE_LIMIT="plenty")
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == "weft: WEFT_CACHE_LIMIT='plenty': allowed is a number of bytes like 500000, 200K, 64M or"
        " 2G\n"
    )


@pytest.mark.parametrize(
    ("text", "value"), [("0", 0), ("500000", 500_000), ("200k", 200 << 10), ("2G", 2 << 30)]
)
def test_the_limit_is_read_from_the_environment(
    text: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_CACHE_LIMIT", text)
    with wf.options.override(cache_limit=wf.options._read_environment().cache_limit):
        assert cache.default().limit == value


def test_the_help_lists_every_command(here: Callable[..., Told]) -> None:
    from weft import commands

    listed = re.findall(r"^    (\w+) ", here("--help").stdout, re.M)
    files = {module.name for module in pkgutil.iter_modules(commands.__path__)} - {
        "scripts",
        "status",
    }
    assert set(listed) == files


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", [("show", "x*y", "x=2", "y=3"), *rarely(("cache", "--stats"), ("--help",))]
)
def test_a_reader_who_has_enough_is_no_error(command: tuple[str, ...]) -> None:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    reading, writing = os.pipe()
    os.close(reading)
    try:
        line = [sys.executable, "-m", "weft", *command]
        done = subprocess.run(line, env=env, stdout=writing, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")
