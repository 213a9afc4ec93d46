"""fork() while other threads compute, compile and fetch: the child computes what it likes, and the
parent goes on."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import weft as wf
from commandkit import python, script
from effort import rarely
from weft import locks
from weft.nn.data import DataLoader

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")

SECONDS = 30  # after which a child counts as hanging
_fresh = count(5)


def computes() -> None:
    wf.arange(200_000.0).exp().sum().item()


def compiles() -> None:
    n = next(_fresh)
    (wf.ones(n, n + 1) @ wf.ones(n + 1, 2) + n).tanh().sum().item()


def draws_and_updates() -> None:
    p = wf.rand(7, requires_grad=True)
    (p * p).sum().backward()
    p.assign(p - 0.1)
    wf.realize()


class Slow:
    def __len__(self) -> int:
        return 16

    def __getitem__(self, i: int) -> np.ndarray:
        time.sleep(1e-4)
        return np.full(3, i)


def fetches() -> None:
    for batch in DataLoader(Slow(), 2, prefetch=2):
        assert batch.sum().item() >= 0


@contextmanager
def working(*jobs: Callable[[], None]) -> Iterator[None]:
    """Each in a thread, again and again."""
    over, failures = threading.Event(), []

    def work(job: Callable[[], None]) -> None:
        try:
            while not over.is_set():
                job()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert failures == []


def child(k: int) -> bool:
    """What a child does: a program that its parent has, and one that nobody has."""
    known = wf.arange(200_000.0, dtype=wf.float64).sum().item() == 19_999_900_000
    p = wf.ones(k % 50 + 1, requires_grad=True)
    (p * (k + 0.5)).sum().backward()
    batches = sum(1 for _ in DataLoader(Slow(), 8, prefetch=2))
    return known and p.grad is not None and set(p.grad.tolist()) == {k + 0.5} and batches == 2


def status_of_fork(k: int) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # of a process with threads, which is what is tried
        pid = os.fork()
    if pid:
        return os.waitpid(pid, 0)[1]
    status = 9
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SECONDS)
        status = 0 if child(k) else 1
    finally:
        os._exit(status)


@pytest.mark.parametrize("times", [3, *rarely(1000)])
def test_a_child_works_whatever_other_threads_do(times: int) -> None:
    wf.arange(200_000.0, dtype=wf.float64).sum().item()
    with working(computes, compiles, draws_and_updates, fetches):
        assert [status_of_fork(k) for k in range(times)] == [0] * times


def test_every_lock_is_free_in_the_child() -> None:
    found = [lock for rank in locks.RANKS for lock in list(locks._made[rank])]
    assert len(found) >= 8

    def all_free() -> bool:
        free = []

        def take() -> None:
            for lock in found:
                if lock.acquire(blocking=False):
                    lock.release()
                    free.append(lock)

        other = threading.Thread(target=take)
        other.start()
        other.join()
        return free == found

    pid = os.fork()
    if not pid:
        status = 1
        try:
            status = 0 if all_free() else 1
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0 and all_free()


def test_locks_are_made_in_one_place() -> None:
    package = Path(wf.__file__).parent
    rooms = (
        "frontend",
        "compiler",
        "ir",
        "codegen",
        "runtime",
        "nn",
        "inspection",
        "array_api",
        "commands",
    )
    files = [
        package / "options.py",
        *(path for room in rooms for path in (package / room).rglob("*.py")),
    ]
    makers = {path.name for path in files if re.search(r"\bR?Lock\(\)", path.read_text())}
    assert makers <= {
        "prefetch.py"
    }  # of a batch that is being made, by a thread that a child has not


POOLS = """
import multiprocessing, sys, threading
import weft as wf

def total(n):
    return (wf.arange(float(n)) * 2).sum().item()

if __name__ == "__main__":
    over = threading.Event()
    def work():
        while not over.is_set():
            total(300_000)
    busy = threading.Thread(target=work)
    busy.start()
    for method in sys.argv[1:]:
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(method, pool.map(total, [3, 5, 300]))
    over.set()
    busy.join()
"""


@pytest.mark.slow
@pytest.mark.parametrize("methods", [["fork"], *rarely(["forkserver", "spawn"])], ids=str)
def test_pools_of_processes_beside_a_thread_that_computes(
    tmp_path: Path, methods: list[str]
) -> None:
    done = python(tmp_path, script(tmp_path, POOLS), *methods)
    assert done.stdout.splitlines() == [f"{method} [6.0, 20.0, 89700.0]" for method in methods], (
        done.stderr
    )


def test_a_signal_around_fork_is_raised_behind_it_and_no_lock_stays() -> None:
    class Arrived(Exception):
        pass

    def arrive(*_: object) -> None:
        raise Arrived

    taken = locks.new("timing")  # the last but one, and a signal comes as it is taken
    before = signal.signal(signal.SIGALRM, arrive)
    acquire = type(taken).acquire

    class Loud:
        def acquire(self) -> None:
            acquire(taken)
            signal.raise_signal(signal.SIGALRM)

        def release(self) -> None:
            taken.release()

    loud = Loud()
    locks._made["timing"].add(loud)
    try:
        with pytest.raises(Arrived):
            child = os.fork()
            if not child:
                os._exit(int(bool(locks._held) or taken._is_owned()))
    finally:
        signal.signal(signal.SIGALRM, before)
        locks._made["timing"].discard(loud)
    assert os.waitpid(-1, 0)[1] == 0  # the child has no locks, and the signal was not its own
    assert not locks._held and not taken._is_owned()
