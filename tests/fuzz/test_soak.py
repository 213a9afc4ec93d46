"""A soak survives what it looks for. In: a generator that is wrong, crashes, hangs and grows at
known seeds. Out: these seeds."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import soak
from processes import interruptible, is_running

pytest.importorskip("resource")

SOAK = Path(soak.__file__)
PLANTED = """
import ctypes, os, time
from types import SimpleNamespace

kept = []

def check(seed):
    with open("../seeds", "a") as seeds:
        print(seed, os.getpid(), file=seeds)
    time.sleep(0.02)
    assert seed != 7, "two numbers differ"
    if seed == 12:
        ctypes.string_at(0)
    if seed == 17:
        time.sleep(1000)
    if seed == 22:
        kept.append(bytearray(os.urandom(1)) * 150_000_000)
    return seed % 10 != 3

PLAIN = dict(check=check, share=1, block=15, limit=2.0, prepare=lambda: None, compares=True)
GENERATORS = [SimpleNamespace(name="planted", **PLAIN)]
"""


def begun(folder: Path, *more: str) -> subprocess.Popen[str]:
    """A soak of the planted generator, in a folder where its seeds are noted."""
    (folder / "planted.py").write_text(PLANTED)
    path = os.pathsep.join([str(folder), *(p for p in sys.path if p)])
    line = [sys.executable, str(SOAK), "--hours", "1", "--module", "planted", "--jobs", "1"]
    line += ["--folder", str(folder / "kept"), "--memory", "0.1", *more]
    env = os.environ | {"PYTHONPATH": path, "TMPDIR": str(folder)}
    with interruptible():
        return subprocess.Popen(
            line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env
        )


def ended(soak: subprocess.Popen[str], folder: Path, count: int) -> str:
    """What it prints when Ctrl-C ends it behind so many seeds."""
    until = time.monotonic() + 60
    while (
        not (folder / "seeds").exists() or len(seeds(folder)) < count
    ) and time.monotonic() < until:
        time.sleep(0.05)
    soak.send_signal(signal.SIGINT)
    printed, _ = soak.communicate(timeout=60)
    return printed


def seeds(folder: Path) -> list[int]:
    return [int(line.split()[0]) for line in (folder / "seeds").read_text().splitlines()]


def row(folder: Path) -> Any:
    return json.loads((folder / "kept" / "state.json").read_text())["planted"]


@pytest.mark.slow
def test_every_fault_is_kept_with_its_seed_and_the_rest_goes_on(tmp_path: Path) -> None:
    soak = begun(tmp_path)
    printed = ended(soak, tmp_path, 36)
    assert soak.returncode == 1, printed
    faults = {
        f["seed"]: f
        for f in map(json.loads, (tmp_path / "kept" / "faults.jsonl").read_text().splitlines())
    }
    assert {seed: f["kind"] for seed, f in faults.items()} == {
        7: "wrong",
        12: "crash",
        17: "hang",
    }, printed
    assert "AssertionError: two numbers differ (planted.py:" in faults[7]["what"]
    assert "Segmentation fault" in faults[12]["said"] and "planted.py" in faults[17]["said"]
    run = seeds(tmp_path)
    assert run == list(range(len(run))) and len(run) >= 36, printed  # each once, in order
    found = row(tmp_path)
    unsuitable = sum(s % 10 == 3 for s in run)
    assert (
        found["restarts"] == 1
        and found["faults"] == 3
        and abs(found["unsuitable"] - unsuitable) <= 1
    )
    behind = 3  # seeds at most that a busy machine has run and not counted when Ctrl-C comes
    assert len(run) - behind <= found["right"] + found["unsuitable"] + found["faults"] <= len(run)
    assert re.search(rf"planted +{found['right']} +{found['unsuitable']} +3 +1 ", printed)
    assert f"{found['right']} graphs, faults: 3, {found['right'] // 3} graphs per fault" in printed
    env = os.environ | {"PYTHONPATH": str(tmp_path)}
    again = subprocess.run(
        shlex.split(faults[7]["reproduce"]), env=env, capture_output=True, text=True, check=False
    )
    assert again.returncode == 1 and "AssertionError: two numbers differ" in again.stderr


@pytest.mark.slow
def test_ctrl_c_ends_with_a_table_and_the_next_soak_goes_on_behind_it(tmp_path: Path) -> None:
    soak = begun(tmp_path, "--first-seed", "100")
    printed = ended(soak, tmp_path, 20)
    assert soak.returncode == 0 and "ended early" in printed and "graphs, faults: 0\n" in printed, (
        printed
    )
    worker = int((tmp_path / "seeds").read_text().split()[-1])
    assert not is_running(worker)
    first = row(tmp_path)
    soak = begun(tmp_path, "--resume")
    printed = ended(soak, tmp_path, 40)
    run = seeds(tmp_path)
    assert soak.returncode == 0 and len(set(run)) == len(run) and first["next"] in run, printed
    assert row(tmp_path)["right"] > first["right"]


@pytest.mark.slow
@pytest.mark.parametrize("generator", ["graphs", "guarded", "networks", "turns", "calls"])
def test_every_generator_runs(generator: str, tmp_path: Path) -> None:
    line = [sys.executable, str(SOAK.with_name("soak_worker.py")), generator, "50", "8"]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(line, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 8, done.stdout + done.stderr


FOUND = [
    (
        "guarded",
        406382,
    ),  # a mask that held behind a loop's end alone: a vector of one element read it
    ("guarded", 602636),  # LLVM read dead elements of a masked vector of two registers
    ("guarded", 704127),  # LLVM spilled a mask of 8 constant lanes as one of 16
    (
        "graphs",
        811897,
    ),  # sqrt(x*x + 0.5) - x, of an x that rounds differently: not a fault, but a unit of the root
]


WORKER = """
import sys, soak_worker
for generator, seed in {found}:
    sys.argv[1:] = [generator, str(seed)]
    soak_worker.main()
"""


@pytest.mark.slow
def test_what_a_soak_has_found_stays_mended(tmp_path: Path) -> None:
    """All in one process; "graphs" come first, as "guarded" runs every later program on guarded
    memory."""
    found = sorted(FOUND, key=lambda one: one[0] == "guarded")
    line = [sys.executable, "-c", WORKER.format(found=found)]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        line, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 0 and done.stdout.splitlines() == [
        f"{seed} right" for _, seed in found
    ], done.stdout + done.stderr
