"""Kernels -> Loops for a GPU: every kernel lowered by its kind. In: a CudaTarget. Out: a
Lowering."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...ir.graph.graph import Node
from ...ir.kernels.column_sums import FEW_COLUMNS
from ...ir.kernels.fuse import Fused
from ...ir.kernels.kernel import Kernel
from ...ir.loops.loop import LANES, For, Loops
from ..kernels.column_sums import by_rows
from ..kernels.lower_program import Strides
from ..kernels.lowered import Lowered
from ..kernels.schedule import Schedule, always, choose
from ..math.expand import expand_loops
from .attention.attention import lower_chain
from .schedules.bounds_checks import lower_checks
from .schedules.contraction import CONTRACTIONS, lower_contraction
from .schedules.grid import MOST_THREADS
from .schedules.put import lower_put
from .schedules.rows_and_maps import ROWS_AND_MAPS, lower_maps
from .schedules.rows_with_sums import lower_summed
from .schedules.scan import lower_scan
from .schedules.scatter import lower_scatter
from .schedules.sort import lower_sort
from .schedules.systems import lower_systems
from .target import CudaTarget

MANY_ELEMENTS = 1 << 21  # whose rows are worth parts that are added up afterwards

SUMMED = Schedule("summed", always(lower_summed))
CHAIN = Schedule("chain", always(lower_chain))
SCAN = Schedule("scan", always(lower_scan))
SCATTER = Schedule("scatter", always(lower_scatter))
PUT = Schedule("put", always(lower_put))
SORT = Schedule("sort", always(lower_sort))
SYSTEMS = Schedule("systems", always(lower_systems))
CHECKS = Schedule("checks", always(lower_checks))
CUDA: tuple[Schedule[...], ...] = (
    *ROWS_AND_MAPS,
    SUMMED,
    *CONTRACTIONS,
    CHAIN,
    SCAN,
    SCATTER,
    PUT,
    SORT,
    SYSTEMS,
    CHECKS,
)


@dataclass(frozen=True)
class CudaLowering:
    """How kernels run on a GPU."""

    target: CudaTarget
    nans: str = ""

    @property
    def most_scratch(self) -> int:
        """Shared memory has a size that is known."""
        return 0

    def kernel(self, kernel: Kernel, strides: Strides, streamed: set[Node]) -> Lowered:
        """By its kind."""
        kernel = by_rows(kernel, _are_many)
        match kernel.kind:
            case "contraction":
                return lower_contraction(kernel, strides, self.target)
            case "chain":
                return choose([CHAIN], kernel, strides, self.target)
            case "scan":
                return choose([SCAN], kernel, strides)
            case "scatter":
                return choose([SCATTER], kernel, strides)
            case "put":
                return choose([PUT], kernel, strides)
            case "sort":
                return choose([SORT], kernel, strides)
            case "systems":
                return choose([SYSTEMS], kernel, strides)
        return (
            choose([SUMMED], kernel, strides, self.target)
            if kernel.columns
            else lower_maps(kernel, strides, self.target)
        )

    def checks(
        self, checks: list[tuple[Node, int]], strides: Strides, places: list[Node], first_site: int
    ) -> Lowered:
        """One phase each."""
        return choose([CHECKS], checks, strides, places, first_site)

    def expanded(self, loops: Loops) -> Loops:
        """As polynomials; 16-bit floats are converted by instructions."""
        return expand_loops(loops, has_float16=True, has_bfloat16=True)

    def parallel(self, lowered: Lowered) -> tuple[bool, ...]:
        """Always."""
        return tuple(True for _ in lowered.work)

    def streamed(self, kernel: Kernel, fused: Fused, replaced: Mapping[Node, Node]) -> set[Node]:
        """None: stores leave the caches by themselves."""
        return set()


def _are_many(rows: int, columns: int) -> bool:
    """Are rows so many, and their columns so few, that blocks should share the rows?"""
    return columns < FEW_COLUMNS and rows * columns >= MANY_ELEMENTS


def stays_loop(loop: For) -> bool:
    """Is it a loop of every thread, too? Few lanes are shared out among the threads of a block at
    once."""
    return (
        loop.kind != LANES
        or not isinstance(loop.extent, int)
        or loop.extent > MOST_THREADS * loop.unroll
    )
