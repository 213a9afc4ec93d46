"""Axes of loops: which is vectorised, how they collapse, how many chunks. In: shapes and accesses,
never the number of threads. Out: axes and counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node
from ...ir.graph.index import Div, Gathered, Index, Mod, Range, Var, stretch, var
from ...ir.graph.op import Op
from ...ir.kernels.kernel import cost
from ...ir.loops.loop import GLOBAL, SERIAL, For, If, Stmt
from ...ir.loops.walk import indices, postorder, variables
from ...ir.symbolic.decisions import require_as_known
from ...ir.symbolic.integer import NotSymbolicHere, Symbolic
from ...ir.symbolic.questions import has_several, is_same, is_unknown, value_of

CHUNK_WORK = 16_384  # operations a chunk: about 4 us, far above the cost of handing it out
MAX_CHUNKS = 256
TINY_WORK = (
    2048  # operations that take scalar code about 1 us: compiling vector code for them never pays
)
# operations of a body that is as fast only in four copies: loads and additions have latencies
CHEAP = 12
STRETCH = (2, 4)  # lanes that may share an element: they divide every vector of 32-bit elements
MOST_COLUMNS = 16  # elements of rows that are loaded as vectors and sorted, one row per lane
UNKNOWN_APART = 8  # times the cost of an element a lane: lanes would be built one by one
MANY_VECTORS = 4  # of which the last one may have idle lanes
NEAR = 4  # elements from lane to lane that still share cache lines
BLOCK_BYTES = 4096  # of lanes whose sums stand in L1: long contiguous runs
LEAST_BLOCK_BYTES = 1024  # where the blocks are few: shorter runs cost a tenth of the bandwidth
LANE_BLOCKS = 4  # wanted: enough for a few threads, which share the bandwidth of memory


class Lanes(Protocol):
    """The Lanes protocol: all that the choice of lanes asks of a target."""

    def lanes_of(self, dtypes: Iterable[DType]) -> int:
        """Lanes of a loop that computes these."""


@dataclass(frozen=True)
class Access:
    """One memory access: its flat index, the bytes of an element, whether it is a store."""

    index: Index
    itemsize: int
    store: bool

    def at_hand(self, known: Mapping[Var, Var]) -> Access:
        """The same with numbers for whatever is not known."""
        by = {v: var(known.get(v) or Var(v.name, value_of(v.extent))) for v in self.index.vars()}
        return Access(self.index.at_hand(by), self.itemsize, self.store)


def loads(nodes: Iterable[Node]) -> list[Access]:
    return [
        Access(n.arg[1], n.dtype.itemsize, False)
        for n in nodes
        if n.op is Op.LOAD and n.arg[0].space == "global"
    ]


def work(nodes: Iterable[Node]) -> int:
    """Operations of one evaluation of these Nodes."""
    return sum(cost(n) for n in nodes if n.op not in (Op.CONST, Op.VAR))


def is_number(n: Node) -> bool:
    """Is it an input without axes?"""
    return n.op is Op.LOAD and n.arg[0].space == GLOBAL and is_same(n.arg[0].size, 1)


def divides(index: Index, v: Var) -> bool:
    """Does the index contain a quotient or remainder of v (or of something with v)?"""
    return any(isinstance(t, Div | Mod) and v in t.index.vars() for t, _ in index.terms)


def collapse(
    axes: Sequence[Var], walked: Iterable[Index], stretched: bool = False
) -> list[list[Var]]:
    """Groups neighbouring axes that every index walks as one: [a, b] where it is affine in
    a*extent(b) + b.

    `stretched`: also where it walks a quotient by a short last axis, as x[f // 2], if others walk
    every element.
    """
    walked = list(dict.fromkeys(walked))
    groups: list[list[Var]] = []
    for v in axes:
        short = (
            stretched
            and v is axes[-1]
            and not is_unknown(v.extent)
            and v.extent in STRETCH
            and any(i.coef(v) == 1 for i in walked)
        )
        if groups and _as_one([*groups[-1], v], walked, v.extent if short else 1):
            groups[-1].append(v)
        else:
            groups.append([v])
    return groups


def collapse_of_sum(
    axes: Sequence[Var], nodes: Sequence[Node], stretched: bool = False
) -> list[list[Var]]:
    """The groups of the axes of a sum of what the Nodes evaluate. The order of its terms follows
    from them, so that sizes at which there would be fewer if these were known are excluded: rows of
    x[:, ::2] are one group where they are even.

    Raises NotSymbolicHere if the sizes at hand are of those.
    """
    read = [i for n in nodes for i in indices(n)]
    groups = collapse(axes, read, stretched)
    numbers = [*(v.extent for v in axes), *(c for i in read for _, c in i.terms)]
    if len(groups) < 2:
        return groups

    require_as_known(
        [len(g) for g in groups],
        lambda: [len(g) for g in groups_if_known(groups, nodes, stretched=stretched)],
        numbers,
        lambda sizes: f"a sum over {len(axes)} axes has {len(sizes)} loops",
    )
    return groups


def may_merge(groups: Sequence[list[Var]], nodes: Sequence[Node], stored: Sequence[Index]) -> bool:
    """Does it depend on sizes whether more axes are walked as one?"""
    walked = [*(i for n in nodes for i in indices(n)), *stored]
    inner = [v.extent for g in groups for v in g][1:]
    numbers = [*inner, *(c for i in walked for _, c in i.terms)]
    return len(groups) > 1 and any(isinstance(n, Symbolic) for n in numbers)


def groups_if_known(
    groups: Sequence[list[Var]],
    nodes: Sequence[Node],
    stored: Sequence[Index] = (),
    stretched: bool = False,
) -> list[list[Var]]:
    """The groups as they would be if all sizes were the numbers that they are at hand."""
    axes = [v for g in groups for v in g]
    used = [v for n in nodes for v in variables(n)]
    known = _known([*axes, *used, *(v for i in stored for v in i.vars())])
    by = {v: var(w) for v, w in known.items()}
    here = [*_at_hand(nodes, known), *(i.at_hand(by) for i in stored)]
    left = iter(axes)
    merged = collapse([known[v] for v in axes], here, stretched)
    return [[*islice(left, len(g))] for g in merged]


def _known(used: Iterable[Var]) -> dict[Var, Var]:
    """Variables of as many steps as these have at hand."""
    return {v: Var(v.name, value_of(v.extent)) for v in used}


def _at_hand(nodes: Iterable[Node], known: Mapping[Var, Var]) -> Iterator[Index]:
    """Where the Nodes read, with numbers for whatever is not known, also in conditions that may not
    hold then."""
    by = {v: var(w) for v, w in known.items()}
    for n in nodes:
        masks = n.arg[2] if n.op is Op.LOAD else ()
        yield from (i.at_hand(by) for i in indices(n)[: -len(masks) or None])
        for r in masks:
            here = Range(r.index.at_hand(by), value_of(r.lo), value_of(r.hi))
            if not here.always:
                yield here.index


def refuse_stretch(groups: Sequence[list[Var]], walked: Iterable[Index]) -> None:
    """Raises NotSymbolicHere where the groups would be fewer if the extent of the last axis were
    known, since it is short: terms of a sum would have another order."""
    if len(groups) < 2 or len(groups[-1]) > 1:
        return
    (last,) = groups[-1]
    n = last.extent
    if not is_unknown(n) or not any(i.coef(last) == 1 for i in walked):
        return
    if _as_one([*groups[-2], last], list(walked), n) and n in STRETCH:
        raise NotSymbolicHere(f"{n} neighbouring terms of a sum share an element")


def in_memory_order(axes: Sequence[Var], loaded: Sequence[Index]) -> list[Var]:
    """Axes that may run in any order: the one with the smallest steps in memory last, if all steps
    are constant.

    Raises NotSymbolicHere if they are at the sizes at hand alone, where a sum over the axes would
    run in another order.
    """
    if len(axes) < 2:
        return list(axes)
    order = _in_memory_order(axes, loaded)
    used = [*axes, *(v for i in loaded for v in i.vars())]

    def order_if_known() -> list[int]:
        known = _known(used)
        here = [i.at_hand({v: var(w) for v, w in known.items()}) for i in loaded]
        places = {known[v]: k for k, v in enumerate(axes)}
        return [places[w] for w in _in_memory_order([known[v] for v in axes], here)]

    require_as_known(
        [axes.index(v) for v in order],
        order_if_known,
        [*(v.extent for v in used), *(c for i in loaded for _, c in i.terms)],
        lambda order: f"{len(order)} axes run in the order {order}",
    )
    return order


def _in_memory_order(axes: Sequence[Var], loaded: Sequence[Index]) -> list[Var]:
    if any(divides(i, v) for i in loaded for v in axes):
        return list(axes)
    steps = {v: sum(abs(i.coef(v)) for i in loaded) for v in axes}
    return sorted(axes, key=lambda v: -steps[v])


def _as_one(group: list[Var], walked: list[Index], short: int = 1) -> bool:
    total = 1
    for v in group:
        total *= v.extent
    fused = Var("f", total)
    by = spread(var(fused), group)
    for index in walked:
        if index.vars().isdisjoint(group) and not any(
            isinstance(t, Gathered) for t, _ in index.terms
        ):
            continue
        together = index.substitute(by)
        if divides(together, fused) and not (
            has_several(short) and is_same(stretch(together, fused), short)
        ):
            return False
    return True


def spread(position: Index, group: Sequence[Var]) -> dict[Var, Index]:
    """The variables of a collapsed group in terms of the position in it."""
    by = {}
    for v in reversed(group):
        if v is group[0]:
            by[v] = position
        else:
            position, by[v] = position.divmod(v.extent)
    return by


def extent(group: Sequence[Var]) -> int:
    total = 1
    for v in group:
        total *= v.extent
    return total


def lane_cost(v: Var, n: int, accesses: Iterable[Access], width: int, rows: bool) -> float:
    """Cycles of a vector of lanes over v, each useful lane counted: an access costs as many as it
    takes instructions. `rows`: are rows of a lane written by unrolled loops?"""
    cycles = 1 + sum(_access_cost(a, v, width, rows or not a.store) for a in accesses)
    return cycles / _share_used(n, width)


def _share_used(n: int, width: int) -> float:
    """Lanes of n that are not idle. One vector of many does not count."""
    n = value_of(n) if is_unknown(n) else n
    if n >= MANY_VECTORS * width:
        return 1.0
    n = value_of(n)
    return n / (-(-n // width) * width)


def _access_cost(a: Access, v: Var, width: int, rows: bool) -> float:
    """A vector is one, a few elements apart as many, x[v // 2] a half and a shuffle; else an
    element each."""
    if stretch(a.index, v) > 1:
        return 1.5
    if divides(a.index, v) or any(isinstance(t, Gathered) for t, _ in a.index.terms):
        return width
    apart = abs(a.index.coef(v))
    if is_unknown(apart):
        return UNKNOWN_APART * width
    along = [t.extent for t, c in a.index.terms if isinstance(t, Var) and c == 1]
    if rows and 1 < apart <= MOST_COLUMNS and apart in along:
        return 1 + _sorting_steps(apart)
    if apart == 0:
        return width if a.store else 0.25
    return apart if apart <= NEAR else width


def _sorting_steps(count: int) -> int:
    """Shuffles for each vector of rows of so many elements, one a lane
    (codegen/llvm/short_rows.py)."""
    halves = 0
    while count % 2 == 0:
        count, halves = count // 2, halves + 1
    return halves + count - 1


def chunks(rows: int, row_work: float, minimum: int, most: int = MAX_CHUNKS) -> tuple[int, int]:
    """(number of chunks, rows a chunk): a power of two that depends on `rows` only where there
    would be too many chunks."""
    size = power_of_two(CHUNK_WORK / row_work)
    while value_of(rows) > most * size:
        size *= 2
    if minimum > 1:
        size = min(size, max(1, rows // minimum))
    return -(-rows // size) if is_unknown(rows) or rows else 1, size


def power_of_two(n: float) -> int:
    """The greatest power of two that is at most n, and at least 1."""
    return 1 << max(0, int(n).bit_length() - 1)


def unroll(body_work: int, n: int, width: int) -> int:
    """Vectors a step: four for cheap bodies, two for an exponential, one for long ones."""
    best = 4 if body_work <= CHEAP else 2 if body_work <= 60 else 1
    while best > 1 and not isinstance(n, Symbolic) and n < best * width:
        best //= 2
    return best


def apart(n: int, width: int, once: bool = False) -> int:
    """Partial sums of n terms that lie along the lanes, of which `width` are in a vector: four
    vectors.

    Term i is added to partial sum i mod `apart`, in blocks, and then the upper half of the partial
    sums to the lower half. Where that happens `once`, short rows need fewer, and the others would
    change nothing: of so few terms, none is added by an FMA (`stages.FEW_TERMS`).
    """
    count = 4 * width
    while once and count > width and not isinstance(n, Symbolic) and n < count:
        count //= 2
    return count


def lane_block(n: int, itemsize: int, others: int, most: int = BLOCK_BYTES) -> int:
    """Lanes of a block of n: as many as `most` bytes hold, fewer where there would be too few
    blocks."""
    size = power_of_two(max(LEAST_BLOCK_BYTES, min(most, BLOCK_BYTES)))
    while size > LEAST_BLOCK_BYTES and value_of(others * -(-n * itemsize // size)) < LANE_BLOCKS:
        size //= 2
    return size // itemsize if isinstance(n, Symbolic) else min(n, size // itemsize)


def balanced(n: int, most: int) -> list[tuple[int, int, int]]:
    """Tiles of n as (size, first, count), near `most` each: at most two sizes, none padded."""
    count = -(-n // most)
    small, extra = divmod(n, count)
    tiles = [(small + 1, 0, extra), (small, extra * (small + 1), count - extra)]
    return [t for t in tiles if t[2]]


def grouped(axis: Var, count: int) -> list[tuple[list[Var], list[Index]]]:
    """A reduced axis by `count` neighbouring steps at once, and what is left: (loops, indices) of
    each."""
    groups, rest = divmod(axis.extent, count)
    step = Var(axis.name, groups)
    out: list[tuple[list[Var], list[Index]]] = (
        [([step], [var(step) * count + s for s in range(count)])]
        if isinstance(groups, Symbolic) or groups
        else []
    )
    if isinstance(rest, Symbolic):
        last = Var(axis.name, rest)
        return [*out, ([last], [var(last) + groups * count])]
    return [*out, ([], [Index(const=groups * count + r) for r in range(rest)])] if rest else out


def nest(axes: Sequence[Var], *body: Stmt, kind: str = SERIAL) -> Stmt:
    """Loops around statements; at least one loop unless there is one statement."""
    (out,) = nested(axes, list(body), kind, kind)
    return out


def nested(
    axes: Sequence[Var], body: list[Stmt], kind: str = SERIAL, last: str = SERIAL
) -> list[Stmt]:
    """Loops around statements, the innermost of a kind of its own."""
    for axis in reversed(axes):
        body = [For(axis, axis.extent, last if axis is axes[-1] else kind, body)]
    return body


def fresh(axes: Sequence[Var]) -> list[Var]:
    """Variables for other loops over the same axes."""
    return [Var(v.name, v.extent) for v in axes]


def cut(first: Index, total: int, size: int) -> tuple[Index, int | None]:
    """(base, total) of a loop over `size` of `total` steps from the first on, of which the last
    part may have fewer."""
    return (Index(), None) if is_same(total % size, 0) else (first, total)


def in_last(part: Index, last: int, body: list[Stmt]) -> Stmt:
    """The body in the last of several parts, which is where what is left over stands; as one
    statement, with its own scratch."""
    return (
        For(Var("once", 1), 1, SERIAL, body)
        if is_same(last, 0)
        else If((Range(part, last, last + 1),), body)
    )


def itemsize_in_memory(value: Node) -> int:
    """Bytes of an element of a factor where it lies."""
    return max((n.arg[0].dtype.itemsize for n in _loads(value)), default=value.dtype.itemsize)


def _loads(value: Node) -> list[Node]:
    nodes = [n for n in postorder([value]) if n.op is Op.LOAD]
    return [n for n in nodes if n.arg[0].space == GLOBAL and not n.arg[1].values()]
