"""`python -m weft report`. In: a script. Out: an HTML file of its programs, its exit status."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from ..inspection.documents.running import INTERRUPTED, NoScript, Script
from .scripts import OBSERVED, add_script, empty, said, script_of
from .status import FAILED, MISUSED, Commands, described, fail, patience

if TYPE_CHECKING:
    from ..inspection.documents.collect import Collection

SHOWN = 6  # programs with all details, by default

ABOUT = f"""\
Runs a script and writes one HTML file about its programs: how long each took and, for the slowest,
the graph with its kernels, the lines of yours that each computes, loops, machine code, memory, and
what every pass did. The file needs no network.

{OBSERVED.format(command="report")}"""

END = """\
examples:
  python -m weft report train.py                       writes report.html
  python -m weft report train.py -o step.html --open   and opens it in the browser
  python -m weft report train.py -- --epochs 1         with arguments of the script
  python -m weft report -m package.module              a module, as python -m runs it

wf.report(x, "report.html") writes the same for one expression, function or Module. exit status:
that of the script, 130 where Ctrl-C ended it; 1 if the report cannot be made; 2 for wrong usage or
a missing script.
"""


def add(commands: Commands) -> None:
    """Declares the arguments."""
    parser = described(
        commands, "report", "run a script and write a page about its programs", ABOUT, END
    )
    add_script(parser)
    parser.add_argument(
        "-o",
        dest="output",
        metavar="FILE",
        type=Path,
        default=Path("report.html"),
        help="default: report.html",
    )
    parser.add_argument("--open", action="store_true", help="open the report in the browser")
    number = f"show all details of the N slowest programs (default: {SHOWN}); the others are listed"
    parser.add_argument("--programs", metavar="N", type=_count, default=SHOWN, help=number)


def run(args: argparse.Namespace) -> int:
    """The exit status."""
    from ..inspection.documents.collect import Collection

    script, collection, output = script_of(args), Collection(), args.output.absolute()
    if (why := _unwritable(output, script)) is not None:
        return fail(f"cannot write {args.output}: {why}", MISUSED)
    try:
        with collection.collecting():
            status = script.run()
    except NoScript as error:
        return fail(error, MISUSED)
    if not collection.is_ours:
        return status
    if (nothing := empty(collection)) is not None:
        said(f"{nothing}, so there is no report")
        return status
    try:
        with patience(f"making {args.output}: its programs are compiled again, with every text"):
            made = _write(script, collection, output, args.programs)
        said(made)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        return status or fail(f"the report cannot be made: {type(error).__name__}: {error}", FAILED)
    if args.open:
        import webbrowser

        webbrowser.open(output.as_uri())
    return status


def _unwritable(output: Path, script: Script) -> str | None:
    """Why a page cannot be written there, None where it can."""
    if output.is_dir():
        return "it is a folder"
    if not os.access(output if output.exists() else output.parent, os.W_OK):
        return "no such folder, or not yours"
    return "it is the script" if output.exists() and script.is_file(output) else None


def _write(script: Script, collection: Collection, output: Path, shown: int) -> str:
    """What to say of it."""
    from ..inspection.documents.document import document
    from ..inspection.page import page
    from ..wording import duration, plural

    entries = collection.entries(shown)
    layouts = collection.layouts()
    made = document(entries, Path(script.name).name, script.command, collection.modules, layouts)
    output.write_text(page(made), encoding="utf-8")
    most = made["programs"][0]
    took = (
        f", {plural(len(most['kernels']), 'kernel')}, {duration(most['seconds'])} a run"
        if most["seconds"]
        else ""
    )
    shows = plural(len(entries) + collection.forgotten, "program")
    return f"weft: {output} shows {shows}; the slowest is {most['name']}{took}"


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number
