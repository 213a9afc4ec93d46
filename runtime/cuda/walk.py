"""Loops and branches on a GPU, walked by the host. In: the table of a program, the launches of one
running call. Out: every launch has been asked for, as often as the loops say.

What the device decides, the condition of a loop or the index of a branch, is read from it, and the
host waits for that.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

from ...signals import deferred
from ..commands import Entry, Operation, parsed
from ..image import FIRST
from .block import Layout, Words
from .driver import Driver, bound_copy

Launch = Callable[[], object]


class Walk:
    """`launches`: those after the early checks; `moving`: the numbers of those that read
    cursors."""

    def __init__(
        self, layout: Layout, words: Words, launches: Sequence[Launch], driver: Driver
    ) -> None:
        image = layout.image
        self._layout, self._words, self._driver = layout, words, driver
        self._early = image.early
        self._launches = launches
        self._entries = parsed(image.table)[image.early :]
        self._cursor = FIRST + layout.block + 1  # the place of the first one
        self._moving = {
            k
            for k, launch in enumerate(image.launches)
            if any(space == "cursor" for space, _ in launch.buffers)
        }
        self._args: list[int] = []

    def start(self, addresses: Sequence[int], block: int) -> None:
        """Takes the addresses of inputs and outputs, and of the program's block."""
        offsets = self._layout.offsets
        there = [block + offsets[i] if i in offsets else a for i, a in enumerate(addresses)]
        self._args = [0, 0, *there, block, *[0] * self._layout.image.cursors]

    def __call__(self) -> object:
        """Walks through all. Gives the first error code of a launch, or 0."""
        with deferred():
            at, entries = 0, self._entries
            while at < len(entries):
                entry = entries[at]
                at += 1
                if not entry.is_command:
                    code = self._launch(entry.number)
                    if code:
                        return code
                elif self._act(entry):
                    assert entry.target is not None
                    at = entry.target - self._early
        return 0

    def _launch(self, number: int) -> object:
        if number in self._moving:
            self._words.move(number, self._args[self._cursor :])
        return self._launches[number - self._early]()

    def _act(self, entry: Entry) -> bool:
        """One command; does it jump."""
        args = self._args
        values = [args[argument] + offset for _, argument, offset in entry.entries]
        match entry.number:
            case Operation.COPY:
                nbytes, (to, source) = entry.entries[0][0], values
                if to != source:
                    bound_copy(self._driver, to, source, nbytes)()
                return False
            case Operation.IF_ZERO:
                return values[0] == 0
            case Operation.IF_NOT_ZERO | Operation.UNLESS_STOPPED:
                return values[0] != 0
            case Operation.IF_GREATER:
                return values[0] > 0
        for word, argument, offset in entry.entries:
            value = args[argument] + offset
            match entry.number:
                case Operation.SET:
                    args[word] = value
                case Operation.ADD:
                    args[word] += value
                case Operation.TURN:
                    args[word] ^= value
                case Operation.LOAD_BYTE:
                    args[word] = self._read(value, 1)
                case Operation.LOAD_WORD:
                    args[word] = self._read(value, 8)
        return False

    def _read(self, address: int, nbytes: int) -> int:
        seen = (ctypes.c_uint8 * nbytes)()
        self._driver.download(ctypes.addressof(seen), address, nbytes)
        return int.from_bytes(bytes(seen), "little", signed=nbytes > 1)
