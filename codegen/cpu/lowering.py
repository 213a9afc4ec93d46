"""Kernels -> Steps: every kernel lowered by its kind, and the bounds checks. In: Fused kernels.
Out: Steps for a Program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...ir.graph.graph import Node
from ...ir.kernels.column_sums import FEW_COLUMNS, MIN_COLUMNS
from ...ir.kernels.fuse import Fused
from ...ir.kernels.kernel import Kernel, work
from ...ir.loops.loop import SERIAL, For, If, Loops, Stmt
from ...ir.symbolic.integer import Symbolic
from ...ir.symbolic.questions import at_least, value_of
from ..kernels import loop_axes
from ..kernels.column_sums import by_rows
from ..kernels.lower_program import Strides
from ..kernels.lowered import Lowered
from ..kernels.schedule import Schedule, always, choose
from ..llvm.target import Target
from ..math.expand import expand_loops
from .chain.chain import lower_chain
from .chunks import Fastest, Tuning
from .column_sums import lower_column_sums
from .contraction import CONTRACTIONS, ZEROS, lower_contraction
from .fourier import lower_fourier
from .row_order import in_blocks
from .rows_and_maps import ROWS_AND_MAPS, lower_rows
from .scan_scatter_checks import lower_checks, lower_put, lower_scan, lower_scatter
from .settings import Settings
from .sort import lower_sort
from .systems import lower_systems

STREAMED_KINDS = ("map", "rows")  # of kernels that write each element once, in order
# times the last cache that a kernel touches: less than two thirds of it would be found there again
MANY_CACHES = 1.5
MANY_ROWS = 1 << 9  # that a thread reads slower than several, and than one reads rows
MOST_SCRATCH = 1 << 20  # bytes of a buffer whose size is an argument of its kernel

SUMMED = Schedule("summed", always(lower_column_sums))
CHAIN = Schedule("chain", always(lower_chain))
SCAN = Schedule("scan", always(lower_scan))
SCATTER = Schedule("scatter", always(lower_scatter))
PUT = Schedule("put", always(lower_put))
SORT = Schedule("sort", always(lower_sort))
SYSTEMS = Schedule("systems", always(lower_systems))
FOURIER = Schedule("fourier", always(lower_fourier))
CHECKS = Schedule("checks", always(lower_checks))
CPU: tuple[Schedule[...], ...] = (
    *ROWS_AND_MAPS,
    SUMMED,
    *CONTRACTIONS,
    ZEROS,
    CHAIN,
    SCAN,
    SCATTER,
    PUT,
    SORT,
    SYSTEMS,
    FOURIER,
    CHECKS,
)


@dataclass
class CpuLowering:
    """For a CPU; `fastest` picks among candidates, if they are timed."""

    settings: Settings
    fastest: Fastest | None = None

    @property
    def nans(self) -> str:
        """As the settings say."""
        return self.settings.nans

    @property
    def most_scratch(self) -> int:
        """On the stack of a thread."""
        return MOST_SCRATCH

    def kernel(self, kernel: Kernel, strides: Strides, streamed: set[Node]) -> Lowered:
        """By its kind."""
        return _with_streamed(
            lower_kernel(kernel, strides, self.settings, self.fastest), kernel, streamed
        )

    def checks(
        self, checks: list[tuple[Node, int]], strides: Strides, places: list[Node], first_site: int
    ) -> Lowered:
        """One phase each."""
        lowered = choose([CHECKS], checks, strides, places, first_site)
        return (
            lowered if why_lanes(work(n for n, _ in checks), self.settings) else one_lane(lowered)
        )

    def expanded(self, loops: Loops) -> Loops:
        """As polynomials."""
        return expand_loops(loops, self.settings.target.has_float16, strict=self.settings.strict)

    def parallel(self, lowered: Lowered) -> tuple[bool, ...]:
        """Where it gains more than waking threads costs."""
        return tuple(at_least(w, self.settings.serial_work) for w in lowered.work)

    def streamed(self, kernel: Kernel, fused: Fused, replaced: Mapping[Node, Node]) -> set[Node]:
        """What a kernel that writes every element once writes past the caches: it does not fit, and
        nothing has it there already.

        A store to a line that is not in a cache reads it first. It need not, but then the line is
        not there for the next reader: of an output, the cache would keep its share of all that the
        kernel reads and writes.
        """
        if kernel.kind not in STREAMED_KINDS:
            return set()
        target = self.settings.target
        touched = sum(value_of(n.nbytes) for n in [*kernel.inputs, *kernel.outputs])
        least = target.l2 if touched > MANY_CACHES * target.l3 else target.l3
        large = {n for n in kernel.outputs if value_of(n.nbytes) > least and n not in replaced}
        return large - fused.read if large else large


def why_lanes(operations: int, settings: Settings) -> str:
    """Why compiling fast code pays; "" where it never would. Forced threads or chunks are for the
    schedules that have them."""
    if settings.min_chunks != 1:
        return "chunks are forced"
    if isinstance(operations, Symbolic):
        return f"{operations} operations, which may be many"
    least = min(loop_axes.TINY_WORK, settings.serial_work)
    return f"{operations} operations, from {least} on vectors pay" if operations >= least else ""


def lower_kernel(
    kernel: Kernel,
    strides: dict[Node, tuple[int, ...]],
    settings: Settings,
    fastest: Fastest | None = None,
    forced: tuple[str, int] | None = None,
) -> Lowered:
    """Loops of one kernel; `fastest` picks among candidates, `forced` is a way of a schedule."""
    kernel = kernel if settings.strict else by_rows(kernel, _are_many)
    nodes = [u.node for u in kernel.units]
    why = why_lanes(work(nodes), settings) or _why_ordered(kernel, settings.target)
    tuning = Tuning(settings.min_chunks, why, fastest, settings.strict, forced)
    lowered = _lowered(kernel, strides, settings.target, tuning)
    return lowered if why or why_lanes(sum(lowered.work), settings) else one_lane(lowered)


def _are_many(rows: int, columns: int) -> bool:
    """Are rows so many, and their columns so few, that threads should share the rows?"""
    return MIN_COLUMNS <= columns < FEW_COLUMNS and rows >= MANY_ROWS


def _why_ordered(kernel: Kernel, target: Target) -> str:
    """Why lanes add up its sums, however few operations there are; "" where they need not."""
    if kernel.kind == "contraction":
        return "lanes may add up its products"
    if kernel.columns:
        return "sums over rows have lanes"
    in_lanes = any(in_blocks(u.node, target) for u in kernel.units)
    return "lanes add up its sums in blocks" if in_lanes else ""


def one_lane(lowered: Lowered) -> Lowered:
    """The same loops for a tiny kernel: no lanes, nothing unrolled."""
    phases = [replace(phase, body=_serial(phase.body)) for phase in lowered.loops.phases]
    return replace(lowered, loops=replace(lowered.loops, phases=phases, tiny=True))


def _serial(body: list[Stmt]) -> list[Stmt]:
    return [_serial_statement(s) for s in body]


def _serial_statement(s: Stmt) -> Stmt:
    match s:
        case For():
            return replace(s, kind=SERIAL, unroll=1, body=_serial(s.body))
        case If():
            return replace(s, body=_serial(s.body))
    return s


def _lowered(
    kernel: Kernel, strides: dict[Node, tuple[int, ...]], target: Target, tuning: Tuning
) -> Lowered:
    match kernel.kind:
        case "contraction":
            return lower_contraction(kernel, strides, target, tuning)
        case "chain":
            return choose([CHAIN], kernel, strides, target, tuning)
        case "scan":
            return choose([SCAN], kernel, strides, tuning)
        case "scatter":
            return choose([SCATTER], kernel, strides, tuning)
        case "put":
            return choose([PUT], kernel, strides, tuning)
        case "sort":
            return choose([SORT], kernel, strides, target, tuning)
        case "systems":
            return choose([SYSTEMS], kernel, strides, target, tuning)
        case "fft":
            return choose([FOURIER], kernel, strides, target, tuning)
    if kernel.columns:
        return choose([SUMMED], kernel, strides, target, tuning)
    return lower_rows(kernel, strides, target, tuning)


def _with_streamed(lowered: Lowered, kernel: Kernel, outputs: set[Node]) -> Lowered:
    # behind those of the outputs, scratch memory may follow
    buffers = lowered.loops.buffers[len(kernel.inputs) :]
    streamed = tuple(b for b, n in zip(buffers, kernel.outputs, strict=False) if n in outputs)
    return (
        replace(lowered, loops=replace(lowered.loops, streamed=streamed)) if streamed else lowered
    )
