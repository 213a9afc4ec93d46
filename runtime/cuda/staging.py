"""Copies between the host and the device that need not wait for each other. In: addresses and
sizes. Out: pieces on a stream.

The device copies from and to page-locked memory by itself. Other memory goes through a ring of
pieces of it: the caller's memory is free as soon as it has been read, and the copy of one piece
overlaps that of the next.
"""

from __future__ import annotations

import ctypes
from collections import deque
from typing import Any

import numpy as np

from ... import locks
from ..buffer import size_class

PIECE = 4 << 20  # bytes: about 0.1 ms on the bus, a hundred times what starting a copy takes
PIECES = 4
# bytes up to which CUDA itself takes a copy of what is uploaded before it returns
DIRECT = 64 << 10

_view = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)(
    ("PyMemoryView_FromMemory", ctypes.pythonapi)
)
_READ, _WRITE = 0x100, 0x200  # PyBUF_READ and PyBUF_WRITE of Python's header


def readable(address: int, nbytes: int) -> memoryview:
    """Host memory as a buffer."""
    return _view(address, nbytes, _READ)  # type: ignore[no-any-return]


def writable(address: int, nbytes: int) -> memoryview:
    """Host memory as a buffer that may be written to."""
    return _view(address, nbytes, _WRITE)  # type: ignore[no-any-return]


class _Slot:
    """A page-locked piece, and the event after the last copy that used it."""

    def __init__(self, cuda: Any) -> None:
        self.memory = cuda.pagelocked_empty(PIECE, "u1")
        self.address = int(self.memory.ctypes.data)
        self.done = cuda.Event(cuda.event_flags.DISABLE_TIMING)


class Staging:
    """The ring of a device, made when it is first needed. The context is current in every call."""

    def __init__(self, cuda: Any, stream: Any) -> None:
        self._cuda, self._stream = cuda, stream
        self._slots: deque[_Slot] = deque()
        self._lock = locks.new("staging")  # of the order of the slots

    def upload(self, to: int, source: int, nbytes: int) -> None:
        """Reads all of the source before it returns."""
        if nbytes <= DIRECT:
            self._cuda.memcpy_htod_async(to, readable(source, nbytes), self._stream)
            return
        with self._lock:
            for first in range(0, nbytes, PIECE):
                size = min(PIECE, nbytes - first)
                slot = self._free()
                ctypes.memmove(slot.address, source + first, size)
                self._cuda.memcpy_htod_async(to + first, readable(slot.address, size), self._stream)
                slot.done.record(self._stream)

    def download(self, to: int, source: int, nbytes: int) -> None:
        """Returns when all is there."""
        with self._lock:
            waiting: deque[tuple[int, int, _Slot]] = deque()
            for first in range(0, nbytes, PIECE):
                if len(waiting) == PIECES:
                    _land(*waiting.popleft())
                size = min(PIECE, nbytes - first)
                slot = self._free()
                self._cuda.memcpy_dtoh_async(
                    writable(slot.address, size), source + first, self._stream
                )
                slot.done.record(self._stream)
                waiting.append((to + first, size, slot))
            for piece in waiting:
                _land(*piece)

    def _free(self) -> _Slot:
        """The slot used longest ago, when its copy is done."""
        if len(self._slots) < PIECES:
            self._slots.append(_Slot(self._cuda))
        else:
            self._slots.rotate(-1)
        slot = self._slots[-1]
        slot.done.synchronize()
        return slot

    def close(self) -> None:
        """Gives the ring back."""
        self._slots.clear()


def _land(to: int, nbytes: int, slot: _Slot) -> None:
    slot.done.synchronize()
    ctypes.memmove(to, slot.address, nbytes)


# ---------------------------------------------------------------- page-locked memory that the
# device reads by itself


class _Page:
    """Memory, and the event after the last copy from it."""

    def __init__(self, cuda: Any, nbytes: int) -> None:
        self.memory = cuda.pagelocked_empty(nbytes, np.uint8)
        self.address, self.nbytes = int(self.memory.ctypes.data), nbytes
        self.read = cuda.Event(cuda.event_flags.DISABLE_TIMING)


class Pinned:
    """`nbytes` at `address`, given back when the last reference to it dies."""

    __slots__ = ("__weakref__", "_page", "_pages", "address", "nbytes")

    def __init__(self, page: _Page, nbytes: int, pages: Pages) -> None:
        self._page, self._pages = page, pages
        self.address, self.nbytes = page.address, nbytes

    def wait(self) -> None:
        """Returns when the device has read what was last uploaded from here, which may be
        overwritten then."""
        self._pages.wait(self._page)

    def __del__(self) -> None:
        self._pages.give(self._page)


class Pages:
    """All page-locked memory of a device; it is kept, because to lock pages takes long."""

    def __init__(self, cuda: Any, here: Any, stream: Any) -> None:
        self._cuda, self._here, self._stream = cuda, here, stream
        self._all: list[_Page] = []
        self._free: dict[int, list[_Page]] = {}  # by size

    def take(self, nbytes: int) -> Pinned:
        """Memory that no copy reads any more, contents undefined."""
        size = size_class(nbytes)
        free = self._free.setdefault(size, [])
        with self._here:
            try:
                page = free.pop()
            except IndexError:
                page = _Page(self._cuda, size)
                self._all.append(page)
            page.read.synchronize()
        return Pinned(page, nbytes, self)

    def give(self, page: _Page) -> None:
        """Takes it back."""
        self._free.setdefault(page.nbytes, []).append(page)

    def wait(self, page: _Page) -> None:
        """Until the last copy from it is done."""
        with self._here:
            page.read.synchronize()

    def upload(self, to: int, source: int, nbytes: int) -> bool:
        """Copies from the page that the source lies in, if there is one; the context is current."""
        for page in self._all:
            first = source - page.address
            if first >= 0 and first + nbytes <= page.nbytes:
                self._cuda.memcpy_htod_async(to, page.memory[first : first + nbytes], self._stream)
                page.read.record(self._stream)
                return True
        return False

    def close(self) -> None:
        """Gives all of it back."""
        self._all.clear()
        self._free.clear()
