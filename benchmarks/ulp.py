"""Largest error of the compiled transcendentals. In: a stride over float32 patterns, a sample size.
Out: a markdown table in ULP.

    python benchmarks/ulp.py                    # all 2**32 float32 patterns, 10**7 float64 samples
    python benchmarks/ulp.py --quick            # every 257th float32 pattern, 10**6 float64 samples
    python benchmarks/ulp.py --processes 2 exp tan

References: NumPy in float64 for float32, in long double (80 bits, so on x86 only) for float64;
wide.py for what it has not. Arguments of lgamma are above -2: below lie its zeros, next to which no
digit is sure. `wrong` counts results whose NaN, infinity or sign (also of zero) is not the
reference's. Functions of two operands are sampled. Special values are always among the arguments.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import weft as wf
import wide

CHUNK = 1 << 20
QUICK = 257
WIDER: dict[type, type] = {np.float32: np.float64, np.float64: np.longdouble}
Arrays = tuple[np.ndarray, ...]


# the reference, and the range of arguments in which the function is not trivial
UNARY: dict[str, tuple[Callable[[np.ndarray], np.ndarray], float]] = {
    "exp": (np.exp, 750.0),
    "exp2": (np.exp2, 1080.0),
    "expm1": (np.expm1, 750.0),
    "log": (np.log, 4.0),
    "log2": (np.log2, 4.0),
    "log10": (np.log10, 4.0),
    "log1p": (np.log1p, 4.0),
    "sin": (np.sin, 50.0),
    "cos": (np.cos, 50.0),
    "tan": (np.tan, 50.0),
    "asin": (np.arcsin, 1.1),
    "acos": (np.arccos, 1.1),
    "atan": (np.arctan, 5.0),
    "sinh": (np.sinh, 720.0),
    "cosh": (np.cosh, 720.0),
    "tanh": (np.tanh, 22.0),
    "asinh": (np.arcsinh, 5.0),
    "acosh": (np.arccosh, 5.0),
    "atanh": (np.arctanh, 1.1),
    "erf": (wide.erf, 6.1),
    "erfinv": (wide.erfinv, 1.1),
    "lgamma": (wide.lgamma, 20.0),
}
BINARY: dict[str, Callable[..., np.ndarray]] = {
    "pow": np.power,
    "atan2": np.arctan2,
    "hypot": np.hypot,
}
FUNCTIONS = (*UNARY, *BINARY)
NOT_IN_NUMPY = ("erf", "erfinv", "lgamma")


@dataclass
class Tally:
    """The largest error so far, where it was, and what NumPy's own function is off by at most (0
    where there is none)."""

    error: float = 0.0
    place: str = ""
    wrong: int = 0
    count: int = 0
    numpy: float = 0.0

    def add(self, other: Tally) -> None:
        if other.error > self.error:
            self.error, self.place = other.error, other.place
        self.wrong, self.count = self.wrong + other.wrong, self.count + other.count
        self.numpy = max(self.numpy, other.numpy)


def errors(got: np.ndarray, want: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Error in units of the last place of the rounded reference, and where NaN, infinity or sign
    differ.

    Beside the limit of the range, infinity and the largest number are one ULP apart.
    """
    info, wider = np.finfo(got.dtype), want.dtype.type
    with np.errstate(all="ignore"):
        rounded = want.astype(got.dtype)
        unit = np.spacing(np.minimum(np.abs(rounded), info.max)).astype(wider)
        finite = np.where(
            np.isinf(got), np.copysign(wider(2.0) ** info.maxexp, got), got.astype(wider)
        )
        error = np.where((got == rounded) & ~np.isfinite(got), 0, np.abs(finite - want) / unit)
        wrong = np.isnan(got) != np.isnan(rounded)
        wrong |= ~np.isnan(rounded) & (
            (np.signbit(got) != np.signbit(rounded)) | (np.isinf(got) & (error > 1))
        )
    return np.where(np.isnan(error) | wrong, 0, error), wrong


def specials(t: type) -> np.ndarray:
    info = np.finfo(t)
    sizes = [
        0.0,
        info.smallest_subnormal,
        info.smallest_normal,
        0.5,
        1 - info.eps / 2,
        1.0,
        1 + info.eps,
        2.0,
        3.0,
        10.0,
        info.max,
    ]
    return np.array([*sizes, np.inf, *(-s for s in sizes), -np.inf, np.nan], t)


def float32_arguments(stride: int, start: int) -> np.ndarray:
    """A chunk of every stride-th bit pattern."""
    patterns = np.arange(start, min(start + CHUNK * stride, 2**32), stride, dtype=np.uint64)
    return patterns.astype(np.uint32).view(np.float32)


