"""PyCUDA without a GPU. In: the CUDA headers, a package index. Out: the folders of a stand-in libcuda and of PyCUDA built for it.

Both are kept beside other temporary files: PyCUDA takes minutes to build.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest
from weft.codegen.cuda import toolkit

VERSION = "2026.1"
PARTS = ("platformdirs", "siphash24", "markupsafe", "typing-extensions", "pytools", "mako")  # what PyCUDA imports
KEPT = Path(tempfile.gettempdir()) / f"weft_pycuda_{VERSION}_{sys.implementation.cache_tag}"
SOURCE = Path(__file__).parent / "libcuda.cpp"
PROTOTYPES = "#include <cuda.h>\n#include <cudaProfiler.h>\n"
MISSING = 'extern "C" __attribute__((weak)) int {name}() {{ return 801; }}\n'  # CUDA_ERROR_NOT_SUPPORTED


@cache
def root() -> Path:
    """The folder of a CUDA toolkit with headers. Skips the test where there is none."""
    for folder in toolkit.roots():
        if os.path.exists(os.path.join(folder, "include", "cuda.h")) and shutil.which("g++"):
            return Path(folder)
    pytest.skip("no CUDA headers or no g++")


@cache
def library() -> Path:
    """A folder with the stand-in as libcuda.so.1, and as libcuda.so to link with."""
    folder = KEPT / "library"
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / "libcuda.so.1"
    if not made.exists() or made.stat().st_mtime < SOURCE.stat().st_mtime:
        include = ["g++", "-I", str(root() / "include"), "-x", "c++"]
        shown = subprocess.run([*include, "-E", "-P", "-"], input=PROTOTYPES, text=True, capture_output=True, check=True).stdout
        names = sorted(set(re.findall(r"CUresult\s+(cu[A-Z]\w*)\s*\(", shown)))
        rest = folder / "missing.cpp"
        rest.write_text("".join(MISSING.format(name=name) for name in names))
        new = made.with_suffix(".new")
        options = ["-std=c++17", "-O1", "-g", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", str(new), "-ldl"]
        subprocess.run([*include, str(SOURCE), str(rest), *options], check=True)
        new.replace(made)
    if not (folder / "libcuda.so").exists():
        (folder / "libcuda.so").symlink_to(made.name)
    return folder


@cache
def pycuda() -> Path:
    """A folder to import PyCUDA from. Skips the test where it cannot be fetched."""
    site = KEPT / "site"
    if not site.exists():
        with tempfile.TemporaryDirectory(dir=KEPT) as work:
            new = Path(work) / "site"
            pip("install", "--target", str(new), wheel(Path(work)), *PARTS)
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
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    if done.returncode and re.search(r"No matching distribution|Connection|No module named pip", done.stderr):
        pytest.skip("PyCUDA could not be fetched")
    assert done.returncode == 0, done.stderr[-4000:]


@cache
def kernels() -> Path:
    """Host functions that stand for the kernels of the tests."""
    made = KEPT / "kernels.so"
    source = SOURCE.with_name("kernels.cpp")
    if not made.exists() or made.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["g++", "-O1", "-shared", "-fPIC", "-o", str(made), str(source)], check=True)
    return made
