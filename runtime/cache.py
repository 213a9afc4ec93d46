"""Disk cache. In: keys and bytes. Out: the same bytes later, in any process, or nothing.

Creating a file costs more than compiling a tiny kernel, so entries share files, called packs
(`pack.py`). A process appends to one pack, which it holds a lock on; it reads them all. Any process
may drop any pack at any time, by unlinking it: a process that reads it still can, one that appends
to it finds out and goes on in another.

Entries are run as machine code, so only files that nobody else can write are read (`trusted.py`);
else nothing is kept, and a warning says why. Other files are left alone.

Why not sqlite3: a prototype of one table (WAL, synchronous=OFF, the same digests, no limit of size)
was slower. 20 new processes each by turns on two busy cores, ms, the best / the median:

                                     packs         sqlite3
    import of the module                           1.2 / 1.9
    first 30 puts, of 1 to 6 KB      0.8 / 5.3     2.2 / 10.4
    30 more                          0.5 / 0.7     1.2 / 1.5
    first 30 gets                    0.7 / 1.1     1.1 / 1.8
    30 more                          0.2 / 0.3     0.3 / 0.3
    600 puts of each of two at once  25 / 56       62 / 202

It also opens by path, through links, so that what was looked at need not be what is read, and it
writes over and then deletes whatever stands at the names of its -wal and -shm files. One damaged
page may cost all entries, not one; to drop a file that others have open breaks it; and a connection
must not pass through fork().
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from llvmlite import __version__ as llvmlite_version

from .. import errors, locks, options
from . import trusted
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
    """What a folder holds. Of `kinds`: (entries, bytes) by kind, a name counts once.

    `used`: when each pack was, ascending.
    """

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
    """Bytes by key in `folder`, at most about `limit`; what was unused longest is dropped first.

    No pack is longer than an eighth of the limit, and a process makes room for a pack before it
    takes one: so P processes that write at once leave at most 7/8 + P/8 of the limit behind.
    Without a folder or file locks it keeps nothing.
    """

    def __init__(self, folder: Path | None, limit: int = options.Options.cache_limit) -> None:
        self.folder = folder if fcntl else None
        self.limit = limit
        self.most = limit // PACKS  # bytes of a pack
        self._entries: dict[bytes, tuple[Pack, Entry]] = {}  # by name
        self._packs: dict[int, Pack] = {}  # by the number of the file
        self._scanned = float("-inf")  # when the folder was last looked at
        # the pack that this process appends to, and the file it is locked by
        self._own: tuple[Pack, int] | None = None
        self._process = os.getpid()
        self._lock = locks.new("disk")

    def _mine(self) -> contextlib.AbstractContextManager[object]:
        """The lock; a forked child leaves its parent's pack alone."""
        with self._lock:
            if self._process != os.getpid():
                self._process = os.getpid()
                own, self._own = self._own, None
                if own:
                    os.close(own[1])  # the parent keeps its file lock
        return self._lock

    def get(self, key: str) -> bytes | None:
        """The data put under `key`, if it is there and whole."""
        if self.folder is None:
            return None
        name = _name(key)
        with self._mine(), contextlib.suppress(OSError, ValueError):
            if name not in self._entries:
                self._scan()
            place = self._entries.get(name)
            if place is not None:
                data = place[0].data(place[1])
                if data is not None:
                    self._use(place[0])
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
            if (
                pack.scanned + size > self.most
                or pack.scanned != os.fstat(file).st_size
                or pack.is_dropped()
            ):
                # it is full, or was cut or dropped
                pack, file = self._next_pack(file, size)
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
        """Adds to the index what is new in the folder, and lets go of packs that have gone."""
        if self._scanned + RESCAN_SECONDS > time.monotonic():
            return
        self._scanned = time.monotonic()
        self._forget_dropped()
        with self._opened_folder() as folder:
            for name in _names(folder):
                with contextlib.suppress(OSError, ValueError):
                    self._index(self._opened(folder, name))

    def _forget_dropped(self) -> None:
        """Closes packs that are no longer in the folder: while they are open they fill the disk."""
        dropped = [number for number, pack in self._packs.items() if pack.is_dropped()]
        gone = [self._packs.pop(number) for number in dropped]
        if gone:
            self._entries = {
                name: place for name, place in self._entries.items() if place[0] not in gone
            }
        for pack in gone:
            pack.close()

    @contextlib.contextmanager
    def _opened_folder(self) -> Iterator[int]:
        """A descriptor of the folder.

        Raises OSError where there is none, and for good where others can write to it.
        """
        assert self.folder is not None
        try:
            folder = trusted.open_folder(self.folder)
        except trusted.UntrustedError as why:
            refused, self.folder = self.folder, None
            warnings.warn_explicit(
                f"nothing is kept on disk: {why}", errors.CacheWarning, os.fspath(refused), 0
            )
            raise
        try:
            yield folder
        finally:
            os.close(folder)

    def _opened(self, folder: int, name: str) -> Pack:
        # by number: another process may have dropped a pack and made one of the same name
        number = os.stat(name, dir_fd=folder, follow_symlinks=False).st_ino
        if number not in self._packs:
            assert self.folder is not None
            file = trusted.open_file(folder, name, os.O_RDONLY)
            number = os.fstat(file).st_ino
            self._packs[number] = Pack(os.path.join(self.folder, name), file)
        return self._packs[number]

    def _index(self, pack: Pack) -> None:
        for entry in pack.new_entries():
            self._entries[entry[0]] = pack, entry

    def _take_pack(self, room: int) -> tuple[Pack, int]:
        """A pack with room that no other process appends to, and the file it is locked by."""
        assert self.folder is not None
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        with self._opened_folder() as folder:
            self._trim(folder)
            names = (f"weft-{number:04}.pack" for number in count())
            self._own = next(
                claimed
                for name in names
                if (claimed := self._claim(folder, name, room)) is not None
            )
        return self._own

    def _claim(self, folder: int, name: str, room: int) -> tuple[Pack, int] | None:
        """Locks this pack and cuts off what it ends in torn.

        None where it is full, not ours, or taken by another process.
        """
        try:
            file = trusted.open_file(folder, name, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        except trusted.UntrustedError:
            return None
        try:
            if os.fstat(file).st_size + room <= self.most and _lock(file):
                pack = self._opened(folder, name)
                # else it was dropped and made anew meanwhile
                if os.path.sameopenfile(pack.file, file):
                    self._index(pack)
                    if not pack.is_foreign():
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

    def _trim(self, folder: int) -> None:
        """Drops packs, those unused for longest first, until there is room for another."""
        stamped = []
        for name, pack in _packs(folder):
            with contextlib.closing(pack):
                status = os.fstat(pack.file)
                stamped.append((status.st_mtime, status.st_size, name))
        total = sum(size for _, size, _ in stamped)
        for _, size, name in sorted(stamped):
            if total <= self.limit - self.most:
                break
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=folder)
            total -= size
        self._forget_dropped()

    def close(self) -> None:
        """Lets go of all files. What was put stays for others."""
        with self._mine():
            files = [pack.file for pack in self._packs.values()]
            files += [self._own[1]] if self._own else []
            self._entries, self._packs, self._own = {}, {}, None
            self._scanned = float("-inf")
            for file in files:
                os.close(file)

    # ------------------------------------------------------------ the folder as a whole

    def summary(self) -> Summary:
        """What the folder holds now."""
        contents = Summary()
        newest: dict[bytes, Entry] = {}
        with contextlib.suppress(OSError), self._opened_folder() as folder:
            for _, pack in _packs(folder):
                with contextlib.closing(pack):
                    newest |= {entry[0]: entry for entry in pack.new_entries()}
                    status = os.fstat(pack.file)
                    contents.total += status.st_size
                    contents.used.append(status.st_mtime)
        for _, kind, _, length in newest.values():
            name = kind.rstrip(b"\0").decode(errors="replace")
            entries, size = contents.kinds.get(name, (0, 0))
            contents.kinds[name] = entries + 1, size + HEADER.size + length
        contents.used.sort()
        return contents

    def clear(self) -> Cleared:
        """Drops every pack, also those that processes use: they go on in new ones."""
        done = Cleared()
        with (
            contextlib.suppress(FileNotFoundError, NotADirectoryError),
            self._opened_folder() as folder,
        ):
            for name, pack in _packs(folder):
                with contextlib.closing(pack):
                    size = os.fstat(pack.file).st_size
                try:
                    os.unlink(name, dir_fd=folder)
                except FileNotFoundError:
                    continue
                except OSError as failure:
                    done.failures.append(failure)
                else:
                    done.files, done.total = done.files + 1, done.total + size
        return done


