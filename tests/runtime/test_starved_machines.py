"""Machines that have little: no more threads, little memory. Right results, or one clear error."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import numpy as np
import pytest
import weft as wf
from commandkit import python
from effort import rarely
from weft import options
from weft.frontend.lazy import program_table
from weft.runtime.code import known


def test_without_another_thread_all_is_compiled_by_this_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(program_table, "_programs", program_table.Programs())
    known.clear()
    with options.override(cache_dir=None):
        x = wf.arange(12.0).reshape(3, 4)
        found = (((x @ x.T).exp().sum(axis=0) + 1).log().sum() * 0.5).item()  # several kernels
    a = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    with np.errstate(over="ignore"):
        assert found == pytest.approx(
            (np.log(np.exp(a @ a.T).sum(axis=0) + 1)).sum() * 0.5, rel=1e-5
        )


LITTLE = """
import resource, sys
import weft as wf
from commandkit import python
from weft import system
wf.ones(3).exp().sum().item()
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
try:
    wf.ones(1 << 31).exp().numpy()
except MemoryError as error:
    print(error)
print(wf.ones(3).exp().sum().item() > 8, system.left() < 6 << 30)
"""


NO_ROOM = """
import builtins, io, os, resource, sys
import numpy as np
import weft as wf

def used():
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return int(status["VmSize"].split()[0]) << 10

def refuse(path, *rest, plain=open, **more):
    if str(path).startswith(("/proc", "/sys")):
        raise FileNotFoundError(path)
    return plain(path, *rest, **more)

def compute():
    a = np.arange(12.0, dtype=np.float32).reshape(3, 4) / 20
    x = wf.tensor(a)
    found = [(x @ x.T).exp().sum(axis=0).log().sum().item(), x.softmax(1).sum().item(),
        (x * 2).argsort(1).sum().item()]
    assert np.allclose(found, [np.log(np.exp(a @ a.T).sum(0)).sum(), 3, 18])

for megabytes in map(int, sys.argv[2:]):
    if not os.fork():
        limit = used() + megabytes * 10**6
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        if "unseen" in sys.argv:
            io.open = builtins.open = refuse
        try:
            compute()
            print(megabytes, "right", flush=True)
        except MemoryError as error:
            print(megabytes, error, flush=True)
        os._exit(0)
    print(os.wait()[1], flush=True)
"""


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("between", [["220"], *rarely(["170", "180", "260", "300"])])
@pytest.mark.parametrize("proc", ["seen", "unseen"])
def test_a_small_address_space_gives_right_results_or_a_clear_error(
    proc: str, between: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("resource")
    monkeypatch.setenv("WEFT_CACHE_DIR", "none")
    done = python(tmp_path, "-c", NO_ROOM, proc, "100", *between, "600")
    lines = done.stdout.splitlines()
    said, statuses = dict(line.split(" ", 1) for line in lines[::2]), lines[1::2]
    assert statuses == ["0"] * (2 + len(between)), (
        done.stdout + done.stderr
    )  # LLVM ends a process that has no memory for it
    rest = r"\d+\.\d MiB are left" if proc == "seen" else "there is not as much"
    needs = (
        rf"(the compiler, LLVM,|compiling a kernel) needs \d+\.\d MiB of address space, {rest}:"
        r" `ulimit -v` allows no more"
    )
    assert said["100"] != "right" == said["600"]
    assert all(text == "right" or re.fullmatch(needs, text) for text in said.values()), said


@pytest.mark.slow
def test_an_address_space_that_is_limited_is_what_is_left(tmp_path: Path) -> None:
    pytest.importorskip("resource")
    done = python(tmp_path, "-c", LITTLE)
    said, works = done.stdout.splitlines()
    assert works == "True True" and re.search(
        r"8\.0 GiB of memory are needed, [0-5]\.\d GiB are left", said
    ), done.stderr
