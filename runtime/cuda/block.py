"""The device memory of a run, one block: intermediates, the status of its checks, inputs that come
from the host.

In: a CudaImage and the address of a block. Out: what the launches get as arguments, and one upload
of what is small.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from ..failures import NO_CHECK_FAILED
from .driver import Driver
from .image import CudaImage

STATUS_BYTES = 16  # {key, value}
# bytes of an input from the host that is copied together with others: about what a copy's own time
# is worth
SMALL = 4096


def _aligned(nbytes: int, to: int = 256) -> int:
    return nbytes + -nbytes % to


class Layout:
    """Where everything is: the arena, the status, small inputs from the host, large ones. Offsets
    and sizes in bytes."""

    def __init__(self, image: CudaImage) -> None:
        self.image = image
        self.status = end = _aligned(image.arena_bytes)
        end += STATUS_BYTES if image.checks else 0
        self.small = [i for i, nbytes in image.host.items() if nbytes <= SMALL]
        self.large = [i for i, nbytes in image.host.items() if nbytes > SMALL]
        self.offsets: dict[int, int] = {}
        for i in self.small:
            self.offsets[i], end = end, _aligned(end + image.host[i], 16)
        # bytes that one upload brings: the status and the small inputs
        self.head = end - self.status
        for i in self.large:
            self.offsets[i] = _aligned(end)
            end = self.offsets[i] + image.host[i]
        self.nbytes = end if end > self.status else image.arena_bytes
        self._plan_words()

    def _plan_words(self) -> None:
        """words = bases[where] + offsets, the bases being inputs, outputs, the block, 0 and
        cursors."""
        image = self.image
        self.block = image.inputs + image.outputs
        places = [
            place
            for launch in image.launches
            for place in self._places(launch.buffers, launch.params)
        ]
        self.where = np.array([base for base, _ in places], np.int64)
        self.added = np.array([offset for _, offset in places], np.int64)

    def _places(
        self, buffers: Sequence[tuple[str, int]], params: Sequence[int]
    ) -> list[tuple[int, int]]:
        status = (self.block, self.status) if self.image.checks else (self.block + 1, 0)
        return [
            *(self._place(*b) for b in buffers),
            *((self.block + 1, value) for value in params),
            status,
        ]

    def _place(self, space: str, number: int) -> tuple[int, int]:
        if space == "arena":
            return self.block, number
        if space == "cursor":
            return self.block + 2 + number, 0
        if space == "input" and number in self.offsets:
            return self.block, self.offsets[number]
        return number + (self.image.inputs if space == "output" else 0), 0


class Words:
    """The arguments of all launches of one running call, 8 bytes each, and a copy of the block's
    head.

    `arguments`: those of each launch; they change with `fill`.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._words = np.empty(len(layout.where), np.int64)
        self._head = np.zeros(layout.head, np.uint8)
        self._head_address = int(self._head.ctypes.data)
        if layout.image.checks:
            self._head[:STATUS_BYTES].view(np.int64)[:] = NO_CHECK_FAILED
        counts = [len(launch.buffers) + len(launch.params) + 1 for launch in layout.image.launches]
        words = self._words.data.cast("B")
        self._spans = [
            slice(end - n, end) for n, end in zip(counts, accumulate(counts), strict=True)
        ]
        self.arguments = [words[8 * s.start : 8 * s.stop] for s in self._spans]

    def fill(self, addresses: Sequence[int], block: int) -> None:
        """Writes the arguments for these addresses of inputs and outputs."""
        bases = np.array([*addresses, block, *[0] * (1 + self._layout.image.cursors)], np.int64)
        np.take(bases, self._layout.where, out=self._words)
        self._words += self._layout.added
        self._bases = bases

    def move(self, launch: int, cursors: Sequence[int]) -> None:
        """Writes the arguments of one launch for these addresses of cursors."""
        self._bases[self._layout.block + 2 :] = cursors
        span = self._spans[launch]
        self._words[span] = self._bases[self._layout.where[span]] + self._layout.added[span]

    def upload(self, driver: Driver, inputs: Sequence[int], block: int) -> None:
        """Brings the inputs from the host, and a status that says that nothing has failed."""
        layout = self._layout
        host = layout.image.host
        for i in layout.small:
            ctypes.memmove(
                self._head_address + layout.offsets[i] - layout.status, inputs[i], host[i]
            )
        if layout.head:
            driver.upload(block + layout.status, self._head_address, layout.head)
        for i in layout.large:
            driver.upload(block + layout.offsets[i], inputs[i], host[i])
