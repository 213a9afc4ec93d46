"""`python -m weft audit`: a script does what it does alone, and then its kernels are told by lost
time."""

from __future__ import annotations

from pathlib import Path

import pytest
from commandkit import python, script

STEP = """
import sys
import numpy as np
import weft as wf

@wf.jit
def step(x):
    return (x @ x.T).softmax(axis=1).sum(axis=0)

x = wf.tensor(np.ones((64, 400), np.float32))
for _ in range(3):
    step(x).realize()
print("done", sys.argv[1:])
"""


def test_kernels_of_the_slowest_programs_are_told_by_lost_time(tmp_path: Path) -> None:
    where = script(tmp_path, STEP)
    done = python(tmp_path, "-m", "weft", "audit", where, "--programs", "1", "--", "--epochs", "1")
    assert (done.stdout, done.returncode) == ("done ['--epochs', '1']\n", 0), done.stderr
    assert "beyond the roofline" in done.stderr and done.stderr.count("── ") == 1
    assert "matmul" in done.stderr and "packed" in done.stderr


@pytest.mark.slow
def test_wrong_use_is_told(tmp_path: Path) -> None:
    none = python(tmp_path, "-m", "weft", "audit", script(tmp_path, STEP), "--programs", "0")
    assert none.returncode == 2 and "--programs must be 1 or more, not 0" in none.stderr
    nowhere = python(tmp_path, "-m", "weft", "audit", "nowhere.py")
    assert nowhere.returncode == 2 and "nowhere.py" in nowhere.stderr
