"""LLVM itself. In: nothing. Out: llvmlite's binding, loaded if there is room for it."""

from __future__ import annotations

from functools import cache
from typing import Any

from ... import system

_LOADED = 192 << 20  # bytes of address space that it takes: 160 MB are mapped, and some used


@cache
def library() -> Any:
    """llvmlite's binding. Raises MemoryError where it would not fit."""
    system.require(_LOADED, "the compiler, LLVM,")
    import llvmlite.binding as llvm

    return llvm
