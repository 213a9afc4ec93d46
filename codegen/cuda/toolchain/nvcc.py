"""nvcc in a folder of its own. In: CUDA C, headers, options. Out: a cubin or PTX, and the
compiler's log."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from functools import cache, partial
from pathlib import Path

from . import toolkit
from .toolkit import Compiler, Output, Refused


@cache
def find() -> Compiler | None:
    """nvcc, if a toolkit, a wheel or the PATH has it, with the host compiler that it calls."""
    path = toolkit.tool("nvcc")
    if path is None or shutil.which("gcc") is None:
        return None
    answer = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    version = re.search(r"release [\d.]+, V([\d.]+)", answer.stdout)
    if version is None:
        return None
    return Compiler("nvcc", version[1], partial(_run, path))


def _run(
    path: str, text: str, headers: dict[str, str], options: list[str], output: Output
) -> tuple[bytes, str]:
    with tempfile.TemporaryDirectory(prefix="weft-") as folder:
        for name, content in {"kernels.cu": text, **headers}.items():
            Path(folder, name).write_text(content)
        command = [path, f"--{output}", "kernels.cu", "--output-file=out", *options]
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace", check=False
        )
        if done.returncode:
            raise Refused(done.stderr or done.stdout)
        return Path(folder, "out").read_bytes(), done.stderr
