"""Copies between the host and the device that need not wait for each other. In: addresses and sizes. Out: pieces on a stream.

The device copies from and to page-locked memory by itself. Other memory goes through a ring of pieces of it: the caller's memory
is free as soon as it has been read, and the copy of one piece overlaps that of the next.
"""

from __future__ import annotations

import ctypes
from collections import deque
from typing import Any

from ... import locks

PIECE = 4 << 20  # bytes: about 0.1 ms on the bus, a hundred times what starting a copy takes
PIECES = 4
DIRECT = 64 << 10  # bytes up to which CUDA itself takes a copy of what is uploaded before it returns

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
                self._cuda.memcpy_dtoh_async(writable(slot.address, size), source + first, self._stream)
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
