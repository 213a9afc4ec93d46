"""The idx file format of MNIST. In: a path. Out: an array, or a DataError that says what is
wrong."""

from __future__ import annotations

import gzip
import struct
import zlib
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np

from ... import errors
from ...frontend.operands.arguments import as_path

Array = np.ndarray[Any, np.dtype[Any]]

__all__ = ["Array", "DataError", "read_idx"]

IDX_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
PIECE = 1 << 24  # bytes read at once


class DataError(errors.WeftError, ValueError):
    """A data file that is missing, damaged or of another kind than expected.

    >>> try:
    ...     nn.data.read_idx("missing.gz")
    ... except nn.data.DataError as error:
    ...     print(error)
    missing.gz: cannot be read: No such file or directory
    """


def read_idx(path: str | Path) -> Array:
    """The array in an idx file, gzipped or not (http://yann.lecun.com/exdb/mnist). Raises DataError
    naming what is wrong.

    Four bytes 0, 0, type, number of axes, then each extent as a big-endian uint32, then the
    elements.

    >>> from pathlib import Path
    >>> _ = Path("labels.idx").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 2, 1]))
    >>> nn.data.read_idx("labels.idx")
    array([7, 2, 1], dtype=uint8)
    """
    path = as_path("read_idx", path)
    try:
        with _opened(path) as file:
            return _array(path, file)
    except (EOFError, zlib.error, gzip.BadGzipFile) as e:
        raise DataError(f"{path}: damaged: it cannot be decompressed ({e})") from e
    except OSError as e:
        raise DataError(f"{path}: cannot be read: {e.strerror or e}") from e


def _opened(path: Path) -> IO[bytes] | gzip.GzipFile:
    return gzip.open(path) if is_gzip(path) else path.open("rb")


def is_gzip(path: Path) -> bool:
    """Is the file gzipped, whatever its name."""
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _array(path: Path, file: IO[bytes] | gzip.GzipFile) -> Array:
    """Reads no more than the header says, and one byte to see that there is none."""
    start = file.read(4)
    if len(start) < 4 or start[:2] != b"\0\0" or start[2] not in IDX_TYPES:
        raise DataError(f"{path}: not an idx file: it starts with {start.hex(' ') or 'nothing'}")
    extents = file.read(4 * start[3])
    if len(extents) < 4 * start[3]:
        raise DataError(
            f"{path}: damaged: the header needs {4 + 4 * start[3]} bytes, the file holds"
            f" {4 + len(extents)}"
        )
    dtype, shape = np.dtype(IDX_TYPES[start[2]]), struct.unpack(f">{start[3]}I", extents)
    expected = prod(shape) * dtype.itemsize
    data = _at_most(file, expected + 1)
    if len(data) != expected:
        held = f"the file holds {len(data)}" if len(data) < expected else "the file holds more"
        raise DataError(f"{path}: damaged: shape {shape} needs {expected} bytes of data, {held}")
    try:
        return np.frombuffer(data, dtype).reshape(shape).astype(dtype.newbyteorder("="))
    except ValueError as e:  # too many axes, or no elements but a size beyond all memory
        raise DataError(f"{path}: damaged: no array has shape {shape} ({e})") from None


def _at_most(file: IO[bytes] | gzip.GzipFile, size: int) -> bytearray:
    """The next bytes, in pieces: a damaged header may ask for more than there is memory."""
    data = bytearray()
    while len(data) < size and (piece := file.read(min(PIECE, size - len(data)))):
        data += piece
    return data
