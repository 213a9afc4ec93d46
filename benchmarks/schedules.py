"""Every way to run the kernels of real networks, timed. Out: a record for this processor, and where
the compiler's choice is not the fastest.

    python benchmarks/schedules.py                      # all cases of tests/kit/real_kernels.py
    python benchmarks/schedules.py --only "gpt,lstm"    # those whose names begin so, unrecorded

The record is tests/codegen/recorded/CPU.json: seconds of each way, with the threads of this
machine, the least of several rounds in turns. tests/codegen/test_recorded_schedules.py holds what
the compiler chooses for that processor beside it, on any machine. Record on a quiet machine, and
again after estimates of schedules or the schedules themselves have changed.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from math import inf
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "kit"))

import real_kernels as real
from weft.codegen.cpu.settings import Settings
from weft.codegen.llvm.target import Target, host
from weft.compiler.backends.cpu import CpuBackend
from weft.inspection.audit.alone import seconds_of
from weft.wording import duration

WORTH_A_LINE = 1.05  # times the fastest way
DOUBTFUL, TRIES = 1.1, 3  # times the fastest way: measured again, since others use the machine, too


def measured(name: str, target: Target) -> dict[str, float]:
    """Seconds of each way to run a case, the chosen one first."""
    kernel, strides = real.heaviest(name, target)
    ways = real.ways(name, target)
    backend = CpuBackend(Settings(target))
    least = [inf] * len(ways)
    for _ in range(TRIES):
        seconds = seconds_of(kernel, [way.lowered for way in ways], strides, backend)
        least = [*map(min, least, seconds)]
        if least[0] <= DOUBTFUL * min(least):
            break
    return {real.key(w): s for w, s in zip(ways, least, strict=True)}


def main() -> None:
    """Measures, prints and records."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", default="", help="beginnings of names of cases, with commas")
    args = parser.parse_args()
    target, wanted = host(), tuple(args.only.split(","))
    names = [name for name in real.CASES if name.startswith(wanted)]
    record = {}
    for number, name in enumerate(names, 1):
        record[name] = times = measured(name, target)
        chosen, best = next(iter(times)), min(times, key=lambda way: times[way])
        ratio = times[chosen] / times[best]
        other = f"  {ratio:.2f} of {best}" if ratio > WORTH_A_LINE else ""
        print(
            f"{number:3}/{len(names)}  {name:22} {duration(times[chosen]):>8}  {chosen}{other}",
            flush=True,
        )
    if not args.only:
        path = real.RECORDS / f"{target.cpu}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"target": asdict(target), "seconds": record}, indent=1) + "\n")
        print(f"recorded in {path}")


if __name__ == "__main__":
    main()
