"""`python -m weft run`. In: a script. Out: files, reports on stderr, its exit status."""

from __future__ import annotations

import argparse
import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from .. import options
from ..inspection.documents.running import INTERRUPTED, NoScript
from .scripts import OBSERVED, add_script, empty, said, script_of
from .status import FAILED, MISUSED, Commands, described, fail, patience

if TYPE_CHECKING:
    from ..inspection.documents.collect import Collection
    from ..inspection.documents.document import Entry

SHOWN = 6  # programs that are explained, the slowest
LISTED = 40  # programs that are listed

ABOUT = f"""\
Runs a script and lists which programs it made, how often they ran, and how long they took.

{OBSERVED.format(command="run")}"""

END = """\
examples:
  python -m weft run train.py                            a line for each program
  python -m weft run train.py --explain                  and its kernels: lines, bytes, schedules,
                                                         why they stay apart
  python -m weft run train.py --profile -- --epochs 1    and how long each kernel took
  python -m weft run train.py --debug-nans               stops at the line that makes the first NaN
  python -m weft run train.py --dump folder              and writes loops, LLVM IR, assembly or CUDA
                                                         C of every program

exit status: that of the script, 130 where Ctrl-C ended it; 2 for wrong usage or a missing script.
"""


def add(commands: Commands) -> None:
    """Declares the arguments."""
    parser = described(commands, "run", "run a script and say what it computes", ABOUT, END)
    add_script(parser)
    parser.add_argument(
        "--explain",
        action="store_true",
        help=f"explain the {SHOWN} slowest programs, as wf.explain does",
    )
    parser.add_argument(
        "--profile",
        action="store_true",
        help=f"list the kernels of the {SHOWN} slowest programs by time",
    )
    parser.add_argument(
        "--dump",
        metavar="FOLDER",
        type=Path,
        help="write every stage of every program there, as wf.dump does",
    )
    nans = (
        "stop at the first operation that makes a NaN or an infinity of finite numbers, "
        "as wf.debug_nans does"
    )
    parser.add_argument("--debug-nans", action="store_true", help=nans)


def run(args: argparse.Namespace) -> int:
    """The exit status."""
    from ..inspection.documents.collect import Collection

    script, collection = script_of(args), Collection()
    if args.dump and not _may_be_folder(args.dump):
        return fail(f"cannot write below {args.dump}: it is no folder, or not yours", MISUSED)
    try:
        with ExitStack() as asked:
            if args.dump:
                asked.enter_context(options.override(dump=args.dump))
            if args.debug_nans:
                asked.enter_context(options.override(debug_nans="inf"))
            asked.enter_context(collection.collecting())
            status = script.run()
    except NoScript as error:
        return fail(error, MISUSED)
    if not collection.is_ours:
        return status
    try:
        _tell(collection, args, status)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        return status or fail(
            f"the programs cannot be shown: {type(error).__name__}: {error}", FAILED
        )
    return status


def _may_be_folder(path: Path) -> bool:
    """Is it a folder, or can one be made?"""
    there = next(p for p in (path.absolute(), *path.absolute().parents) if p.exists())
    return there.is_dir() and os.access(there, os.W_OK)


def _tell(collection: Collection, args: argparse.Namespace, status: int) -> None:
    nothing = empty(collection)
    if nothing is not None:
        said(nothing)
        return
    with patience("compiling the slowest programs again, to describe their kernels"):
        entries = collection.entries(SHOWN if args.explain or args.profile else 0)
    if args.debug_nans:
        _say_whether_clean(status)
    else:
        _list(entries, collection.forgotten)
    for entry in entries[:SHOWN]:
        if entry.compiled is not None:
            _tell_of(entry, args)


def _say_whether_clean(status: int) -> None:
    """Programs with checks are not timed; a script that failed has said why."""
    if not status:
        said("weft: no operation made a NaN or an infinity of finite numbers")


def _list(entries: list[Entry], forgotten: int) -> None:
    from ..inspection.documents.programs_text import table

    said("", *table(entries[:LISTED]))
    if (left := max(0, len(entries) - LISTED) + forgotten) > 0:
        said(f"and {left:,} more, which took less time")


def _tell_of(entry: Entry, args: argparse.Namespace) -> None:
    from ..inspection.documents.programs_text import profiled
    from ..inspection.explain.build import report

    assert entry.compiled is not None
    explained = report(entry.compiled, names=entry.names)
    said("", f"── {entry.name} ".ljust(100, "─"))
    if args.explain:
        said(str(explained))
    if args.profile:
        said(*profiled(entry, explained))
