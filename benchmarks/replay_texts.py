"""Texts of a compiled program. In: the folder of a dump. Out: the texts; how those of two differ.

What differs between runs is left out. A program is a mapping: "program" to the texts of the whole,
each kernel to its loops, schedule, LLVM IR and assembly. Kernels go by their names without numbers:
one more in front changes only the texts of the whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

WHOLE = "program"
TEXTS = ("graph", "grad", "simplified", "program", "memory")  # others of a dump hold times
KINDS = {"loops": "loops", "ll": "LLVM IR", "s": "assembly"}

Texts = dict[str, str]
Program = dict[str, Texts]


# ---------------------------------------------------------------- of one program


def read(folder: Path, package: Path) -> Program:
    """What a dump of a package left in a folder."""
    paths = {name: folder / f"{name}.txt" for name in TEXTS}
    texts = {name: _text(path, package) for name, path in paths.items() if path.is_file()}
    return {WHOLE: texts} | dict(_kernels(folder / "kernels", package))


def _text(path: Path, package: Path) -> str:
    return path.read_text(encoding="utf-8").replace(str(package), "weft").partition("\n\n")[2]


def _kernels(folder: Path, package: Path) -> Iterator[tuple[str, Texts]]:
    seen: list[str] = []
    for path in sorted(folder.glob("*.loops"), key=_number):
        short = re.sub(r"^k\d+_?", "", path.stem)
        seen.append(short)
        count = seen.count(short)
        yield short if count == 1 else f"{short}#{count}", _kernel(path, package)


def _number(path: Path) -> tuple[int, str]:
    found = re.match(r"k(\d+)", path.stem)
    return int(found[1]) if found else 0, path.stem


def _kernel(loops: Path, package: Path) -> Texts:
    """The texts of a kernel, which is called "kernel" in each."""
    paths = {what: loops.with_suffix(f".{ending}") for ending, what in KINDS.items()}
    there = {what: _text(path, package) for what, path in paths.items() if path.is_file()}
    texts = {what: text.replace(loops.stem, "kernel") for what, text in there.items()}
    if "assembly" in texts:
        texts["assembly"] = _without_comments(texts["assembly"])
    return texts | {"schedule": _schedule(loops)}


def _without_comments(assembly: str) -> str:
    sign = "//" if "// %bb.0" in assembly else "#"  # of ARM, of x86
    lines = (line.partition(sign)[0].rstrip() for line in assembly.splitlines())
    return "\n".join(filter(None, lines)) + "\n"


def _schedule(loops: Path) -> str:
    """What the header says of the schedule."""
    head = loops.read_text(encoding="utf-8").partition("\n\n")[0]
    return "\n".join(re.findall(r"^\S+ (?:schedule|launch) +(.*)$", head, re.M)) + "\n"


# ---------------------------------------------------------------- of two


class Change(NamedTuple):
    """A kernel, or the whole program, and those of its texts that differ: before, after."""

    where: str
    how: str  # "changed", "added" or "removed"
    texts: dict[str, tuple[str, str]]


def changes(old: Mapping[str, Texts], new: Mapping[str, Texts]) -> list[Change]:
    """What differs between two programs, or between the same of two revisions."""
    found = []
    for where in dict.fromkeys((*old, *new)):
        a, b = old.get(where, {}), new.get(where, {})
        pairs = {what: (a.get(what, ""), b.get(what, "")) for what in dict.fromkeys((*a, *b))}
        texts = {what: (x, y) for what, (x, y) in pairs.items() if x != y}
        how = "added" if where not in old else "removed" if where not in new else "changed"
        if texts or how != "changed":
            found.append(Change(where, how, texts))
    return found
