"""Small results of a program that is replayed. In: where they are wanted, each time somewhere else. Out: places that stay.

A graph has its addresses built in. A loss that the user keeps is at a new one after every step: so it is computed where the last
one was, and copied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..buffer import DeviceBuffer
from .devices import Gpu
from .driver import bound_copy

SMALL = 4096  # bytes that are copied in about the time that a copy takes to start
MANY = 4  # addresses that take turns without a copy


class Results:
    """`sizes`: the words of small results, and their bytes."""

    def __init__(self, sizes: Mapping[int, int], gpu: Gpu) -> None:
        self._sizes, self._gpu = sizes, gpu
        self._seen: dict[int, set[int]] = {word: set() for word in sizes}
        self._kept: dict[int, DeviceBuffer] = {}

    def placed(self, words: Sequence[int]) -> list[int]:
        """The addresses, those of results that were in many places replaced by ones that stay."""
        for word, seen in list(self._seen.items()):
            seen.add(words[word])
            if len(seen) > MANY:
                self._kept[word] = self._gpu.pool.allocate(self._sizes[word])
                del self._seen[word]
        return [self._kept[i].address if i in self._kept else address for i, address in enumerate(words)]

    def copies(self, words: Sequence[int]) -> list[Callable[[], object]]:
        """What brings the results where they are wanted."""
        driver, sizes = self._gpu.driver, self._sizes
        return [bound_copy(driver, words[word], kept.address, sizes[word]) for word, kept in self._kept.items()]
