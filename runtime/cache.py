"""In: keys and object code. Out: the same bytes at a later time, in this or another process, or nothing; never an error.

An entry is one file: magic, length of the data, digest of key and data, data. It is written to a temporary file and put in
place by os.replace, so a reader sees a whole entry or none; what does not verify is deleted.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import struct
import tempfile
import time
from pathlib import Path

from llvmlite import __version__ as llvmlite_version

from .. import options

MAGIC = b"weftobj1"
HEADER = struct.Struct("<8sQ16s")
DEFAULT_LIMIT = 1 << 30  # bytes
STALE_SECONDS = 3600.0  # a temporary file older than this was left by a process that died


def _digest(key: str, data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16, key=hashlib.sha256(key.encode()).digest()).digest()


class DiskCache:
    """Object code by key in `folder` (None: keeps nothing), at most about `limit` bytes, least recently used dropped first."""

    def __init__(self, folder: Path | None, limit: int = DEFAULT_LIMIT) -> None:
        self.folder = folder
        self.limit = limit
        self._bytes: int | None = None  # of the whole folder, as far as known; None before the first put

    def get(self, key: str) -> bytes | None:
        """The data put under `key`, if it is there and whole."""
        if self.folder is None:
            return None
        path = self._path(key)
        try:
            entry = path.read_bytes()
        except OSError:
            return None
        data = entry[HEADER.size :]
        if entry[: HEADER.size] != HEADER.pack(MAGIC, len(data), _digest(key, data)):
            self._discard(path)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # recently used
        return data

    def put(self, key: str, data: bytes) -> None:
        """Keeps the data if the disk lets it."""
        if self.folder is None:
            return
        path = self._path(key)
        entry = HEADER.pack(MAGIC, len(data), _digest(key, data)) + data
        with contextlib.suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._write(path, entry)
            self._account(len(entry))

    def _path(self, key: str) -> Path:
        assert self.folder is not None
        name = hashlib.sha256(key.encode()).hexdigest()[:40]
        return self.folder / name[:2] / f"{name[2:]}.obj"

    @staticmethod
    def _discard(path: Path) -> None:
        with contextlib.suppress(OSError):
            path.unlink()

    def _write(self, path: Path, entry: bytes) -> None:
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(entry)
            os.replace(temporary, path)
        except OSError:
            self._discard(Path(temporary))
            raise

    def _account(self, added: int) -> None:
        """Keeps the folder below the limit; other processes' entries are seen when it is next scanned."""
        if self._bytes is None or self._bytes + added > self.limit:
            self._bytes = self._clean()
        else:
            self._bytes += added

    def _clean(self) -> int:
        """Drops the oldest entries down to three quarters of the limit if there are too many. Returns the bytes left."""
        assert self.folder is not None
        entries = []
        for path in self.folder.glob("??/*"):
            with contextlib.suppress(OSError):
                status = path.stat()
                if path.suffix == ".obj":
                    entries.append((status.st_mtime, status.st_size, path))
                elif time.time() - status.st_mtime > STALE_SECONDS:
                    self._discard(path)
        total = sum(size for _, size, _ in entries)
        if total <= self.limit:
            return total
        for _, size, path in sorted(entries):
            if total <= self.limit * 3 // 4:
                break
            self._discard(path)
            total -= size
        return total


def default() -> DiskCache:
    """The cache in the folder that the options name."""
    return _in_folder(options.current().cache_dir)


@functools.cache
def _in_folder(folder: Path | None) -> DiskCache:
    if folder is None:
        return DiskCache(None)
    expanded = os.path.expanduser(folder)
    return DiskCache(None if expanded.startswith("~") else Path(expanded))  # no home folder: keep nothing


@functools.cache
def source_fingerprint(*parts: str) -> str:
    """A digest of llvmlite's version and of the sources of some files and folders of the package.

    Without parts: of the code generator's, so that it changes whenever the same Loops may give other code.
    """
    digest = hashlib.sha256(llvmlite_version.encode())
    package = Path(__file__).parent.parent
    for part in parts or ("codegen",):
        whole = package / part
        for path in sorted(whole.rglob("*.py")) if whole.is_dir() else [whole]:
            digest.update(str(path.relative_to(package)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
