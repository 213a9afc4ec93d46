"""Device memory that is reused. In: sizes in bytes. Out: Buffers.

Everything runs on one stream, so memory can be given out again while the device still works on what
was there before.
"""

from __future__ import annotations

from functools import partial

from ... import errors, system
from ..buffer import Allocator, Block, DeviceBuffer
from .driver import Driver, OutOfMemory


class _Piece:
    """Memory of the driver, freed when the last reference to it dies."""

    __slots__ = ("_free", "address")

    def __init__(self, driver: Driver, nbytes: int) -> None:
        self._free = driver.free
        self.address = driver.allocate(nbytes)

    def __del__(self) -> None:
        if hasattr(self, "address"):
            self._free(self.address)


class Pool(Allocator):
    """The Allocator of a device. What is free is kept until memory runs out."""

    def __init__(self, driver: Driver, number: int = 0) -> None:
        super().__init__(limit=driver.total_memory)
        self.driver, self.number = driver, number
        self._lent: dict[
            int, Block
        ] = {}  # by address: a Buffer in a cycle must not hold a piece, which would die with it

    @property
    def device(self) -> str:
        return f"cuda:{self.number}"

    def allocate(self, nbytes: int) -> DeviceBuffer:
        """Memory for nbytes, contents undefined. Raises errors.MemoryError."""
        block = self.take(nbytes)
        self._lent[block[1]] = block
        return DeviceBuffer(
            block[1], nbytes, None, self.device, give=partial(self.give_back, block[1])
        )

    def give_back(self, address: int) -> None:
        """Takes the memory of a Buffer back."""
        self.give(self._lent.pop(address))

    def _fresh(self, size: int) -> Block:
        cached = self.cached_bytes
        try:
            block = self._piece(size)
        except OutOfMemory:
            self.trim()
            try:
                block = self._piece(size)
            except OutOfMemory as refusal:
                raise errors.MemoryError(self._refused(size, cached, refusal.left)) from None
        self._count(size)
        return block

    def _piece(self, size: int) -> Block:
        piece = _Piece(self.driver, size)
        return size, piece.address, piece

    def _refused(self, size: int, cached: int, left: int | None) -> str:
        shown = system.bytes_text
        rest = "" if left is None else f", {shown(left)} are left for one more"
        return (
            f"{shown(size)} of memory are needed on {self.device}, which has"
            f" {shown(self.driver.total_memory)}: {shown(self.allocated_bytes)} are in use,"
            f" {shown(cached)} were cached and are given back{rest}"
        )
