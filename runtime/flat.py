"""Machine code as one block that runs wherever it is put. In: an ELF object for x86-64. Out: the block; later its functions.

    before      sections .text and .rodata, relocations between them, a symbol table: an engine links it in 0.3 ms
    after       the sections one after the other, relative distances filled in: a copy into executable memory links it

Functions of the C library are called through stubs at the end of the block, jumps whose targets are filled in when it is
loaded. An object with anything else stays as it is, for native.load_object. Numbers are those of the System V ABI, AMD64.
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

from ..errors import CompileError
from . import native

MAGIC = b"weftflat"
_RELATIVE = {2, 4}  # R_X86_64_PC32, R_X86_64_PLT32: 32 bits of symbol + addend - place
_STUB = b"\xff\x25\x00\x00\x00\x00" + bytes(8)  # jmp *(%rip), and the address it reads
_IN_MEMORY, _PROGBITS, _RELA, _EXECUTABLE_X86_64 = 2, 1, 4, b"\x7fELF\x02\x01"
_SECTION, _SYMBOL, _RELOCATION = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IBBHQQ"), struct.Struct("<QQq")


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
    """The object as a block with the functions `names`; the object itself where that is not possible."""
    try:
        return _flattened(data, names)
    except _Unsupported:
        return data


def _flattened(data: bytes, names: Sequence[str]) -> bytes:
    if not data.startswith(_EXECUTABLE_X86_64) or data[18:20] != b"\x3e\0":
        raise _Unsupported
    table, count = struct.unpack_from("<Q", data, 0x28)[0], struct.unpack_from("<H", data, 0x3C)[0]
    sections = [_SECTION.unpack_from(data, table + i * _SECTION.size) for i in range(count)]
    layout = _Layout()
    for i, (_, kind, flags, _, offset, size, _, _, align, _) in enumerate(sections):
        if flags & _IN_MEMORY:
            if kind != _PROGBITS:
                raise _Unsupported
            layout.start[i] = layout.add(data[offset : offset + size], max(align, 1))
    symbols = next((s for s in sections if s[1] == 2), None)  # SHT_SYMTAB
    if symbols is None:
        raise _Unsupported
    found = _symbols(data, symbols, sections[symbols[6]])
    for _, kind, _, _, offset, size, _, target, _, _ in sections:
        if kind == _RELA and target in layout.start:
            for at in range(offset, offset + size, _RELOCATION.size):
                _relocate(layout, layout.start[target], found, *_RELOCATION.unpack_from(data, at))
    places = {name: layout.start[section] + value for name, section, value in found if section in layout.start}
    head = json.dumps([[places[name] for name in names], {name: at + 6 for name, at in layout.stubs.items()}]).encode()
    return MAGIC + struct.pack("<I", len(head)) + head + layout.block


def _symbols(data: bytes, table: tuple[int, ...], strings: tuple[int, ...]) -> list[tuple[str, int, int]]:
    """(name, section, value); section 0: defined elsewhere."""
    out = []
    for at in range(table[4], table[4] + table[5], _SYMBOL.size):
        name, _, _, section, value, _ = _SYMBOL.unpack_from(data, at)
        start = strings[4] + name
        out.append((data[start : data.index(b"\0", start)].decode(), section, value))
    return out


def _relocate(layout: _Layout, start: int, symbols: list[tuple[str, int, int]], place: int, info: int, addend: int) -> None:
    name, section, value = symbols[info >> 32]
    kind, at = info & 0xFFFFFFFF, start + place
    if kind not in _RELATIVE or (section not in layout.start and (section or kind != 4)):
        raise _Unsupported
    target = layout.start[section] + value if section else layout.stub(name)
    struct.pack_into("<i", layout.block, at, target + addend - at)


# ---------------------------------------------------------------- executable memory

_REGION = 1 << 20  # bytes that are mapped at once


@functools.cache
def _c() -> ctypes.CDLL:
    """The C library and whatever else the process holds."""
    return ctypes.CDLL(None, use_errno=True)


class _Memory:
    """Pages that are written once and then executable, never both at a time."""

    def __init__(self) -> None:
        self.regions: list[mmap.mmap] = []
        self.address, self.used, self.size = 0, 0, 0

    def place(self, block: bytes | bytearray) -> int:
        """The address of a copy of the block, which starts a page."""
        with native.lock:
            size = -(-len(block) // mmap.PAGESIZE) * mmap.PAGESIZE
            if self.used + size > self.size:
                self._map(max(_REGION, size))
            address = self.address + self.used
            self.regions[-1][self.used : self.used + len(block)] = block
            if _c().mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), mmap.PROT_READ | mmap.PROT_EXEC):
                raise CompileError(f"memory cannot be made executable: {os.strerror(ctypes.get_errno())}")
            self.used += size
            return address

    def _map(self, size: int) -> None:
        region = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ | mmap.PROT_WRITE)
        self.regions.append(region)
        self.address, self.used, self.size = ctypes.addressof(ctypes.c_char.from_buffer(region)), 0, size


_memory = _Memory()


def is_flat(data: bytes) -> bool:
    return data.startswith(MAGIC)


def load(data: bytes) -> list[int]:
    """The addresses of the functions that `flattened` was asked for. The code stays until the process ends."""
    start = len(MAGIC) + 4 + struct.unpack_from("<I", data, len(MAGIC))[0]
    places, stubs = json.loads(data[len(MAGIC) + 4 : start])
    block = bytearray(data[start:])
    for name, at in stubs.items():
        struct.pack_into("<Q", block, at, _address_of(name))
    address = _memory.place(block)
    return [address + place for place in places]


def _address_of(name: str) -> int:
    try:
        return ctypes.cast(getattr(_c(), name), ctypes.c_void_p).value or 0
    except AttributeError as error:
        raise CompileError(f"object code cannot be loaded: there is no function {name}") from error
