"""`python -m weft run`. In: a script, and what to show of it. Out: files, reports on stderr, and its own exit status."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from .. import options
from ..inspection.running import INTERRUPTED, NoScript
from .scripts import BEHIND, add_script, empty, said, script_of
from .status import FAILED, MISUSED, Commands, described, fail

if TYPE_CHECKING:
    from ..inspection.collect import Collection
    from ..inspection.document import Entry
    from ..inspection.kernel_report import KernelReport

SHOWN = 6  # programs that are explained, the slowest

ABOUT = f"""\
Runs a script and tells which programs it made, how often they ran, and how long they took.

{BEHIND.format(command="run")}"""

END = """\
examples:
  python -m weft run train.py                        a line for each program
  python -m weft run train.py --explain              and its kernels: lines, bytes, schedules, why they stay apart
  python -m weft run train.py --profile -- --epochs 1   and how long each kernel took
  python -m weft run train.py --dump folder          and writes loops, LLVM IR, assembly or CUDA C of every program

exit status: that of the script, 130 where Ctrl-C ended it; 2 for wrong usage or a missing script.
"""


def add(commands: Commands) -> None:
    """Declares the arguments."""
    found = described(commands, "run", "run a script and tell what it computes", ABOUT, END)
    add_script(found)
    found.add_argument("--explain", action="store_true", help=f"explain the {SHOWN} slowest programs, as wf.explain does")
    found.add_argument("--profile", action="store_true", help=f"list the kernels of the {SHOWN} slowest programs by time")
    found.add_argument("--dump", metavar="FOLDER", type=Path, help="write every stage of every program there, as wf.dump does")


def run(args: argparse.Namespace) -> int:
    """The exit status."""
    from ..inspection.collect import Collection

    script, collection = script_of(args), Collection()
    try:
        with ExitStack() as asked:
            if args.dump:
                asked.enter_context(options.override(dump=args.dump))
            asked.enter_context(collection.collecting())
            status = script.run()
    except NoScript as error:
        return fail(error, MISUSED)
    if not collection.is_ours:
        return status
    try:
        _tell(collection, args)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        return status or fail(f"the programs cannot be shown: {type(error).__name__}: {error}", FAILED)
    return status


def _tell(collection: Collection, args: argparse.Namespace) -> None:
    nothing = empty(collection)
    if nothing is not None:
        said(nothing)
        return
    entries = collection.entries(SHOWN if args.explain or args.profile else 0)
    said("", *table(entries))
    if collection.forgotten:
        said(f"and {collection.forgotten:,} more, which took less time")
    for entry in entries[:SHOWN]:
        if entry.compiled is not None:
            _tell_of(entry, args)


def _tell_of(entry: Entry, args: argparse.Namespace) -> None:
    from ..inspection.report import report

    assert entry.compiled is not None
    found = report(entry.compiled)
    said("", f"── {entry.name} ".ljust(100, "─"))
    if args.explain:
        said(str(found))
    if args.profile and entry.kernels is not None:
        said(*kernel_table(found.kernels, entry.kernels))


def table(entries: list[Entry]) -> list[str]:
    """A line for each program: how often it ran and how long that took."""
    return columns([("program", "runs", "first run", "a run", "all runs"), *map(_row, entries)])


def kernel_table(kernels: list[KernelReport], seconds: Sequence[float]) -> list[str]:
    """A line for each kernel, the slowest first: its share of a run, and what the roofline of this machine allows."""
    total = sum(seconds)
    rows = [
        (k.name, duration(s), share(s, total), duration(k.predicted), *[source.place for source in k.sources[:1]])
        for k, s in sorted(zip(kernels, seconds, strict=True), key=lambda pair: -pair[1])
    ]
    return columns([("kernel", "time", "share", "roofline", "from"), *rows, ("all", duration(total), "100 %")])


def columns(rows: list[tuple[str, ...]]) -> list[str]:
    """Lines in which the first entries, and all that are no numbers, begin below each other, others end so."""
    width = [max(len(row[i]) for row in rows if len(row) > i) for i in range(len(rows[0]))]
    sides = [str.ljust if i == 0 or rows[0][i] == "from" else str.rjust for i in range(len(width))]
    return ["  ".join(side(text, w) for side, text, w in zip(sides, row, width, strict=False)).rstrip() for row in rows]


def _row(e: Entry) -> tuple[str, ...]:
    total = None if e.seconds is None or e.runs is None else e.seconds * e.runs
    return e.name, "-" if e.runs is None else f"{e.runs:,}", duration(e.cold), duration(e.seconds), duration(total)


def share(part: float, whole: float) -> str:
    """In percent."""
    return f"{100 * part / whole if whole else 0:.1f} %"


def duration(seconds: float | None) -> str:
    """In the unit that fits."""
    if seconds is None:
        return "-"
    for unit, factor in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"
