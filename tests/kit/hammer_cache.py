"""Eight processes on one small disk cache, killed, cleared and damaged. In: seconds, a seed. Out: a
wrong result, or none.

    python tests/kit/hammer_cache.py 300 7

Each process computes random small graphs, many known to all and many its own, forgets its programs
now and then so that the disk is asked, and compares every result with NumPy's, bit for bit.
Meanwhile pairs of them are killed with SIGKILL and started again, packs are cut or a byte of them
is changed, and once everything is cleared. The folder must stay within its bound.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import weft as wf
from weft import options
from weft.codegen.llvm import build  # noqa: F401  what each worker would import
from weft.compiler.backends import cpu  # noqa: F401
from weft.frontend.lazy import program_table
from weft.runtime import cache, threads  # noqa: F401
from weft.runtime.code import known

WORKERS = 8
LIMIT = 60_000
BOUND = LIMIT * (7 + WORKERS) // 8  # as runtime/cache.py: DiskCache promises
SHARED = 60  # graphs that every process computes
LIFE = 300  # graphs, after which a process ends by itself
COUNTERS = struct.Struct(
    "4q"
)  # of a worker: graphs checked, entries asked for, entries found, bytes put
WRONG = 3  # the exit status of a worker with a wrong result


def graph(seed: int) -> tuple[Any, np.ndarray]:
    """A small expression and its value; every op of it is exact or correctly rounded, so that the
    bits are NumPy's."""
    rng = random.Random(seed)
    rows, columns = rng.randint(1, 9), rng.randint(1, 9)
    numbers = np.random.default_rng(seed)
    wanted = numbers.integers(-8, 9, (rows, columns)).astype(np.float32)
    value = wf.tensor(wanted)
    if rng.random() < 0.2:
        right = numbers.integers(-8, 9, (columns, rng.randint(1, 9))).astype(np.float32)
        value, wanted = value @ wf.tensor(right), wanted @ right
    for _ in range(rng.randint(1, 6)):
        c = np.float32(rng.randint(2, 9))
        which = rng.randrange(6)
        if which == 5:
            value, wanted = (
                wf.where(value > float(c), -value, value + 1.0),
                np.where(wanted > c, -wanted, wanted + np.float32(1)),
            )
        else:
            value, wanted = STEPS[which](value, float(c)), STEPS[which](wanted, c)
    if rng.random() < 0.3:
        value, wanted = value.max(axis=1), wanted.max(axis=1)
    return value, wanted


STEPS = (
    lambda x, c: x + c,
    lambda x, c: x * c - x,
    lambda x, c: abs(x) / c,
    lambda x, c: c - x * x,
    lambda x, c: abs(x - c) ** 0.5,
)


def check(seed: int) -> bool:
    with np.errstate(over="ignore"):  # repeated squares reach infinity
        value, wanted = graph(seed)
    return value.numpy().tobytes() == np.ascontiguousarray(wanted, np.float32).tobytes()


def forget() -> None:
    """As in a new process: the next program comes from the disk or is built."""
    program_table._programs.clear()
    known.clear()


class Counting:
    """A cache that counts into shared memory."""

    def __init__(self, real: Any, counters: Any, at: int) -> None:
        self._put, self._get, self.folder = real.put, real.get, real.folder
        self._counters, self._at = counters, at
        self.counts = list(COUNTERS.unpack_from(counters, at))

    def get(self, key: str) -> bytes | None:
        found = self._get(key)
        self.counts[1] += 1
        self.counts[2] += found is not None
        return found

    def put(self, key: str, data: bytes, kind: str) -> None:
        self._put(key, data, kind)
        self.counts[3] += len(data)

    def checked(self) -> None:
        self.counts[0] += 1
        COUNTERS.pack_into(self._counters, self._at, *self.counts)


def work(folder: Path, counters: Any, at: int, seed: int, graphs: int = LIFE) -> int:
    """What a worker does; its exit status."""
    options.update(cache_dir=folder, cache_limit=LIMIT, num_threads=1 + seed % 2)
    cache.RESCAN_SECONDS = 0.02
    rng = random.Random(seed)
    counting = Counting(cache.default(), counters, at)
    cache.default = lambda: counting  # type: ignore[assignment,return-value]
    for _ in range(graphs):
        number = rng.randrange(SHARED) if rng.random() < 0.6 else rng.randrange(1 << 40)
        if not check(number):
            print(f"hammer: graph {number} is wrong", file=sys.stderr, flush=True)
            return WRONG
        counting.checked()
        if rng.random() < 0.1:
            forget()
    return 0


