"""Lines of CUDA C. In: statements as text, names that are wanted. Out: an indented function body,
names that differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

INDENT = "    "
RESERVED = """
"alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const
constexpr continue default delete do double else enum explicit export extern false float for friend
goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private
protected public register return short signed sizeof static struct switch template this throw true
try typedef typename union unsigned using virtual void volatile while xor
xor_eq threadIdx blockIdx blockDim gridDim warpSize status aligned e
"""


class Writer:
    """The body of one function."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 1
        self.taken = set(RESERVED.split())
        self.counts: Counter[str] = Counter()

    def line(self, text: str) -> None:
        self.lines.append(INDENT * self.depth + text)

    @contextmanager
    def block(self, head: str, *pragmas: str) -> Iterator[None]:
        for pragma in pragmas:
            self.line(pragma)
        self.line(f"{head} {{" if head else "{")
        self.depth += 1
        yield
        self.depth -= 1
        self.line("}")

    def name(self, wanted: str) -> str:
        """The name itself where it is free, else with a number."""
        plain = spelled(wanted)
        name, number = plain, 0
        while name in self.taken:
            number += 1
            name = f"{plain}_{number}"
        self.taken.add(name)
        return name

    def fresh(self, kind: str) -> str:
        """A name for a value: what it is, and the how manieth."""
        kind = spelled(kind)
        while True:
            name = f"{kind}_{self.counts[kind]}"
            self.counts[kind] += 1
            if name not in self.taken:
                self.taken.add(name)
                return name


def spelled(name: str) -> str:
    """A name of the user's, or of a lowering, as C++ can spell it."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)
    return f"_{plain}" if not plain or plain[0].isdigit() or plain.startswith("weft") else plain
