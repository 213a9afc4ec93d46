"""The cost model of the packed schedule: tiles, panels and tasks from shapes and the target. In: a
Problem. Out: Sizes.

A tile of R rows by V vectors of lanes takes, for each step of k, as many cycles as its most used
unit: R*V products on two units, R broadcasts and V loads on two ports, and the latency of one
product, which the next of its sum waits for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ....ir.graph.graph import Node
from ....ir.graph.index import Index
from ....ir.symbolic.integer import Symbolic
from ....ir.symbolic.questions import is_unknown
from ....ir.symbolic.scope import Scope, estimated, scope_of
from ...kernels.contraction import Problem, contiguous, groups_extent, is_plain
from ...kernels.loop_axes import extent
from ...llvm.target import Target
from ..cache_sets import l2_share

# lanes of a block fill the level-2 cache divided by this: packed next to their source, or in place
# or where every block packs the rows again, which 128 lanes instead of 64 made 1.1 to 1.25 times as
# fast on Zen 1
PANEL, WIDE_PANEL = 4, 2
BLOCK = 1 << 17  # elements of the results of a task
GROUP = 1 << 16  # elements of rows packed at a time
# length of k a panel holds; sums are added up panel by panel, so it does not depend on what the
# factors are
MOST_K = 512
MOST_TILES = 8  # tiles of lanes in a task
# steps of k of which twice as many tiles are better: rows of results are written and the other
# factor is packed more often than anything is added; 1.03 to 1.37 times as fast on AVX2
SHORT_K = 32
CANDIDATE_TILES = 4  # shapes of tiles that tuning tries
TASKS = 16  # wanted tasks: enough to balance, whatever the number of threads
# multiply-adds of a task, about 2 us: less would not pay for packing and handing it out
TASK_WORK = 1 << 18
MIN_PACKED_ROWS = 96  # rows over which packing the lanes pays
MIN_DIRECT_ROWS = 24
# cycles of tiles that divide the lanes, to those of the best tiles: with 20 rows and 800 x 200 the
# latter took 193 us, for they pack, the former 109 (Zen 1)
WORTH_PACKING = 1.5
PAGE = 4000  # bytes: steps of k so far apart cost a TLB entry each and fall into few cache sets
# bytes: lines a multiple of it apart share a set of the level-1 cache, which has l1 / 4096 ways
ALIASED = 4096
MOST_SHARE = (
    0.75  # of the cache sets that a panel read in place can be in; rows and sums need the rest
)
SPARE_WAYS = 2  # of a set that holds a line of each row: for lanes and sums
LOAD = 0.25  # cycles of a vector of the lane factor, which comes from the level-2 cache
LATENCY = 4  # cycles of a fused product and sum
MOST_VECTORS = 4  # of lanes in a tile
MOST_ROWS = 12
MANY_ROWS = 27720  # whose number is not known, of which every height of tiles is a divisor

IN_PLACE, BY_ROW, BY_TILE, SQUARES, BY_LINE = (
    "read in place",
    "packed by row",
    "packed by tile",
    "packed by transposing",
    "packed",
)


@dataclass
class Sizes:
    """Every extent of the schedule, fixed by shape and target. Of these, the bits of results depend
    on those of k alone."""

    rows: str  # how tiles read the row factor
    lanes: str  # how they read the lane factor
    why: tuple[str, str]  # reasons for both
    tile_rows: int
    tile_lanes: int
    k_outer: int  # reduced groups of which a block holds one step
    k_block: int  # steps of the next group in a block
    k_extent: int  # length of k in a block, the most where it is not known
    lane_rows: int = 1  # lane lines in a block (1: the block is part of a line)
    line: int = 1  # lanes of each
    block: int = 1  # lanes of a block, padded to whole vectors
    task_tiles: int = 1  # tiles of rows in a task
    most_tiles: int = 1  # the same at most, where the number of rows is not known
    group_tiles: int = 1  # of which so many are packed at a time


def candidates(p: Problem, target: Target, row_value: Node, lane_value: Node) -> list[Sizes]:
    """The choice of the cost model and others that add up in the same order: tiles, lanes of a
    task, packing."""
    first, *others = _tiles(p, target, row_value, lane_value)[:CANDIDATE_TILES]
    ways = [
        (first, MOST_TILES),
        (first, MOST_TILES // 2),
        (first, 2 * MOST_TILES),
        *((tile, MOST_TILES) for tile in others),
    ]
    tilings = [choose(p, target, row_value, lane_value, *way) for way in ways]
    if tilings[0].lanes == IN_PLACE:
        tilings.append(replace(tilings[0], lanes=BY_LINE, why=(tilings[0].why[0], "tried")))
    return [s for i, s in enumerate(tilings) if s not in tilings[:i]]


def choose(
    p: Problem,
    target: Target,
    row_value: Node,
    lane_value: Node,
    tile: tuple[int, int] | None = None,
    most_tiles: int = MOST_TILES,
) -> Sizes:
    """Tile and block sizes: fill the registers, keep panel and strip in the level-2 cache, leave
    enough tasks. Where the number of rows is not known, they suit those at hand."""
    k_sizes = _k_sizes(p, MOST_K)
    with estimated(p.extents, MIN_DIRECT_ROWS):
        return _chosen(p, target, row_value, lane_value, tile, most_tiles, k_sizes)


def _chosen(
    p: Problem,
    target: Target,
    row_value: Node,
    lane_value: Node,
    tile: tuple[int, int] | None,
    most_tiles: int,
    k_sizes: tuple[int, int, int],
) -> Sizes:
    last, lines = extent(p.lanes[-1]), groups_extent(p.lanes[:-1])
    rows, why = row_access(p, row_value)
    tile_rows, vectors = tile or _tiles(p, target, row_value, lane_value)[0]
    s = Sizes(
        rows,
        BY_LINE,
        (why, "several lines share a block"),
        tile_rows,
        vectors * p.width,
        *k_sizes,
    )
    if len(p.lanes) == 1 or isinstance(last, Symbolic) or last >= 2 * s.tile_lanes:
        s.lanes, because = _lane_access(p, s, lane_value)
        s.why = (why, because)
        _split_line(p, s, _most_lanes(p, s, target, most_tiles))
        if s.lanes == IN_PLACE and _is_crowded(p, s, target, lane_value):
            s.lanes, s.why = (
                BY_LINE,
                (why, "read in place, lines would push each other out of the level-2 cache"),
            )
            _split_line(p, s, _most_lanes(p, s, target, most_tiles))
        scope = scope_of([p.m, last])
        if scope is not None:
            _leave_lanes(p, s, _most_lanes(p, s, target, most_tiles), scope)
    else:
        most = min(_most_lanes(p, s, target, most_tiles), 256)
        s.lane_rows, s.line = max(1, most // last), last
        if not isinstance(lines, Symbolic):
            s.lane_rows = max(1, min(lines, s.lane_rows))
        s.block = _round(s.lane_rows * last, p.width)
    tasks = -(-groups_extent(p.batch) * lines * last // (s.lane_rows * s.line))
    _split_rows(p, s, tasks)
    return s


def _most_lanes(p: Problem, s: Sizes, target: Target, most_tiles: int) -> int:
    """Lanes of a block that stay in the level-2 cache for all steps of k."""
    is_wide = s.lanes == IN_PLACE or s.rows != IN_PLACE
    panel = target.l2 // (WIDE_PANEL if is_wide else PANEL) // p.anchor.node.dtype.itemsize
    most = most_tiles * (2 if s.k_extent <= SHORT_K else 1)
    return max(1, min(panel // s.k_extent // s.tile_lanes, most)) * s.tile_lanes


def _tiles(p: Problem, target: Target, row_value: Node, lane_value: Node) -> list[tuple[int, int]]:
    """The shapes of tiles, the best first; of few rows where those read in place would push each
    other out of a cache set. Against few rows those are better that divide lanes which lie in
    place: packing these takes about as long as the products."""
    shapes = _all_tiles(p, target, row_value)
    vectors, lanes = -(-extent(p.lanes[-1]) // p.width), extent(p.lanes[-1])
    lies_there = contiguous(lane_value, p.lanes[-1][-1]) and is_plain(lane_value)
    if p.m >= MIN_PACKED_ROWS or not lies_there:
        return shapes
    rows = _rows(p)
    most = WORTH_PACKING * _cycles(rows, vectors, *shapes[0])
    return sorted(
        shapes,
        key=lambda s: lanes % (s[1] * p.width) != 0 or _cycles(rows, vectors, *s) > most,
    )


def _rows(p: Problem) -> int:
    """For which tiles are to suit."""
    return MANY_ROWS if isinstance(p.m, Symbolic) else p.m


def _all_tiles(p: Problem, target: Target, row_value: Node) -> list[tuple[int, int]]:
    vectors, ways = -(-extent(p.lanes[-1]) // p.width), target.l1 // ALIASED
    crowded = (
        row_access(p, row_value)[0] == IN_PLACE
        and _row_pitch(p, row_value) % ALIASED == 0
        and ways < MOST_ROWS
    )
    most_rows = ways - SPARE_WAYS if crowded else MOST_ROWS
    return tile_shapes(_rows(p), vectors, target, most_rows, isinstance(p.m, Symbolic))


def _row_pitch(p: Problem, value: Node) -> int:
    """Bytes from row to row."""
    index: Index = value.arg[1]
    return abs(index.coef(p.rows[-1][-1])) * value.dtype.itemsize


def _wanted_tasks(p: Problem) -> int:
    return max(1, min(TASKS, groups_extent(p.batch) * p.m * p.n * p.k // TASK_WORK))


def tile_shapes(
    m: int, vectors: int, target: Target, most_rows: int = MOST_ROWS, only_whole: bool = False
) -> list[tuple[int, int]]:
    """(rows, vectors of lanes) of tiles, those first that take the fewest cycles for m rows and so
    many vectors of lanes. `only_whole`: none is narrower at the edge."""
    accumulators = 24 if target.registers >= 32 else 12
    widths = range(1, min(vectors, MOST_VECTORS) + 1)
    shapes = [(r, v) for v in widths for r in range(1, min(m, accumulators // v, most_rows) + 1)]

    def cycles(rows: int, width: int) -> float:
        return _cycles(m, _round(vectors, width) if only_whole else vectors, rows, width)

    return sorted(shapes, key=lambda shape: (cycles(*shape), -shape[0] * shape[1], -shape[0]))


def _cycles(m: int, vectors: int, rows: int, width: int) -> float:
    """Cycles of a step of k over all tiles, the narrower ones at the edges included."""
    down = [(rows, m // rows), (m % rows, 1)]
    along = [(width, vectors // width), (vectors % width, 1)]
    bodies = [(r, v, a * b) for r, a in down for v, b in along if r and v and a * b]
    return sum(n * tile_cycles(r, v) for r, v, n in bodies)


def tile_cycles(rows: int, vectors: int) -> float:
    """Cycles of a step of k in one tile."""
    return max(rows * vectors / 2, (rows + vectors) / 2, LATENCY) + LOAD * vectors


def _k_sizes(p: Problem, most: int) -> tuple[int, int, int]:
    """(groups of k outside the block, steps of the first group inside it, length of the block)."""
    outer = 0
    while groups_extent(p.reduced[outer + 1 :]) > most:
        outer += 1
    inside = groups_extent(p.reduced[outer + 1 :])
    steps = extent(p.reduced[outer])
    scope = scope_of([inside])
    if scope is not None and is_unknown(inside):
        return outer, scope.choose(lambda: min(steps, max(1, most // inside)), most), most
    block = max(1, most // inside) if is_unknown(steps) else min(steps, max(1, most // inside))
    return outer, block, block * inside


def row_access(p: Problem, value: Node) -> tuple[str, str]:
    """How tiles read the row factor, of which each step of k broadcasts one element per row, and
    why."""
    along_rows = (
        bool(p.rows)
        and contiguous(value, p.rows[-1][-1])
        and not contiguous(value, p.reduced[-1][-1])
    )
    packed = BY_TILE if along_rows else BY_ROW
    if not is_plain(value):
        return packed, "they are computed or masked"
    if len(p.rows) > 1:
        return packed, f"they have {len(p.rows)} axes"
    apart = abs(value.arg[1].coef(p.reduced[-1][-1])) * value.dtype.itemsize
    return (packed, f"steps of k lie {apart} bytes apart") if apart >= PAGE else (IN_PLACE, "plain")


def _lane_access(p: Problem, s: Sizes, value: Node) -> tuple[str, str]:
    """How tiles read lanes that are part of one line, and why."""
    last = extent(p.lanes[-1])
    if not contiguous(value, p.lanes[-1][-1]):
        along_k = (
            contiguous(value, p.reduced[-1][-1]) and min(last, extent(p.reduced[-1])) >= p.width
        )
        along_k = along_k and scope_of([last, extent(p.reduced[-1])]) is None
        return (SQUARES, "contiguous along k") if along_k else (BY_LINE, "they lie apart")
    if not is_plain(value):
        return BY_LINE, "computed or masked"
    if isinstance(last, Symbolic) or last % s.tile_lanes:
        return BY_LINE, f"tiles do not divide {last}"
    if last * p.anchor.node.dtype.itemsize % ALIASED == 0 and p.m > 2 * s.tile_rows:
        return BY_LINE, "lines a multiple of 4 KB apart share cache sets"
    return IN_PLACE, "plain"


def _is_crowded(p: Problem, s: Sizes, target: Target, value: Node) -> bool:
    """Does a panel read in place need more than a few cache sets hold, for rows enough to pay for a
    copy?

    512 steps of 1 KB, 6 KB apart, need all of half of the level-2 cache: of the loads of the second
    tile of rows and those after it 27 % miss 8 ways, 35 % 16 ways (simulated, least recently used);
    384 steps miss none.
    """
    pitch = abs(value.arg[1].coef(p.reduced[-1][-1])) * value.dtype.itemsize
    run = s.block * value.dtype.itemsize
    is_needed = p.m > MIN_PACKED_ROWS and pitch > run
    return is_needed and s.k_extent * run > MOST_SHARE * l2_share(pitch, run, target)


def _split_line(p: Problem, s: Sizes, most: int) -> None:
    """Blocks of the lanes of a line."""
    s.block = _line_block(p, s, most)
    s.line = min(s.block, extent(p.lanes[-1]))


def _leave_lanes(p: Problem, s: Sizes, most: int, scope: Scope) -> None:
    """Blocks that hold as many lanes as there may be. How many tiles of them are used is decided
    when their number and that of the rows are known."""
    last = extent(p.lanes[-1])
    s.block = most if isinstance(last, Symbolic) else min(most, _round(last, s.tile_lanes))
    tiles = s.block // s.tile_lanes
    if tiles > 1 or isinstance(last, Symbolic):
        s.line = s.tile_lanes * scope.choose(
            lambda: -(-_line_block(p, s, most) // s.tile_lanes), tiles
        )


def _line_block(p: Problem, s: Sizes, most: int) -> int:
    """Equal parts of the lanes of a line, as long as there are enough tasks."""
    last, others = extent(p.lanes[-1]), groups_extent(p.batch) * groups_extent(p.lanes[:-1])
    parts = max(1, p.m // (MIN_DIRECT_ROWS if s.lanes == IN_PLACE else MIN_PACKED_ROWS))
    while most > s.tile_lanes and -(-last // most) * others * parts < _wanted_tasks(p):
        most = max(s.tile_lanes, most // 2 // s.tile_lanes * s.tile_lanes)
    to = s.tile_lanes if s.lanes == IN_PLACE else p.width
    return _round(-(-last // -(-last // most)), to)


def _split_rows(p: Problem, s: Sizes, tasks: int) -> None:
    """Tiles of rows in a task, and in a group that is packed at once. The most are as many as the
    results of a task allow; a number of rows that is not known decides when it is."""
    most = max(1, BLOCK // s.block // s.tile_rows)
    tiles = _task_tiles(p, s, tasks, most)
    groups = int(
        1 if s.rows == IN_PLACE else -(-tiles // max(1, GROUP // (s.tile_rows * s.k_extent)))
    )
    s.group_tiles = int(-(-tiles // groups))
    s.task_tiles = s.most_tiles = groups * s.group_tiles
    scope = scope_of([p.m])
    if scope is not None:
        if s.rows == IN_PLACE:
            s.group_tiles = 1
        most_groups = -(-most // s.group_tiles)
        s.most_tiles = most_groups * s.group_tiles
        s.task_tiles = s.group_tiles * scope.choose(
            lambda: -(-_task_tiles(p, s, tasks, most) // s.group_tiles), most_groups
        )


def _task_tiles(p: Problem, s: Sizes, tasks: int, most: int) -> int:
    """Tiles of rows in a task, given the number of tasks with all rows."""
    tiles = -(-p.m // s.tile_rows)
    least = 1 if s.lanes == IN_PLACE else -(-MIN_PACKED_ROWS // s.tile_rows)
    return max(1, min(tiles, most, max(least, -(-tiles * tasks // _wanted_tasks(p)))))


def _round(n: int, to: int) -> int:
    return -(-n // to) * to
