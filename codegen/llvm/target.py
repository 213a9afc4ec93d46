"""Target of machine code. In: the host, or a name such as avx2. Out: a Target: CPU, features,
vector and cache sizes.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from ... import system
from ...ir.graph.dtype import DType

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_LOADED = 192 << 20  # bytes of address space that LLVM takes: 160 MB are mapped, and some used
_FALLBACK = {1: 32 << 10, 2: 1 << 20, 3: 8 << 20}


@dataclass(frozen=True)
class Target:
    """A CPU as the code generator sees it. `features` is LLVM's comma-separated list, empty for
    those of `cpu`."""

    cpu: str
    features: str
    vector_bits: int
    has_fma: bool
    has_avx512: bool  # ldexp is one instruction, masks are registers
    registers: int  # vector registers
    has_float16: bool  # conversions between float16 and float32 are instructions
    l1: int = _FALLBACK[1]  # bytes
    l2: int = _FALLBACK[2]
    l3: int = _FALLBACK[3]

    def runs_on(self, processor: Target) -> bool:
        """Whether a processor can run code that is made for this target."""
        return self.vector_bits <= processor.vector_bits and self.has_fma <= processor.has_fma

    def lanes(self, bits: int) -> int:
        """Elements of this width in one vector, at least 2."""
        return max(2, self.vector_bits // bits)

    def lanes_of(self, dtypes: Iterable[DType]) -> int:
        """Lanes of a loop that computes these: the vector's bits over those of its widest float, or
        else integer."""
        dtypes = list(dtypes)
        floats = [d.bits for d in dtypes if d.is_float]
        return self.lanes(max(floats or [max(8, d.bits) for d in dtypes] or [64]))


@cache
def library() -> Any:
    """llvmlite's binding. Raises MemoryError where it would not fit."""
    system.require(_LOADED, "the compiler, LLVM,")
    import llvmlite.binding as llvm

    return llvm


@cache
def host() -> Target:
    """The CPU this process runs on."""
    return of(*detected())


def detected() -> tuple[str, str, list[str]]:
    """What LLVM says of this CPU: its name, its features as text, those that it has."""
    llvm = library()
    features = llvm.get_host_cpu_features()
    return (
        llvm.get_host_cpu_name(),
        features.flatten(),
        sorted(name for name, on in features.items() if on),
    )


def of(name: str, features: str, flags: Iterable[str]) -> Target:
    """The Target for a CPU that LLVM describes so."""
    having = set(flags)
    return _with_caches(_target(_known_cpu(name, having), features, having))


@cache
def named(name: str) -> Target:
    """avx512, avx2, sse2 (or x86-64), or host: the same instruction set on every machine that has
    it."""
    if name in ("", "host"):
        return host()
    levels = {"avx512": "x86-64-v4", "avx2": "x86-64-v3", "sse2": "x86-64", "x86-64": "x86-64"}
    if name not in levels:
        raise ValueError(f"unknown target {name!r}: expected host, {', '.join(levels)}")
    return _with_caches(_target(levels[name], "", _LEVEL_FLAGS[levels[name]]))


_LEVEL_FLAGS = {
    "x86-64-v4": {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx2", "fma", "f16c", "bmi2"},
    "x86-64-v3": {"avx2", "fma", "f16c", "bmi2"},
    "x86-64": {"sse2"},
}


def _is_arm() -> bool:
    return platform.machine().lower() in ("aarch64", "arm64")


def _known_cpu(name: str, flags: set[str]) -> str:
    """LLVM aborts the process on a CPU name it does not know, and `generic` may be a 32-bit CPU:
    use a level instead."""
    if name not in ("", "generic") or _is_arm():
        return name or "generic"
    return next(level for level, needs in _LEVEL_FLAGS.items() if needs <= flags | {"sse2"})


def _target(cpu: str, features: str, flags: set[str]) -> Target:
    if _is_arm():
        return Target(
            cpu, features, 128, has_fma=True, has_avx512=False, registers=32, has_float16=True
        )
    avx512 = flags >= _LEVEL_FLAGS["x86-64-v4"]
    bits = 512 if avx512 else 256 if "avx2" in flags else 128
    return Target(
        cpu, features, bits, "fma" in flags, avx512, 32 if avx512 else 16, "f16c" in flags
    )


def _with_caches(t: Target) -> Target:
    sizes = {**_FALLBACK, **_cache_sizes()}
    return replace(t, l1=sizes[1], l2=sizes[2], l3=sizes[3])


@cache
def _cache_sizes() -> dict[int, int]:
    """Bytes of each level's data cache, as far as Linux says."""
    sizes: dict[int, int] = {}
    for folder in sorted(_CACHES.glob("index*")):
        try:
            kind, level, size = (
                (folder / f).read_text().strip() for f in ("type", "level", "size")
            )
            if kind != "Instruction":
                sizes[int(level)] = int(size[:-1]) * _UNITS[size[-1]]
        except (OSError, ValueError, KeyError):
            continue
    return sizes
