"""Fourier transforms beside those of NumPy, SciPy and PyTorch. In: a long line, a batch of lines.
Out: milliseconds of a call, from one run.

    python benchmarks/transforms.py    # beside what is installed

`line` is one line of 2**20 complex numbers, `batch` 256 lines of 1024, `power` the mean power
spectrum of 256 windowed frames of 1024 real numbers. 64 stands for complex64, 128 for complex128.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module

import numpy as np
import weft as wf
from beside import Call, measured, print_head, print_rows
from weft import options

Array = np.ndarray
TURN = 8  # calls
THREADS = options.current().num_threads
RNG = np.random.default_rng(0)
FRAMES = RNG.standard_normal((256, 1024), dtype=np.float32)
WINDOW = np.hanning(1024).astype(np.float32)


def drawn(shape: tuple[int, ...], dtype: str) -> Array:
    return (RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)).astype(dtype)


def with_weft(x: Array) -> Call:
    f, t = wf.jit(wf.fft.fft), wf.tensor(x)
    return lambda: f(t).numpy()


def with_torch(x: Array) -> Call:
    torch = import_module("torch")
    t = torch.from_numpy(x)
    return lambda: torch.fft.fft(t).numpy()


def with_scipy(x: Array) -> Call:
    fft = import_module("scipy.fft")
    return lambda: fft.fft(x, workers=THREADS)


def power_with_weft() -> Call:
    f = wf.jit(lambda x, w: (abs(wf.fft.rfft(x * w)) ** 2).mean(0))
    x, w = wf.tensor(FRAMES), wf.tensor(WINDOW)
    return lambda: f(x, w).numpy()


def power_with_torch() -> Call:
    torch = import_module("torch")
    x, w = torch.from_numpy(FRAMES), torch.from_numpy(WINDOW)
    return lambda: (torch.fft.rfft(x * w).abs() ** 2).mean(0).numpy()


def power_with_scipy() -> Call:
    fft = import_module("scipy.fft")
    return lambda: (np.abs(fft.rfft(FRAMES * WINDOW, workers=THREADS)) ** 2).mean(0)


def transforms_of(x: Array) -> dict[str, Callable[[], Call]]:
    return {
        "weft": lambda: with_weft(x),
        "numpy": lambda: lambda: np.fft.fft(x),
        "scipy": lambda: with_scipy(x),
        "torch": lambda: with_torch(x),
    }


CASES: dict[str, dict[str, Callable[[], Call]]] = {
    "line 64": transforms_of(drawn((2**20,), "complex64")),
    "line 128": transforms_of(drawn((2**20,), "complex128")),
    "batch 64": transforms_of(drawn((256, 1024), "complex64")),
    "batch 128": transforms_of(drawn((256, 1024), "complex128")),
    "power": {
        "weft": power_with_weft,
        "numpy": lambda: lambda: (np.abs(np.fft.rfft(FRAMES * WINDOW)) ** 2).mean(0),
        "scipy": power_with_scipy,
        "torch": power_with_torch,
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("names", nargs="*", help="of the cases; all unless given")
    o = parser.parse_args()
    print_head()
    for name in o.names or CASES:
        print_rows(name, measured(CASES[name], o.rounds, 1e-2, TURN))


if __name__ == "__main__":
    main()
