"""In: keys and bytes. Out: the same bytes at a later time, in this or another process, or nothing; never an error.

Creating a file costs more than compiling a tiny kernel, so entries share files, called packs (`pack.py`). A process appends to
one pack, which it holds a lock on; it reads them all. Any process may drop any pack at any time, by unlinking it: whoever
reads it still can, whoever appends to it finds out and goes on in another.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import threading
import time
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from llvmlite import __version__ as llvmlite_version

from .. import options
from .pack import HEADER, Entry, Pack, header

try:
    import fcntl
except ImportError:  # a system without file locks: nothing is kept on disk
    fcntl = None  # type: ignore[assignment]

PACKS = 8  # that many full packs reach the limit; the one unused for longest is dropped whole
PACK_NAME = re.compile(r"weft-\d{4,}\.pack")  # no other file of the folder is ever touched
RESCAN_SECONDS = 1.0  # how often a miss looks for what other processes have added


@dataclass
class Summary:
    """What a folder holds. Of `kinds`: (entries, bytes) by kind, a name counts once. `used`: when each pack was, ascending."""

    kinds: dict[str, tuple[int, int]] = field(default_factory=dict)
    total: int = 0  # bytes of the packs, with what is damaged or stands there twice
    used: list[float] = field(default_factory=list)


@dataclass
class Cleared:
    """What clearing a folder did."""

    files: int = 0
    total: int = 0  # bytes
    failures: list[OSError] = field(default_factory=list)


class DiskCache:
    """Bytes by key in `folder`, at most about `limit` bytes, what was least recently used dropped first.

    No pack is longer than an eighth of the limit, and a process makes room for a pack before it takes one: so P processes that
    write at once leave at most 7/8 + P/8 of the limit behind. Without a folder or file locks it keeps nothing.
    """

    def __init__(self, folder: Path | None, limit: int = options.Options.cache_limit) -> None:
        self.folder = folder if fcntl else None
        self.limit = limit
        self.most = limit // PACKS  # bytes of a pack
        self._entries: dict[bytes, tuple[Pack, Entry]] = {}  # by name
        self._packs: dict[int, Pack] = {}  # by the number of the file
        self._scanned = float("-inf")  # when the folder was last looked at
        self._own: tuple[Pack, int] | None = None  # the pack that this process appends to, and the file it is locked by
        self._reset()

    def _reset(self) -> None:
        """At the start and in a forked child, which must leave its parent's pack alone."""
        self._process = os.getpid()
        self._lock = threading.RLock()
        own, self._own = self._own, None
        if own:
            os.close(own[1])  # the parent keeps its lock

    def _mine(self) -> Any:
        """The lock of this process."""
        if self._process != os.getpid():
            self._reset()
        return self._lock

    def get(self, key: str) -> bytes | None:
        """The data put under `key`, if it is there and whole."""
        if self.folder is None:
            return None
        name = _name(key)
        with self._mine(), contextlib.suppress(OSError, ValueError):
            if name not in self._entries:
                self._scan()
            found = self._entries.get(name)
            if found is not None:
                data = found[0].data(found[1])
                if data is not None:
                    self._use(found[0])
                    return data
                del self._entries[name]
        return None

    def put(self, key: str, data: bytes, kind: str = "") -> None:
        """Keeps the data if the disk lets it; `kind`, of at most 8 letters, says what it is."""
        size = HEADER.size + len(data)
        if self.folder is None or size > self.most:
            return
        name = _name(key)
        with self._mine(), contextlib.suppress(OSError, ValueError):
            pack, file = self._own or self._take_pack(size)
            if pack.scanned + size > self.most or pack.scanned != os.fstat(file).st_size or pack.is_dropped():
                pack, file = self._next_pack(file, size)  # it is full, somebody has cut it, or it was dropped
            self._append(file, pack.scanned, header(name, kind.encode(), data) + data)
            self._entries[name] = pack, (name, kind.encode(), pack.scanned, len(data))
            pack.scanned += size

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
        """Adds to the index what is new in the folder, and lets go of packs that are no longer there."""
        if self._scanned + RESCAN_SECONDS > time.monotonic():
            return
        self._forget_dropped()
        for path in self._paths():
            with contextlib.suppress(OSError, ValueError):
                self._index(self._opened(path))
        self._scanned = time.monotonic()

    def _forget_dropped(self) -> None:
        """Closes packs that are no longer in the folder: while they are open they fill the disk."""
        dropped = [number for number, pack in self._packs.items() if pack.is_dropped()]
        gone = [self._packs.pop(number) for number in dropped]
        if gone:
            self._entries = {name: found for name, found in self._entries.items() if found[0] not in gone}
        for pack in gone:
            pack.close()

    def _paths(self) -> list[str]:
        assert self.folder is not None
        with contextlib.suppress(OSError):
            return sorted(entry.path for entry in os.scandir(self.folder) if PACK_NAME.fullmatch(entry.name))
        return []

    def _opened(self, path: str) -> Pack:
        number = os.stat(path).st_ino  # another process may have dropped a pack and made one of the same name
        if number not in self._packs:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            number = os.fstat(file).st_ino
            self._packs[number] = Pack(path, file)
        return self._packs[number]

    def _index(self, pack: Pack) -> None:
        for entry in pack.new_entries():
            self._entries[entry[0]] = pack, entry

    def _take_pack(self, room: int) -> tuple[Pack, int]:
        """A pack with room that no other process appends to, an old one or a new one, and the file it is locked by."""
        assert self.folder is not None
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        self._trim()
        paths = (os.path.join(self.folder, f"weft-{number:04}.pack") for number in count())
        self._own = next(claimed for path in paths if (claimed := self._claim(path, room)) is not None)
        return self._own

    def _claim(self, path: str, room: int) -> tuple[Pack, int] | None:
        """Locks this pack and cuts off what it ends in torn; None where it is full or another process appends to it."""
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            if os.fstat(file).st_size + room <= self.most and _lock(file):
                pack = self._opened(path)
                if os.path.sameopenfile(pack.file, file):  # else it was dropped and made anew meanwhile
                    self._index(pack)
                    os.ftruncate(file, pack.scanned)
                    return pack, file
        except BaseException:
            os.close(file)
            raise
        os.close(file)
        return None

    def _next_pack(self, full: int, room: int) -> tuple[Pack, int]:
        self._own = None
        os.close(full)
        return self._take_pack(room)

    def _use(self, pack: Pack) -> None:
        """Marks a pack as recently used, once a process."""
        if not pack.used:
            pack.used = True
            with contextlib.suppress(OSError):
                os.utime(pack.file)

    def _trim(self) -> None:
        """Drops packs, those unused for longest first, until there is room for another."""
        found = []
        for path in self._paths():
            with contextlib.suppress(OSError):
                status = os.stat(path)
                found.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in found)
        for _, size, path in sorted(found):
            if total <= self.limit - self.most:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
            total -= size
        self._forget_dropped()

    def close(self) -> None:
        """Lets go of all files. What was put stays for others."""
        with self._mine():
            files = [pack.file for pack in self._packs.values()] + ([self._own[1]] if self._own else [])
            self._entries, self._packs, self._own = {}, {}, None
            self._scanned = float("-inf")
            for file in files:
                os.close(file)

    # ------------------------------------------------------------ the folder as a whole

    def summary(self) -> Summary:
        """What the folder holds now."""
        found = Summary()
        newest: dict[bytes, Entry] = {}
        for path in self._paths():
            with contextlib.suppress(OSError):
                pack = Pack(path, os.open(path, os.O_RDONLY | os.O_CLOEXEC))
                with contextlib.closing(pack):
                    newest |= {entry[0]: entry for entry in pack.new_entries()}
                    status = os.fstat(pack.file)
                    found.total += status.st_size
                    found.used.append(status.st_mtime)
        for _, kind, _, length in newest.values():
            name = kind.rstrip(b"\0").decode(errors="replace")
            entries, size = found.kinds.get(name, (0, 0))
            found.kinds[name] = entries + 1, size + HEADER.size + length
        found.used.sort()
        return found

    def clear(self) -> Cleared:
        """Drops every pack, also those that processes use: they go on in new ones."""
        done = Cleared()
        for path in self._paths():
            try:
                size = os.stat(path).st_size
                os.unlink(path)
            except FileNotFoundError:
                continue
            except OSError as failure:
                done.failures.append(failure)
            else:
                done.files, done.total = done.files + 1, done.total + size
        return done


