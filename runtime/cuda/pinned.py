"""Page-locked host memory. In: sizes in bytes. Out: Pinned memory, which the device reads by itself while the host goes on."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..buffer import size_class


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
        """Returns when the device has read what was last uploaded from here, which may be overwritten then."""
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
