"""`python -m weft bench`: what it prints, and what it measures."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import weft as wf
from commandkit import status
from cudakit import device, needs_compiler
from machinekit import machine_of
from weft import __main__ as command_line
from weft.commands import bench
from weft.commands.bench import Result, row
from weft.inspection.machine import bench_cases
from weft.inspection.machine import machine as machines
from weft.inspection.profile import measure

MACHINE = machine_of(
    "a machine",
    2,
    5e10,
    2e11,
    1 << 25,
    {"float32": 5e11, "float64": 2e11},
    3e-9,
    ((1 << 16, 3e11),),
)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine is known, and no workload shows it to be faster; NumPy is asked once, Weft a few
    times."""
    monkeypatch.setattr(measure, "BUDGET", 0.0)
    monkeypatch.setitem(
        machines.MEASURING, "cpu", lambda _: ("quick", lambda: nullcontext(lambda: MACHINE))
    )
    monkeypatch.setattr(machines, "_keep", lambda key, found: MACHINE)
    monkeypatch.setattr(machines, "_found", lambda key: MACHINE)
    monkeypatch.setattr(bench, "SECONDS", 0.0)


def weft(*arguments: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    return subprocess.run(
        [sys.executable, "-m", "weft", *arguments],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_a_row_a_workload_stands_below_the_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["bench", "--only", "matmul f64,tiny"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "a machine, 2 threads" and out[1].split() == [
        "read",
        "write",
        "both",
        "rounds",
    ]
    assert out[2].split() == ["memory", *["50", "GB/s"] * 3, "2", "of", "2"] and out[5].split()[
        :2
    ] == ["float32", "500"]
    head = next(i for i, line in enumerate(out) if line.startswith("workload"))
    rows = out[head + 1 :]
    assert len(rows) == 2 and re.match(
        r"matmul f64 +[\d.]+ [mu]s +[\d.]+ [mun]s +\d+% +compute +1 ", rows[0]
    )
    assert rows[1].startswith("tiny call") and "%" not in rows[1]


@pytest.mark.slow
def test_json_has_the_machine_and_each_workload(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["bench", "--json", "--only", "conv"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["machine"]["bandwidth"] == 5e10 and found["device"] == "cpu"
    (work,) = found["workloads"]
    assert {*work} == {
        "name",
        "about",
        "seconds",
        "predicted",
        "bound",
        "kernels",
        "numpy",
        "reached",
    }
    assert (
        work["seconds"] > 0
        and work["reached"] == pytest.approx(work["predicted"] / work["seconds"])
        and work["numpy"] is None
    )


@pytest.mark.slow
def test_the_whole_of_it_measures_a_real_machine(tmp_path: Path) -> None:
    done = weft("bench", "--json", "--only", "column sums,lenet")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["machine"]["bandwidth"] > 1e8 and [w["name"] for w in found["workloads"]] == [
        "column sums",
        "LeNet step",
    ]
    assert found["workloads"][0]["numpy"] > 0 and found["workloads"][1]["kernels"] > 10


def test_a_workload_that_is_not_there_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["bench", "--only", "softmax, sudoku"]) == 2
    assert "no workload is called sudoku: there are elementwise" in capsys.readouterr().err


def test_words_between_commas_choose_and_every_name_is_one() -> None:
    names = [case.name for case in bench_cases.CASES]
    assert bench.chosen(names, None) == (names, "") and not any("," in name for name in names)
    assert bench.chosen(names, "conv, Linear") == (["linear + gelu", "conv + relu"], "")
    assert all(bench.chosen(names, name)[0][0] == name for name in names)


@pytest.mark.slow
def test_a_limit_that_a_workload_beats_is_raised_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As on a machine that was so busy that its memory seemed to move 100 MB/s and its cache 200
    MB/s."""
    monkeypatch.undo()
    busy = machine_of(
        "busy", 2, 1e8, 2e8, 1 << 20, {"float32": 1e7, "float64": 1e7}, 3e-9, ((1 << 10, 3e8),)
    )
    monkeypatch.setitem(
        machines.MEASURING, "cpu", lambda _: ("busy", lambda: nullcontext(lambda: busy))
    )
    monkeypatch.setattr(machines, "_known", {})
    monkeypatch.setattr(machines, "PATIENCE", 0.0)
    monkeypatch.setattr(bench, "SECONDS", 0.0)
    monkeypatch.setattr(measure, "BUDGET", 0.0)
    with wf.options.override(cache_dir=tmp_path):
        assert command_line.main(["bench", "--only", "column sums, matmul f64"]) == 0
        out = capsys.readouterr().out.splitlines()
        kept = machines.machine()
    assert kept.memory.read.rate > 2e8 and kept.flops["float64"].rate > 2e7
    assert all(" 0 of " in line for line in out if line.startswith(("  memory", "  float64")))
    reached = [int(found[1]) for line in out if (found := re.search(r" (\d+)%", line))]
    assert len(reached) == 2 and all(0 < percent <= 100 for percent in reached)


def test_what_others_use_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three seconds of all cores, those that are not this process's own."""
    seconds = iter([10.0, 14.0])
    monkeypatch.setattr(bench.Others, "_now", lambda self: (t := next(seconds), 1.5 * t))
    with bench.Others() as others:
        assert others.told() == []
    assert others.cores == 1.5 and others.told() == ["  other processes used 1.5 cores meanwhile"]
    monkeypatch.undo()
    with bench.Others() as others:
        time.sleep(0.1)  # clocks of systems tick a hundred times a second
    assert others.cores is None or 0 <= others.cores < 2 * (os.cpu_count() or 1)


def test_a_missing_device_has_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert status("bench", "--device", "cuda:77") == 1
    told = capsys.readouterr()
    assert told.err.startswith("weft: device") and told.out == ""


def test_the_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    assert status("bench", "--help") == 0
    text = capsys.readouterr().out
    assert all(
        word in text
        for word in (
            "roofline",
            "reached",
            "numpy",
            "WEFT_NUM_THREADS",
            "--json",
            "--only",
            "exit status",
        )
    )


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    "case",
    [
        c if c.name != "LeNet step" else pytest.param(c, marks=pytest.mark.slow)
        for c in bench_cases.CASES
    ],
    ids=lambda case: case.name,
)
def test_numpy_computes_the_same(case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every case with a NumPy way, made smaller."""
    monkeypatch.setattr(bench_cases, "_random", lambda *shape, dtype="float32": small(shape, dtype))
    work = case.make("cpu")
    if work.numpy is None:
        assert work.function(*work.args) is not None
        return
    np.testing.assert_allclose(
        work.function(*work.args).numpy(), work.numpy(), rtol=1e-3, atol=1e-3
    )


def small(shape: tuple[int, ...], dtype: str) -> Any:
    lengths = [
        min(n, 4096 if len(shape) == 1 else 1024) if k == 0 else n for k, n in enumerate(shape)
    ]
    return np.random.default_rng(0).random([64 if n == 16384 else n for n in lengths]).astype(dtype)


@pytest.mark.slow
def test_a_training_case_trains() -> None:
    (case,) = (c for c in bench_cases.CASES if c.name == "LeNet step")
    work = case.make("cpu")
    losses = [work.function(*work.args).item() for _ in range(10)]
    assert losses[-1] < losses[0]


@needs_compiler
def test_a_case_runs_on_a_gpu() -> None:
    device()
    (case,) = (c for c in bench_cases.CASES if c.name == "matmul f64")
    work = case.make("cuda")
    assert all(t.device == "cuda:0" for t in work.args) and isinstance(work.args[0], wf.Tensor)


def test_a_row_without_a_prediction_has_gaps() -> None:
    assert [cell for cell in row(Result("n", "what", 1e-6)) if cell] == ["n", "1 us", "what"]
