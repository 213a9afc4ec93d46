"""Machines that have little: no more threads, little memory. Right results, or one clear error."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import numpy as np
import pytest
import weft as wf
from commandkit import python
from weft import options
from weft.frontend import program_table
from weft.runtime.code import known


def test_without_another_thread_all_is_compiled_by_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(program_table, "_programs", {})
    known.clear()
    with options.override(cache_dir=None):
        x = wf.arange(12.0).reshape(3, 4)
        found = (((x @ x.T).exp().sum(axis=0) + 1).log().sum() * 0.5).item()  # several kernels
    a = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    with np.errstate(over="ignore"):
        assert found == pytest.approx((np.log(np.exp(a @ a.T).sum(axis=0) + 1)).sum() * 0.5, rel=1e-5)


LITTLE = """
import resource, sys
import weft as wf
from commandkit import python
from weft.runtime import system
wf.ones(3).exp().sum().item()
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
try:
    wf.ones(1 << 31).exp().numpy()
except MemoryError as error:
    print(error)
print(wf.ones(3).exp().sum().item() > 8, system.left() < 6 << 30)
"""


def test_an_address_space_that_is_limited_is_what_is_left(tmp_path: Path) -> None:
    pytest.importorskip("resource")
    done = python(tmp_path, "-c", LITTLE)
    said, works = done.stdout.splitlines()
    assert works == "True True" and re.search(r"8\.0 GiB of memory are needed, [0-5]\.\d GiB are left", said), done.stderr
