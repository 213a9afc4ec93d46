"""Matrix products against the processor's peak. In: a grid of shapes. Out: GFLOP/s and fractions of
the measured roofline.

    python benchmarks/gemm.py                         # the whole grid on one thread, minutes
    python benchmarks/gemm.py --quick --threads 2
    python benchmarks/gemm.py --sizes 512,1000x10x64 --form nt --dtype float64

Shapes are M x N x K (one number: a cube), forms nn, tn, nt, tt: a @ b with neither, the first, the
second or both operands transposed views. The program that `wf.realize` runs is called from a native
loop, in turns with a loop of FMAs on registers and one that reads and writes as many bytes as the
operands have, so that what the clock does concerns all of them. `peak` is the fraction of the FMA
peak; `roof` the fraction of the slower of FMAs and memory, which is what a skinny product (a
dimension below 96, another of 256 or more) can reach.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import weft as wf
from roofline import Launch, Peak, Stream, launch
from weft import options
from weft.codegen.llvm.target import Target, host, named

FORMS = ("nn", "tn", "nt", "tt")
LARGE = 96  # dimensions from which the FMA peak is within reach
SIDE = 256  # a product with a smaller dimension than LARGE, and one of this, is skinny
CUBES = (
    16,
    24,
    31,
    32,
    48,
    63,
    64,
    96,
    100,
    127,
    128,
    192,
    200,
    255,
    256,
    333,
    384,
    500,
    512,
    768,
    1000,
    1024,
    1536,
    2048,
)
QUICK = (16, 64, 96, 100, 128, 256, 333, 512, 1000, 1024)
OBLONG = (
    (128, 512, 784),
    (512, 784, 128),
    (784, 512, 128),
    (96, 4096, 1024),
    (100, 1000, 3000),
    (2048, 96, 512),
)
THIN = (1, 2, 3, 4, 8)
SIDES = ((1024, 1024), (4096, 1024), (1000, 333), (4096, 4096))
# seconds, and runs: the last-level cache takes several passes over some megabytes to keep them
WARM, WARM_RUNS = (
    5e-3,
    10,
)
SLICE = 4e-4  # seconds of one measurement, at least: far above the cost of reading the clock

Shape = tuple[int, int, int]


@dataclass
class Result:
    shape: Shape
    form: str
    dtype: str
    seconds: float
    peak: float
    roof: float

    @property
    def gigaflops(self) -> float:
        m, n, k = self.shape
        return 2 * m * n * k / self.seconds / 1e9

    @property
    def kind(self) -> str:
        if min(self.shape) >= LARGE:
            return "large"
        return "skinny" if max(self.shape) >= SIDE else "small"

    def row(self) -> str:
        size = "x".join(map(str, self.shape))
        rates = (
            f"{self.seconds * 1e6:11.2f} us  {self.gigaflops:8.1f}  {self.peak:6.1%} "
            f" {self.roof:6.1%}"
        )
        return f"{size:16s} {self.form}  {self.dtype}  {rates}"


def product(shape: Shape, form: str, dtype: str) -> Launch:
    """The compiled product of two matrices in memory, transposed views of them where the form says
    so."""
    m, n, k = shape
    rng = np.random.default_rng(0)

    def operand(rows: int, columns: int, transposed: bool) -> wf.Tensor:
        values = rng.standard_normal((columns, rows) if transposed else (rows, columns)).astype(
            dtype
        )
        return wf.tensor(values)

    a, b = operand(m, k, form[0] == "t"), operand(k, n, form[1] == "t")

    def compute() -> list[wf.Tensor]:
        c = (a.T if form[0] == "t" else a) @ (b.T if form[1] == "t" else b)
        wf.realize(c)
        return [a, b, c]

    return launch(compute)


def repetitions(what: Launch | Peak | Stream, seconds: float) -> int:
    what.seconds(1)
    return max(1, round(seconds / max(1e-9, min(what.seconds(1), what.seconds(2) / 2))))


def measure(shape: Shape, form: str, dtype: str, peak: Peak, given: argparse.Namespace) -> Result:
    """The median of rounds, each of which compares the product with what the machine does just
    before and after."""
    m, n, k = shape
    item = np.dtype(dtype).itemsize
    target = current_target()
    work = product(shape, form, dtype)
    stream = Stream(target, (m * k + k * n) * item, m * n * item, given.threads)
    parts = [(part, repetitions(part, given.slice)) for part in (peak, work, stream)]
    times = [[warm_seconds(part, count) for part, count in parts] for _ in range(given.rounds)]
    rooflines = [
        (2 * m * n * k / peak.flops * of_peak, of_memory) for of_peak, _, of_memory in times
    ]
    return Result(
        shape,
        form,
        dtype,
        statistics.median(own for _, own, _ in times),
        statistics.median(
            fma / own for (fma, _), (_, own, _) in zip(rooflines, times, strict=True)
        ),
        statistics.median(
            max(roof) / own for roof, (_, own, _) in zip(rooflines, times, strict=True)
        ),
    )


def warm_seconds(what: Launch | Peak | Stream, count: int) -> float:
    """Seconds of one of `count` runs, after one that brings its memory back into the caches: it
    takes turns with others."""
    warm = 0.0
    for _ in range(WARM_RUNS):
        warm += what.seconds(1)
        if warm > WARM:
            break
    return what.seconds(count) / count


def current_target() -> Target:
    name = options.current().target
    return host() if name == "host" else named(name)


def shapes(given: argparse.Namespace) -> list[Shape]:
    if given.sizes:
        return [parsed(text) for text in given.sizes.split(",")]
    sides = SIDES[:2] if given.quick else SIDES
    thin = THIN[::2] if given.quick else THIN
    skinny = [s for t in thin for a, b in sides for s in ((t, a, b), (a, t, b), (a, b, t))]
    skinny += (
        []
        if given.quick
        else [(1, 1, 4096), (1, 1, 1 << 20), (64, 10, 64), (32, 4096, 1024), (32, 1024, 4096)]
    )
    return (
        [(s, s, s) for s in (QUICK if given.quick else CUBES)]
        + list(OBLONG[:1] if given.quick else OBLONG)
        + skinny
    )


def parsed(text: str) -> Shape:
    sizes = [int(s) for s in text.split("x")]
    if len(sizes) not in (1, 3):
        raise SystemExit(f"--sizes: expected N or MxNxK, got {text!r}")
    m, n, k = sizes * (3 // len(sizes))
    return m, n, k


def results(given: argparse.Namespace) -> Iterator[Result]:
    for dtype in given.dtype.split(","):
        peak = Peak(current_target(), dtype)
        for shape in shapes(given):
            for form in given.form.split(","):
                yield measure(shape, form, dtype, peak, given)


def summary(found: list[Result]) -> Iterator[str]:
    """For each dtype: large shapes against the peak, skinny ones against the roofline, small ones,
    whose launch counts, alike."""
    for dtype in dict.fromkeys(r.dtype for r in found):
        for kind, of in (("large", "peak"), ("skinny", "roof"), ("small", "roof")):
            these = [r for r in found if r.dtype == dtype and r.kind == kind]
            if these:
                middle = statistics.median(getattr(r, of) for r in these)
                worst = min(these, key=lambda r: float(getattr(r, of)))
                least = f"least {getattr(worst, of):.1%} ({name(worst)})"
                yield (
                    f"{dtype} {kind:6s} {len(these):4d} products: median {middle:.1%} of the {of},"
                    f" {least}"
                )


def name(r: Result) -> str:
    return f"{'x'.join(map(str, r.shape))} {r.form}"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="a grid of a tenth of the size, forms nn and nt"
    )
    parser.add_argument("--sizes", help="comma-separated: N or MxNxK")
    parser.add_argument("--form", help="comma-separated: nn, tn, nt, tt")
    parser.add_argument("--dtype", default="", help="comma-separated: float32, float64")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--slice", type=float, default=SLICE, help="seconds of one measurement, at least"
    )
    given = parser.parse_args()
    given.form = given.form or ("nn,nt" if given.quick else ",".join(FORMS))
    given.dtype = given.dtype or ("float32" if given.quick else "float32,float64")
    return given


def main() -> None:
    given, found = arguments(), []
    print("M x N x K      form   dtype           time       GFLOP/s    peak    roof")
    with options.override(num_threads=given.threads):
        for result in results(given):
            found.append(result)
            print(result.row(), flush=True)
    print(*summary(found), sep="\n")


if __name__ == "__main__":
    main()
