"""PyCUDA without a GPU. In: the CUDA headers, a package index. Out: the folders of a stand-in
libcuda and of PyCUDA built for it.

Both are kept beside other temporary files: PyCUDA takes minutes to build.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest
from weft.codegen.cuda.toolchain import toolkit

VERSION = "2026.1"
PARTS = (
    "platformdirs",
    "siphash24",
    "markupsafe",
    "typing-extensions",
    "pytools",
    "mako",
)  # what PyCUDA imports
KEPT = Path(tempfile.gettempdir()) / f"weft_pycuda_{VERSION}_{sys.implementation.cache_tag}"
SOURCE = Path(__file__).parent / "libcuda.cpp"
PROTOTYPES = "#include <cuda.h>\n#include <cudaProfiler.h>\n"
MISSING = (
    'extern "C" __attribute__((weak)) int {name}() {{ return 801; }}\n'  # CUDA_ERROR_NOT_SUPPORTED
)


@cache
def root() -> Path:
    """The folder of a CUDA toolkit with headers. Skips the test where there is none."""
    for folder in toolkit.roots():
        if os.path.exists(os.path.join(folder, "include", "cuda.h")) and shutil.which("g++"):
            return Path(folder)
    pytest.skip("no CUDA headers or no g++")


def made(source: Path, name: str, *arguments: str) -> Path:
    """A shared library of a source here, in a folder named after what it says: checkouts may differ
    in it."""
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:16]
    out = KEPT / digest / name
    if not out.exists():
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=KEPT) as work:
            new = Path(work) / name
            options = [
                "-std=c++17",
                "-O1",
                "-g",
                "-shared",
                "-fPIC",
                *arguments,
                "-o",
                str(new),
                "-ldl",
            ]
            subprocess.run(["g++", str(source), *options], check=True)
            new.replace(out)
    return out


@cache
def library() -> Path:
    """A folder with the stand-in as libcuda.so.1, and as libcuda.so to link with."""
    KEPT.mkdir(parents=True, exist_ok=True)
    include = f"-I{root() / 'include'}"
    command = ["g++", include, "-x", "c++", "-E", "-P", "-"]
    shown = subprocess.run(
        command, input=PROTOTYPES, text=True, capture_output=True, check=True
    ).stdout
    names = sorted(set(re.findall(r"CUresult\s+(cu[A-Z]\w*)\s*\(", shown)))
    with tempfile.NamedTemporaryFile("w", suffix=".cpp", dir=KEPT) as rest:
        rest.write("".join(MISSING.format(name=name) for name in names))
        rest.flush()
        out = made(SOURCE, "libcuda.so.1", include, rest.name, "-Wl,-soname,libcuda.so.1")
    with contextlib.suppress(FileExistsError):
        (out.parent / "libcuda.so").symlink_to(out.name)
    return out.parent


@cache
def pycuda() -> Path:
    """A folder to import PyCUDA from. Skips the test where it cannot be fetched."""
    site = KEPT / "site"
    if not site.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=KEPT) as work:
            new = Path(work) / "site"
            pip("install", "--target", str(new), wheel(Path(work)), *PARTS)
            with contextlib.suppress(OSError):  # another process was faster
                new.replace(site)
    return site


def wheel(work: Path) -> str:
    """PyCUDA as a wheel: its settings come from a file in the home folder."""
    settings = [
        f"CUDA_ROOT={str(root())!r}",
        "CUDA_ENABLE_CURAND=False",
        f"CUDADRV_LIB_DIR=[{str(library())!r}]",
        "CXXFLAGS=['-O1']",
    ]
    (work / ".aksetup-defaults.py").write_text("\n".join(settings) + "\n")
    pip("wheel", "--no-deps", "--wheel-dir", str(work), f"pycuda=={VERSION}", HOME=str(work))
    return str(next(work.glob("*.whl")))


def pip(*arguments: str, **environment: str) -> None:
    """Runs pip. Skips the test where it fails for want of the network."""
    command = [sys.executable, "-m", "pip", *arguments[:1], "--quiet", "--no-input", *arguments[1:]]
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if done.returncode and re.search(
        r"No matching distribution|Connection|No module named pip", done.stderr
    ):
        pytest.skip("PyCUDA could not be fetched")
    assert done.returncode == 0, done.stderr[-4000:]


@cache
def kernels() -> Path:
    """Host functions that stand for the kernels of the tests."""
    return made(SOURCE.with_name("kernels.cpp"), "kernels.so")
