"""One process of a soak. In: a generator, a range of seeds. Out: a line when a seed begins and one
when it ends.

`python tests/kit/soak_worker.py graphs 1234` runs one seed with its traceback; a third argument
says how many.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import json
import os
import resource
import sys
import traceback
from pathlib import Path
from typing import Any

ADDRESS_SPACE = 24 << 30  # what would take more fails, and must say so
PARTS = 4  # of a traceback, which says where


def resident() -> int:
    """Bytes of memory that this process has."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def told(error: BaseException) -> str:
    """A fault in a line: what it is, and where it comes from."""
    frames = reversed(traceback.extract_tb(error.__traceback__)[-PARTS:])
    where = " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in frames)
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]} ({where})"


def verdict(generator: Any, seed: int) -> tuple[str, str]:
    """Whether a seed is right, unsuitable or wrong, and what of it is."""
    try:
        return ("right" if generator.check(seed) else "unsuitable"), ""
    except (
        BaseException
    ) as error:  # whatever escapes is a fault of this seed, and the next one is run
        return "wrong", told(error)


def follow(generator: Any, first: int, count: int, memory: int) -> None:
    """Runs seeds until all are done or the process has grown too large, and writes what comes of
    them to what was stdout."""
    messages = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what programs print is nobody's message
    for seed in range(first, first + count):
        messages.write(json.dumps(["begun", seed]) + "\n")
        messages.write(json.dumps(["ended", seed, *verdict(generator, seed)]) + "\n")
        if resident() > memory:
            messages.write(json.dumps(["grown", seed]) + "\n")
            return


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs seeds of a generator of random programs.")
    parser.add_argument("generator")
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int, nargs="?", default=1)
    parser.add_argument("--module", default="soak_generators", help="where the generators are")
    parser.add_argument(
        "--follow",
        type=int,
        metavar="BYTES",
        help="writes messages; ends when it has so much memory",
    )
    given = parser.parse_args()
    generator = next(
        g for g in importlib.import_module(given.module).GENERATORS if g.name == given.generator
    )
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(
        resource.RLIMIT_AS, (ADDRESS_SPACE, resource.getrlimit(resource.RLIMIT_AS)[1])
    )
    generator.prepare()
    if given.follow:
        follow(generator, given.first, given.count, given.follow)
    else:
        for seed in range(given.first, given.first + given.count):
            print(seed, "right" if generator.check(seed) else "unsuitable", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
