"""Machine code for the emulated device. In: CUDA C. Out: shared libraries, kept for a day in a
folder of temporary files."""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from project_root import ROOT

HERE = Path(__file__).resolve().parent
HEADERS = ROOT / "codegen" / "cuda"
KERNEL = re.compile(r'extern "C" __global__ void(?: __launch_bounds__\([^)]*\))?\s+(\w+)\s*\(')
COMMON = ["-std=c++20", "-w", "-fPIC", "-shared", "-ffp-contract=off", f"-I{HERE}", f"-I{HEADERS}"]
KERNELS = ["-O1", "-fno-strict-aliasing", "-DWEFT_EMULATOR", "-include", "emulator.h"]
RACES = ("-fsanitize=thread", "-g1")  # a runtime is preloaded
INLINE = "-Dinline=inline __attribute__((always_inline))"
AS_WRITTEN = (
    "-fno-tree-sra",
    "--param=max-completely-peel-times=0",
)  # a place for each access, in its width
ACCESSES = (*RACES, INLINE, *AS_WRITTEN, "-nodefaultlibs")  # without that runtime
DAY = 86400


class BuildError(RuntimeError):
    """g++ refused a kernel; the message is its own."""


def compiler() -> str | None:
    """The C++ compiler, or None."""
    return shutil.which("g++")


def symbols(text: str) -> list[str]:
    """The kernels of a text, in order."""
    return KERNEL.findall(text)


def library(texts: Sequence[str], instrumented: Sequence[str] = ()) -> Path:
    """The library of all kernels of these texts; `instrumented`: RACES, ACCESSES or nothing.

    Symbol s of text number i is `entry(s, i)`: different texts may have equal symbols.
    """
    return _built(
        "".join(_renamed(text, number) for number, text in enumerate(texts)),
        [*KERNELS, *instrumented],
    )


def entry(symbol: str, number: int) -> str:
    """The name by which a library knows a kernel of its text of this number."""
    return f"{symbol}_{number}"


def _renamed(text: str, number: int) -> str:
    names = symbols(text)
    before = [f"#define {name} {entry(name, number)}" for name in names]
    after = [f"WEFT_EMULATED({name})\n#undef {name}" for name in names]
    return "\n".join([*before, f'#line 1 "{(names or ["text"])[0]}.cu"', text, *after, ""])


@cache
def machine(races: bool = False) -> ctypes.CDLL:
    """The emulated device itself; its symbols are found by the libraries of kernels."""
    sources = "".join(f'#include "{p.name}"\n' for p in sorted(HERE.glob("*.cpp")))
    found = ctypes.CDLL(
        str(_built(sources, ["-O2", *(["-DWEFT_TSAN"] if races else [])])), mode=ctypes.RTLD_GLOBAL
    )
    found.emulator_launch.restype = ctypes.c_char_p
    found.emulator_allocate.restype = ctypes.c_uint64
    return found


def _built(text: str, flags: list[str]) -> Path:
    out = (
        _folder()
        / f"{hashlib.sha256((_sources() + repr(flags) + text).encode()).hexdigest()[:24]}.so"
    )
    if out.exists():
        os.utime(out)
        return out
    with tempfile.NamedTemporaryFile(dir=out.parent, suffix=".so", delete=False) as partial:
        command = [compiler() or "g++", *COMMON, *flags, "-x", "c++", "-", "-o", partial.name]
        plain = {
            k: v for k, v in os.environ.items() if k != "LD_PRELOAD"
        }  # of a process that looks for races
        done = subprocess.run(
            command, env=plain, input=text.encode(), capture_output=True, check=False
        )
    if done.returncode:
        os.unlink(partial.name)
        raise BuildError(done.stderr.decode(errors="replace"))
    os.replace(partial.name, out)
    return out


@cache
def _sources() -> str:
    """What a library depends on besides its text."""
    return "".join(
        p.read_text()
        for p in sorted([*HERE.glob("*.h"), *HERE.glob("*.cpp"), *HEADERS.glob("*.cuh")])
    )


@cache
def _folder() -> Path:
    folder = Path(tempfile.gettempdir()) / f"weft-emulator-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    for old in folder.glob("*.so"):
        with suppress(FileNotFoundError):  # another process finishes or removes it
            if old.stat().st_mtime < time.time() - DAY:
                old.unlink()
    return folder