def _names(folder: int) -> list[str]:
    return sorted(entry.name for entry in os.scandir(folder) if PACK_NAME.fullmatch(entry.name))


def _packs(folder: int) -> Iterator[tuple[str, Pack]]:
    """Those of this user, opened anew."""
    for name in _names(folder):
        with contextlib.suppress(OSError):
            pack = Pack(name, trusted.open_file(folder, name, os.O_RDONLY))
            if pack.is_foreign():
                pack.close()
            else:
                yield name, pack


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
    """The folder, wherever the process goes.

    None where there is no home or no current folder to begin from.
    """
    expanded = os.path.expanduser(folder)
    try:
        return None if expanded.startswith("~") else Path(os.path.abspath(expanded))
    except OSError:
        return None


@functools.cache
def source_fingerprint(*parts: str) -> str:
    """A digest of llvmlite's version and of the sources of some files and folders of the package.

    Without parts: of the code generator's, so that it changes whenever the same Loops may give
    other code. The sources are read once for each state of their files: what the system says of the
    files is the key of their digest on disk.
    """
    files = [
        file for part in parts or ("codegen",) for file in _sources(os.path.join(_PACKAGE, part))
    ]
    stats = [
        (s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino, s.st_dev) for s in map(os.stat, files)
    ]
    key = hashlib.sha256(repr(("sources", llvmlite_version, files, stats)).encode()).hexdigest()
    stored = default().get(key)
    if stored is None:
        stored = _digest(files).encode()
        default().put(key, stored, "runtime")
    return stored.decode()


_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_SUFFIXES = (".py", ".ll")


def _sources(path: str) -> list[str]:
    """The files of Python and LLVM IR in a folder and those below, or the one file."""
    if not os.path.isdir(path):
        return [path]
    walked = (
        (folder, name)
        for folder, _, names in os.walk(path)
        for name in names
        if name.endswith(_SUFFIXES)
    )
    return sorted(os.path.join(folder, name) for folder, name in walked)


def _digest(files: list[str]) -> str:
    digest = hashlib.sha256(llvmlite_version.encode())
    for path in files:
        digest.update(
            os.path.relpath(path, _PACKAGE).encode() + b"\0" + Path(path).read_bytes() + b"\0"
        )
    return digest.hexdigest()
