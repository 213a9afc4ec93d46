"""`python -m weft bench`. In: a device. Out: its limits, and workloads beside them."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Self

from ..errors import DeviceError
from ..inspection.machine import surroundings
from ..inspection.tables import Column, Table
from ..wording import amount, duration, plural
from .status import DONE, FAILED, MISUSED, Commands, described, fail, working

if TYPE_CHECKING:
    from ..inspection.machine.bench_cases import Case
    from ..inspection.machine.roofline import Figure, Machine
    from ..inspection.profile.data import Profile

ABOUT = """\
Measures the limits of this machine, and a dozen workloads against the time that the roofline
predicts for each: the larger of the times for its memory traffic and its arithmetic. It takes about
half a minute; longer the first time, when the workloads are compiled, and on a busy machine.
"""

END = """\
how to read it:
  read, write  bytes/s of all threads from or to a cache or the memory; both: half of them read,
               half written
  rounds       how many of the rounds, made between the workloads, came within 5 % of the best,
               which shows how certain a limit is. Other work on the machine spoils rounds. "0 of
               12" says that a workload was faster than any round: its rate then becomes the limit
  time         of one warm run of the whole program, without Python
  roofline     the least time on this machine for the bytes it must move and the arithmetic it must
               do
  reached      roofline / time. Products near 100 % are as fast as the processor; exp counts as the
               additions and multiplications of its polynomial, and a program of several kernels
               pays for each of them
  numpy        the time of the same by NumPy, where it has a direct equivalent

