"""CUDA's compilers: where they are, in wheels of pip, in a toolkit or on the PATH; what one is to
Weft. In: names. Out: paths."""

from __future__ import annotations

import glob
import importlib.util
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from .... import options

LIBRARIES = ("lib", "lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib")
# folders of site-packages/nvidia, of CUDA 13 and of CUDA 12
WHEELS = (
    "cu13",
    "cuda_nvrtc",
    "cuda_nvcc",
)


def roots() -> Iterator[str]:
    """Folders with a bin and a lib: those of wheels first, since a user has asked for just
    these."""
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec and spec.submodule_search_locations) or ():
        yield from (os.path.join(folder, wheel) for wheel in WHEELS)
    yield from options.cuda_folders()


def libraries(pattern: str) -> list[str]:
    """The paths of shared libraries whose file name matches, best first."""
    places = [os.path.join(root, folder, pattern) for root in roots() for folder in LIBRARIES]
    return [path for place in places for path in sorted(glob.glob(place), reverse=True)]


def tool(name: str) -> str | None:
    """The path of a program."""
    beside = os.pathsep.join(os.path.join(root, "bin") for root in roots())
    return shutil.which(name, path=beside) or shutil.which(name)


# ---------------------------------------------------------------- compilers


Output = Literal["cubin", "ptx"]
# of text, headers by name, options, output
Run = Callable[[str, dict[str, str], list[str], Output], tuple[bytes, str]]

# As IEEE has it: a*b+c is rounded twice unless the text says fma, quotients and roots are exact,
# nothing is flushed to zero.
EXACT = ["--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true"]


@dataclass(frozen=True)
class Compiler:
    """One that was found. `run` gives what was asked for, and the log; it raises Refused."""

    name: str
    version: str
    run: Run


class Refused(Exception):
    """The compiler's log, where it made nothing."""


def flags(arch: str, output: Output) -> list[str]:
    """For an architecture like sm_90a: its machine code, or the PTX of the virtual architecture
    that belongs to it."""
    target = arch if output == "cubin" else arch.replace("sm_", "compute_")
    return [
        f"--gpu-architecture={target}",
        "--std=c++17",
        *EXACT,
        *(["--ptxas-options=-v"] if output == "cubin" else []),
    ]
