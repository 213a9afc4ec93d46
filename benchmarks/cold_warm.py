"""What computations cost in a process that must compile them, and in a later one. In: a script, its
computations. Out: a report.

The script runs itself twice: the first process starts with an empty cache folder (cold), the second
with what the first left there (warm). Each prints the median and the 90th percentile of
milliseconds a computation, by the clock and by the processor time of the thread; the latter tells
what a busy machine hides.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

Computation = Callable[[], Any]


def measure(computations: Iterable[Computation]) -> None:
    """Runs them and prints what they took."""
    clock, processor = [], []
    for run in computations:
        started, used = time.perf_counter(), time.thread_time()
        run()
        processor.append(time.thread_time() - used)
        clock.append(time.perf_counter() - started)
    for name, seconds in (("clock", clock), ("processor", processor)):
        median, high = np.percentile(np.array(seconds) * 1e3, (50, 90))
        print(f"    {name:10s} median {median:6.2f} ms   90 % {high:6.2f} ms", flush=True)


def main(script: str, doc: str, what: str, default: int, here: Callable[[int], None]) -> None:
    """The script's command line: how many computations; `here` measures so many in this process."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument(what, nargs="?", type=int, default=default)
    parser.add_argument(
        "--here", action="store_true", help="measure in this process, with the cache as it is"
    )
    given = parser.parse_args()
    count = getattr(given, what)
    if given.here:
        here(count)
        return
    with tempfile.TemporaryDirectory() as folder:
        for state in ("cold", "warm"):
            print(f"{state} cache, {count} {what}", flush=True)
            command = [sys.executable, script, str(count), "--here"]
            subprocess.run(command, env=os.environ | {"WEFT_CACHE_DIR": folder}, check=True)
