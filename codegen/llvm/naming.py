"""Names in LLVM IR. In: what they should say. Out: names that LLVM takes, each once.

A loop over c has the blocks c.enter, c.loop, c.again and c.end and counts in %c. Where it is for
readers, what is loaded from a buffer in0, and its addresses, are %in0.<number>: longer names take
LLVM longer to read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from .values import Val

_NUMBERED = re.compile(r"t\d+")  # a value
_PLAIN = re.compile(r"(?!(t|then|done|rare)\d+$)[a-zA-Z]\w*(\.\w+)*", re.ASCII)
_NOTE = re.compile(r"^([\w.]+):  ; (.*)$", re.M)
_LABEL = re.compile(r"^([\w.]+):.*$", re.M)
_BLOCK = re.compile(r"^\S+:\s+(#|//) %([\w.]+)\n(?:\s+\1 +(?:=>|Parent|Loop|Child).*\n)*", re.M)


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
        """A name that LLVM takes, and the suffix that makes it and each of its parts free: "",
        ".1", ".2"."""
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


# ---------------------------------------------------------------- which loop is which in optimised
# IR and assembly


def notes(text: str) -> dict[str, str]:
    """What the emitter says of blocks, by label."""
    return dict(_NOTE.findall(text))


def noted(module: str, said: Mapping[str, str]) -> str:
    """A module that LLVM has printed, which keeps labels and forgets comments."""
    return _LABEL.sub(
        lambda match: match[0] + (f"\n  ; {said[match[1]]}" if match[1] in said else ""), module
    )


def marked(assembly: str, said: Mapping[str, str]) -> str:
    """Verbose assembly, where a comment names the block that begins."""
    return _BLOCK.sub(
        lambda match: match[0] + (f"\t{match[1]} {said[match[2]]}\n" if match[2] in said else ""),
        assembly,
    )
