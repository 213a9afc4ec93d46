"""A dump: artefacts in files. In: a Compiled program, a folder. Out: files that name themselves.

Every file begins with a line `weft dump: ..` in a comment of its own language. Only files that do
are ever replaced or removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from ... import errors
from ...compiler.compile import Compiled
from ..names.naming import InputNames
from .artefacts import Artefact, artefacts

MARK = re.compile(r"(#|;|//) weft dump: ")
ENDINGS = ("loops", "ll", "opt.ll", "s", "cu", "ptx", "sass")
NOTHING = Artefact(
    "README.txt",
    "what is in this folder",
    "0 kernels: nothing to compute, everything is in memory already\n",
)


def write(c: Compiled, names: InputNames, folder: Path) -> Path:
    """Writes a program whose inputs have these names below `folder`, and removes what an older dump
    left there.

    Raises ArgumentError if a file would be overwritten that no dump has made; then nothing is
    written.
    """
    return _write(artefacts(c, names), folder)


def write_nothing(folder: Path) -> Path:
    """The same where there is nothing to compute."""
    return _write([NOTHING], folder)


def _write(items: Iterable[Artefact], folder: Path) -> Path:
    files = {a.path: a.text for a in items}
    _refuse_others(folder, files)
    for path in files:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        (folder / path).write_text(text, encoding="utf-8")
    for left in _of_dumps(folder):
        if left.relative_to(folder).as_posix() not in files:
            left.unlink()
    return folder


def _refuse_others(folder: Path, files: Mapping[str, str]) -> None:
    for name in files:
        path = folder / name
        if path.exists() and not _is_of_dump(path):
            raise errors.ArgumentError(
                f"dump: {path} exists and was not made by a dump: choose another folder"
            )


def _of_dumps(folder: Path) -> Iterable[Path]:
    """The files below a folder that some dump has made."""
    candidates = [
        *folder.glob("*.txt"),
        *(p for ending in ENDINGS for p in folder.glob(f"kernels/*.{ending}")),
    ]
    return [p for p in dict.fromkeys(candidates) if _is_of_dump(p)]


def _is_of_dump(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace") as file:
        return MARK.match(file.readline(200)) is not None
