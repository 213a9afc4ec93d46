"""Names in LLVM IR. In: what they should say. Out: names that LLVM takes, each once.

A loop over c has the blocks c.enter, c.loop, c.again and c.end and counts in %c. Where it is for readers, what is loaded from a
buffer in0, and its addresses, are %in0.<number>: longer names take LLVM longer to read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .values import Val

_NUMBERED = re.compile(r"t\d+")  # a value
_PLAIN = re.compile(r"(?!(t|then|done|rare)\d+$)[a-zA-Z]\w*(\.\w+)*", re.ASCII)


class Naming:
    """The names of one function: those with a number of their own, and those that are `taken`."""

    def __init__(self, for_readers: bool) -> None:
        self.for_readers = for_readers
        self.names = 0
        self.taken = {"ctx", "chunk", "tid", "start"}

    def fresh(self, hint: str = "t") -> str:
        self.names += 1
        return f"{hint}{self.names}"

    def unique(self, name: str, parts: Iterable[str] = ("",)) -> tuple[str, str]:
        """A name that LLVM takes, and the suffix that makes it and each of its parts free: "", ".1", ".2"."""
        plain = name if _PLAIN.fullmatch(name) else "_" + re.sub(r"\W", "_", name, flags=re.ASCII)
        number = 0
        while True:
            end = f".{number}" if number else ""
            wanted = {f"{plain}{part}{end}" for part in parts}
            if self.taken.isdisjoint(wanted):
                self.taken |= wanted
                return plain, end
            number += 1

    def family(self, v: Val) -> str:
        """How the names begin of what is found through a pointer: with the name of the buffer."""
        if not self.for_readers:
            return "t"
        name = v.text[1:].partition(".")[0]
        return "t" if _NUMBERED.fullmatch(name) else f"{name}."
