"""Blocks of machine code. In: an ELF object for x86-64. Out: one block that runs anywhere.

    before      sections .text and .rodata, relocations between them, a symbol table
    after       the sections one after the other, relative distances filled in: to load is to copy

Functions of the C library are called through stubs after the sections, jumps whose targets are
filled in when it is loaded. Data that is written lies after these, on pages of its own. An object
with anything else stays as it is, for native.load_object. Numbers are those of the System V ABI,
AMD64.

Why not LLVM's engine alone: it takes 0.15 ms to link an object, where a block takes 0.013, and LLVM
must be loaded, 20 ms or more. New processes whose programs are on disk, both ways by turns, 34 each
on two busy cores, the best of each, loading / processor time of the process after its imports:

                                         blocks          engine
    training step of LeNet, 33 objects   1.1 / 86 ms     28 / 114 ms
    one expression, 2 objects            0.3 / 23 ms     45 / 45 ms
"""

from __future__ import annotations

import ctypes
import functools
import json
import mmap
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..errors import CompileError
from . import native

MAGIC = b"weftflt2"
_RELATIVE = {2, 4}  # R_X86_64_PC32, R_X86_64_PLT32: 32 bits of symbol + addend - place
_STUB = b"\xff\x25\x00\x00\x00\x00" + bytes(8)  # jmp *(%rip), and the address it reads
_WRITTEN, _IN_MEMORY = 1, 2  # flags of a section
_PROGBITS, _RELA, _ZEROS, _UNWIND = 1, 4, 8, 0x70000001  # kinds of sections
_OBJECT_X86_64 = b"\x7fELF\x02\x01"
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")


class _Unsupported(Exception):
    """The object needs a real linker."""


@dataclass
class _Layout:
    """The block in the making: where each section begins in it, where each stub."""

    block: bytearray = field(default_factory=bytearray)
    start: dict[int, int] = field(default_factory=dict)
    stubs: dict[str, int] = field(default_factory=dict)

    def add(self, data: bytes, align: int) -> int:
        self.block += bytes(-len(self.block) % align)
        at = len(self.block)
        self.block += data
        return at

    def stub(self, name: str) -> int:
        if name not in self.stubs:
            self.stubs[name] = self.add(_STUB, 16)
        return self.stubs[name]


def flattened(data: bytes, names: Sequence[str]) -> bytes:
    """The object as a block with the functions `names`; as it is where that is not possible."""
    try:
        return _flattened(data, names)
    except _Unsupported:
        return data


def _flattened(data: bytes, names: Sequence[str]) -> bytes:
    if not data.startswith(_OBJECT_X86_64) or data[18:20] != b"\x3e\0":
        raise _Unsupported
    table, count = struct.unpack_from("<Q", data, 0x28)[0], struct.unpack_from("<H", data, 0x3C)[0]
    sections = [_SECTION.unpack_from(data, table + i * _SECTION.size) for i in range(count)]
    symbol_table = next((s for s in sections if s[1] == 2), None)  # SHT_SYMTAB
    if symbol_table is None:
        raise _Unsupported
    symbols = _symbols(data, symbol_table, sections[symbol_table[6]])
    layout = _Layout()
    _place(layout, data, sections, written=False)
    for name, section, _ in symbols:
        if name and not section:
            layout.stub(name)
    fixed = len(layout.block)
    if any(flags & _WRITTEN and flags & _IN_MEMORY for _, _, flags, *_ in sections):
        layout.add(b"", mmap.PAGESIZE)
    _place(layout, data, sections, written=True)
    for _, kind, _, _, offset, size, _, target, _, _ in sections:
        if kind == _RELA and target in layout.start:
            for at in range(offset, offset + size, _RELOCATION.size):
                _relocate(layout, layout.start[target], symbols, *_RELOCATION.unpack_from(data, at))
    start = layout.start
    places = {name: start[section] + value for name, section, value in symbols if section in start}
    stubs = {name: at + 6 for name, at in layout.stubs.items()}
    head = json.dumps([[places[name] for name in names], stubs, fixed]).encode()
    return MAGIC + struct.pack("<I", len(head)) + head + layout.block


def _place(layout: _Layout, data: bytes, sections: list[tuple[int, ...]], written: bool) -> None:
    """Adds the sections that are written to, or the others.

    Tables for unwinding are left out: nothing here is unwound.
    """
    for i, (_, kind, flags, _, offset, size, _, _, align, _) in enumerate(sections):
        if not flags & _IN_MEMORY or kind == _UNWIND or bool(flags & _WRITTEN) != written:
            continue
        if kind not in (_PROGBITS, _ZEROS):
            raise _Unsupported
        content = bytes(size) if kind == _ZEROS else data[offset : offset + size]
        layout.start[i] = layout.add(content, max(align, 1))


