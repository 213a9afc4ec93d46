"""Largest error of the compiled transcendentals. In: a stride over float32 patterns, a sample size. Out: a table in ULP.

    python benchmarks/ulp.py                      # every 257th float32 pattern, 10**6 float64 samples
    python benchmarks/ulp.py --stride 1           # all 2**32 float32 patterns (hours)

References: NumPy in float64 for float32, in long double for float64 (libm's erf in either case). `wrong` counts results
whose NaN, infinity or sign is not the reference's.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator

import numpy as np
import weft as wf

CHUNK = 1 << 20
FUNCTIONS = ("exp", "log", "sin", "cos", "tanh", "erf", "pow")
WIDER = {np.float32: np.float64, np.float64: np.longdouble}
Arrays = tuple[np.ndarray, ...]


def compiled(name: str, operands: Arrays) -> np.ndarray:
    """The function through the public API."""
    tensors = [wf.tensor(a) for a in operands]
    result = tensors[0] ** tensors[1] if name == "pow" else getattr(tensors[0], name)()
    return np.asarray(result.numpy())


def erf(x: np.ndarray) -> np.ndarray:
    return np.array([math.erf(v) for v in x.tolist()])


def reference(name: str, operands: Arrays) -> np.ndarray:
    function: Callable[..., np.ndarray] = {"erf": erf, "pow": np.power}.get(name) or getattr(np, name)
    with np.errstate(all="ignore"):
        return function(*(a.astype(WIDER[a.dtype.type]) for a in operands))


def errors(got: np.ndarray, want: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Error in units of the last place of the rounded reference, and where NaN, infinity or sign differ."""
    info = np.finfo(got.dtype)
    with np.errstate(all="ignore"):
        rounded = want.astype(got.dtype)
        wrong = (np.isnan(got) != np.isnan(rounded)) | (~np.isnan(got) & (np.signbit(got) != np.signbit(rounded)))
        wrong |= (np.isinf(got) != np.isinf(rounded)) & ((np.abs(got) < info.max) & (np.abs(rounded) < info.max))
        unit = np.spacing(np.minimum(np.abs(rounded), info.max)).astype(want.dtype)
        error = np.abs(got.astype(want.dtype) - want) / unit
    return np.where(np.isfinite(got) & np.isfinite(rounded) & ~wrong, error, 0), wrong


def float32_arguments(name: str, stride: int) -> Iterator[Arrays]:
    """Every stride-th bit pattern; a second, scrambled walk gives pow's exponents."""
    for start in range(0, 2**32, CHUNK * stride):
        patterns = np.arange(start, min(start + CHUNK * stride, 2**32), stride, dtype=np.uint64)
        x = np.resize(patterns, CHUNK).astype(np.uint32).view(np.float32)
        yield (x, exponents(x, start)) if name == "pow" else (x,)


def float64_arguments(name: str, count: int) -> Iterator[Arrays]:
    """Random bit patterns, and as many values where the function is not trivial."""
    rng = np.random.default_rng(0)
    edge = {"exp": 750.0, "log": 4.0, "tanh": 22.0, "erf": 6.1}.get(name, 50.0)
    for start in range(0, count, CHUNK):
        patterns = rng.integers(0, 2**64, CHUNK // 2, dtype=np.uint64).view(np.float64)
        near = rng.uniform(-edge, edge, CHUNK // 4)
        graded = np.exp(rng.uniform(-60, 40, CHUNK // 4)) * rng.choice([-1, 1], CHUNK // 4)
        x = np.concatenate([patterns, near, graded])
        yield (x, exponents(x, start)) if name == "pow" else (x,)


def exponents(x: np.ndarray, seed: int) -> np.ndarray:
    """Exponents that keep x**y within, or just outside, the range of the dtype; whole ones for negative x."""
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(np.log2(np.abs(x.astype(np.float64)))), 1e-20)
        y = rng.uniform(-1.08, 1.08, len(x)) * np.finfo(x.dtype).maxexp / size
        return np.where(x < 0, np.floor(y), y).astype(x.dtype)


def measure(name: str, arguments: Iterator[Arrays]) -> str:
    """One line of the table."""
    largest, place, wrong, count = 0.0, "", 0, 0
    for operands in arguments:
        error, bad = errors(compiled(name, operands), reference(name, operands))
        i = int(np.argmax(error))
        if error[i] > largest:
            largest, place = float(error[i]), ", ".join(repr(float(a[i])) for a in operands)
        wrong, count = wrong + int(bad.sum()), count + len(error)
    return f"{largest:8.3f} {wrong:7d} {count:12,d}   {place}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stride", type=int, default=257, help="of the float32 bit patterns; 1 takes all of them")
    parser.add_argument("--samples", type=int, default=10**6, help="float64 arguments of each function")
    parser.add_argument("functions", nargs="*", default=FUNCTIONS, metavar="function", help=", ".join(FUNCTIONS))
    options = parser.parse_args()
    print(f"{'function':14s} {'ULP':>8s} {'wrong':>7s} {'arguments':>12s}   at")
    for name in options.functions:
        print(f"{name + ' float32':14s} {measure(name, float32_arguments(name, options.stride))}", flush=True)
        print(f"{name + ' float64':14s} {measure(name, float64_arguments(name, options.samples))}", flush=True)


if __name__ == "__main__":
    main()
