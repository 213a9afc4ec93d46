"""In: keys and bytes. Out: the same bytes at a later time, in this or another process, or nothing; never an error.

Creating a file costs more than compiling a tiny kernel, so entries share files, called packs. A process appends to one pack,
which it holds a lock on; it reads them all. An entry is a header and the data. What does not verify is not there: a torn or
damaged stretch of a pack is skipped by searching for the next header.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import struct
import threading
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from llvmlite import __version__ as llvmlite_version

from .. import options

try:
    import fcntl
except ImportError:  # a system without file locks: nothing is kept on disk
    fcntl = None  # type: ignore[assignment]

MAGIC = b"weftpk01"
HEADER = struct.Struct("<8s16sQ16sI4x")  # magic, name, bytes of data, digest of name and data, checksum of these
CHECKED = HEADER.size - 8
DEFAULT_LIMIT = 1 << 30  # bytes
PACKS = 8  # that many full packs reach the limit; the one unused for longest is dropped whole
BLOCK = 1 << 20  # bytes of a pack that are scanned at once
RESCAN_SECONDS = 1.0  # how often a miss looks for what other processes have added


def _header(name: bytes, data: bytes) -> bytes:
    digest = hashlib.blake2b(data, digest_size=16, key=name).digest()
    head = HEADER.pack(MAGIC, name, len(data), digest, 0)
    return head[:CHECKED] + struct.pack("<I4x", zlib.crc32(head[:CHECKED]))


@dataclass(eq=False)
class Pack:
    """A file of entries, open for reading; `scanned` bytes of it are in the index."""

    path: str
    file: int
    scanned: int = 0
    used: bool = False  # by this process: its time stamp says so

    def new_entries(self) -> Iterator[tuple[bytes, int, int]]:
        """(name, offset, bytes of data) of each entry behind those scanned before."""
        size = os.fstat(self.file).st_size
        at = self.scanned = self.scanned if self.scanned <= size else 0
        while at + HEADER.size <= size:
            start, block = at, os.pread(self.file, BLOCK, at)
            if len(block) < HEADER.size:  # cut off meanwhile
                return
            while at - start <= len(block) - HEADER.size:
                found = _parsed(block, at - start)
                if found is None:
                    at = start + _next_magic(block, at - start)
                    continue
                name, length = found
                if at + HEADER.size + length > size:  # it is being written
                    return
                yield name, at, length
                at = self.scanned = at + HEADER.size + length


def _parsed(block: bytes, at: int) -> tuple[bytes, int] | None:
    """(name, bytes of data) of the header at this place, if there is one."""
    magic, name, length, _, checksum = HEADER.unpack_from(block, at)
    whole = magic == MAGIC and checksum == zlib.crc32(block[at : at + CHECKED])
    return (name, length) if whole else None


def _next_magic(block: bytes, at: int) -> int:
    """Where the next header may begin."""
    found = block.find(MAGIC, at + 1)
    return found if found >= 0 else max(at + 1, len(block) - len(MAGIC) + 1)


class DiskCache:
    """Bytes by key in `folder`, at most about `limit` bytes, what was least recently used dropped first.

    Without a folder or on a system without file locks it keeps nothing.
    """

    def __init__(self, folder: Path | None, limit: int = DEFAULT_LIMIT) -> None:
        self.folder = folder if fcntl else None
        self.limit = limit
        self._entries: dict[bytes, tuple[Pack, int, int]] = {}  # by name: pack, offset, bytes of data
        self._packs: dict[int, Pack] = {}  # by the number of the file
        self._scanned = float("-inf")  # when the folder was last looked at
        self._reset()

    def _reset(self) -> None:
        """At the start and in a forked child, which must leave its parent's pack alone."""
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._own: tuple[Pack, int] | None = None  # the pack that this process appends to, and the file it is locked by

    def get(self, key: str) -> bytes | None:
        """The data put under `key`, if it is there and whole."""
        if self.folder is None:
            return None
        name = _name(key)
        try:
            if name not in self._entries:
                self._scan()
            pack, offset, length = self._entries[name]
            entry = os.pread(pack.file, HEADER.size + length, offset)
        except (KeyError, OSError, ValueError):
            return None
        data = entry[HEADER.size :]
        if entry[: HEADER.size] != _header(name, data):
            self._entries.pop(name, None)
            return None
        self._use(pack)
        return data

    def put(self, key: str, data: bytes) -> None:
        """Keeps the data if the disk lets it."""
        if self.folder is None:
            return
        if self._process != os.getpid():
            self._reset()
        name = _name(key)
        with self._lock, contextlib.suppress(OSError, ValueError):
            pack, file = self._own or self._take_pack()
            offset = os.lseek(file, 0, os.SEEK_END)
            if offset != pack.scanned or offset >= self.limit // PACKS:  # somebody has cut it, or it is full
                pack, file = self._next_pack(file)
                offset = os.lseek(file, 0, os.SEEK_END)
            self._append(file, offset, _header(name, data) + data)
            pack.scanned = os.lseek(file, 0, os.SEEK_CUR)
            self._entries[name] = pack, offset, len(data)

    @staticmethod
    def _append(file: int, offset: int, entry: bytes) -> None:
        """All of the entry, or nothing."""
        try:
            if os.write(file, entry) != len(entry):
                raise OSError("the disk is full")
        except OSError:
            os.ftruncate(file, offset)
            raise

    # ------------------------------------------------------------ packs

    def _scan(self) -> None:
        """Adds to the index what is new in the folder."""
        with self._lock:
            if self._scanned + RESCAN_SECONDS > time.monotonic():
                return
            for path in self._paths():
                with contextlib.suppress(OSError, ValueError):
                    self._index(self._opened(path))
            self._scanned = time.monotonic()

    def _paths(self) -> list[str]:
        assert self.folder is not None
        with contextlib.suppress(OSError):
            return sorted(entry.path for entry in os.scandir(self.folder) if entry.name.endswith(".pack"))
        return []

    def _opened(self, path: str) -> Pack:
        number = os.stat(path).st_ino  # another process may have dropped a pack and made one of the same name
        if number not in self._packs:
            self._packs[number] = Pack(path, os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        return self._packs[number]

    def _index(self, pack: Pack) -> None:
        for name, offset, length in pack.new_entries():
            self._entries[name] = pack, offset, length

    def _take_pack(self) -> tuple[Pack, int]:
        """Locks a pack that no other process appends to, an old one or a new one; what it ends in torn is cut off."""
        assert self.folder is not None
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        self._trim()
        number = 0
        while True:
            path = os.path.join(self.folder, f"{number:04}.pack")
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            if os.fstat(file).st_size < self.limit // PACKS and _locked(file):
                break
            os.close(file)
            number += 1
        pack = self._opened(path)
        self._index(pack)
        os.ftruncate(file, pack.scanned)
        self._own = pack, file
        return self._own

    def _next_pack(self, full: int) -> tuple[Pack, int]:
        self._own = None
        os.close(full)
        return self._take_pack()

    def _use(self, pack: Pack) -> None:
        """Marks a pack as recently used, once a process."""
        if not pack.used:
            pack.used = True
            with contextlib.suppress(OSError):
                os.utime(pack.path)

    def _trim(self) -> None:
        """Drops packs, those unused for longest first, until there is room for another."""
        found = []
        for path in self._paths():
            with contextlib.suppress(OSError):
                status = os.stat(path)
                found.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in found)
        for _, size, path in sorted(found):
            if total <= self.limit - self.limit // PACKS:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)  # what is open stays readable
            total -= size

    def close(self) -> None:
        """Lets go of all files. What was put stays for others."""
        with self._lock:
            files = [pack.file for pack in self._packs.values()] + ([self._own[1]] if self._own else [])
            self._entries, self._packs, self._own = {}, {}, None
            self._scanned = float("-inf")
            for file in files:
                os.close(file)


def _name(key: str) -> bytes:
    return hashlib.blake2b(key.encode(), digest_size=16).digest()


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


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
