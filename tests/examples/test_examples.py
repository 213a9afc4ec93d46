"""Every example starts, explains itself, and is mentioned where users look."""

from __future__ import annotations

import importlib
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cudakit import device, needs_compiler
from project_root import ROOT
from stripes import stripes
from weft import options

EXAMPLES = sorted(
    p for p in (ROOT / "examples").glob("*.py") if p.stem not in ("common", "progress")
)  # which they import


def run(script: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(p for p in sys.path if p)
    env = {**os.environ, "PYTHONPATH": path, **environment}
    command = [sys.executable, str(script), *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, env=env, timeout=300, check=False
    )


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda p: p.stem)
def test_help(
    script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [str(script), "--help"])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(script), run_name="__main__")
    assert not end.value.code and "usage:" in capsys.readouterr().out


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda p: p.stem)
def test_readme_names_it(script: Path) -> None:
    assert f"examples/{script.name}" in (ROOT / "README.md").read_text()


SNIPPETS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)


def test_the_examples_of_the_readme_run_one_after_the_other(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names: dict[str, Any] = {}
    for code in (code for code in SNIPPETS if "cuda" not in code):
        exec(compile(code, "README.md", "exec"), names)
    np.testing.assert_allclose(names["w"].numpy(), 1, atol=1e-3)
    assert float(capsys.readouterr().out.splitlines()[-1]) < 1e-5
    assert np.mean(names["found"].numpy() == names["kinds"].numpy()) > 0.9
    softmax = names["scores"].softmax(axis=1).numpy()
    np.testing.assert_allclose(names["gradient"].numpy(), softmax, atol=1e-6)


@pytest.mark.slow
@needs_compiler
def test_the_example_of_the_readme_runs_on_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    device()
    (code,) = (code for code in SNIPPETS if "cuda" in code)
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("cuda:0 (64, 10)\n")


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize(
    "name, arguments",
    [
        ("sine", ["--epochs", "1"]),
        pytest.param("expressions", [], marks=pytest.mark.slow),
        pytest.param("points", ["--epochs", "2", "--points", "50"], marks=pytest.mark.slow),
    ],
    ids=["sine", "expressions", "points"],
)
def test_trains_and_draws_on_a_gpu_unchanged(
    name: str, arguments: list[str], tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    device()
    with options.override(device="cuda"):
        importlib.import_module(name).main([*arguments, "--plot", str(tmp_path / "plot.png")])
    assert (tmp_path / "plot.png").stat().st_size > 1000


@pytest.mark.slow
def test_lenet_runs_as_a_script_without_a_terminal(tmp_path: Path) -> None:
    train, test = stripes(32, 0), stripes(20, 1)
    write_idx(tmp_path / "train-images-idx3-ubyte", train.images[:, 0])
    write_idx(tmp_path / "train-labels-idx1-ubyte", train.labels)
    write_idx(tmp_path / "t10k-images-idx3-ubyte", test.images[:, 0])
    write_idx(tmp_path / "t10k-labels-idx1-ubyte", test.labels)
    arguments = ["--epochs", "1", "--batch-size", "16"]
    done = run(ROOT / "examples" / "lenet.py", *arguments, WEFT_DATA_DIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("test accuracy: ") and done.stderr == ""


def write_idx(path: Path, array: object) -> None:
    import struct

    a = np.asarray(array, np.uint8)
    path.write_bytes(struct.pack(f">HBB{a.ndim}I", 0, 8, a.ndim, *a.shape) + a.tobytes())
