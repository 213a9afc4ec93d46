"""The host's Target. In: what the system says of its processor. Out: what LLVM says of it, asked
once a machine."""

from __future__ import annotations

import functools
import hashlib
import json
import platform

from llvmlite import __version__ as llvmlite_version

from ..codegen.llvm import target
from ..codegen.llvm.target import Target
from . import cache

# the lines of /proc/cpuinfo that name a processor, on x86-64 and aarch64
_NAMING = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags")
_NAMING_ARM = (
    "CPU implementer",
    "CPU architecture",
    "CPU variant",
    "CPU part",
    "CPU revision",
    "Features",
)


def host() -> Target:
    """The CPU this process runs on."""
    return _host(cache.default().folder)


@functools.cache
def _host(folder: object) -> Target:
    said = _cpuinfo()
    if not said:
        return target.host()
    key = hashlib.sha256(
        f"processor {llvmlite_version} {platform.machine()} {said}".encode()
    ).hexdigest()
    stored = cache.default().get(key)
    if stored is None:
        stored = json.dumps(target.detected()).encode()
        cache.default().put(key, stored, "runtime")
    name, features, flags = json.loads(stored)
    return target.of(name, features, flags)


def model() -> str:
    """What the maker calls the processor, "" where the system does not say."""
    return _said("model name")


def flags() -> set[str]:
    """Features of the processor according to the system; nothing where it does not say."""
    return set(_said("flags").split())


def _said(name: str) -> str:
    return next(
        (
            line.partition(":")[2].strip()
            for line in _cpuinfo()
            if line.partition(":")[0].strip() == name
        ),
        "",
    )


def _cpuinfo() -> list[str]:
    """The lines on the first processor that do not change from start to start."""
    try:
        with open("/proc/cpuinfo") as file:
            lines = file.read(8192).split("\n\n")[0].splitlines()
    except OSError:
        return []
    return [line for line in lines if line.split(":")[0].strip() in _NAMING + _NAMING_ARM]
