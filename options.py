"""Options of the process. In: the WEFT_* environment variables, read here and nowhere else, at
first use. Out: one frozen Options.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from .errors import OptionError

MAX_THREADS = 256
TARGETS = ("host", "avx512", "avx2", "sse2", "x86-64")
MATMUL = ("float32", "tf32")
DEFAULT_DTYPES = ("float16", "bfloat16", "float32", "float64")
DEBUG_LEVELS = ("1", "2", "3", "4")
ON, OFF = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


def _default_threads() -> int:
    """The cores that this process may run on."""
    allowed = getattr(os, "sched_getaffinity", None)
    cores = len(allowed(0)) if allowed else os.cpu_count() or 1
    return min(cores, MAX_THREADS)


@dataclass(frozen=True)
class Options:
    """Settings of a run of Weft from outside. Field `x` is the environment variable WEFT_X."""

    device: str = "cpu"
    num_threads: int = field(default_factory=_default_threads)
    cache_dir: Path | None = Path("~/.cache/weft")  # None: nothing is kept on disk
    cache_limit: int = 1 << 30  # bytes kept on disk, about
    dump: Path | None = None  # folder for every artefact of every program
    # what to print of every program that is built: 1 kernels and times, 2 explained, 3 loops, 4
    # code
    debug: int = 0
    target: str = "host"  # one of TARGETS; "host" is the CPU that runs this
    interpret: bool = False  # run the reference interpreter in place of machine code
    serial_threshold: int | None = (
        None  # elements below which a kernel stays on one thread; None: the compiler's own figure
    )
    min_chunks: int = 1  # at least so many chunks per kernel, where its shape allows
    data_dir: Path | None = None  # where examples look for data sets
    verify: bool = False  # check every artefact after every pass
    matmul: str = "float32"  # products of float32 on a GPU: "float32", or "tf32" on tensor cores
    default_dtype: str = "float32"  # of Python floats, and of Tensors made without a dtype
    debug_nans: str = ""  # check what is computed: "nan" for NaNs, "inf" for infinities, too
    # may one program serve many sizes; else each size has one of its own
    dynamic_shapes: bool = True
    tune: bool = False  # time the candidate schedules of a contraction once and keep the fastest
    strict: bool = False  # the bits of the reference interpreter (ir/ops/strict.py); only on a CPU


def _bool(text: str) -> bool:
    if text.lower() not in ON + OFF:
        raise ValueError(f"one of {', '.join(ON + OFF)}")
    return text.lower() in ON


def _debug(text: str) -> int:
    if text.lower() in ON + OFF:
        return int(text.lower() in ON)
    if text not in DEBUG_LEVELS:
        raise ValueError(
            f"a level from 1 to {DEBUG_LEVELS[-1]}, or one of {', '.join(ON[1:] + OFF)}"
        )
    return int(text)


def _count(low: int, high: int | None = None) -> Callable[[str], int]:
    allowed = (
        f"an integer from {low} to {high}" if high is not None else f"an integer, {low} or more"
    )

    def parse(text: str) -> int:
        if (
            not re.fullmatch(r"[0-9]{1,18}", text)
            or int(text) < low
            or (high is not None and int(text) > high)
        ):
            raise ValueError(allowed)
        return int(text)

    return parse


def _size(text: str) -> int:
    match = re.fullmatch(r"([0-9]{1,15})([KMGT]?)", text.upper())
    if not match:
        raise ValueError("a number of bytes like 500000, 200K, 64M or 2G")
    return int(match[1]) << (10 * "KMGT".find(match[2]) + 10 if match[2] else 0)


def _cache_dir(text: str) -> Path | None:
    return None if text.lower() == "none" else Path(text)


def _matmul(text: str) -> str:
    if text.lower() not in MATMUL:
        raise ValueError(f"one of {', '.join(MATMUL)}")
    return text.lower()


def _default_dtype(text: str) -> str:
    if text.lower() not in DEFAULT_DTYPES:
        raise ValueError(f"one of {', '.join(DEFAULT_DTYPES)}")
    return text.lower()


def _nans(text: str) -> str:
    if text.lower() not in (*ON, *OFF, "nan"):
        raise ValueError(f"one of {', '.join(ON + OFF)}, or nan")
    return "nan" if text.lower() == "nan" else "inf" if text.lower() in ON else ""


def _target(text: str) -> str:
    if text not in TARGETS:
        raise ValueError(f"one of {', '.join(TARGETS)}")
    return text


PARSERS: dict[str, Callable[[str], Any]] = {
    "device": str,  # runtime/memory/devices.py knows which there are
    "num_threads": _count(1, MAX_THREADS),
    "cache_dir": _cache_dir,
    "cache_limit": _size,
    "dump": Path,
    "debug": _debug,
    "target": _target,
    "interpret": _bool,
    "serial_threshold": _count(0),
    "min_chunks": _count(1),
    "data_dir": Path,
    "verify": _bool,
    "matmul": _matmul,
    "default_dtype": _default_dtype,
    "debug_nans": _nans,
    "dynamic_shapes": _bool,
    "tune": _bool,
    "strict": _bool,
}


def _read_environment() -> Options:
    """Unset and empty variables leave the default."""
    values: dict[str, Any] = {}
    for name in (f.name for f in fields(Options)):
        variable = f"WEFT_{name.upper()}"
        if text := os.environ.get(variable, "").strip():
            try:
                values[name] = PARSERS[name](text)
            except ValueError as allowed:
                raise OptionError(f"{variable}={text!r}: allowed is {allowed}") from None
    return Options(**values)


# Open MPI, MPICH and Intel MPI, MVAPICH
LAUNCHERS = (
    "OMPI_COMM_WORLD_SIZE",
    "PMI_SIZE",
    "MV2_COMM_WORLD_SIZE",
)


def launched_processes() -> int:
    """How many processes an MPI launcher has started, this one among them; 1 without a launcher."""
    return max(
        int(text) if (text := os.environ.get(name, "")).isdecimal() else 1 for name in LAUNCHERS
    )


def cuda_folders() -> list[str]:
    """Where CUDA's toolkit may stand, what the user names first."""
    named = [os.environ.get(name, "") for name in ("CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX")]
    return [*filter(None, named), "/usr/local/cuda"]


class _Holder:
    """The Options in force; None until something asks for them."""

    options: Options | None = None


def current() -> Options:
    """The options in force: the environment's, read at the first call, unless overridden."""
    if _Holder.options is None:
        _Holder.options = _read_environment()
    return _Holder.options


def update(**values: Any) -> None:
    """Replaces some options for the rest of the process, for every thread."""
    unknown = set(values) - set(PARSERS)
    if unknown:
        raise OptionError(f"unknown option {sorted(unknown)[0]!r}: there are {', '.join(PARSERS)}")
    if not 1 <= values.get("num_threads", 1) <= MAX_THREADS:
        raise OptionError(
            f"num_threads={values['num_threads']!r}: allowed is an integer from 1 to {MAX_THREADS}"
        )
    _Holder.options = replace(current(), **values)


@contextmanager
def override(**values: Any) -> Iterator[Options]:
    """Other options inside a `with` block, for every thread; meant for tests."""
    before = current()
    update(**values)
    try:
        yield current()
    finally:
        _Holder.options = before
