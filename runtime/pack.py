"""Packs, the files of the disk cache. In: a file of entries. Out: the entries in it that are whole,
each with a name and a kind.

An entry is a header and the data. What does not verify is not there: a torn or damaged stretch is
skipped by searching for the next header. A process that appends first cuts off a torn end of the
file.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

MAGIC = b"weftpk02"
FAMILY = MAGIC[:6]  # of every version
# magic, name, bytes of data, digest of name and data, kind, checksum of these
HEADER = struct.Struct("<8s16sQ16s8sI4x")
CHECKED = HEADER.size - 8
BLOCK = 1 << 20  # bytes of a pack that are scanned at once


Entry = tuple[bytes, bytes, int, int]  # name, kind (padded with zeros), offset, bytes of data


def header(name: bytes, kind: bytes, data: bytes) -> bytes:
    digest = hashlib.blake2b(data, digest_size=16, key=name).digest()
    head = HEADER.pack(MAGIC, name, len(data), digest, kind, 0)
    return head[:CHECKED] + struct.pack("<I4x", zlib.crc32(head[:CHECKED]))


@dataclass(eq=False)
class Pack:
    """A pack open for reading; `scanned` bytes of it are known."""

    path: str
    file: int
    scanned: int = 0
    used: bool = False  # by this process: its time stamp says so

    def new_entries(self) -> Iterator[Entry]:
        """Those after the part that was scanned before."""
        size = os.fstat(self.file).st_size
        at = self.scanned = self.scanned if self.scanned <= size else 0
        while at + HEADER.size <= size:
            start, block = at, os.pread(self.file, BLOCK, at)
            if len(block) < HEADER.size:  # cut off meanwhile
                return
            while at - start <= len(block) - HEADER.size:
                head = _parsed(block, at - start)
                if head is None:
                    at = start + _next_magic(block, at - start)
                    continue
                name, kind, length = head
                if at + HEADER.size + length > size:  # it is being written
                    return
                yield name, kind, at, length
                at = self.scanned = at + HEADER.size + length

    def data(self, entry: Entry) -> bytes | None:
        """The data of an entry, if it is whole."""
        name, kind, offset, length = entry
        whole = os.pread(self.file, HEADER.size + length, offset)
        data = whole[HEADER.size :]
        return data if whole[: HEADER.size] == header(name, kind, data) else None

    def is_foreign(self) -> bool:
        """Does it hold something else: neither an entry, nor the beginning of one."""
        start = os.pread(self.file, len(FAMILY), 0)
        return (
            not FAMILY.startswith(start)
            and next(Pack(self.path, self.file).new_entries(), None) is None
        )

    def is_dropped(self) -> bool:
        """Whether the folder no longer has it. What is open stays readable, but no other process
        will see more of it."""
        try:
            return not os.path.samestat(os.lstat(self.path), os.fstat(self.file))
        except OSError:
            return True

    def close(self) -> None:
        os.close(self.file)


def _parsed(block: bytes, at: int) -> tuple[bytes, bytes, int] | None:
    """(name, kind, bytes of data) of the header at this place, if there is one."""
    magic, name, length, _, kind, checksum = HEADER.unpack_from(block, at)
    whole = magic == MAGIC and checksum == zlib.crc32(block[at : at + CHECKED])
    return (name, kind, length) if whole else None


def _next_magic(block: bytes, at: int) -> int:
    """Where the next header may begin."""
    place = block.find(MAGIC, at + 1)
    return place if place >= 0 else max(at + 1, len(block) - len(MAGIC) + 1)
