"""CUDA C to machine code. In: the text of any number of kernels, an architecture. Out: a Built;
also PTX, and assembly where the tools are there; else what is missing."""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .... import errors
from . import nvcc, nvrtc, toolkit
from .toolkit import Compiler, Output, Refused, flags

_ERROR = re.compile(r"^kernels\.cu[(:](\d+)(?:\)|:\d+): (?:catastrophic |fatal )?error", re.M)
_NO_ARCHITECTURE = re.compile(r"invalid value for --gpu-architecture|Unsupported gpu architecture")
_KERNEL = re.compile(r"Compiling entry function '([^']+)'")
_FUNCTION = re.compile(
    r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads"
)
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")

MISSING = (
    "CUDA kernels need a compiler, and there is neither NVRTC (libnvrtc.so.13 or .12) nor nvcc:"
    " install the version of your driver, for CUDA 13.0 `pip install nvidia-cuda-nvrtc==13.0.*`,"
    " for CUDA 12 `pip install nvidia-cuda-nvrtc-cu12`; or set CUDA_HOME to the folder of a CUDA"
    " toolkit"
)
NO_DISASSEMBLER = (
    "nvdisasm reads it: `pip install nvidia-cuda-nvdisasm`, or set CUDA_HOME to the folder of a"
    " CUDA toolkit"
)


@dataclass(frozen=True)
class Usage:
    """What one thread, or with `shared` one block, of a kernel takes: registers, and bytes."""

    registers: int
    shared: int  # static; generated kernels ask for theirs at the launch
    spill_stores: int
    spill_loads: int
    local: int


@dataclass(frozen=True)
class Built:
    """An image that a driver loads, and the Usage of its kernels by symbol."""

    image: bytes
    report: dict[str, Usage]


@cache
def compiler() -> Compiler:
    """NVRTC, which takes a tenth of nvcc's time, or else nvcc. Raises DeviceError where there is
    neither."""
    first = nvrtc.find() or nvcc.find()
    if first is None:
        raise errors.DeviceError(MISSING)
    return first


@cache
def headers() -> dict[str, str]:
    """The headers that kernels may include, by name."""
    return {
        path.name: path.read_text() for path in sorted(Path(__file__).parent.parent.glob("*.cuh"))
    }


def compile_text(text: str, arch: str, compiler: Compiler | None = None) -> Built:
    """Machine code of all kernels of the text for `arch`, like "sm_90a"; by the `compiler` that is
    found unless one is given.

    Raises CompileError with the compiler's log and the line that it refused, DeviceError where
    there is no compiler.
    """
    image, log = _made(text, arch, "cubin", compiler)
    return Built(image, report(log))


def ptx(text: str, arch: str, compiler: Compiler | None = None) -> str:
    """The PTX of the text, with the errors of `compile_text`."""
    return _made(text, arch, "ptx", compiler)[0].rstrip(b"\0").decode()


def _made(text: str, arch: str, output: Output, given: Compiler | None) -> tuple[bytes, str]:
    chosen = given or compiler()
    try:
        return chosen.run(text, headers(), flags(arch, output), output)
    except Refused as refused:
        raise errors.CompileError(_explained(str(refused), text, arch, chosen)) from None


def _explained(log: str, text: str, arch: str, chosen: Compiler) -> str:
    who = f"{chosen.name} {chosen.version} made no code for {arch}"
    if _NO_ARCHITECTURE.search(log):
        return (
            f"{who}, which it does not know: `pip install nvidia-cuda-nvrtc` gets a newer"
            f" one\n{log.strip()}"
        )
    error = _ERROR.search(log)
    if error is None:
        return f"{who}:\n{log.strip()}"
    number = int(error[1])
    return (
        f"{who}. Line {number} of the text:\n   "
        f" {text.splitlines()[number - 1].strip()}\n{log.strip()}"
    )


# ---------------------------------------------------------------- what kernels take


def report(log: str) -> dict[str, Usage]:
    """The kernels of a log. The stack and the spills of functions that a kernel calls count as its
    own."""
    _, *pieces = _KERNEL.split(log)
    return {name: _usage(text) for name, text in zip(pieces[::2], pieces[1::2], strict=True)}


def _usage(text: str) -> Usage:
    functions = [[int(figure) for figure in match.groups()] for match in _FUNCTION.finditer(text)]
    local, stores, loads = (
        (sum(column) for column in zip(*functions, strict=True)) if functions else (0, 0, 0)
    )
    return Usage(_first(_REGISTERS, text), _first(_SHARED, text), stores, loads, local)


def _first(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.search(text)
    return int(match[1]) if match else 0


# ---------------------------------------------------------------- assembly


def compiled_texts(text: str, arch: str) -> dict[str, str]:
    """PTX as "ptx" and assembly as "sass", as far as there are tools that make them for `arch`."""
    texts: dict[str, str] = {}
    try:
        texts["ptx"] = ptx(text, arch)
        if toolkit.tool("nvdisasm"):
            assembly = disassemble(compile_text(text, arch).image)
            texts |= {"sass": assembly} if assembly else {}
    except errors.DeviceError:  # no compiler
        return {}
    except errors.CompileError as refused:  # by a compiler that does not know this GPU
        return {"ptx": "".join(f"// {line}\n" for line in str(refused).splitlines())}
    return texts


def missing_tools() -> dict[str, str]:
    """By "ptx" and "sass" what to install, where there is nothing that makes them."""
    try:
        compiler()
    except errors.DeviceError as none:
        return {"ptx": str(none), "sass": f"{none}; and {NO_DISASSEMBLER}"}
    return {} if toolkit.tool("nvdisasm") else {"sass": NO_DISASSEMBLER}


def disassemble(image: bytes) -> str | None:
    """The assembly of an image, or None where no nvdisasm reads it (`pip install
    nvidia-cuda-nvdisasm`)."""
    path = toolkit.tool("nvdisasm")
    if path is None:
        return None
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(image)
        file.flush()
        done = subprocess.run(
            [path, "--print-code", file.name],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    return None if done.returncode else done.stdout
