"""Graph -> Graph before units are formed: empty sources become constants, long reductions partial sums; deep views and what
windows read of gathered rows are stored.

    before    sum(x[16777216])                after    sum(sum(reshape(x, [128, 131072]), 1), 0)

What is gained: a reduction with few results still runs on every thread, in an order fixed by its shape alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from . import dtype as dt
from .fuse import MIN_PARALLEL
from .graph import Node, expand, full, node, rebuild, reduce, reshape, toposort
from .index import Var, var
from .kernel import is_widening, resolve
from .op import VIEWS, Op

PARTIAL = 1 << 14  # elements that one partial result should cover at least
MAX_PARTIALS = 4096
LONG = 1 << 18  # terms that one result may add up in a row: more would lose accuracy
WINDOW_TERMS = 4096  # products a result, from which windows are summed in parts
WINDOW_PARTS = 16  # wanted then: enough tasks, and at most 1/16 of the work in finishing
WINDOW_SIZE = 1 << 22  # elements that all parts may have
WINDOW_MOST = 8192  # products of a part, whose panel of one vector of channels then fits the level-2 cache
MAX_RESHAPES = 6  # between computed values


def prepare(roots: Iterable[Node]) -> list[Node]:
    """The same values, in a form whose every kernel has work and enough parallelism."""
    roots = list(roots)
    order = toposort(roots)
    gathered = {g for n in order for g in _windowed_gathers(n)}
    done: dict[Node, Node] = {}
    depth: dict[Node, int] = {}  # reshapes since the last computed value
    for n in order:
        new = rebuild(n, tuple(done[s] for s in n.src)) if n.src else n
        done[n], depth[n] = _kept_if_deep(_split(_without_empty(new)), max((depth[s] for s in n.src), default=0))
        if n in gathered:
            done[n] = node(Op.KEEP, (done[n],))
    return [done[r] for r in roots]


def _windowed_gathers(n: Node) -> list[Node]:
    """Gathers whose elements a sum of products reads through windows, once a window: a convolution over embeddings."""
    if n.op is not Op.REDUCE or n.arg[0] != "add" or n.src[0].op is not Op.MUL:
        return []
    factors = [_through_views(f) for f in n.src[0].src]
    return [base for base, windows in factors if windows and base.op is Op.GATHER]


def _through_views(n: Node) -> tuple[Node, bool]:
    """(what a value is a view of, whether through windows)."""
    windows = False
    while n.op in VIEWS or n.op is Op.DETACH or is_widening(n):
        windows |= n.op is Op.SKEW
        n = n.src[0]
    return n, windows


def _kept_if_deep(n: Node, depth: int) -> tuple[Node, int]:
    """Stores a view behind many reshapes that did not simplify: each divides the index once more."""
    if n.op not in VIEWS:
        return n, 0
    depth += n.op is Op.RESHAPE
    return (node(Op.KEEP, (n,)), 0) if depth > MAX_RESHAPES else (n, depth)


def _without_empty(n: Node) -> Node:
    """A value computed from an empty one is the op's identity; an empty one needs no other value."""
    if all(s.size for s in n.src):
        return n if n.size or not n.src else full(0, n.dtype, n.shape)
    if n.op is Op.REDUCE:
        kind = n.arg[0]
        return full(dt.lowest(n.dtype) if kind == "max" else int(kind == "mul"), n.dtype, n.shape)
    is_max = n.op is Op.SCATTER and n.arg[2:]
    return full(dt.lowest(n.dtype) if is_max else 0, n.dtype, n.shape)


def _split(n: Node) -> Node:
    """A reduction with few results and many terms, in two steps."""
    if n.op is not Op.REDUCE:
        return n
    (x,), (kind, axes) = n.src, n.arg
    terms = x.size // max(1, n.size)
    if terms >= WINDOW_TERMS and _sums_windows(n):
        return _windows_in_parts(n)
    if (n.size >= MIN_PARALLEL and terms < LONG) or x.size < 2 * PARTIAL or terms < 2 * MIN_PARALLEL:
        return n
    wanted = max(2, min(MAX_PARTIALS, max(terms // LONG, min(x.size, MAX_PARTIALS * PARTIAL) // PARTIAL // max(1, n.size))))
    axis, parts = max(((a, nearest_divisor(x.shape[a], wanted)) for a in axes), key=lambda ap: (min(ap[1], wanted), -ap[0]))
    if parts < max(2, wanted // 4):
        axis = max(axes, key=lambda a: x.shape[a])
        parts = min(wanted, x.shape[axis])
        x = _padded(x, axis, -(-x.shape[axis] // parts) * parts, kind)
    return _cut(n, x, {axis: parts})


def _cut(n: Node, x: Node, parts: dict[int, int]) -> Node:
    """The reduction n of x, as the sum of partial results: so many along each axis, which they divide."""
    kind, axes = n.arg
    shape: list[int] = []
    kept: list[int] = []  # where the axes of partial results stand in it
    inside: list[int] = []
    for a, d in enumerate(x.shape):
        if a in parts:
            kept.append(len(shape))
            shape.append(parts[a])
        if a in axes:
            inside.append(len(shape))
        shape.append(d // parts.get(a, 1))
    to = tuple(shape)
    split = node(Op.MUL, [reshape(f, to) for f in x.src]) if x.op is Op.MUL else reshape(x, to)  # a product stays one
    first = reduce(kind, split, inside)
    return reduce(kind, first, tuple(a - sum(i < a for i in inside) for a in kept))


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
    cuts = {a: parts for a, parts in cuts.items() if parts > 1}
    return _cut(n, x, cuts) if cuts else n


def nearest_divisor(extent: int, wanted: int) -> int:
    """The divisor of extent nearest to (and at most twice) the wanted number."""
    found = [d for d in range(1, min(extent, 2 * wanted) + 1) if extent % d == 0]
    return min(found, key=lambda d: abs(d - wanted))


def _padded(x: Node, axis: int, extent: int, kind: str) -> Node:
    """x with identities behind its axis."""
    pad = tuple((0, extent - d if a == axis else 0, 0) for a, d in enumerate(x.shape))
    out = node(Op.PAD, (x,), pad)
    if kind == "add":
        return out
    fill = full(dt.lowest(x.dtype) if kind == "max" else 1, x.dtype, out.shape)
    inside = node(Op.LT, (node(Op.IOTA, (), extent), full(x.shape[axis], dt.int64, (extent,))))
    others = tuple((a, d) for a, d in enumerate(out.shape) if a != axis)
    return node(Op.WHERE, (expand(inside, others), out, fill))
