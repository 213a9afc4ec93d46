"""Reductions in two steps, where one would leave threads or lanes idle. In: a REDUCE. Out: the same value, of partial results.

    before    sum(x[16777216])                after    sum(sum(reshape(x, [128, 131072]), 1), 0)
              sum(x[65536, 8], 0)                      sum(sum(reshape(x, [4, 2048, 8, 8]), 1), (0, 1))

How often it is cut depends on shapes alone, so the order of all sums is fixed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

from . import dtype as dt
from .fuse import MIN_PARALLEL
from .graph import Node, expand, expand_to, full, node, rebuild, reduce, reshape, toposort
from .index import Var, row_major_strides, var
from .kernel import resolve
from .op import ELEMENTWISE, Op

PARTIAL = 1 << 14  # elements that one partial result should cover at least
MAX_PARTIALS = 4096
LONG = 1 << 18  # terms that one result may add up in a row: more would lose accuracy
LEAST_TERMS = 512  # of a partial result
NARROW = 64  # elements: shorter contiguous runs leave vectors or cache lines empty
LEAST_ROWS = 32  # that are added up to one, so that storing and reading partial results costs little
COLUMN_BLOCK = 1024  # lanes of results that a task adds rows to
COLUMN_PARTS = 16  # tasks wanted
COLUMN_ROWS = 1 << 12  # that are added up one after the other in registers: more would lose accuracy
LARGE = 1 << 21  # elements from which they are worth a second kernel
RESIDENT = 1 << 12  # elements of a row that stay in the first cache for a second pass
RESIDENT_ROWS = 64  # of a block of columns that stay in the second cache
WINDOW_TERMS = 4096  # products a result, from which windows are summed in parts
WINDOW_PARTS = 16  # wanted then: enough tasks, and at most 1/16 of the work in finishing
WINDOW_SIZE = 1 << 22  # elements that all parts may have
WINDOW_MOST = 8192  # products of a part, whose panel of one vector of channels then fits the level-2 cache
MOST_MAPS = 16  # that are computed again with padding

Strides = Mapping[Node, tuple[int, ...]]  # of inputs in memory
Cuts = dict[int, tuple[int, int]]  # axis: (so many parts, of so many neighbours each), whose product divides it


def split(n: Node, strides: Strides, given: Given | None = None) -> Node:
    """A reduction in two steps if that is faster; `given` if `centred` found how."""
    if n.op is not Op.REDUCE:
        return n
    (x,), (kind, axes) = n.src, n.arg
    if given is not None:
        return _squares_in_parts(n, given.cuts) if given.squares else _cut(n, x, given.cuts)
    terms = x.size // max(1, n.size)
    if terms >= WINDOW_TERMS and _sums_windows(n):
        return _windows_in_parts(n)
    if x.size >= 2 * PARTIAL and _is_dense(x):
        outer = _outer_axes(n)
        if outer:
            first = split(reduce(kind, x, outer), strides)
            return reduce(kind, first, [a - sum(o < a for o in outer) for a in axes if a not in outer])
        if _are_columns(n):
            cuts = _columns(n)
            return _cut(n, x, cuts) if cuts else n
    if (n.size >= MIN_PARALLEL and terms < LONG) or x.size < 2 * PARTIAL or terms < 2 * MIN_PARALLEL:
        return n
    wanted = _parts_wanted(n, PARTIAL)
    found = _rows(n, wanted, strides)
    if found:
        return _cut(n, x, found)
    axis = max(axes, key=lambda a: x.shape[a])
    parts = min(wanted, x.shape[axis])
    return _cut(n, _padded(x, axis, -(-x.shape[axis] // parts) * parts, kind), {axis: (parts, 1)})


def _parts_wanted(n: Node, size: int) -> int:
    """Partial results of so many elements for each result."""
    x, terms = n.src[0], n.src[0].size // n.size
    return max(2, min(MAX_PARTIALS, max(terms // LONG, min(x.size, MAX_PARTIALS * size) // size // n.size)))


def _rows(n: Node, wanted: int, strides: Strides) -> Cuts:
    """A cut of one axis in about so many parts, or at least not in parts too short; none if the extents have no such divisors."""
    (x,), (_, axes) = n.src, n.arg
    rank, least = _ranks(x, strides), max(2, wanted // 4)
    axis, parts = max(((a, nearest_divisor(x.shape[a], wanted)) for a in axes), key=lambda ap: (min(ap[1], wanted), -rank[ap[0]]))
    if parts < least:
        many = min(MAX_PARTIALS, x.size // n.size // LEAST_TERMS)
        axis, parts = max(((a, nearest_divisor(x.shape[a], many)) for a in axes), key=lambda ap: ap[1])
    return {axis: (parts, 1)} if parts >= least else {}


# ---------------------------------------------------------------- sums of squares around a mean


@dataclass(frozen=True)
class Given:
    """Cuts of a reduction, and whether it is a sum of squares around a mean."""

    cuts: Cuts
    squares: bool


def centred(nodes: Iterable[Node], strides: Strides) -> dict[Node, Given]:
    """How to cut sums of squares around a mean, and the sum that the mean is of, so that memory is read once for both.

    With the sum S and the sum of squares M around the mean m = S / C of each part of C elements (Chan, Golub, LeVeque 1979):
    sum (x - b)^2 = sum over parts of M + (S - C b)^2 / C. A part stays in a cache for its two passes, and no large sums cancel.
    """
    found: dict[Node, Given] = {}
    for n in nodes:
        total = _mean_of(n)
        cuts = _resident_parts(total, strides) if total is not None else {}
        if total is not None and cuts:
            found[n], found[total] = Given(cuts, True), Given(cuts, False)
    return found


def _resident_parts(total: Node, strides: Strides) -> Cuts:
    """Cuts of a sum of much memory in parts that stay in a cache; none where its rows do already."""
    x, terms = total.src[0], total.src[0].size // max(1, total.size)
    if x.size < LARGE:
        return {}
    if _are_columns(total):
        return _columns(total, RESIDENT_ROWS) if _is_dense(x) and terms >= 2 * RESIDENT_ROWS else {}
    return _rows(total, _parts_wanted(total, RESIDENT), strides) if total.size < MIN_PARALLEL or terms >= LONG else {}


def _squares_in_parts(n: Node, cuts: Cuts) -> Node:
    """The sum of squares n = sum (x - b)^2 from those of parts."""
    x, spread = n.src[0].src[0].src
    if spread.op is not Op.EXPAND:
        return n
    part, inside, over = _in_parts(x, n.arg[1], cuts)
    sums, count = reduce("add", part, inside), prod(part.shape[a] for a in inside)
    means = node(Op.DIV, (sums, full(count, x.dtype, sums.shape)))
    deviation = node(Op.SUB, (part, expand(means, tuple((a, part.shape[a]) for a in inside))))
    squares = reduce("add", node(Op.MUL, (deviation, deviation)), inside)
    expected = node(Op.MUL, (spread.src[0], full(count, x.dtype, n.shape)))  # of a part's sum: C b
    away = node(Op.SUB, (sums, expand(expected, tuple((a, sums.shape[a]) for a in over))))
    between = node(Op.DIV, (reduce("add", node(Op.MUL, (away, away)), over), full(count, x.dtype, n.shape)))
    return node(Op.ADD, (reduce("add", squares, over), between))


def _mean_of(n: Node) -> Node | None:
    """The sum S over some axes of x, if n is the sum over the same of (x - S / count)^2."""
    if n.op is not Op.REDUCE or n.arg[0] != "add" or n.src[0].op is not Op.MUL:
        return None
    a, b = n.src[0].src
    if a is not b or a.op is not Op.SUB or a.src[1].op is not Op.EXPAND:
        return None
    x, spread = a.src
    mean = spread.src[0]
    if mean.op not in (Op.DIV, Op.MUL) or tuple(axis for axis, _ in spread.arg) != n.arg[1]:
        return None
    total = mean.src[0]
    return total if total.op is Op.REDUCE and total.arg == n.arg and total.src[0] is x else None


def _ranks(x: Node, strides: Strides) -> list[int]:
    """The place of each axis among all, the outermost in memory first: parts along it are read in order."""
    while x.op in ELEMENTWISE:
        x = x.src[0]
    at = [Var(f"a{i}", d) for i, d in enumerate(x.shape)]
    base, places = resolve(x, [var(v) for v in at])[:2]
    in_memory = strides.get(base, row_major_strides(base.shape))
    steps = [sum(abs(place.coef(v)) * s for place, s in zip(places, in_memory, strict=True)) for v in at]
    return [sum((t, -i) > (s, -a) for i, t in enumerate(steps)) for a, s in enumerate(steps)]


def _is_dense(x: Node) -> bool:
    """Is it made of inputs that are repeated along no axis, and of numbers? Lanes may then run along all axes as one.

    What is computed is better summed by the kernel that computes it.
    """
    maps = set(_maps(x))
    leaves = {s for m in maps for s in m.src if s not in maps} or {x}
    at = [Var(f"a{i}", d) for i, d in enumerate(x.shape)]
    real = {v for v in at if v.extent > 1}
    for leaf in leaves:
        base, places, _ = resolve(leaf, [var(v) for v in at])
        if base.shape and (base.op is not Op.INPUT or not real <= set[Var]().union(*(place.vars() for place in places))):
            return False
    return True


def _outer_axes(n: Node) -> list[int]:
    """The reduced axes to reduce first: those around kept ones, where the last axes are reduced too and are few elements.

    Sums over batch, height and width of a few places for each channel: lanes along channels and places, then over the places.
    """
    (x,), (_, axes) = n.src, n.arg
    real = [a for a, d in enumerate(x.shape) if d > 1]
    last_kept = max((a for a in real if a not in axes), default=-1)
    outer = [a for a in axes if a < last_kept]
    run = prod(x.shape[a] for a in axes if a > last_kept)
    return outer if 1 < run < NARROW and prod(x.shape[a] for a in outer) >= LEAST_ROWS else []


def _are_columns(n: Node) -> bool:
    """Does it run over rows of contiguous results?"""
    (x,), (_, axes) = n.src, n.arg
    real = [a for a, d in enumerate(x.shape) if d > 1]
    return bool(real) and real[-1] not in axes and any(a < real[-1] for a in axes)


def _columns(n: Node, rows_of_part: int = 0) -> Cuts:
    """Enough parts, of about so many rows if given; and neighbouring rows joined to make them wide."""
    (x,), (_, axes) = n.src, n.arg
    last = max(a for a in axes if prod(x.shape[a + 1 :]) > 1)
    width, terms = prod(x.shape[last + 1 :]), x.size // n.size
    joined = 1 if rows_of_part else _joined(x.shape[last], width, terms)
    rows, blocks = terms // joined, n.size // width * -(-width * joined // COLUMN_BLOCK)
    most = COLUMN_ROWS if width * joined <= NARROW * 2 else LONG // 2
    wanted = min(-(-COLUMN_PARTS // blocks), rows // LEAST_ROWS) if x.size >= LARGE else 1
    wanted = rows // rows_of_part if rows_of_part else max(wanted, rows // most)
    axis = max(axes, key=lambda a: x.shape[a] // (joined if a == last else 1))
    parts = nearest_divisor(x.shape[axis] // (joined if axis == last else 1), wanted) if wanted > 1 else 1
    cuts = {last: (1, joined)}
    cuts[axis] = (parts, cuts.get(axis, (1, 1))[1])
    return {a: cut for a, cut in cuts.items() if cut != (1, 1)}


def _joined(extent: int, width: int, terms: int) -> int:
    """Neighbouring rows of few results that are one row of lanes, whole vectors if possible: a divisor of the extent."""
    if width >= NARROW:
        return 1
    found = [q for q in range(2, min(extent, COLUMN_BLOCK // width) + 1) if extent % q == 0]
    wide = [q for q in found if q * width >= NARROW and terms // q >= LEAST_ROWS]
    return min(wide, key=lambda q: (q * width % 16 != 0, q), default=1)


def _cut(n: Node, x: Node, cuts: Cuts) -> Node:
    """The reduction n of x, as that of partial results."""
    (kind, axes) = n.arg
    part, inside, over = _in_parts(x, axes, cuts)
    return reduce(kind, reduce(kind, part, inside), over)


def _in_parts(x: Node, axes: Iterable[int], cuts: Cuts) -> tuple[Node, list[int], list[int]]:
    """x with its cut axes split, the axes to reduce first, and those to reduce then, as they are numbered then."""
    shape: list[int] = []
    kept: list[int] = []  # where the axes of partial results stand in it
    inside: list[int] = []
    for a, d in enumerate(x.shape):
        outer, inner = cuts.get(a, (1, 1))
        if outer > 1:
            kept.append(len(shape))
            shape.append(outer)
        if a in axes:
            inside.append(len(shape))
        shape.append(d // (outer * inner))
        if inner > 1:
            kept.append(len(shape))
            shape.append(inner)
    to = tuple(shape)
    part = node(Op.MUL, [reshape(f, to) for f in x.src]) if x.op is Op.MUL else reshape(x, to)  # a product stays one
    return part, inside, [a - sum(i < a for i in inside) for a in kept]


def _sums_windows(n: Node) -> bool:
    """Is it a sum of products over places that the results share, as the weight gradient of a convolution?"""
    (x,), (kind, axes) = n.src, n.arg
    if kind != "add" or x.op is not Op.MUL:
        return False
    at = [Var(f"a{i}", d) for i, d in enumerate(x.shape)]
    reduced = {at[a] for a in axes if at[a].extent > 1}
    kept = {v for v in at if v.extent > 1} - reduced
    indices = [e.vars() for f in x.src for e in resolve(f, [var(v) for v in at])[1]]
    return (
        any(vs & reduced and vs & kept for vs in indices) and n.size * WINDOW_PARTS <= WINDOW_SIZE
    )


def _windows_in_parts(n: Node) -> Node:
    """The same sum with its first axes cut: parts read different places, so each copies only what it needs."""
    (x,), (_, axes) = n.src, n.arg
    terms = x.size // n.size
    wanted = max(WINDOW_PARTS, -(-terms // WINDOW_MOST))
    cuts: dict[int, int] = {}
    for a in axes:
        made = prod(cuts.values())
        if made * 2 < wanted or terms > made * WINDOW_MOST:
            cuts[a] = nearest_divisor(x.shape[a], -(-wanted // made))
    found = {a: (parts, 1) for a, parts in cuts.items() if parts > 1}
    return _cut(n, x, found) if found else n


def nearest_divisor(extent: int, wanted: int) -> int:
    """The divisor of extent nearest to (and at most twice) the wanted number."""
    found = [d for d in range(1, min(extent, 2 * wanted) + 1) if extent % d == 0]
    return min(found, key=lambda d: abs(d - wanted))


def _padded(x: Node, axis: int, extent: int, kind: str) -> Node:
    """x with identities behind its axis. Maps are computed of padded operands, or they would be kernels of their own."""
    pad = tuple((0, extent - d if a == axis else 0, 0) for a, d in enumerate(x.shape))
    maps = _maps(x)
    done: dict[Node, Node] = {}
    for m in maps:
        done[m] = rebuild(m, tuple(done[s] if s in done else _longer(s, pad) for s in m.src))
    out = done[x] if maps else node(Op.PAD, (x,), pad)
    if kind == "add" and not maps:
        return out
    fill = full({"add": 0, "mul": 1}.get(kind, dt.lowest(x.dtype)), x.dtype, out.shape)
    inside = node(Op.LT, (node(Op.IOTA, (), extent), full(x.shape[axis], dt.int64, (extent,))))
    others = tuple((a, d) for a, d in enumerate(out.shape) if a != axis)
    return node(Op.WHERE, (expand(inside, others), out, fill))


def _longer(operand: Node, pad: tuple[tuple[int, int, int], ...]) -> Node:
    out = node(Op.PAD, (operand,), pad)
    return expand_to(operand.src[0], out.shape) if operand.op is Op.EXPAND and not operand.src[0].shape else out


def _maps(x: Node) -> list[Node]:
    """The few maps that x is made of, operands first; none if they are many."""
    found: dict[Node, None] = {}
    stack = [x]
    while stack:
        n = stack.pop()
        if n.op in ELEMENTWISE:
            found.pop(n, None)
            found[n] = None
            stack += n.src
        if len(found) > MOST_MAPS:
            return []
    return [n for n in toposort([x]) if n in found]
