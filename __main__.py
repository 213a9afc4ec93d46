"""The command line, `python -m weft`. In: its arguments. Out: what was asked for as text, and an exit status."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from datetime import datetime

from . import __version__
from .errors import OptionError
from .runtime import cache

DONE, FAILED, MISUSED = 0, 1, 2

EXAMPLES = """\
examples:
  python -m weft cache --stats             what is kept, where, and how much of it
  python -m weft cache --clear             start afresh, even while programs run
  WEFT_CACHE_DIR=folder python -m weft cache --stats

import weft as wf; wf.explain(x) and WEFT_DUMP=folder show what becomes of an expression.
"""

CACHE = """\
Weft keeps the machine code of every kernel and the plan of every program on disk, so that a later process compiles nothing.
It is safe to remove at any time: what is missing is made again.
"""

CACHE_END = """\
environment:
  WEFT_CACHE_DIR    the folder (default: ~/.cache/weft); "none" keeps nothing
  WEFT_CACHE_LIMIT  about how many bytes it may hold (default: 1G); what was not used for longest goes first

exit status: 0, also where there is no cache; 1 if the folder cannot be read or a file not be removed; 2 for wrong usage.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; its exit status."""
    parser = _parser()
    args = parser.parse_args(argv)
    if args.command is None:
        parser.print_help()
        return DONE
    try:
        return _clear(cache.default()) if args.clear else _stats(cache.default())
    except OptionError as error:
        return _failed(error, MISUSED)
    except OSError as error:
        return _failed(error, FAILED)


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    about = "Weft, a code-generating compiler for fused tensor kernels."
    parser = argparse.ArgumentParser("python -m weft", description=about, epilog=EXAMPLES, formatter_class=raw)
    parser.add_argument("--version", action="version", version=f"weft {__version__}")
    commands = parser.add_subparsers(dest="command", title="commands", metavar="COMMAND")
    short = "look at or empty the folder of compiled code"
    found = commands.add_parser("cache", help=short, description=CACHE, epilog=CACHE_END, formatter_class=raw)
    what = found.add_mutually_exclusive_group(required=True)
    what.add_argument("--stats", action="store_true", help="say what the folder holds; changes nothing")
    what.add_argument("--clear", action="store_true", help="remove the cache's own files, and no others of that folder")
    return parser


def _failed(error: Exception, status: int) -> int:
    print(f"weft: {error}", file=sys.stderr)
    return status


# ---------------------------------------------------------------- the cache


def _is_there(store: cache.DiskCache) -> bool:
    """Whether there is a cache; if not, says why. Raises OSError for a folder that cannot be read."""
    if store.folder is None:
        print("nothing is kept on disk: WEFT_CACHE_DIR is none, or this system has no home folder or no file locks")
        return False
    try:
        os.listdir(store.folder)
    except FileNotFoundError:
        print(f"there is no cache yet: {store.folder} does not exist")
        return False
    return True


def _stats(store: cache.DiskCache) -> int:
    if not _is_there(store):
        return DONE
    found = store.summary()
    files = _counted(len(found.used), "file")
    rows = [("folder", str(store.folder)), ("size", f"{_bytes(found.total)} in {files}, limit {_bytes(store.limit)}")]
    rows += [(kind, f"{_counted(n, 'entry', 'entries')}, {_bytes(size)}") for kind, (n, size) in sorted(found.kinds.items())]
    if found.used:
        rows += [("last used", _time(found.used[-1])), ("oldest use", f"{_time(found.used[0])}, of the file unused for longest")]
    for name, text in rows:
        print(f"{name:<10}  {text}")
    return DONE


def _clear(store: cache.DiskCache) -> int:
    if not _is_there(store):
        return DONE
    done = store.clear()
    print(f"freed {_bytes(done.total)} in {_counted(done.files, 'file')} of {store.folder}")
    for failure in done.failures:
        _failed(failure, FAILED)
    return FAILED if done.failures else DONE


def _counted(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _bytes(number: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if number < 1024:
            return f"{number:.1f} {unit}" if unit != "bytes" else f"{number} bytes"
        number /= 1024
    return f"{number:.1f} GiB"


def _time(stamp: float) -> str:
    return datetime.fromtimestamp(stamp).strftime("%Y-%m-%d %H:%M:%S")


if __name__ == "__main__":
    sys.exit(main())
