"""The cost model of contractions: the tile of a block, whether blocks share a sum. In: a Problem.
Out: a Tile, its cycles.

All figures are of one GPU, so that every other one adds in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

from ....ir.graph import dtype as dt
from ....ir.graph.dtype import DType
from ...kernels.contraction import Problem, groups_extent
from ..target import WARP, CudaTarget
from .operand import stored_factor

MULTIPROCESSORS = 132
PRODUCTS = 128  # a cycle of a multiprocessor
# the same on tensor cores, by bytes of a factor: mma.sync reaches 0.6 of what they can
TENSOR_PRODUCTS = {
    2: 600,
    4: 300,
}
THREADS = 1024  # that work at a time on a multiprocessor with registers for sums
LATENCY = 900  # cycles of a step of tiles: memory, barriers, registers to shared memory and back
BLOCK = 3000  # cycles to start a block, fill its first tile and write its results
LAUNCH = 4000  # cycles between two phases
BYTES = 1400  # of memory a cycle
CACHED = 24  # bytes from the level-2 cache to a multiprocessor a cycle
# cycles of a warp to load one element of a factor from shared memory, next to its products
LOADED = 0.25
SUMS = 256  # bytes of sums in the registers of a thread
MOST_PARTS = 64  # blocks that share a sum
# bytes of such sums: more would not stay in the level-2 cache, and would be unexpected memory
PARTIAL = 1 << 26
LEAST_STEPS = 4  # tiles of k for each of them
# products a cycle of a multiprocessor whose threads load both factors of each from the caches
ONE_BY_ONE = 8
NEXT = 50  # cycles from one of these products to the next of a sum
GROUP = 8  # tiles of rows that neighbouring blocks take: they share lanes in the level-2 cache


@dataclass(frozen=True)
class Tile:
    """Rows, lanes and steps of k of a block; the rows and lanes of a thread or, on tensor cores, a
    warp.

    `parts` is the number of blocks that share a sum, `stages` that of the tiles that are on their
    way or in use.
    """

    rows: int
    lanes: int
    k: int
    part: tuple[int, int]
    parts: int = 1
    stages: int = 2
    tensor: bool = False

    @property
    def threads(self) -> int:
        return self.rows * self.lanes // self.sums

    @property
    def sums(self) -> int:
        """Of a thread."""
        return self.part[0] * self.part[1] // (WARP if self.tensor else 1)

    def __str__(self) -> str:
        whose = "warp on tensor cores" if self.tensor else "thread"
        return f"{self.rows}x{self.lanes}x{self.k} of {self.part[0]}x{self.part[1]} a {whose}"


TILES = (
    Tile(128, 128, 8, (8, 8)),
    Tile(128, 64, 8, (8, 4)),
    Tile(64, 128, 8, (4, 8)),
    Tile(64, 64, 16, (4, 4)),
    Tile(64, 32, 16, (4, 4)),
    Tile(32, 64, 16, (4, 4)),
    Tile(32, 32, 32, (4, 2)),
    Tile(8, 128, 32, (2, 4)),
    Tile(128, 8, 32, (4, 2)),
    Tile(8, 32, 64, (1, 2)),
    Tile(16, 16, 64, (2, 1)),
)
TENSOR_SHAPES = (
    (128, 128, (64, 32)),
    (128, 64, (32, 32)),
    (64, 128, (32, 32)),
    (64, 64, (32, 32)),
    (64, 32, (16, 32)),
    (32, 64, (32, 16)),
    (32, 32, (16, 16)),
    (16, 128, (16, 32)),
    (128, 16, (32, 16)),
)
TENSOR_LINE = 64  # bytes of k in a tile
STAGES = 4


def tensor_tiles(itemsize: int) -> list[Tile]:
    """Tiles for tensor cores, of factors of so many bytes."""
    return [
        Tile(m, n, TENSOR_LINE // itemsize, part, stages=STAGES, tensor=True)
        for m, n, part in TENSOR_SHAPES
    ]


def simt_tiles(itemsize: int) -> list[Tile]:
    """Tiles for all other processors, of sums of so many bytes."""
    return [t for t in TILES if t.sums * itemsize <= SUMS]


def fastest_tile(p: Problem, target: CudaTarget) -> tuple[Tile, float, str]:
    """The tile of the fewest estimated cycles, these cycles, and what most of them are for."""
    factors = [stored_factor(p, f)[0].dtype for f in (p.row_factor, p.lane_factor)]
    itemsize = max(d.itemsize for d in factors)
    tiles = (
        tensor_tiles(itemsize)
        if _on_tensor_cores(p, factors, target)
        else simt_tiles(p.anchor.node.dtype.itemsize)
    )
    estimates = {c: estimated(p, c, itemsize) for t in tiles for c in _in_parts(p, t)}
    tile = min(estimates, key=lambda c: estimates[c][0])
    return tile, *estimates[tile]


def _on_tensor_cores(p: Problem, factors: list[DType], target: CudaTarget) -> bool:
    """16-bit floats, and float32 where the user has allowed it; sums are of float32."""
    precise = factors[0].is_half or (factors[0] is dt.float32 and target.matmul == "tf32")
    return (
        target.has_async_copies
        and p.anchor.node.dtype is dt.float32
        and factors[0] is factors[1]
        and precise
    )


def _in_parts(p: Problem, t: Tile) -> list[Tile]:
    """A tile with its sums in one block, or in more."""
    steps, results = ceil(p.k / t.k), groups_extent(p.batch) * p.m * p.n
    tiles, parts = [t], 2
    most = min(MOST_PARTS, PARTIAL // (results * p.anchor.node.dtype.itemsize))
    while parts <= most and steps >= parts * LEAST_STEPS:
        tiles.append(replace(t, parts=ceil(steps / ceil(steps / parts))))
        parts *= 2
    return tiles


def blocks(p: Problem, t: Tile) -> int:
    """How many blocks a problem takes."""
    return groups_extent(p.batch) * ceil(p.m / t.rows) * ceil(p.n / t.lanes) * t.parts


def estimated(p: Problem, t: Tile, itemsize: int) -> tuple[float, str]:
    """Cycles of the whole contraction, with those for sums in parts, and what most of them are
    for."""
    step, most = max(
        (_products(t, itemsize), "products"),
        (t.k * (t.rows + t.lanes) * itemsize / CACHED, "the level-2 cache"),
    )
    each = ceil(blocks(p, t) / MULTIPROCESSORS)
    rounds = ceil(each / min(each, max(1, THREADS // t.threads)))
    in_turn, most = max(
        (each * step, most), (rounds * LATENCY / (t.stages - 1), "waiting for memory")
    )
    busy = in_turn * ceil(ceil(p.k / t.k) / t.parts) + rounds * BLOCK
    results = groups_extent(p.batch) * p.m * p.n * p.anchor.node.dtype.itemsize
    return busy + (LAUNCH + 2 * t.parts * results / BYTES if t.parts > 1 else 0), most


def naive_cycles(p: Problem) -> float:
    """Estimated cycles of the same by a thread for each result."""
    products = groups_extent(p.batch) * p.m * p.n * p.k
    return BLOCK / 3 + max(products / (MULTIPROCESSORS * ONE_BY_ONE), p.k * NEXT)


def _products(t: Tile, itemsize: int) -> float:
    """Cycles of a multiprocessor for a step of a tile."""
    if t.tensor:
        return t.k * t.rows * t.lanes / TENSOR_PRODUCTS[itemsize]
    return t.k * t.threads / WARP * (t.sums * WARP / PRODUCTS + LOADED * sum(t.part))
