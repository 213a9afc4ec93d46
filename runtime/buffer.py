"""Buffers of 64-byte aligned memory, reused rather than returned page by page. In: sizes in bytes,
NumPy arrays. Out: Buffers.

Writing to fresh pages is about ten times slower than to pages used before, so freed memory is kept
by size class. Memory of a large page and more begins at one and asks for them: four streams from
memory run an eighth faster.
"""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from .. import errors, locks, system

ALIGNMENT = 64
LARGE_PAGE = 1 << 21  # bytes, where the system has them
LARGE = 1 << 28  # bytes from which on memory is asked for only if there is as much
SMALL = 1 << 20  # bytes; to compute with more takes a hundred times longer than to give it back
# bytes whose first use takes a hundred times longer than to ask the system what is left
CHECKED = 1 << 26

Block = tuple[int, int, object]  # (bytes, aligned address, the object that owns the memory)


def size_class(nbytes: int) -> int:
    """nbytes rounded up: eight classes for each power of two, none below ALIGNMENT."""
    shift = max((nbytes - 1).bit_length() - 4, 6)
    return max((nbytes + (1 << shift) - 1) >> shift, 1) << shift


def _address(array: np.ndarray[Any, Any]) -> int:
    """Of element 0."""
    address: int = array.__array_interface__["data"][0]  # three times faster than array.ctypes.data
    return address


