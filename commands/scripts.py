"""Arguments of commands that run a script. In: a parser. Out: the Script, lines on stderr."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from ..inspection.documents.running import Script

if TYPE_CHECKING:
    from ..inspection.documents.collect import Collection

OBSERVED = """\
The script runs unchanged: `python -m weft {command} train.py -- --epochs 1` runs `python train.py
--epochs 1` and observes it. Arguments after -- are passed to the script. Its output stays as it is;
Weft writes to stderr after the script has ended.
"""


def add_script(parser: argparse.ArgumentParser) -> None:
    """Declares what names a script: a file, or -m and a module."""
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("script", nargs="?", help="the file to run")
    which.add_argument(
        "-m", dest="module", metavar="MODULE", help="run a module instead, as python -m does"
    )
    parser.set_defaults(takes_more=True)


def script_of(args: argparse.Namespace) -> Script:
    """What is to be run."""
    return Script(args.module or args.script, args.more, args.module is not None)


def said(*lines: str) -> None:
    """Prints lines to stderr, after what the script has printed."""
    with suppress(OSError, ValueError):  # the script may have closed it
        sys.stdout.flush()
    print(*lines, sep="\n", file=sys.stderr, flush=True)


def empty(collection: Collection) -> str | None:
    """What to say of a script that made no program."""
    return (
        None
        if collection.seen
        else "weft: the script computed nothing with weft: no program was made"
    )