def _symbols(
    data: bytes, table: tuple[int, ...], strings: tuple[int, ...]
) -> list[tuple[str, int, int]]:
    """(name, section, value); section 0: defined elsewhere."""
    out = []
    for at in range(table[4], table[4] + table[5], _SYMBOL.size):
        name, _, _, section, value, _ = _SYMBOL.unpack_from(data, at)
        start = strings[4] + name
        out.append((data[start : data.index(b"\0", start)].decode(), section, value))
    return out


def _relocate(
    layout: _Layout,
    start: int,
    symbols: list[tuple[str, int, int]],
    place: int,
    info: int,
    addend: int,
) -> None:
    name, section, value = symbols[info >> 32]
    kind, at = info & 0xFFFFFFFF, start + place
    if kind not in _RELATIVE or (section not in layout.start and (section or kind != 4)):
        raise _Unsupported
    target = layout.start[section] + value if section else layout.stub(name)
    struct.pack_into("<i", layout.block, at, target + addend - at)


# ---------------------------------------------------------------- executable memory

_REGION = 1 << 20  # bytes that are mapped at once
_CODE, _DATA = mmap.PROT_READ | mmap.PROT_EXEC, mmap.PROT_READ | mmap.PROT_WRITE


@functools.cache
def _c() -> ctypes.CDLL:
    """The C library and whatever else the process holds."""
    return ctypes.CDLL(None, use_errno=True)


class Memory:
    """Pages for blocks and their data; those of code are written, then executable, never both."""

    def __init__(self) -> None:
        self._regions: dict[int, mmap.mmap] = {}  # by address
        self._free: dict[int, int] = {}  # the size of each free stretch by its address
        # (address, size) of what is free, but not among `_free` yet
        self._given: list[tuple[int, int]] = []

    @property
    def used(self) -> int:
        """Bytes of the pages that blocks lie in."""
        with native.lock:
            self._take_back()
            return sum(map(len, self._regions.values())) - sum(self._free.values())

    def place(self, block: bytes | bytearray, fixed: int) -> int:
        """The address of a copy of the block, which starts a page.

        Memory past the first `fixed` bytes stays writable.
        """
        with native.lock:
            self._take_back()
            size = _whole_pages(len(block))
            lowest = min((at for at, free in self._free.items() if free >= size), default=0)
            address = lowest or self._map(max(_REGION, size))
            left = self._free.pop(address) - size
            if left:
                self._free[address + size] = left
            self._protect(address, size, _DATA)
            ctypes.memmove(address, bytes(block), len(block))
            self._protect(address, _whole_pages(fixed), _CODE)
            return address

    def give(self, address: int, size: int) -> None:
        """Gives back the pages of a block, which nothing may run in from here on.

        May interrupt `place`, as a finalizer does.
        """
        self._given.append((address, size))

    def _take_back(self) -> None:
        while self._given:
            address, size = self._given.pop()
            base, region = next(
                (a, r) for a, r in self._regions.items() if a <= address < a + len(r)
            )
            region.madvise(mmap.MADV_DONTNEED, address - base, size)
            before = next(
                (a for a, free in self._free.items() if a + free == address and a >= base), None
            )
            if before is not None:
                address, size = before, size + self._free.pop(before)
            if address + size < base + len(region):
                size += self._free.pop(address + size, 0)
            self._free[address] = size

    def _map(self, size: int) -> int:
        region = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=_DATA)
        # never unmapped: threads may still run in it when Python ends
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(region))
        address = ctypes.addressof(ctypes.c_char.from_buffer(region))
        self._regions[address], self._free[address] = region, size
        return address

    @staticmethod
    def _protect(address: int, size: int, access: int) -> None:
        if _c().mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), access):
            raise CompileError(
                f"the access to memory for code cannot be set: {os.strerror(ctypes.get_errno())}"
            )


def _whole_pages(size: int) -> int:
    return -(-size // mmap.PAGESIZE) * mmap.PAGESIZE


memory = Memory()


class Block(NamedTuple):
    """A block in memory: the addresses of its functions, where it is, bytes of its pages."""

    addresses: list[int]
    address: int
    size: int

    def free(self) -> None:
        memory.give(self.address, self.size)


def is_flat(data: bytes) -> bool:
    return data.startswith(MAGIC)


def load(data: bytes) -> Block:
    """The functions that `flattened` was asked for, in memory until the block is freed."""
    start = len(MAGIC) + 4 + struct.unpack_from("<I", data, len(MAGIC))[0]
    places, stubs, fixed = json.loads(data[len(MAGIC) + 4 : start])
    block = bytearray(data[start:])
    for name, at in stubs.items():
        struct.pack_into("<Q", block, at, _address_of(name))
    address = memory.place(block, fixed)
    return Block([address + place for place in places], address, _whole_pages(len(block)))


def _address_of(name: str) -> int:
    try:
        return ctypes.cast(getattr(_c(), name), ctypes.c_void_p).value or 0
    except AttributeError as error:
        raise CompileError(f"object code cannot be loaded: there is no function {name}") from error