class Allocator:
    """Caching allocator for blocks of memory; thread-safe.

    The free lists take no lock: append and pop are atomic. So a Buffer may die in the middle of
    anything here, as garbage collection and signal handlers make it do.
    """

    def __init__(self, limit: int | None = None) -> None:
        # the most that is kept for reuse
        self.limit = system.total() // 4 if limit is None else limit
        # what is free is handed back where the system has less than this left
        self.spare = system.total() // 16
        self._free: dict[int, list[Block]] = {}  # by size; the block freed last is at the end
        self._arenas: list[
            Block
        ] = []  # the one that the last run gave back, no more but for a moment
        self._mapped = 0  # bytes in use and bytes kept for reuse
        self._unchecked = 0  # bytes mapped since the system was asked
        self._lock = locks.new("memory")  # of _mapped

    def take(self, nbytes: int) -> Block:
        """A block of at least nbytes, contents undefined; of several free ones the last freed (its
        cache lines are warm)."""
        return self.take_class(size_class(nbytes))

    def take_class(self, size: int) -> Block:
        """The same for a size that is known to be that of a class."""
        try:
            return self._free[size].pop()
        except (KeyError, IndexError):
            return self._fresh(size)

    def give(self, block: Block) -> None:
        """Takes a block back."""
        try:
            self._free[block[0]].append(block)
        except KeyError:
            self._free.setdefault(block[0], []).append(block)
        self._keep_limit()

    def giver(self, size: int) -> Callable[[Block], object]:
        """What takes blocks of this class back. For small ones it is C, and does not look whether
        too much is kept."""
        return self._free.setdefault(size, []).append if size < SMALL else self.give

    def take_arena(self, nbytes: int) -> Block:
        """Memory for the intermediates of a run: one block that all programs share and that grows
        to the largest."""
        try:
            block = self._arenas.pop()
        except IndexError:
            return self.take(nbytes)
        if block[0] >= nbytes:
            return block
        self._count(-block[0])
        del block  # before there is another
        return self.take(nbytes)

    def give_arena(self, block: Block) -> None:
        """Takes it back. Where several threads ran programs at once, all but one are memory like
        any other."""
        self._arenas.append(block)
        while len(self._arenas) > 1:
            with contextlib.suppress(IndexError):
                self.give(self._arenas.pop(0))
        self._keep_limit()

    def _keep_limit(self) -> None:
        if self._mapped > self.limit and self.cached_bytes > self.limit:
            self._evict(self.limit)

    def trim(self, keep: int = 0) -> None:
        """Hands free memory back to the system until at most `keep` bytes are cached."""
        self._evict(keep)

    @property
    def allocated_bytes(self) -> int:
        """Bytes in use, size classes counted whole."""
        return self._mapped - self.cached_bytes

    @property
    def cached_bytes(self) -> int:
        """Bytes kept for reuse."""
        return sum(size * len(free) for size, free in list(self._free.items())) + sum(
            b[0] for b in [*self._arenas]
        )

    def _evict(self, keep: int) -> None:
        """Drops half of every free list, what was freed longest ago, until `keep` bytes are left;
        unused sizes die out.

        The arena is dropped last.
        """
        while self.cached_bytes > keep:
            lists = [free for free in list(self._free.values()) if free] or [self._arenas]
            for free in lists:
                for _ in range((len(free) + 1) // 2):
                    self._drop(free)

    def _drop(self, free: list[Block]) -> None:
        with contextlib.suppress(IndexError):  # another thread took the last one
            self._count(-free.pop(0)[0])

    def _count(self, size: int) -> None:
        with self._lock:
            self._mapped += size

    def _relieve(self, size: int) -> None:
        """Hands back what is free where the system is short of memory; asks it once in CHECKED new
        bytes."""
        self._unchecked += size
        if self._unchecked >= CHECKED:
            self._unchecked = 0
            left = system.left()
            if left is not None and left < self.spare + size:
                self.trim()

    def _fresh(self, size: int) -> Block:
        self._relieve(size)
        if size >= LARGE and self._is_too_much(size):
            self.trim()
            if self._is_too_much(size):
                raise _refusal(size)
        try:
            block = self._map(size)
        except MemoryError:
            self.trim()
            try:
                block = self._map(size)
            except MemoryError:
                raise _refusal(size) from None
        self._count(size)
        self._keep_limit()
        return block

    @staticmethod
    def _is_too_much(size: int) -> bool:
        """Systems promise more memory than they have, and end the process that uses it."""
        left = system.left()
        return left is not None and size > left

    @staticmethod
    def _map(size: int) -> Block:
        if size >= LARGE_PAGE and hasattr(mmap, "MADV_HUGEPAGE"):
            return _large_pages(size)
        owner = np.empty(size + ALIGNMENT, np.uint8)
        address = _address(owner)
        return size, address + -address % ALIGNMENT, owner


def _large_pages(size: int) -> Block:
    """Fresh pages, since the first use decides how large they are: those of a heap have been
    used."""
    try:
        pages = mmap.mmap(-1, size + LARGE_PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError):
        raise MemoryError from None
    owner = np.frombuffer(pages, np.uint8)
    address = _address(owner)
    start = -address % LARGE_PAGE
    with contextlib.suppress(OSError):  # the system may be configured to have none
        pages.madvise(mmap.MADV_HUGEPAGE, start, size // LARGE_PAGE * LARGE_PAGE)
    return size, address + start, owner


def _refusal(size: int) -> errors.MemoryError:
    left = system.left()
    rest = "there is not as much" if left is None else f"{system.bytes_text(left)} are left"
    return errors.MemoryError(f"{system.bytes_text(size)} of memory are needed, {rest}")


memory = Allocator()
nothing: Callable[[], object] = bool


class _View:
    """What an exported ndarray has as its base: the array interface, and a reference that keeps the
    Buffer alive."""

    def __init__(self, buffer: Buffer, interface: dict[str, Any]) -> None:
        self.buffer = buffer
        self.__array_interface__ = interface


class Buffer:
    """A piece of memory, given back when the last reference to it dies.

    foreign: the memory belongs to another object (a NumPy array). exported: NumPy may see it.
    Neither is ever donated. What is called in the end is each Buffer's own, so that it can be C:
    Ctrl-C would be lost in a method.
    """

    __slots__ = ("__del__", "__weakref__", "_memory", "address", "exported", "foreign", "nbytes")
    __del__: Callable[[], object]
    device = "cpu"

    def __init__(
        self,
        address: int,
        nbytes: int,
        memory: object,
        foreign: bool = False,
        give: Callable[[], object] = nothing,
    ) -> None:
        self.address = address
        self.nbytes = nbytes
        self.foreign = foreign
        self.exported = False
        self._memory = memory  # a Block of the allocator, or the foreign owner
        self.__del__ = give

    @classmethod
    def allocate(cls, nbytes: int) -> Buffer:
        """Memory for nbytes, contents undefined, the address a multiple of 64. Raises
        errors.MemoryError."""
        block = memory.take(nbytes)
        return cls(block[1], nbytes, block, give=partial(memory.giver(block[0]), block))

    @classmethod
    def arena(cls, nbytes: int) -> Buffer:
        """The memory for intermediates that all programs share, for as long as the Buffer lives.
        Raises errors.MemoryError."""
        block = memory.take_arena(nbytes)
        return cls(block[1], nbytes, block, give=partial(memory.give_arena, block))

    @classmethod
    def from_numpy(cls, array: np.ndarray[Any, Any]) -> Buffer:
        """The memory of `array`, whose element 0 is at the address; not copied."""
        return cls(_address(array), array.nbytes, array, foreign=True)

    def as_numpy(
        self,
        dtype: Any,
        shape: Sequence[int],
        strides: Sequence[int],
        offset: int = 0,
        writeable: bool = False,
        export: bool = True,
    ) -> np.ndarray[Any, Any]:
        """This memory as an array, not copied; strides and offset in elements. export=False: the
        array is gone before a run."""
        self.exported |= export
        wanted = np.dtype(dtype)
        # bfloat16 has no type string
        dtype = wanted if wanted.isbuiltin == 1 else np.dtype(f"u{wanted.itemsize}")
        interface = {
            "version": 3,
            "typestr": dtype.str,
            "shape": tuple(shape),
            "strides": tuple(s * dtype.itemsize for s in strides),
            "data": (self.address + offset * dtype.itemsize, not writeable),
        }
        return np.asarray(_View(self, interface)).view(wanted)

    def __repr__(self) -> str:
        notes = "".join(f", {note}" for note in ("foreign", "exported") if getattr(self, note))
        return f"Buffer({self.nbytes} bytes at {self.address:#x}{notes})"


class DeviceBuffer(Buffer):
    """Memory of a device other than the CPU: NumPy cannot read it."""

    __slots__ = ("device",)

    def __init__(
        self,
        address: int,
        nbytes: int,
        memory: object,
        device: str,
        foreign: bool = False,
        give: Callable[[], object] = nothing,
    ) -> None:
        super().__init__(address, nbytes, memory, foreign, give)
        self.device = device

    def as_numpy(
        self, dtype: Any, shape: Sequence[int], strides: Sequence[int], *_: Any, **__: Any
    ) -> Any:
        """There is no such array."""
        raise errors.DeviceError(
            f"this memory is on {self.device}: NumPy reads that of the CPU, copy it there first"
        )
