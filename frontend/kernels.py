"""Machine code, one unit a unique kernel. In: Loops, a Target. Out: its Code, compiled only if nobody has."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from ..codegen.llvm.build import compile_text
from ..codegen.llvm.emit import emit
from ..codegen.target import Target
from ..ir.loop import Loops
from ..ir.loop_text import show
from ..runtime import cache, flat
from ..runtime.code import Code, known, phase_names, symbol


def kernel_key(loops: Loops, target: Target) -> str:
    """What the machine code of a kernel depends on: its loops (not its name), the target, the compiler."""
    text = show(replace(loops, name="kernel"))
    material = "\n".join([text, repr(target), repr(flat.MAGIC), cache.source_fingerprint()])
    return hashlib.sha256(material.encode()).hexdigest()


def kernel(key: str, loops: Loops, target: Target) -> Code:
    """A kernel's code: from this process, from the disk, or freshly compiled."""
    with known.lock:
        names = phase_names(key, len(loops.phases))
        return known.find(key, names) or known.add(key, _compiled(key, names, loops, target), names)


def _compiled(key: str, names: Sequence[str], loops: Loops, target: Target) -> bytes:
    """Code as a block, or an object, which is left on disk."""
    data = compile_text(emit(replace(loops, name=symbol(key)), target), target, fast=loops.tiny)
    data = flat.flattened(data, names)
    cache.default().put(key, data, "kernel")
    return data
