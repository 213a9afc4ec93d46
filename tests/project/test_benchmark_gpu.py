"""The GPU benchmark runs, on the CPU and in small: every row is checked and timed, what fails is
said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from cudakit import device, needs_compiler
from project_root import ROOT

FOLDER = ROOT / "benchmarks"
SCRIPT = FOLDER / "gpu.py"
QUICK = ("--device", "cpu", "--small", "--peers", "", "--rounds", "1")


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))


@pytest.mark.slow
def test_every_row_is_checked_timed_and_written(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, SCRIPT, *QUICK, "--out", tmp_path],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    results = json.loads((tmp_path / "results.json").read_text())
    groups = [row["group"] for row in results["rows"]]
    assert [groups.count(group) for group in ("memory", "products", "attention", "training")] == [
        9,
        6,
        4,
        4,
    ]
    assert all(row["seconds"]["weft"] > 0 and not row["failed"] for row in results["rows"])
    table = (tmp_path / "table.md").read_text()
    assert table.count("\n| ") == len(groups) + 4 and "Not there" not in table


def test_without_time_nothing_is_begun_and_all_is_said(
    scripts: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import gpu

    arguments = [*QUICK, "--only", "products", "--minutes", "0"]
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *arguments])
    gpu.main()
    assert capsys.readouterr().out.count("all: no time left") == 6


def test_a_wrong_result_is_not_timed(scripts: None, monkeypatch: pytest.MonkeyPatch) -> None:
    import gpu
    import gpu_cases
    from gpu_systems import Weft

    monkeypatch.setattr(Weft, "get", lambda self, x: 1.001 * x.numpy())
    bench = gpu.Bench("cpu", [], 1, float("inf"))
    row = bench.measure(gpu_cases.memory_cases(True)[0])
    assert row["seconds"] == {} and row["failed"]["weft"].startswith("ArithmeticError: off by ")


@pytest.mark.slow
def test_without_a_gpu_the_script_says_what_is_missing() -> None:
    hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    run = subprocess.run(
        [sys.executable, SCRIPT, "--small"],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env=hidden,
    )
    assert run.returncode == 1 and run.stderr.startswith("there is nothing to measure on: ")


@pytest.mark.slow
@needs_compiler
def test_on_a_device_times_are_between_its_events(
    scripts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    import gpu
    import gpu_cases
    import gpu_training

    device().launches = 0
    monkeypatch.setattr(gpu, "SLICE", 1e-9)
    bench = gpu.Bench("cuda", [], 1, float("inf"))
    cases = [
        gpu_cases.memory_cases(True)[1],
        gpu_cases.product_cases(True)[0],
        gpu_training.trainings(True)[0],
    ]
    rows = [bench.measure(case) for case in cases]
    assert [row["failed"] for row in rows] == [{}] * 3 and all(
        row["seconds"]["weft"] > 0 for row in rows
    )
    assert device().launches > 100 and gpu.copy_speed("cuda", True) > 0


@needs_compiler
@pytest.mark.slow
def test_a_network_learns_on_a_device_as_on_the_cpu_in_bfloat16(
    scripts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    import gpu_training
    from gpu_systems import Weft

    device()
    monkeypatch.setattr(gpu_training, "STEPS", 3)
    (prepared,) = (t.prepare() for t in gpu_training.trainings(True) if t.low)
    losses = []
    for where in ("cpu", "cuda"):
        prepared.start(Weft(where))
        losses.append(prepared.losses.pop("weft"))
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


def test_a_peer_that_is_not_there_is_said(scripts: None) -> None:
    import gpu

    assert "computes on GPUs alone" in gpu.Bench("cpu", ["cupy"], 1, 0.0).absent["cupy"]


@pytest.mark.slow
def test_missing_packages_come_from_a_folder_of_wheels(
    scripts: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import gpu

    wheels, into = tmp_path / "wheels", tmp_path / "into"
    wheels.mkdir()
    with zipfile.ZipFile(wheels / "weft_try-1.0-py3-none-any.whl", "w") as wheel:
        about = "weft_try-1.0.dist-info"
        wheel.writestr("weft_try.py", "VALUE = 7\n")
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: weft-try\nVersion: 1.0\n")
        wheel.writestr(
            f"{about}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr(
            f"{about}/RECORD",
            f"weft_try.py,,\n{about}/METADATA,,\n{about}/WHEEL,,\n{about}/RECORD,,\n",
        )
    (wheels / "numpy-0.0-py3-none-any.whl").touch()  # there already, so it is not even opened
    monkeypatch.setattr(sys, "path", [*sys.path])
    gpu.install(wheels, str(into))
    import weft_try

    assert weft_try.VALUE == 7
