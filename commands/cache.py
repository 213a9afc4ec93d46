"""`python -m weft cache`. In: the folder of compiled code. Out: its contents, or nothing of
them.
"""

from __future__ import annotations

import argparse
import os
from datetime import datetime

from ..runtime import cache, trusted
from ..wording import plural
from .status import DONE, FAILED, Commands, described, fail

ABOUT = """\
Weft keeps the machine code of every kernel and the plan of every program on disk, so that a later
process compiles nothing. It is safe to remove at any time: missing entries are made again.
"""

END = """\
environment:
  WEFT_CACHE_DIR    the folder (default: ~/.cache/weft), which must be yours and writable only by
                    you; "none" keeps nothing
  WEFT_CACHE_LIMIT  about how many bytes it may hold (default: 1G); the least recently used are
                    dropped first

exit status: 0, even if there is no cache; 1 if the folder cannot be read or a file cannot be
removed; 2 for wrong usage.
"""


def add(commands: Commands) -> None:
    """Declares the arguments."""
    parser = described(commands, "cache", "show or empty the folder of compiled code", ABOUT, END)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--stats", action="store_true", help="say what the folder holds; changes nothing"
    )
    what.add_argument(
        "--clear",
        action="store_true",
        help="remove the cache's own files, and no others of that folder",
    )


def run(args: argparse.Namespace) -> int:
    """The exit status."""
    return _clear(cache.default()) if args.clear else _stats(cache.default())


def _is_there(store: cache.DiskCache) -> bool:
    """Whether there is a cache; if not, says why. Raises OSError for a folder that cannot be read,
    or that others write to."""
    if store.folder is None:
        print(
            "nothing is kept on disk: WEFT_CACHE_DIR is none, or this system has no home folder "
            "or no file locks"
        )
        return False
    try:
        os.close(trusted.open_folder(store.folder))
    except FileNotFoundError:
        print(f"there is no cache yet: {store.folder} does not exist")
        return False
    return True


def _stats(store: cache.DiskCache) -> int:
    if not _is_there(store):
        return DONE
    contents = store.summary()
    files = plural(len(contents.used), "file")
    rows = [
        ("folder", str(store.folder)),
        ("size", f"{_bytes(contents.total)} in {files}, limit {_bytes(store.limit)}"),
    ]
    rows += [
        (kind, f"{n} {'entry' if n == 1 else 'entries'}, {_bytes(size)}")
        for kind, (n, size) in sorted(contents.kinds.items())
    ]
    if contents.used:
        rows += [
            ("last used", _time(contents.used[-1])),
            ("oldest use", f"{_time(contents.used[0])}, of the file unused for longest"),
        ]
    for name, text in rows:
        print(f"{name:<10}  {text}")
    return DONE


def _clear(store: cache.DiskCache) -> int:
    if not _is_there(store):
        return DONE
    done = store.clear()
    print(f"freed {_bytes(done.total)} in {plural(done.files, 'file')} of {store.folder}")
    for failure in done.failures:
        fail(failure, FAILED)
    return FAILED if done.failures else DONE


def _bytes(number: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if number < 1024:
            return f"{number:.1f} {unit}" if unit != "bytes" else f"{number} bytes"
        number /= 1024
    return f"{number:.1f} GiB"


def _time(stamp: float) -> str:
    return datetime.fromtimestamp(stamp).strftime("%Y-%m-%d %H:%M:%S")
