"""CUDA C to machine code. In: the text of any number of kernels, an architecture. Out: a Built; also PTX, and assembly."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from .... import errors
from . import nvcc, nvrtc
from .built import Built
from .compiler import Compiler, Output, Refused, options
from .usage import report

_ERROR = re.compile(r"^kernels\.cu[(:](\d+)(?:\)|:\d+): (?:catastrophic |fatal )?error", re.M)
_NO_ARCHITECTURE = re.compile(r"invalid value for --gpu-architecture|Unsupported gpu architecture")

MISSING = (
    "CUDA kernels need a compiler, and there is neither NVRTC (libnvrtc.so.13 or .12) nor nvcc: install the version of your "
    "driver, for CUDA 13.0 `pip install nvidia-cuda-nvrtc==13.0.*`, for CUDA 12 `pip install nvidia-cuda-nvrtc-cu12`; or set "
    "CUDA_HOME to the folder of a CUDA toolkit"
)


@cache
def compiler() -> Compiler:
    """NVRTC, which takes a tenth of nvcc's time, or else nvcc. Raises DeviceError where there is neither."""
    found = nvrtc.find() or nvcc.find()
    if found is None:
        raise errors.DeviceError(MISSING)
    return found


@cache
def headers() -> dict[str, str]:
    """The headers that kernels may include, by name."""
    return {path.name: path.read_text() for path in sorted(Path(__file__).parent.parent.glob("*.cuh"))}


def compile_text(text: str, arch: str, compiler: Compiler | None = None) -> Built:
    """Machine code of all kernels of the text for `arch`, like "sm_90a"; by the `compiler` that is found unless one is given.

    Raises CompileError with the compiler's log and the line that it refused, DeviceError where there is no compiler.
    """
    image, log = _made(text, arch, "cubin", compiler)
    return Built(image, report(log))


def ptx(text: str, arch: str, compiler: Compiler | None = None) -> str:
    """The PTX of the text, with the errors of `compile_text`."""
    return _made(text, arch, "ptx", compiler)[0].rstrip(b"\0").decode()


def _made(text: str, arch: str, output: Output, given: Compiler | None) -> tuple[bytes, str]:
    chosen = given or compiler()
    try:
        return chosen.run(text, headers(), options(arch, output), output)
    except Refused as refused:
        raise errors.CompileError(_explained(str(refused), text, arch, chosen)) from None


def _explained(log: str, text: str, arch: str, chosen: Compiler) -> str:
    who = f"{chosen.name} {chosen.version} made no code for {arch}"
    if _NO_ARCHITECTURE.search(log):
        return f"{who}, which it does not know: `pip install nvidia-cuda-nvrtc` gets a newer one\n{log.strip()}"
    found = _ERROR.search(log)
    if found is None:
        return f"{who}:\n{log.strip()}"
    number = int(found[1])
    return f"{who}. Line {number} of the text:\n    {text.splitlines()[number - 1].strip()}\n{log.strip()}"
