"""The common interface of CUDA compilers, and the options that each is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Output = Literal["cubin", "ptx"]
Run = Callable[[str, dict[str, str], list[str], Output], tuple[bytes, str]]  # of text, headers by name, options, output

# As IEEE has it: a*b+c is rounded twice unless the text says fma, quotients and roots are exact, nothing is flushed to zero.
EXACT = ["--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true"]


@dataclass(frozen=True)
class Compiler:
    """One that was found. `run` gives what was asked for, and the log; it raises Refused."""

    name: str
    version: str
    run: Run


class Refused(Exception):
    """The compiler's log, where it made nothing."""


def options(arch: str, output: Output) -> list[str]:
    """For an architecture like sm_90a: its machine code, or the PTX of the virtual architecture that belongs to it."""
    target = arch if output == "cubin" else arch.replace("sm_", "compute_")
    return [f"--gpu-architecture={target}", "--std=c++17", *EXACT, *(["--ptxas-options=-v"] if output == "cubin" else [])]
