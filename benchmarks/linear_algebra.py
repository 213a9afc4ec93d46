"""Linear algebra beside that of NumPy, torch and jax. In: batches of matrices. Out: milliseconds
of a call, from one run.

    python benchmarks/linear_algebra.py                 # beside what is installed
    python benchmarks/linear_algebra.py --only "8 x 8"

The matrices are symmetric and positive definite; right-hand sides have one column. Unset
OPENBLAS_CORETYPE: it would have NumPy's LAPACK run the code of another processor.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import weft as wf
from beside import Call, measured, print_head, print_rows

RNG = np.random.default_rng(0)
SHAPES = {"4096 of 8 x 8": (4096, 8), "4 of 512 x 512": (4, 512)}
FUNCTIONS = ("solve", "cholesky", "inv")
TOLERANCE = {"float32": 2e-2, "float64": 1e-8}


def matrices(count: int, n: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Matrices, and right-hand sides."""
    a = RNG.normal(size=(count, n, n)) / n**0.5
    return (a @ a.swapaxes(1, 2) + np.eye(n)).astype(dtype), RNG.normal(size=(count, n, 1)).astype(
        dtype
    )


def with_weft(name: str, arrays: list[np.ndarray]) -> Call:
    tensors = [wf.tensor(a).realize() for a in arrays]
    f = wf.jit(getattr(wf.linalg, name))
    return lambda: f(*tensors).numpy()


def with_numpy(name: str, arrays: list[np.ndarray]) -> Call:
    return lambda: getattr(np.linalg, name)(*arrays)


def with_torch(name: str, arrays: list[np.ndarray]) -> Call:
    torch = import_module("torch")
    tensors = [torch.from_numpy(a) for a in arrays]
    return lambda: getattr(torch.linalg, name)(*tensors).numpy()


def with_jax(name: str, arrays: list[np.ndarray]) -> Call:
    jax = import_module("jax")
    jax.config.update("jax_enable_x64", True)
    f, tensors = jax.jit(getattr(jax.numpy.linalg, name)), [jax.numpy.asarray(a) for a in arrays]
    return lambda: np.asarray(f(*tensors))


SYSTEMS: dict[str, Callable[..., Call]] = {
    "weft": with_weft,
    "numpy": with_numpy,
    "torch": with_torch,
    "jax": with_jax,
}


def product(dtype: str, rounds: int) -> None:
    """A product of two complex matrices of 512 x 512."""
    parts = RNG.normal(size=(2, 2, 512, 512)).astype(dtype)
    arrays = [re + 1j * im for re, im in parts]
    calls: dict[str, Any] = {
        "weft": lambda: partial(_product, *(wf.tensor(x).realize() for x in arrays)),
        "numpy": lambda: partial(np.matmul, *arrays),
        "torch": lambda: partial(
            lambda x, y: (x @ y).numpy(), *(import_module("torch").from_numpy(x) for x in arrays)
        ),
    }
    print_rows(f"product {arrays[0].dtype}", measured(calls, rounds, 1e-2))


def _product(x: wf.Tensor, y: wf.Tensor) -> np.ndarray:
    return (x @ y).numpy()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="", help="cases whose names have this in them")
    o = parser.parse_args()
    print_head()
    for title, (count, n) in SHAPES.items():
        for dtype, tolerance in TOLERANCE.items():
            a, b = matrices(count, n, dtype)
            for name in FUNCTIONS:
                case = f"{name} {dtype} {title}"
                arrays = [a, b] if name == "solve" else [a]
                if o.only in case:
                    systems = {s: partial(make, name, arrays) for s, make in SYSTEMS.items()}
                    print_rows(case, measured(systems, o.rounds, tolerance))
    if o.only in "product":
        for dtype in TOLERANCE:
            product(dtype, o.rounds)


if __name__ == "__main__":
    main()
