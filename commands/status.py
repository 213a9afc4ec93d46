"""Parts that all commands share: exit statuses, messages of failure and of patience, parsers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Any

DONE, FAILED, MISUSED = 0, 1, 2

SILENCE = 2.0  # seconds that a command may work without a word

Commands = Any  # what ArgumentParser.add_subparsers gives


def fail(error: Exception | str, status: int) -> int:
    """Says what went wrong; the status."""
    print(f"weft: {error}", file=sys.stderr)
    return status


@contextmanager
def patience(doing: str) -> Iterator[None]:
    """Says what is being done, if it takes long."""
    word = Timer(SILENCE, print, [f"weft: {doing} ..."], {"file": sys.stderr, "flush": True})
    word.daemon = True
    word.start()
    try:
        yield
    finally:
        word.cancel()


@contextmanager
def working(doing: str) -> Iterator[None]:
    """Says what is being done on a terminal, in a line that vanishes."""
    shown = sys.stderr.isatty()
    if shown:
        print(f"{doing} ...", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        if shown:
            print(f"\r{'':{len(doing) + 4}}\r", end="", file=sys.stderr, flush=True)


def described(
    commands: Commands, name: str, short: str, about: str, end: str
) -> argparse.ArgumentParser:
    """The parser of a command with a line for the list of commands, and text before and after its
    arguments."""
    raw = argparse.RawDescriptionHelpFormatter
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=short, description=about, epilog=end, formatter_class=raw
    )
    return parser
