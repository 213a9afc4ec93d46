"""Notes in optimised IR and assembly that say which loop is which. In: texts with the labels of the
emitted IR. Out: the same with its notes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_NOTE = re.compile(r"^([\w.]+):  ; (.*)$", re.M)
_LABEL = re.compile(r"^([\w.]+):.*$", re.M)
_BLOCK = re.compile(r"^\S+:\s+(#|//) %([\w.]+)\n(?:\s+\1 +(?:=>|Parent|Loop|Child).*\n)*", re.M)


def notes(text: str) -> dict[str, str]:
    """What the emitter says of blocks, by label."""
    return dict(_NOTE.findall(text))


def noted(module: str, said: Mapping[str, str]) -> str:
    """A module that LLVM has printed, which keeps labels and forgets comments."""
    return _LABEL.sub(lambda found: found[0] + (f"\n  ; {said[found[1]]}" if found[1] in said else ""), module)


def marked(assembly: str, said: Mapping[str, str]) -> str:
    """Verbose assembly, where a comment names the block that begins."""
    return _BLOCK.sub(lambda found: found[0] + (f"\t{found[1]} {said[found[2]]}\n" if found[2] in said else ""), assembly)
