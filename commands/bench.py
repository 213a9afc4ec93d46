"""`python -m weft bench`. In: a device. Out: what this machine can do at most, and how near workloads come, as text or JSON."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from ..errors import DeviceError
from ..ir.wording import amount, binary, duration, plural
from .status import DONE, FAILED, Commands, described, fail

if TYPE_CHECKING:
    from ..inspection.measured.bench_cases import Case
    from ..inspection.measured.machine import Machine

ABOUT = """\
Measures what this machine can do at most, then a dozen workloads, each beside the time that the roofline predicts: the
larger of what its bytes take to and from memory and what its arithmetic takes. It needs less than 20 seconds.
"""

END = """\
how to read it:
  time       of one warm run of the whole program, without Python
  roofline   the least time by the bytes that it must move and the arithmetic that it must do on this machine
  reached    roofline / time. Products near 100 % are as fast as the processor; exp counts as the additions and
             multiplications of its polynomial, and a program of several kernels pays for each of them
  numpy      the time of the same by NumPy, where it has a direct equivalent

The figures of the machine are kept for wf.explain and wf.profile. They are right if nothing else runs meanwhile.

examples:
  python -m weft bench
  python -m weft bench --only matmul,softmax
  WEFT_NUM_THREADS=1 python -m weft bench      one thread, against the limits of one thread
  python -m weft bench --json > before.json

exit status: 0; 1 if the device is missing; 2 for wrong usage.
"""
SECONDS = 0.1  # that NumPy's way, or a tiny call, is repeated for
TINY = "tiny call"


@dataclass(frozen=True)
class Result:
    """What one workload took. `seconds` and `numpy` of a run; `predicted` by the roofline, `bound` of its slowest kernel."""

    name: str
    about: str
    seconds: float
    predicted: float | None = None
    bound: str | None = None
    kernels: int | None = None
    numpy: float | None = None

    @property
    def reached(self) -> float | None:
        """How near it came to the roofline."""
        return None if self.predicted is None or not self.seconds else self.predicted / self.seconds


def add(commands: Commands) -> None:
    """Declares the arguments."""
    found = described(commands, "bench", "measure this machine, and a dozen workloads beside its limits", ABOUT, END)
    found.add_argument("--device", default="cpu", help="cpu, or cuda:0 (default: cpu)")
    found.add_argument("--only", metavar="NAMES", help="workloads whose names contain one of these, divided by commas")
    found.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """The exit status."""
    from ..inspection.measured.bench_cases import CASES
    from ..inspection.measured.machine import machine

    wanted = args.only.lower().split(",") if args.only else [""]
    cases = [c for c in CASES if any(word in c.name.lower() for word in wanted)]
    if not cases and not any(word in TINY for word in wanted):
        return fail(f"no workload is called {args.only}: there are {', '.join([*(c.name for c in CASES), TINY])}", FAILED + 1)
    try:
        figures = machine(args.device, again=True)
    except DeviceError as error:
        return fail(error, FAILED)
    tell: Callable[[str], None] = (lambda text: None) if args.json else print
    tell(f"{about(figures)}\n\n{HEAD}")
    results = []
    for case in cases:
        results.append(measured(case, args.device))
        tell(row(results[-1]))
        sys.stdout.flush()
    if args.device == "cpu" and any(word in TINY for word in wanted):
        results.append(tiny_call())
        tell(row(results[-1]))
    if args.json:
        found = [asdict(r) | {"reached": r.reached} for r in results]
        print(json.dumps({"machine": figures.to_dict(), "device": args.device, "workloads": found}, indent=1))
    return DONE


# ---------------------------------------------------------------- measuring


def measured(case: Case, device: str) -> Result:
    """The Result of a case."""
    from ..inspection.profile import profile

    work = case.make(device)
    found = profile(work.function, *work.args)
    slowest = max(found.kernels, key=lambda k: k.measured or 0.0)
    by_numpy = None if work.numpy is None or device != "cpu" else seconds_of(work.numpy)
    return Result(case.name, case.about, found.seconds, found.report.predicted, slowest.bound, len(found.kernels), by_numpy)


def tiny_call() -> Result:
    """A call from Python, with all that Python adds."""
    from ..inspection.measured.bench_cases import tiny

    ours, by_numpy = tiny()
    return Result(TINY, "8 numbers, from Python", seconds_of(ours), numpy=seconds_of(by_numpy))


def seconds_of(call: Callable[[], Any]) -> float:
    """Seconds of one call: the median of rounds of at least a tenth of a millisecond."""
    call()
    start = time.perf_counter()
    call()
    count = max(1, int(1e-4 / max(time.perf_counter() - start, 1e-8)))
    found: list[float] = []
    end = time.perf_counter() + SECONDS
    while len(found) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(count):
            call()
        found.append((time.perf_counter() - start) / count)
    return median(found)


# ---------------------------------------------------------------- text


HEAD = f"{'workload':<13}{'time':>9}  {'roofline':>9}  {'reached':>7}  {'bound by':<8}  {'kernels':>7}  {'numpy':>9}  what"


def about(m: Machine) -> str:
    """The figures of a machine."""
    rates = [("memory", m.bandwidth), *((f"cache of {binary(size)}", rate) for size, rate in reversed(_caches(m)))]
    lines = [f"{m.name}, {plural(m.threads, 'thread')}"]
    lines += [f"  {name:<20}{amount(rate)}B/s" for name, rate in rates]
    lines += [f"  {name:<20}{amount(rate)}flop/s" for name, rate in m.flops.items()]
    return "\n".join([*lines, f"  {'a kernel, at least':<20}{duration(m.launch)}"])


def _caches(m: Machine) -> list[tuple[int, float]]:
    return [*m.inner, (m.cache_bytes, m.cache_bandwidth)]


def row(r: Result) -> str:
    """A line of the table."""
    reached = "" if r.reached is None else f"{r.reached:.0%}"
    kernels = "" if r.kernels is None else str(r.kernels)
    cells = f"{r.name:<13}{duration(r.seconds):>9}  {duration(r.predicted):>9}  {reached:>7}  {r.bound or '':<8}  {kernels:>7}"
    return f"{cells}  {duration(r.numpy):>9}  {r.about}"
