"""PTX and assembly of a GPU, for readers. In: CUDA C. Out: both texts if the tools are there; else
what is missing.
"""

from __future__ import annotations

import subprocess
import tempfile

from .... import errors
from . import build, toolkit

NO_DISASSEMBLER = "nvdisasm reads it: `pip install nvidia-cuda-nvdisasm`, or set CUDA_HOME to the folder of a CUDA toolkit"


def compiled_texts(text: str, arch: str) -> dict[str, str]:
    """PTX as "ptx" and assembly as "sass", as far as there are tools that make them for `arch`."""
    found: dict[str, str] = {}
    try:
        found["ptx"] = build.ptx(text, arch)
        if toolkit.tool("nvdisasm"):
            assembly = disassemble(build.compile_text(text, arch).image)
            found |= {"sass": assembly} if assembly else {}
    except errors.DeviceError:  # no compiler
        return {}
    except errors.CompileError as refused:  # by a compiler that does not know this GPU
        return {"ptx": "".join(f"// {line}\n" for line in str(refused).splitlines())}
    return found


def missing_tools() -> dict[str, str]:
    """By "ptx" and "sass" what to install, where there is nothing that makes them."""
    try:
        build.compiler()
    except errors.DeviceError as none:
        return {"ptx": str(none), "sass": f"{none}; and {NO_DISASSEMBLER}"}
    return {} if toolkit.tool("nvdisasm") else {"sass": NO_DISASSEMBLER}


def disassemble(image: bytes) -> str | None:
    """The assembly of an image, or None where no nvdisasm reads it (`pip install nvidia-cuda-nvdisasm`)."""
    path = toolkit.tool("nvdisasm")
    if path is None:
        return None
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(image)
        file.flush()
        done = subprocess.run([path, "--print-code", file.name], capture_output=True, text=True, errors="replace", check=False)
    return None if done.returncode else done.stdout
