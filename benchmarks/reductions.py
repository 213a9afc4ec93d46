"""Reductions against the machine's reading. In: a grid of shapes, axes, operations. Out: GB/s and
fractions of a plain read.

    python benchmarks/reductions.py                       # the whole grid, minutes
    python benchmarks/reductions.py --bytes 128M --threads 2 --only last
    python benchmarks/reductions.py --case 4096x4096:0:sum:float32

A case is shape:axes:operation:dtype; axes are `all`, or joined by `+`; a `t` after the shape is a
transposed view, an `s` every second element of the last axis. The program is called from a native
loop, in turns with a loop that reads as many bytes in order. `of read` is the fraction of that
loop's rate: bytes that need not be read (every second element) count, since lines of the cache come
whole.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import weft as wf
from gemm import current_target, repetitions, warm_seconds
from roofline import Launch, Stream, launch
from weft import options

SIZES = {"L2": 512 << 10, "L3": 8 << 20, "memory": 128 << 20}
SLICE = 4e-4  # seconds of one measurement, at least
LENGTHS = (2, 3, 4, 7, 8, 16, 31, 64, 100, 1000, 4096)
ROWS = (1, 2, 3, 8)
OPERATIONS = ("sum", "max", "min", "prod", "mean", "var", "argmax", "argmin", "any", "all")
DTYPES = ("float64", "bfloat16", "float16", "int32", "int8", "bool")


@dataclass(frozen=True)
class Case:
    group: str
    shape: tuple[int, ...]
    axes: tuple[int, ...] | None
    operation: str = "sum"
    dtype: str = "float32"
    view: str = ""  # t: transposed, s: every second element

    def __str__(self) -> str:
        axes = "all" if self.axes is None else "+".join(map(str, self.axes))
        return f"{'x'.join(map(str, self.shape))}{self.view}:{axes}:{self.operation}:{self.dtype}"

    @property
    def nbytes(self) -> int:
        itemsize = 2 if self.dtype == "bfloat16" else np.dtype(self.dtype).itemsize
        return int(np.prod(self.shape)) * itemsize * (2 if self.view == "s" else 1)


def cases(nbytes: int) -> Iterator[Case]:
    """Each shape that is read holds about so many bytes."""
    n = nbytes // 4
    yield Case("all", (n,), None)
    yield Case("all", (n // 4096, 4096), None)
    for length in LENGTHS:
        yield Case("last", (n // length, length), (1,))
        yield Case("first", (length, n // length), (0,))
    for rows in ROWS:
        yield Case("last", (rows, n // rows), (1,))
        yield Case("first", (n // rows, rows), (0,))
    for width in (10, 64, 1000, 4096):
        yield Case("first", (n // width, width), (0,))
    for inner in (1, 3, 16, 49, 1024):
        yield Case("middle", (8, n // (8 * inner), inner), (1,))
        yield Case("middle", (n // (64 * inner), 64, inner), (1,))
        yield Case("several", (16, n // (16 * 64 * inner) or 1, 64, inner), (0, 1, 3))
    yield Case("several", (32, 64, n // 2048), (0, 2))
    yield Case("several", (32, n // 2048, 64), (0, 1))
    yield Case("several", (16, n // 1024, 8, 8), (2, 3))
    side = int(n**0.5)
    yield from (
        Case("view", (side, side), axes, view=view) for axes in ((0,), (1,), None) for view in "ts"
    )
    for operation in OPERATIONS:
        axes = ((1,), (0,)) if operation.startswith("arg") else ((1,), (0,), None)
        yield from (Case("operation", (side, side), a, operation) for a in axes)
    yield from (Case("operation", (1, n), None, operation) for operation in OPERATIONS[1:])
    yield from (Case("operation", (n // 8, 8), (1,), operation) for operation in OPERATIONS[1:])
    for dtype in DTYPES:
        m = nbytes // Case("", (1,), None, dtype=dtype).nbytes
        side = int(m**0.5)
        yield from (Case("dtype", (side, side), axes, dtype=dtype) for axes in ((0,), (1,), None))
        yield from (Case("dtype", (side, side), axes, "max", dtype) for axes in ((0,), (1,), None))


def parsed(text: str) -> Case:
    shape, axes, operation, dtype = text.split(":")
    view = shape[-1] if shape[-1] in "ts" else ""
    sizes = tuple(int(s) for s in shape.removesuffix(view).split("x"))
    return Case(
        "given",
        sizes,
        None if axes == "all" else tuple(map(int, axes.split("+"))),
        operation,
        dtype,
        view,
    )


def program(case: Case) -> Launch:
    """The compiled reduction of an array in memory."""
    shape = {"": case.shape, "t": case.shape[::-1], "s": (*case.shape[:-1], 2 * case.shape[-1])}[
        case.view
    ]
    values = np.random.default_rng(0).integers(0, 2, shape, dtype=np.uint8)
    x = wf.tensor(values).astype(case.dtype)
    wf.realize(x)
    axes = case.axes[0] if case.axes and case.operation.startswith("arg") else case.axes

    def compute() -> list[wf.Tensor]:
        seen = x.T if case.view == "t" else x[..., ::2] if case.view == "s" else x
        out = getattr(seen, case.operation)(axis=axes)
        wf.realize(out)
        return [x, out]

    return launch(compute)


def measure(case: Case, given: argparse.Namespace) -> tuple[float, float]:
    """(seconds, fraction of the plain read): medians of rounds, each of which compares the two one
    after the other."""
    parts = [program(case), Stream(current_target(), case.nbytes, 0, given.threads)]
    counts = [repetitions(part, given.slice) for part in parts]
    times = [
        [warm_seconds(part, count) for part, count in zip(parts, counts, strict=True)]
        for _ in range(given.rounds)
    ]
    return statistics.median(own for own, _ in times), statistics.median(
        read / own for own, read in times
    )


def size(text: str) -> int:
    return int(
        float(text.rstrip("KMG")) * {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1], 1)
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--bytes",
        default=",".join(map(str, SIZES.values())),
        help="comma-separated sizes, as 512K,128M",
    )
    parser.add_argument("--case", help="comma-separated cases instead of the grid")
    parser.add_argument(
        "--only", help="comma-separated: all, last, first, middle, several, view, operation, dtype"
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--slice", type=float, default=SLICE, help="seconds of one measurement, at least"
    )
    parser.add_argument(
        "--worst", type=int, default=10, help="how many of the slowest to list at the end"
    )
    return parser.parse_args()


def main() -> None:
    given, found = arguments(), []
    grid = [c for b in given.bytes.split(",") for c in cases(size(b))]
    wanted = [parsed(c) for c in given.case.split(",")] if given.case else grid
    groups = given.only.split(",") if given.only else [c.group for c in wanted]
    print(f"{'shape:axes:operation:dtype':44s} {'bytes':>8s} {'time':>11s}   GB/s  of read")
    with options.override(num_threads=given.threads):
        for case in dict.fromkeys(c for c in wanted if c.group in groups):
            seconds, fraction = measure(case, given)
            rates = f"{seconds * 1e6:8.1f} us {case.nbytes / seconds / 1e9:6.1f}  {fraction:6.1%}"
            row = f"{case!s:44s} {case.nbytes >> 10:7d}K {rates}"
            found.append((fraction, row))
            print(row, flush=True)
    print(f"median {statistics.median(f for f, _ in found):.1%} of the read; the slowest:")
    print(*(row for _, row in sorted(found)[: given.worst]), sep="\n")


if __name__ == "__main__":
    main()
