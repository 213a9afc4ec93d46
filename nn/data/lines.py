"""Text files, gzipped or not. In: a path. Out: their lines, or a DataError that names file and line."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from ...frontend.operands.arguments import as_path
from .idx import DataError

__all__ = ["read_lines"]

LONGEST = 1 << 26  # bytes of a line; of damaged and of hostile files it is all that is in memory


def read_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """(number from 1, line without its end) of a UTF-8 file, one at a time. Raises DataError where it cannot be read.

    >>> from pathlib import Path
    >>> _ = Path("poem.txt").write_text("a rose\\nis a rose\\n")
    >>> list(nn.data.read_lines("poem.txt"))
    [(1, 'a rose'), (2, 'is a rose')]
    """
    path, number = as_path("read_lines", path), 0
    try:
        with (gzip.open if _is_gzip(path) else open)(path, "rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(LONGEST + 1), b""), 1):
                if len(line) > LONGEST:
                    raise DataError(f"{path}, line {number}: longer than {LONGEST} bytes, which no text is")
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError as e:
        raise DataError(f"{path}, line {number}: not UTF-8 text: {e.reason} at byte {e.start}") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as e:
        raise DataError(f"{path}: damaged: it cannot be decompressed after line {number} ({e})") from e
    except OSError as e:
        raise DataError(f"{path}: cannot be read: {e.strerror or e}") from e


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"
