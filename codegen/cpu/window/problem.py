"""A contraction over windows: its axes as loop variables, its tasks. In: a Problem. Out: what the
schedules share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import product as combinations
from math import ceil, inf, log2, prod

from ....ir.graph.graph import Node
from ....ir.graph.index import Index, Var, unravel, var
from ....ir.loops.loop import SERIAL, For, Param, Stmt, Store
from ....ir.loops.walk import Substitution
from ....ir.symbolic.integer import NotSymbolic, Symbolic
from ....ir.symbolic.questions import is_unknown, value_of
from ....ir.symbolic.scope import estimated, scope_of
from ...kernels.contraction import Problem, contiguous, is_plain
from ...kernels.loop_axes import CHUNK_WORK, balanced, in_last
from ...llvm.target import Target
from ..cache_sets import L1_WAY
from .source import Footprint, Source

LONG = 32  # an extent that is not known is taken for at least so much
TASKS = 32  # wanted tasks: enough to balance, whatever the number of threads
# places that make up for packing a panel: 5 cycles a vector for packing, half of one for each place
PACKED_PLACES = 64


@dataclass
class Windows:
    """The axes by role, one variable a collapsed group; `source` is read at places in these
    variables."""

    p: Problem
    target: Target
    source: Source
    batch: list[Var]
    channels: list[Var]  # of the other factor only
    places: list[Var]  # of the factor with windows only; the last is contiguous in the output
    reduced: list[Var]  # those of windows last
    by: dict[Var, Index]  # the anchor's variables

    @property
    def k(self) -> int:
        return prod(v.extent for v in self.reduced)

    @property
    def line(self) -> int:
        """Extent of the last axis of places."""
        return self.places[-1].extent

    @property
    def lines(self) -> int:
        """Extent of the axis before it."""
        return self.places[-2].extent if len(self.places) > 1 else 1

    @property
    def vectors(self) -> int:
        """Vectors of a line."""
        return -(-self.line // self.p.width)

    @property
    def outer_lines(self) -> int:
        """Lines in all, for one batch element."""
        return prod(v.extent for v in self.places[:-1])

    def step(self, v: Var) -> int:
        """What a step of a variable is in a copy of the source, in elements."""
        return self._copied.coef(v)

    @cached_property
    def _copied(self) -> Index:
        """Where an element of the source is in a copy of it."""
        inside = {*self.places, *self.reduced}
        copy = Footprint(self.p, self.source, self.source.at, inside, self.source.sure(None))
        index: Index = copy.load(self.source.at).arg[1]
        return index

    @property
    def plain(self) -> bool:
        """Whether the factor with windows can be read where it lies: no mask, no prologue."""
        return is_plain(self._factors[1])

    @property
    def plain_other(self) -> bool:
        return is_plain(self._factors[0])

    @property
    def other_is_crowded(self) -> bool:
        """Whether the other factor is read where it lies, and an axis of k walks it in steps that
        fall into one set of the level-1 cache."""
        factor = self._factors[0]
        if not is_plain(factor):
            return False
        index: Index = factor.arg[1]
        ways = self.target.l1 // L1_WAY
        steps = [(abs(index.coef(v)) * factor.dtype.itemsize, v.extent) for v in self.reduced]
        return any(apart and apart % L1_WAY == 0 and n > ways for apart, n in steps)

    def along(self, v: Var) -> tuple[bool, bool]:
        """Whether each factor, the one with windows last, is a load that steps by at most an
        element with v."""
        first, last = (is_plain(f) and contiguous(f, v) for f in self._factors)
        return first, last

    @property
    def m(self) -> int:
        return prod(v.extent for v in self.channels)

    def fresh(self) -> list[Var]:
        """Loop variables for the steps of k."""
        return [Var(v.name, v.extent) for v in self.reduced]

    def places_of(self, at: dict[Var, Index]) -> dict[Var, Index]:
        """Every variable of this problem; what is not given does not matter."""
        return {v: Index() for v in (*self.batch, *self.channels, *self.places, *self.reduced)} | at

    @cached_property
    def _factors(self) -> tuple[Node, Node]:
        """Both factors in the variables of this problem, whose bounds simplify their indices."""
        return self.p.factor(self.p.row_factor, self.by), self.p.factor(self.p.lane_factor, self.by)

    def other(self, at: dict[Var, Index]) -> Node:
        """The factor without windows."""
        return Substitution(self.places_of(at)).node(self._factors[0])

    def windowed(self, at: dict[Var, Index]) -> Node:
        """The factor with windows, from memory."""
        return Substitution(self.places_of(at)).node(self._factors[1])

    @property
    def window(self) -> tuple[int, int]:
        """Lines and places of a window of the pool that reduces the results; 1 and 1 where there is
        none."""
        inside = [prod(v.extent for v in g if v in self.p.pooled) for g in self.p.lanes[-2:]]
        return (inside[-2] if len(inside) > 1 else 1), inside[-1]

    def stores(self, at: dict[Var, Index], total: Node) -> list[Store]:
        """Writes every output at a place, given the sum there."""
        to = Substitution(self.places_of(at))
        return [
            Store(place.buf, to.index(place.at(where)), to.node(value))
            for place, where, value in self.p.epilogue(self.by, total)
        ]


def likely(x: int) -> int:
    """What a number is for symbols of at least LONG: a program may meet greater extents than those
    at hand, and more often than smaller ones."""
    if not is_unknown(x):
        return value_of(x)
    with estimated([x], LONG):
        return value_of(x)


def step_cycles(products: float, loads: float) -> float:
    """Cycles of one step of k: two products and two loads a cycle, four for a chain of products,
    half of one to loop."""
    return max(products / 2, loads / 2, 4.0) + 0.5


def waiting(w: Windows, lines: int) -> float:
    """What few tasks cost if tiles have so many lines: time over the share of the work, on average
    of 2, 4 and 8 threads."""
    extents = [v.extent for v in (*w.batch, *w.places[:-2])]
    if any(map(is_unknown, (*extents, w.lines))):
        return 1.0
    tasks = prod(map(value_of, extents)) * -(-value_of(w.lines) // lines)
    if tasks >= TASKS // 2:
        return 1.0
    return sum(-(-tasks // t) * t / tasks for t in (2, 4, 8)) / 3


@dataclass(frozen=True)
class Tile:
    """Accumulators: channels x lines x places; those along which lanes run count in vectors."""

    channels: int
    lines: int
    places: int
    cycles: float  # of everything, for one step of k (or a vector of steps)


def best_tile(
    extents: tuple[int, int, int],
    candidates: Iterable[tuple[int, int, int]],
    cycles: Callable[[int, int, int], float],
    waits: Callable[[int], float] = lambda lines: 1.0,
) -> Tile:
    """The tile that covers so many channels, lines and places in the fewest cycles, of equals that
    with fewest accumulators.

    `cycles` is the cost of a step in one tile, of those at the ends as well; `waits` a factor by
    the lines of tiles.
    """
    channels, lines, places = map(value_of, extents)
    # most candidates share their lines and places
    factor, in_places = cache(waits), cache(partial(balanced, places))
    tiles = []
    for o, r, x in candidates:
        total = 0.0
        for (bo, no), (br, nr), (bx, _, nx) in combinations(
            sizes(channels, o), sizes(lines, r), in_places(x)
        ):
            total += no * nr * nx * cycles(bo, br, bx)
        tiles.append(Tile(o, r, x, factor(r) * total))
    return min(tiles, key=lambda t: (round(t.cycles, 3), t.channels * t.lines * t.places))


def tile_lines(w: Windows) -> range:
    """How many lines a tile may have: whole windows of a pool; one of lines whose number is not
    known."""
    high = w.window[0]
    if is_unknown(w.lines):
        if high > 1:
            raise NotSymbolic(f"windows of {high} lines of {w.lines}")
        return range(1, 2)
    return range(high, min(w.lines, 8) + 1, high)


def tiles_of_line(line: int, places: int, again: bool = False) -> list[tuple[int, int, int]]:
    """Tiles as (size, first, count): balanced ones, or of a line whose length is not known those of
    so many places, then of one. `again`: places may be computed twice, so that the tiles are of
    two sizes, those of the smaller one at the end of the line."""
    if not is_unknown(line):
        return balanced(line, places)
    if again and places > 1 and line >= places:
        small = places - 1
        large = _choice(line, lambda n: -(-n // places) - _small_tiles(n, places))
        rest = _choice(line, lambda n: _small_tiles(n, places))
        return [(places, 0, large), (small, line - rest * small, rest)]
    whole, rest = divmod(line, places)
    return [(places, 0, whole), (1, whole * places, rest)]


def squares_of(line: int, width: int) -> list[tuple[int, int, int]]:
    """Squares that cover a line, as (size, first, count): whole ones and the rest, place by place
    where it is not known."""
    if not is_unknown(line):
        whole, rest = divmod(line, width)
        cells = (width, 0, whole), (rest, whole * width, 1)
        return [(size, first, count) for size, first, count in cells if size and count]
    return [(width, 0, line // width), (1, line // width * width, line % width)]


def _small_tiles(line: int, places: int) -> int:
    """How many of as few tiles as possible have a place less: none overlaps from some length on."""
    return min(-line % places, line // (places - 1))


def _choice(line: int, number: Callable[[int], int]) -> int:
    """A number of tiles of a line whose length is not known."""
    scope = scope_of([line])
    assert scope is not None
    return scope.choose(lambda: number(value_of(line)), inf, 0)


def spread(vs: list[Var], position: Index) -> dict[Var, Index]:
    """Variables from the row-major position in all of them."""
    return dict(zip(vs, unravel(position, tuple(v.extent for v in vs)), strict=True))


def each_cell(
    name: str, cells: list[tuple[int, int, int]], body: Callable[[Index, int], list[Stmt]]
) -> list[Stmt]:
    """A loop over the tiles of each size. `body` gets first and size."""
    loops: list[Stmt] = []
    for size, first, count in cells:
        at = Var(name, count)
        loops.append(For(at, count, SERIAL, body(var(at) * size + first, size)))
    return loops


@dataclass(frozen=True)
class Unit:
    """A block of lines: its number, the variables of the axes before, its first line and which
    block of them it is."""

    number: Index
    outer: dict[Var, Index]
    first_line: Index
    part: Index


class Units:
    """Blocks of lines: each reads one footprint. A task does several of them for one batch element
    and block of channels."""

    def __init__(
        self, w: Windows, tile_lines: int, channel_blocks: int, minimum: int, packs: bool
    ) -> None:
        self.w = w
        self.outer = w.places[:-2]
        self.count_outer = prod(v.extent for v in self.outer)
        # line of the block
        self.block = Var("line", 1 if is_unknown(w.lines) else w.lines)
        self.others = (*(v.extent for v in w.batch), channel_blocks)
        self._shrink(tile_lines, minimum)
        self.parts = -(-w.lines // self.block.extent)
        self.count = self.count_outer * self.parts
        # where the units are images, other numbers of them give the same kernel: their count is an
        # argument, powers of two a task
        images = (bool(self.outer) or is_unknown(w.lines)) and not w.batch
        self.size = self._size(images, minimum, packs)
        self.total: int | Param | None = None
        if isinstance(self.count, Symbolic) or isinstance(self.size, Symbolic):
            self.total = self.count
        elif self.size > 1 and images:
            self.total = Param("units")
        elif self.count % self.size:
            self.total = self.count
        self.shape = (-(-self.count // self.size), *self.others)
        self.tasks = prod(self.shape)
        self.unit = Var("unit", self.size)

    def _size(self, images: bool, minimum: int, packs: bool) -> int:
        """Units of a task: one that packs is worth its panel."""
        w, each = self.w, prod(self.others)

        def here() -> int:
            places = value_of(w.line * self.block.extent)
            least = -(-PACKED_PLACES // places) if packs and minimum == 1 else 1
            wanted = value_of(self.count * each) / max(TASKS, minimum)
            if images:
                least, wanted = 2 ** ceil(log2(least)), 2 ** round(log2(max(wanted, 1)))
            return max(1, min(value_of(self.count), max(least, int(wanted))))

        scope = scope_of([self.count, each])
        return here() if scope is None else scope.choose(here, inf)

    def _shrink(self, tile_lines: int, minimum: int) -> None:
        """Fewer lines a block until its copy fits half of the level-2 cache's half, and there are
        enough tasks with work."""
        w, each = self.w, prod(self.others) * self.count_outer
        while self.block.extent > tile_lines:
            lines = self.block.extent
            work = value_of(w.k * w.m * w.line * lines // prod(self.others[-1:]) // 4)
            many = value_of(each * -(-w.lines // lines)) >= max(TASKS // 2, minimum) or (
                work < CHUNK_WORK and minimum == 1
            )
            if many and value_of(self.bytes()) <= w.target.l2 // 4:
                break
            half = -(-lines // 2)
            self.block = Var("line", max(tile_lines, -(-half // tile_lines) * tile_lines))

    def bytes(self) -> int:
        copy = self.any_footprint()
        return copy.size * copy.buf.dtype.itemsize

    def any_footprint(self) -> Footprint:
        """The copy for some block, as large as all."""
        return self.footprint(Index(), {v: Index() for v in (*self.w.batch, *self.outer)})

    def footprint(self, first_line: Index, at: dict[Var, Index]) -> Footprint:
        """The copy for the block that starts at a line; `at`: the variables that are fixed in
        it."""
        w = self.w
        read = w.source.substitute(at | self.at_line(first_line + var(self.block)))
        # the last block has lines that do not exist
        beyond = w.places[-2] if w.lines % self.block.extent else None
        return Footprint(
            w.p, w.source, read, {*w.reduced, w.places[-1], self.block}, w.source.sure(beyond)
        )

    def at_line(self, line: Index) -> dict[Var, Index]:
        return {self.w.places[-2]: line} if len(self.w.places) > 1 else {}

    def loop(self, position: Index, body: Callable[[Unit], list[Stmt]]) -> Stmt:
        """Every unit of a task's part."""
        first = position * self.size
        number = first + var(self.unit)
        *outer, part = unravel(number, (*(v.extent for v in self.outer), self.parts))
        at = dict(zip(self.outer, outer, strict=True))
        stmts = body(Unit(number, at, part * self.block.extent, part))
        return For(
            self.unit,
            self.size,
            SERIAL,
            stmts,
            base=Index() if self.total is None else first,
            total=self.total,
        )

    @property
    def params(self) -> dict[Param, int]:
        """The arguments of the loop, with their values."""
        return {self.total: self.count} if isinstance(self.total, Param) else {}