def _name(key: str) -> bytes:
    return hashlib.blake2b(key.encode(), digest_size=16).digest()


def _lock(file: int) -> bool:
    """Whether no other process holds it. Raises OSError where files cannot be locked."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def default() -> DiskCache:
    """The cache in the folder that the options name."""
    o = options.current()
    return _in_folder(o.cache_dir, o.cache_limit)


@functools.cache
def _in_folder(folder: Path | None, limit: int) -> DiskCache:
    return DiskCache(folder and _absolute(folder), limit)


def _absolute(folder: Path) -> Path | None:
    """The folder, wherever the process goes; None where there is no home or no current folder to begin from."""
    expanded = os.path.expanduser(folder)
    try:
        return None if expanded.startswith("~") else Path(os.path.abspath(expanded))
    except OSError:
        return None


@functools.cache
def source_fingerprint(*parts: str) -> str:
    """A digest of llvmlite's version and of the sources of some files and folders of the package.

    Without parts: of the code generator's, so that it changes whenever the same Loops may give other code. The sources are
    read once for each state of their files: what the system says of the files is the key of their digest on disk.
    """
    files = [found for part in parts or ("codegen",) for found in _sources(os.path.join(_PACKAGE, part))]
    stats = [(s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino, s.st_dev) for s in map(os.stat, files)]
    key = hashlib.sha256(repr(("sources", llvmlite_version, files, stats)).encode()).hexdigest()
    stored = default().get(key)
    if stored is None:
        stored = _digest(files).encode()
        default().put(key, stored, "runtime")
    return stored.decode()


_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _sources(path: str) -> list[str]:
    """The Python files in a folder and those below, or the one file."""
    if not os.path.isdir(path):
        return [path]
    walked = ((folder, name) for folder, _, names in os.walk(path) for name in names if name.endswith(".py"))
    return sorted(os.path.join(folder, name) for folder, name in walked)


def _digest(files: list[str]) -> str:
    digest = hashlib.sha256(llvmlite_version.encode())
    for path in files:
        digest.update(os.path.relpath(path, _PACKAGE).encode() + b"\0" + Path(path).read_bytes() + b"\0")
    return digest.hexdigest()
