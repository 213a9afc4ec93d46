"""What all commands share. Out: exit statuses, the way to say that something failed, and how a command is declared."""

from __future__ import annotations

import argparse
import sys
from typing import Any

DONE, FAILED, MISUSED = 0, 1, 2

Commands = Any  # what ArgumentParser.add_subparsers gives


def fail(error: Exception | str, status: int) -> int:
    """Says what went wrong; the status."""
    print(f"weft: {error}", file=sys.stderr)
    return status


def described(commands: Commands, name: str, short: str, about: str, end: str) -> argparse.ArgumentParser:
    """The parser of a command with a line for the list of commands, and text before and behind its arguments."""
    raw = argparse.RawDescriptionHelpFormatter
    found: argparse.ArgumentParser = commands.add_parser(name, help=short, description=about, epilog=end, formatter_class=raw)
    return found
