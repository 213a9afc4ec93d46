"""Reductions in two steps, where one would leave threads or lanes idle. In: a REDUCE. Out: the same
value, of partial results.

    sum(x[16777216])       ->  sum(sum(reshape(x, [128, 131072]), 1), 0)
    sum(x[65536, 8], 0)    ->  sum(sum(reshape(x, [4, 2048, 8, 8]), 1), (0, 1))

How often it is cut depends on shapes alone, so the order of all sums is fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from math import prod

from ..graph import dtype as dt
from ..graph.graph import (
    Node,
    expand,
    expand_to,
    full,
    node,
    reach,
    rebuild,
    reduce,
    reshape,
    toposort,
)
from ..graph.index import Var, row_major_strides, var
from ..graph.op import ELEMENTWISE, Op
from ..graph.views import resolve
from ..kernels.kernel import MIN_PARALLEL
from ..symbolic.decisions import decided
from ..symbolic.questions import has_several, is_below, is_same, text

PARTIAL = 1 << 14  # elements that one partial result should cover at least
MAX_PARTIALS = 4096
LONG = 1 << 18  # terms that one result may add up in a row: more would lose accuracy
LEAST_TERMS = 512  # of a partial result
SHORT = 1 << 12  # terms that are added up in a microsecond: even few results need no more tasks
NARROW = 64  # elements: shorter contiguous runs leave vectors or cache lines empty
LEAST_ROWS = (
    32  # that are added up to one, so that storing and reading partial results costs little
)
LEAST_LANES = 16  # places whose sums over other axes are worth a kernel of their own
COLUMN_BLOCK = 1024  # lanes of results that a task adds rows to
COLUMN_PARTS = 16  # tasks wanted
# that are added up one after the other in registers: more would lose accuracy
COLUMN_ROWS = 1 << 12
LEAST_ROW = 8  # terms of each index of an axis, so that a sum is split by index
MANY_TERMS = 96  # of an index whose partial result another kernel has to read
LARGE_ROW = 1 << 7  # elements of each index, so that few indices are worth it; of a single sum
LARGE_SINGLE = 1 << 9
LONG_ROW = 1 << 16  # terms of each index, which a task then does not add up alone
LARGE = 1 << 21  # elements from which they are worth a second kernel
MOST_MAPS = 16  # that are computed again with padding

Strides = Mapping[Node, tuple[int, ...]]  # of inputs in memory
# axis: (so many parts, of so many neighbours each), whose product divides it
Cuts = dict[int, tuple[int, int]]


def split(n: Node, strides: Strides, is_repeated: bool = False) -> Node:
    """A reduction in two steps if that is faster. `is_repeated`: over what it sums, say, as a mean
    that is subtracted; in one step that may be one kernel."""
    if n.op is not Op.REDUCE:
        return n
    (x,), (kind, axes) = n.src, n.arg
    terms = x.size // max(1, n.size)
    if is_dense(x):
        if outer := _outer_axes(n):
            first = split(reduce(kind, x, outer), strides)
            return reduce(
                kind, first, [a - sum(o < a for o in outer) for a in axes if a not in outer]
            )
        if are_columns(n) and (_is_wide(n) or x.size >= 2 * PARTIAL):
            cuts = column_cuts(n)
            return cut(n, x, cuts) if cuts else n
    axis = _outermost(n, strides)
    if _has_parts_by_index(n, axis, MANY_TERMS if is_repeated else LEAST_ROW):
        return _by_index(n, axis, strides)
    if decided(
        lambda: terms < SHORT or x.size < 2 * PARTIAL or (n.size >= MIN_PARALLEL and terms < LONG),
        (terms, x.size, n.size),
        f"{text(n.size)} sums of {text(terms)} terms are not split",
    ):
        return n
    if _has_terms_beside(n, axis, LEAST_ROW):
        return _by_index(n, axis, strides)
    wanted = parts_wanted(n, PARTIAL)
    cuts = row_cuts(n, wanted, strides)
    if cuts:
        return cut(n, x, cuts)
    axis = max(axes, key=lambda a: x.shape[a])
    parts = min(wanted, x.shape[axis])
    return cut(n, _padded(x, axis, -(-x.shape[axis] // parts) * parts, kind), {axis: (parts, 1)})


def _is_wide(n: Node) -> bool:
    """Does it run over long rows? It is then cut only where it is large."""
    return _width(n) >= NARROW


def parts_wanted(n: Node, size: int) -> int:
    """Partial results of so many elements for each result."""
    x, terms = n.src[0], n.src[0].size // n.size
    return max(
        2, min(MAX_PARTIALS, max(terms // LONG, min(x.size, MAX_PARTIALS * size) // size // n.size))
    )


def row_cuts(n: Node, wanted: int, strides: Strides) -> Cuts:
    """A cut of one axis in about so many parts, or at least not in parts too short; none if the
    extents have no such divisors."""
    (x,), (_, axes) = n.src, n.arg
    rank, least = _ranks(x, strides), max(2, wanted // 4)
    axis, parts = max(
        ((a, nearest_divisor(x.shape[a], wanted)) for a in axes),
        key=lambda ap: (min(ap[1], wanted), -rank[ap[0]]),
    )
    if parts < least:
        many = min(MAX_PARTIALS, x.size // n.size // LEAST_TERMS)
        axis, parts = max(
            ((a, nearest_divisor(x.shape[a], many)) for a in axes), key=lambda ap: ap[1]
        )
    return {axis: (parts, 1)} if parts >= least else {}


def _ranks(x: Node, strides: Strides) -> list[int]:
    """The place of each axis among all, the outermost in memory first: parts along it are read in
    order."""
    while x.op in ELEMENTWISE:
        x = x.src[0]
    at = [Var(f"a{i}", d) for i, d in enumerate(x.shape)]
    base, places = resolve(x, [var(v) for v in at])[:2]
    in_memory = strides.get(base, row_major_strides(base.shape))
    steps = [
        sum(abs(place.coef(v)) * s for place, s in zip(places, in_memory, strict=True)) for v in at
    ]
    return [sum((t, -i) > (s, -a) for i, t in enumerate(steps)) for a, s in enumerate(steps)]


def is_dense(x: Node) -> bool:
    """Is it made of inputs that are repeated along no axis, and of numbers? Lanes may then run
    along all axes as one.

    What is computed is better summed by the kernel that computes it.
    """
    maps = set(maps_of(x))
    leaves = operands_of(maps) or {x}
    at = [Var(f"a{i}", d) for i, d in enumerate(x.shape)]
    real = {v for v in at if has_several(v.extent)}
    for leaf in leaves:
        base, places, _ = resolve(leaf, [var(v) for v in at])
        if base.shape and (
            base.op is not Op.INPUT
            or not real <= set[Var]().union(*(place.vars() for place in places))
        ):
            return False
    return True


def _outer_axes(n: Node) -> list[int]:
    """The reduced axes to reduce first: those around kept ones, where the last axes are reduced too
    and are few elements.

    Sums over batch, height and width of a few places for each channel: lanes along channels and
    places, then over the places.
    """
    (x,), (_, axes) = n.src, n.arg
    real = [a for a, d in enumerate(x.shape) if has_several(d)]
    last_kept = max((a for a in real if a not in axes), default=-1)
    outer = [a for a in axes if a < last_kept]
    if not outer:
        return []
    run = prod(x.shape[a] for a in axes if a > last_kept)
    lanes = prod(x.shape[a] for a in real if a not in outer)
    if not 1 < run < NARROW or lanes < LEAST_LANES:
        return []
    over_all = outer[0] == real[0]  # and not over windows
    return outer if over_all or prod(x.shape[a] for a in outer) >= LEAST_ROWS else []


def are_columns(n: Node) -> bool:
    """Does it run over rows of contiguous results?"""
    (x,), (_, axes) = n.src, n.arg
    real = [a for a, d in enumerate(x.shape) if has_several(d)]
    return bool(real) and real[-1] not in axes and any(a < real[-1] for a in axes)


def column_cuts(n: Node, rows_of_part: int = 0) -> Cuts:
    """Enough parts, of about so many rows if given; and neighbouring rows joined to make them
    wide."""
    (x,), (_, axes) = n.src, n.arg
    last, width, terms = _last(n), _width(n), x.size // n.size
    joined = 1 if rows_of_part else _joined(x.shape[last], width, terms)
    rows, blocks = terms // joined, n.size // width * -(-width * joined // COLUMN_BLOCK)
    most = COLUMN_ROWS
    wanted = min(-(-COLUMN_PARTS // blocks), rows // LEAST_ROWS) if x.size >= LARGE else 1
    wanted = rows // rows_of_part if rows_of_part else max(wanted, rows // most)
    axis = max(axes, key=lambda a: x.shape[a] // (joined if a == last else 1))
    parts = (
        nearest_divisor(x.shape[axis] // (joined if axis == last else 1), wanted)
        if wanted > 1
        else 1
    )
    cuts = {last: (1, joined)}
    cuts[axis] = (parts, cuts.get(axis, (1, 1))[1])
    return {a: cut for a, cut in cuts.items() if cut != (1, 1)}


def _outermost(n: Node, strides: Strides) -> int:
    """The reduced axis that is outermost in memory."""
    axes: tuple[int, ...] = n.arg[1]
    real = [a for a in axes if has_several(n.src[0].shape[a])]
    if len(real) < 2:
        return [*real, *axes][0]
    return min(real, key=_ranks(n.src[0], strides).__getitem__)


def _terms_beside(n: Node, axis: int) -> int:
    """Terms of each index of a reduced axis."""
    return prod(n.src[0].shape[a] for a in n.arg[1] if a != axis)


def _has_parts_by_index(n: Node, axis: int, least: int) -> bool:
    """Has a sum few results, and each index of an axis so many terms that a partial result for each
    is worth it, whatever their number is?"""
    if not _has_terms_beside(n, axis, least):
        return False
    large = LARGE_ROW if has_several(n.size) else LARGE_SINGLE
    return _terms_beside(n, axis) * n.size >= large or n.src[0].size >= 2 * PARTIAL


def _has_terms_beside(n: Node, axis: int, least: int) -> bool:
    """Has a sum of few results so many terms for each index of an axis? Asked of sizes that are
    known first."""
    terms = _terms_beside(n, axis)
    return not is_below(terms, least) and n.size < MIN_PARALLEL and terms >= least


def _by_index(n: Node, axis: int, strides: Strides) -> Node:
    """A partial result for each index of an axis."""
    kind, axes = n.arg
    others = [a for a in axes if a != axis]
    first = reduce(kind, n.src[0], others)
    if n.src[0].size // first.size >= LONG_ROW:
        first = split(first, strides)
    return reduce(kind, first, [axis - sum(o < axis for o in others)])


def _last(n: Node) -> int:
    """The last axis that sums over rows reduce."""
    shape = n.src[0].shape
    last: int = max(a for a in n.arg[1] if prod(shape[a + 1 :]) > 1)
    return last


def _width(n: Node) -> int:
    """Elements of a row."""
    return prod(n.src[0].shape[_last(n) + 1 :])


def _joined(extent: int, width: int, terms: int) -> int:
    """Neighbouring rows of few results that are one row of lanes, whole vectors if possible: a
    divisor of the extent."""
    if width >= NARROW:
        return 1
    divisors = [q for q in range(2, min(extent, COLUMN_BLOCK // width) + 1) if extent % q == 0]
    wide = [q for q in divisors if q * width >= NARROW and terms // q >= LEAST_ROWS]
    return min(wide, key=lambda q: (q * width % 16 != 0, q), default=1)


def cut(n: Node, x: Node, cuts: Cuts) -> Node:
    """The reduction n of x, as that of partial results."""
    (kind, axes) = n.arg
    part, inside, over = in_parts(x, axes, cuts)
    return reduce(kind, reduce(kind, part, inside), over)


def in_parts(x: Node, axes: Iterable[int], cuts: Cuts) -> tuple[Node, list[int], list[int]]:
    """x with its cut axes split, the axes to reduce first, and those to reduce then, as they are
    numbered then."""
    shape: list[int] = []
    kept: list[int] = []  # where the axes of partial results stand in it
    inside: list[int] = []
    for a, d in enumerate(x.shape):
        outer, inner = cuts.get(a, (1, 1))
        if not is_same(outer, 1):
            kept.append(len(shape))
            shape.append(outer)
        if a in axes:
            inside.append(len(shape))
        shape.append(d // (outer * inner))
        if inner > 1:
            kept.append(len(shape))
            shape.append(inner)
    to = tuple(shape)
    return (
        viewed(x, lambda n: reshape(n, to)),
        inside,
        [a - sum(i < a for i in inside) for a in kept],
    )


def viewed(x: Node, view: Callable[[Node], Node]) -> Node:
    """A view of x. Maps are computed of views of their operands: a product stays one, and nothing
    needs to be stored."""
    return _mapped(x, view) or view(x)


def _mapped(x: Node, view: Callable[[Node], Node]) -> Node | None:
    """x whose maps are computed of views of their operands, and of numbers repeated as often; None
    where there are no maps."""
    done: dict[Node, Node] = {}
    for m in maps_of(x):
        for s in m.src:
            if s not in done:
                seen = view(s)
                done[s] = (
                    expand_to(s.src[0], seen.shape)
                    if s.op is Op.EXPAND and not s.src[0].shape
                    else seen
                )
        done[m] = rebuild(m, tuple([done[s] for s in m.src]))
    return done.get(x)


def nearest_divisor(extent: int, wanted: int) -> int:
    """The divisor of extent nearest to (and at most twice) the wanted number."""
    divisors = [d for d in range(1, min(extent, 2 * wanted) + 1) if extent % d == 0]
    return min(divisors, key=lambda d: abs(d - wanted))


def _padded(x: Node, axis: int, extent: int, kind: str) -> Node:
    """x with identities at the end of its axis. Maps are computed of padded operands, or they would
    be kernels of their own."""
    pad = tuple((0, extent - d if a == axis else 0, 0) for a, d in enumerate(x.shape))
    mapped = _mapped(x, lambda operand: node(Op.PAD, (operand,), pad))
    out = mapped or node(Op.PAD, (x,), pad)
    if kind == "add" and mapped is None:
        return out
    fill = full({"add": 0, "mul": 1}.get(kind, dt.lowest(x.dtype)), x.dtype, out.shape)
    inside = node(Op.LT, (node(Op.IOTA, (), extent), full(x.shape[axis], dt.int64, (extent,))))
    others = tuple((a, d) for a, d in enumerate(out.shape) if a != axis)
    return node(Op.WHERE, (expand(inside, others), out, fill))


def maps_of(x: Node) -> list[Node]:
    """The few maps that x is made of, operands first; none if they are many."""
    below = reach([x], lambda n: n.src if n.op in ELEMENTWISE else ())
    maps = set(islice((n for n in below if n.op in ELEMENTWISE), MOST_MAPS + 1))
    return toposort([x], operands_of(maps)) if 0 < len(maps) <= MOST_MAPS else []


def operands_of(maps: set[Node]) -> set[Node]:
    """What maps are made of."""
    return {s for m in maps for s in m.src if s not in maps}
