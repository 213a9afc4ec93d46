"""`python -m weft audit`. In: a script. Out: kernels by lost time on stderr, the script's exit
status."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..inspection.documents.running import INTERRUPTED, NoScript
from .scripts import OBSERVED, add_script, empty, said, script_of
from .status import FAILED, MISUSED, Commands, described, fail, patience

if TYPE_CHECKING:
    from ..inspection.documents.collect import Collection
    from ..inspection.documents.document import Entry

SLOWEST = 3  # programs that are looked into

ABOUT = f"""\
Runs a script, then lists the kernels of its slowest programs by the time they lose: what they took
beyond their roofline. Those of the CPU are run again as programs of their own, in the schedule that
was chosen and in every other one that could have been.

{OBSERVED.format(command="audit")}"""

END = """\
examples:
  python -m weft audit train.py -- --epochs 1
  python -m weft audit train.py --programs 1     of the slowest program alone

exit status: that of the script, 130 where Ctrl-C ended it; 2 for wrong usage or a missing script.
"""


def add(commands: Commands) -> None:
    """Declares the arguments."""
    about = "run a script and say where its kernels lose time, and to which schedules"
    parser = described(commands, "audit", about, ABOUT, END)
    add_script(parser)
    parser.add_argument(
        "--programs",
        metavar="N",
        type=int,
        default=SLOWEST,
        help=f"how many of the slowest programs to look into ({SLOWEST})",
    )


def run(args: argparse.Namespace) -> int:
    """The exit status."""
    from ..inspection.documents.collect import Collection

    if args.programs < 1:
        return fail(f"--programs must be 1 or more, not {args.programs}", MISUSED)
    script, collection = script_of(args), Collection()
    try:
        with collection.collecting():
            status = script.run()
    except NoScript as error:
        return fail(error, MISUSED)
    if not collection.is_ours:
        return status
    try:
        _tell(collection, args.programs)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        return status or fail(
            f"the programs cannot be audited: {type(error).__name__}: {error}", FAILED
        )
    return status


def _tell(collection: Collection, programs: int) -> None:
    nothing = empty(collection)
    if nothing is not None:
        said(nothing)
        return
    with patience(
        "compiling the slowest programs again, and timing the schedules of their kernels"
    ):
        texts = [_audited(entry) for entry in collection.entries(programs)[:programs]]
    for text in texts:
        said("", *text)


def _audited(entry: Entry) -> list[str]:
    from ..inspection.audit.audit import audited
    from ..inspection.explain.build import report

    heading = f"── {entry.name} ".ljust(100, "─")
    if entry.compiled is None or entry.kernels is None:
        return [heading, "its kernels were not measured"]
    measured = entry.measured(report(entry.compiled, names=entry.names))
    return [heading, str(audited(entry.compiled, measured.kernels))]
