"""Machine code, one unit a unique kernel. In: Loops, a Target. Out: addresses of the phases, compiled only if nobody has."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import replace

from ..codegen.llvm.build import compile_text
from ..codegen.llvm.emit import emit
from ..codegen.target import Target
from ..ir.loop import Loops
from ..ir.loop_text import show
from ..runtime import cache, flat, native

_libraries: dict[str, list[int]] = {}  # by kernel key: the addresses of its phases
_lock = threading.RLock()


def kernel_key(loops: Loops, target: Target) -> str:
    """What the machine code of a kernel depends on: its loops (not its name), the target, the compiler."""
    text = show(replace(loops, name="kernel"))
    material = "\n".join([text, repr(target), cache.source_fingerprint()])
    return hashlib.sha256(material.encode()).hexdigest()


def symbol(key: str) -> str:
    return "weft_" + key[:24]


def known_kernel(key: str, phases: int) -> list[int] | None:
    """Addresses of a kernel's phases, if this process or the disk has its code."""
    with _lock:
        if key not in _libraries:
            data = cache.default().get(key)
            if data is None:
                return None
            _load(key, data, phases)
        return _libraries[key]


def _load(key: str, data: bytes, phases: int) -> None:
    if flat.is_flat(data):
        _libraries[key] = flat.load(data)
    else:
        _libraries[key] = list(native.load_object(data, _phases(key, phases)).values())


def _phases(key: str, count: int) -> list[str]:
    return [f"{symbol(key)}_p{i}" for i in range(count)]


def kernel(key: str, loops: Loops, target: Target) -> list[int]:
    """Addresses of a kernel's phases: from this process, from the disk, or freshly compiled."""
    with _lock:
        found = known_kernel(key, len(loops.phases))
        if found is None:
            data = compile_text(emit(replace(loops, name=symbol(key)), target), target, fast=loops.tiny)
            data = flat.flattened(data, _phases(key, len(loops.phases)))
            cache.default().put(key, data, "kernel")
            _load(key, data, len(loops.phases))
        return _libraries[key]
