"""The idx file format of MNIST. In: a path. Out: an array, or a DataError that says what is wrong."""

from __future__ import annotations

import gzip
import struct
import zlib
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ... import errors
from ...frontend.arguments import as_path

Array = np.ndarray[Any, np.dtype[Any]]

__all__ = ["Array", "DataError", "read_idx"]

IDX_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


class DataError(errors.WeftError, ValueError):
    """A data file that is missing, damaged or of another kind than expected.

    >>> try:
    ...     nn.data.read_idx("missing.gz")
    ... except nn.data.DataError as error:
    ...     print(error)
    missing.gz: cannot be read: No such file or directory
    """


def read_idx(path: str | Path) -> Array:
    """The array in an idx file, gzipped or not (http://yann.lecun.com/exdb/mnist). Raises DataError naming what is wrong.

    Four bytes 0, 0, type, number of axes, then each extent as a big-endian uint32, then the elements.

    >>> from pathlib import Path
    >>> _ = Path("labels.idx").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 2, 1]))
    >>> nn.data.read_idx("labels.idx")
    array([7, 2, 1], dtype=uint8)
    """
    path = as_path("read_idx", path)
    data = _contents(path)
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] not in IDX_TYPES:
        raise DataError(f"{path}: not an idx file: it starts with {data[:4].hex(' ') or 'nothing'}")
    header = 4 + 4 * data[3]
    if len(data) < header:
        raise DataError(f"{path}: damaged: the header needs {header} bytes, the file holds {len(data)}")
    dtype, shape = np.dtype(IDX_TYPES[data[2]]), struct.unpack(f">{data[3]}I", data[4:header])
    expected = prod(shape) * dtype.itemsize
    if len(data) - header != expected:
        raise DataError(f"{path}: damaged: shape {shape} needs {expected} bytes of data, the file holds {len(data) - header}")
    return np.frombuffer(data, dtype, offset=header).reshape(shape).astype(dtype.newbyteorder("="))


def _contents(path: Path) -> bytes:
    try:
        raw = path.read_bytes()
        return gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    except (EOFError, zlib.error, gzip.BadGzipFile) as e:
        raise DataError(f"{path}: damaged: it cannot be decompressed ({e})") from e
    except OSError as e:
        raise DataError(f"{path}: cannot be read: {e.strerror or e}") from e
