"""Places of CUDA's compilers: in wheels of pip, in a toolkit, on the PATH. In: names. Out: paths.
"""

from __future__ import annotations

import glob
import importlib.util
import os
import shutil
from collections.abc import Iterator

from .... import options

LIBRARIES = ("lib", "lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib")
WHEELS = ("cu13", "cuda_nvrtc", "cuda_nvcc")  # folders of site-packages/nvidia, of CUDA 13 and of CUDA 12


def roots() -> Iterator[str]:
    """Folders with a bin and a lib: those of wheels first, since a user has asked for just these."""
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