The limits are kept for wf.explain, wf.profile and reports; each bench adds its rounds to them.
`python -m weft devices --measure` discards them and measures again.

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
    """What one workload took. `seconds` and `numpy` of a run; `predicted` by the roofline, `bound`
    of its slowest kernel."""

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
    parser = described(
        commands,
        "bench",
        "measure this machine, and a dozen workloads against its limits",
        ABOUT,
        END,
    )
    parser.add_argument("--device", default="cpu", help="cpu, or cuda:0 (default: cpu)")
    parser.add_argument(
        "--only",
        metavar="NAMES",
        help="workloads whose names contain one of these, separated by commas",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """The exit status."""
    from ..inspection.machine import machine as machines
    from ..inspection.machine.bench_cases import CASES

    names = [*(c.name for c in CASES), *([TINY] if args.device == "cpu" else [])]
    asked_for, unknown = chosen(names, args.only)
    if unknown:
        return fail(f"no workload is called {unknown}: there are {', '.join(names)}", MISUSED)
    cases = [c for c in CASES if c.name in asked_for]
    try:
        with Others() as others, machines.refining(args.device) as refined:
            refined()
            profiles = [
                _profiled(c, args.device, f"{n} of {len(cases)}", refined)
                for n, c in enumerate(cases, 1)
            ]
    except DeviceError as error:
        return fail(error, FAILED)
    results = [result(c, *pair) for c, pair in zip(cases, profiles, strict=True)]
    results += [tiny_call()] if TINY in asked_for else []
    figures = machines.machine(args.device)
    if args.json:
        rows = [asdict(r) | {"reached": r.reached} for r in results]
        report = {
            "machine": figures.to_dict(),
            "device": args.device,
            "others": others.cores,
            "workloads": rows,
        }
        print(json.dumps(report, indent=1))
    else:
        print(
            *about(figures),
            *others.told(),
            "",
            *Table(RESULTS, [*map(row, results)]).lines(),
            sep="\n",
        )
    return DONE


def chosen(names: Sequence[str], only: str | None) -> tuple[list[str], str]:
    """The names that contain one of the words between commas, all without words; and the first word
    that none contains, or "".
    """
    words = [word.strip().lower() for word in only.split(",")] if only else [""]
    matches = {word: [n for n in names if word in n.lower()] for word in words}
    return [n for n in names if any(n in of for of in matches.values())], next(
        (w for w, of in matches.items() if not of), ""
    )


# ---------------------------------------------------------------- measuring


def _profiled(
    case: Case, device: str, which: str, refined: Callable[[], Machine]
) -> tuple[Profile, float | None]:
    """What wf.profile finds, and the seconds of NumPy's way; then one more round of the machine."""
    from ..inspection.profile.profile import profile

    with working(f"{which}, {case.name}"):
        work = case.make(device)
        measured = profile(work.function, *work.args)
        by_numpy = None if work.numpy is None or device != "cpu" else seconds_of(work.numpy)
        refined()
    return measured, by_numpy


def result(case: Case, measured: Profile, by_numpy: float | None) -> Result:
    """Beside the limits that are known now."""
    from ..inspection.machine.judged import judged

    report, _ = judged(measured.report, measured.seconds)
    slowest = max(report.kernels, key=lambda k: k.measured or 0.0)
    return Result(
        case.name,
        case.about,
        measured.seconds,
        report.predicted,
        slowest.bound,
        len(report.kernels),
        by_numpy,
    )


class Others:
    """How many cores other processes use inside of `with`: `cores`, None where the system does not
    tell."""

    cores: float | None = None

    def __enter__(self) -> Self:
        self._before = self._now()
        return self

    def __exit__(self, *error: object) -> None:
        (seconds, busy), (then, before) = self._now(), self._before
        if busy is not None and before is not None and seconds > then:
            self.cores = max(0.0, (busy - before) / (seconds - then))

    def told(self) -> list[str]:
        """A line, if it is worth one."""
        return (
            [f"  other processes used {self.cores:.2g} cores meanwhile"]
            if self.cores and self.cores > 0.1
            else []
        )

    @staticmethod
    def _now() -> tuple[float, float | None]:
        """(the time, seconds that cores have worked for others)."""
        busy = surroundings.busy()
        return time.perf_counter(), None if busy is None else busy - time.process_time()


def tiny_call() -> Result:
    """A call from Python, with all that Python adds."""
    from ..inspection.machine.bench_cases import tiny

    ours, by_numpy = tiny()
    return Result(TINY, "8 numbers, from Python", seconds_of(ours), numpy=seconds_of(by_numpy))


def seconds_of(call: Callable[[], object]) -> float:
    """Seconds of one call: the median of rounds of at least a tenth of a millisecond."""
    call()
    start = time.perf_counter()
    call()
    count = max(1, int(1e-4 / max(time.perf_counter() - start, 1e-8)))
    rounds: list[float] = []
    end = time.perf_counter() + SECONDS
    while len(rounds) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(count):
            call()
        rounds.append((time.perf_counter() - start) / count)
    return median(rounds)


# ---------------------------------------------------------------- text


RESULTS = (
    Column("workload", least=11),
    Column("time", True, least=9),
    Column("roofline", True, least=9),
    Column("reached", True),
    Column("bound by"),
    Column("kernels", True),
    Column("numpy", True, least=9),
    Column("what"),
)
LIMITS = (
    Column("", least=20),
    *(Column(title, True, least=11) for title in ("read", "write", "both")),
    Column("rounds", True, least=10),
)


def about(m: Machine) -> list[str]:
    """The limits of a machine, and how sure they are."""
    places = reversed([*zip(m.names, m.places, strict=True)])
    rows = [
        (name, *(f"{amount(f.rate)}B/s" for f in place.figures), _rounds(place.figures))
        for name, place in places
    ]
    rows += [(name, f"{amount(f.rate)}flop/s", "", "", _rounds([f])) for name, f in m.flops.items()]
    rows.append(("a kernel, at least", duration(m.launch), "", "", _rounds([m.starts])))
    table = Table(LIMITS, [(f"  {name}", *cells) for name, *cells in rows])
    return [f"{m.name}, {plural(m.threads, 'thread')}", *table.lines()]


def _rounds(figures: Iterable[Figure]) -> str:
    """Of the figure that is least sure."""
    least = min(figures, key=lambda f: f.near / f.rounds)
    return f"{least.near} of {least.rounds}"


def row(r: Result) -> tuple[str, ...]:
    """Cells of the table."""
    return (
        r.name,
        duration(r.seconds),
        duration(r.predicted),
        "" if r.reached is None else f"{r.reached:.0%}",
        r.bound or "",
        "" if r.kernels is None else str(r.kernels),
        duration(r.numpy),
        r.about,
    )