def float64_arguments(name: str, seed: int) -> np.ndarray:
    """Random bit patterns, and as many values where the function is not trivial."""
    rng = np.random.default_rng(seed)
    patterns = rng.integers(0, 2**64, CHUNK // 2, dtype=np.uint64).view(np.float64)
    edge = UNARY[name][1] if name in UNARY else 20.0
    near = rng.uniform(-edge, edge, CHUNK // 4)
    graded = np.exp(rng.uniform(-60, 40, CHUNK // 4)) * rng.choice([-1, 1], CHUNK // 4)
    return np.concatenate([patterns, near, graded])


def partners(name: str, x: np.ndarray, seed: int) -> np.ndarray:
    """Second operands. For pow: exponents that keep x**y within, or just outside, the range; whole
    ones for negative x."""
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        if name != "pow":
            near = x * np.exp2(rng.uniform(-4, 4, len(x))).astype(x.dtype)
            return np.where(rng.random(len(x)) < 0.8, near, rng.permutation(x)) * rng.choice(
                np.array([-1, 1], x.dtype), len(x)
            )
        size = np.maximum(np.abs(np.log2(np.abs(x.astype(np.float64)))), 1e-20)
        y = rng.uniform(-1.08, 1.08, len(x)) * np.finfo(x.dtype).maxexp / size
        return np.where(x < 0, np.floor(y), y).astype(x.dtype)


def operands(name: str, t: type, stride: int, chunk: int) -> Arrays:
    x = (
        float32_arguments(stride, chunk * CHUNK * stride)
        if t is np.float32
        else float64_arguments(name, chunk)
    )
    if name == "lgamma":
        x = np.where(x < -2, -x, x)
    if name in UNARY:
        # one shape, so one program
        return (np.resize(np.concatenate([specials(t), x]), CHUNK + 32),)
    grid = [a.ravel() for a in np.meshgrid(specials(t), specials(t))]
    pairs = zip(grid, (x, partners(name, x, chunk)), strict=True)
    return tuple(np.resize(np.concatenate(p), CHUNK + grid[0].size) for p in pairs)


def measure(name: str, t: type, stride: int, chunk: int) -> Tally:
    """The tally of one chunk."""
    arrays = operands(name, t, stride, chunk)
    function = UNARY[name][0] if name in UNARY else BINARY[name]
    with np.errstate(all="ignore"):
        want = function(*(a.astype(WIDER[t]) for a in arrays))
        other = None if name in NOT_IN_NUMPY else function(*arrays)
    error, wrong = errors(np.asarray(getattr(wf, name)(*map(wf.tensor, arrays)).numpy()), want)
    i = int(np.argmax(error))
    numpy = 0.0 if other is None else float(errors(other, want)[0].max())
    return Tally(
        float(error[i]),
        ", ".join(repr(float(a[i])) for a in arrays),
        int(wrong.sum()),
        len(error),
        numpy,
    )


def chunks_of(name: str, t: type, stride: int, samples: int) -> int:
    """How many chunks cover the arguments; pairs of float32 are sampled, as float64 is."""
    if t is np.float32 and name in UNARY:
        return -(-(2**32) // (CHUNK * stride))
    return -(-samples // CHUNK)


def total(name: str, t: type, options: argparse.Namespace, pool: ProcessPoolExecutor) -> Tally:
    tally, count, began = (
        Tally(),
        chunks_of(name, t, options.stride, options.samples),
        time.monotonic(),
    )
    stride = options.stride if name in UNARY else max(1, 2**32 // (CHUNK * count))
    for done, part in enumerate(pool.map(partial(measure, name, t, stride), range(count)), 1):
        tally.add(part)
        if sys.stderr.isatty():
            print(
                f"\r{name} {t.__name__}: {done}/{count}, {time.monotonic() - began:.0f} s ",
                end="",
                file=sys.stderr,
                flush=True,
            )
    return tally


def rows(options: argparse.Namespace) -> Iterator[str]:
    yield "| function | dtype | largest error (ULP) | at | wrong | arguments | NumPy's (ULP) |"
    yield "|---|---|--:|---|--:|--:|--:|"
    with ProcessPoolExecutor(options.processes) as pool:
        for name in options.functions:
            for t in [np.dtype(d).type for d in options.dtypes.split(",")]:
                s = total(name, t, options, pool)
                numpy = f"{s.numpy:.2f}" if name not in NOT_IN_NUMPY else ""
                yield (
                    f"| {name} | {t.__name__} | {s.error:.3f} | {s.place} | {s.wrong} | {s.count:,}"
                    f" | {numpy} |"
                )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"every {QUICK}th float32 pattern, 10**6 float64 samples",
    )
    parser.add_argument("--stride", type=int, default=1, help="of the float32 bit patterns")
    parser.add_argument(
        "--samples", type=int, default=10**7, help="float64 arguments, and pairs, of each function"
    )
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--dtypes", default="float32,float64")
    parser.add_argument(
        "functions", nargs="*", default=FUNCTIONS, metavar="function", help=", ".join(FUNCTIONS)
    )
    options = parser.parse_args()
    if options.quick:
        options.stride, options.samples = QUICK, 10**6
    for line in rows(options):
        print(line, flush=True)


if __name__ == "__main__":
    main()