class Hammer:
    """The workers and what is done to them."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.rng = folder, random.Random(seed)
        self.counters = mmap.mmap(-1, COUNTERS.size * (WORKERS + 1))
        self.workers: dict[int, int] = {}  # by process: its place
        self.events: Counter[str] = Counter()
        self.largest = self.checked = 0

    def start(self, place: int, graphs: int = LIFE) -> None:
        seed, process = self.rng.randrange(1 << 30), os.fork()
        if not process:
            status = 1
            try:
                status = work(self.folder, self.counters, place * COUNTERS.size, seed, graphs)
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                sys.stderr.flush()
                os._exit(status)
        self.workers[process] = place

    def ended(self, process: int, status: int) -> int:
        """The place of a worker that is no more. Raises AssertionError if it did not end well."""
        code = os.waitstatus_to_exitcode(status)
        assert code in (0, -signal.SIGKILL), f"a process ended with {code}"
        self.events["killed" if code else "ended"] += 1
        return self.workers.pop(process)

    def kill(self, processes: list[int]) -> list[int]:
        for process in processes:
            os.kill(process, signal.SIGKILL)
        return [self.ended(process, os.waitpid(process, 0)[1]) for process in processes]

    def packs(self) -> list[Path]:
        return (
            [path for path in self.folder.iterdir() if path.suffix == ".pack"]
            if self.folder.exists()
            else []
        )

    def measure(self) -> None:
        size = 0
        for path in self.packs():
            with contextlib.suppress(FileNotFoundError):  # dropped just now
                size += path.stat().st_size
        self.largest = max(self.largest, size)
        assert size <= BOUND, f"the folder has {size} bytes"

    def damage(self) -> None:
        """Cuts a pack or changes a byte of it."""
        try:
            with open(self.rng.choice(self.packs()), "r+b") as file:
                at = self.rng.randrange(os.fstat(file.fileno()).st_size)
                if self.rng.random() < 0.3:
                    file.truncate(at)
                else:
                    file.seek(at)
                    file.write(self.rng.randbytes(1))
            self.events["damaged"] += 1
        except (
            FileNotFoundError,
            IndexError,
            ValueError,
        ):  # it was dropped, there is none, it is empty
            pass

    def clear(self) -> None:
        environment = os.environ | {
            "WEFT_CACHE_DIR": str(self.folder),
            "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        }
        subprocess.run(
            [sys.executable, "-m", "weft", "cache", "--clear"],
            env=environment,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        self.events["cleared"] += 1

    def goes_on(self) -> bool:
        """Whether a graph for each worker was checked since this was last so; else a busy machine
        would only start workers."""
        checked = self.totals()[0]
        if checked < self.checked + WORKERS:
            return False
        self.checked = checked
        return True

    def run(self, seconds: float) -> None:
        """Everything at once; at the end no worker is left."""
        begin = time.monotonic()
        for place in range(WORKERS):
            self.start(place)
        try:
            while (now := time.monotonic() - begin) < seconds:
                time.sleep(self.rng.random() * 0.1)
                self.measure()
                places = []
                while (found := os.waitpid(-1, os.WNOHANG))[0]:
                    places.append(self.ended(*found))
                if self.rng.random() < 0.15 and self.goes_on():
                    places += self.kill(
                        self.rng.sample(list(self.workers), min(2, len(self.workers)))
                    )
                if self.rng.random() < 0.3:
                    self.damage()
                if now > seconds / 2 and not self.events["cleared"]:
                    self.clear()
                for place in places:
                    self.start(place)
        finally:
            self.kill(list(self.workers))

    def totals(self) -> list[int]:
        """Graphs checked, entries asked for, entries found, bytes put, by all workers."""
        rows = [
            COUNTERS.unpack_from(self.counters, place * COUNTERS.size) for place in range(WORKERS)
        ]
        return list(map(sum, zip(*rows, strict=True)))

    def has_seen_enough(self) -> bool:
        """Whether everything has happened that shall be survived; bytes put beyond the bound show
        that packs were dropped."""
        graphs, _, found, put = self.totals()
        happened = (
            self.events["killed"] >= 2 * WORKERS
            and self.events["damaged"]
            and self.events["cleared"]
        )
        return bool(happened and graphs >= 100 and found >= 100 and put > 2 * BOUND)

    def afterwards(self) -> int:
        """How many entries a fresh process finds."""
        self.start(WORKERS, graphs=80)
        (process,) = self.workers
        self.ended(process, os.waitpid(process, 0)[1])
        return int(COUNTERS.unpack_from(self.counters, WORKERS * COUNTERS.size)[2])


def main(seconds: float = 60.0, seed: int = 0) -> None:
    with tempfile.TemporaryDirectory() as folder:
        hammer = Hammer(Path(folder) / "cache", seed)
        while not hammer.has_seen_enough():  # on a busy machine it takes longer
            hammer.run(seconds)
        graphs, asked, found, put = hammer.totals()
        print(
            f"{graphs} graphs, {found} of {asked} entries found, {put} bytes put, folder at most"
            f" {hammer.largest} of {BOUND}"
        )
        print(", ".join(f"{count} {what}" for what, count in hammer.events.items()))
        left = hammer.afterwards()
        print(f"a fresh process finds {left} entries")
        assert left > 0


if __name__ == "__main__":
    main(*(kind(text) for kind, text in zip((float, int), sys.argv[1:], strict=False)))