def tiles_of(
    total: int, block: int, size: int, part: Index, body: Callable[[Index, int], list[Stmt]]
) -> list[Stmt]:
    """Tiles of `size` over a block of `total`; `size` divides the block, or that is all. `body`
    gets first and size."""
    whole, rest = divmod(total, size)
    last = -(-total // block) - 1
    per_block = min(block // size, whole)
    tile, out = Var("tile", max(1, per_block)), list[Stmt]()
    if per_block:
        cut = whole != (last + 1) * per_block
        base, end = (part * per_block, whole) if cut else (Index(), None)
        out.append(For(tile, per_block, SERIAL, body(var(tile) * size, size), base=base, total=end))
    if rest:
        inner = body(Index(const=(whole - last * per_block) * size), rest)
        out.append(in_last(part, last, inner))
    return out


def channel_block(w: Windows, channels: int, lines: int) -> int:
    """Channels of a task, in whole tiles: all of them where lines (and batch elements) make enough
    tasks."""
    tasks = w.outer_lines // lines * prod(v.extent for v in w.batch)
    blocks = max(1, min(-(-w.m // channels), TASKS // max(1, value_of(tasks))))
    return -(-w.m // (channels * blocks)) * channels


def sizes(n: int, size: int) -> list[tuple[int, int]]:
    """How often each size occurs when n is cut into pieces of one size and a rest."""
    return [(s, count) for s, count in ((size, n // size), (n % size, 1)) if s and count]
