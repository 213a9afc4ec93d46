"""Operations that went wrong, and the elements concerned. In: the roots of a Graph, its Nodes in
question. Out: Nodes that find them.

An element of a result is wrong where it is not finite, though all that it was computed of is, and
some root needs it: what a WHERE does not choose, or a SLICE does not show, goes into no result.
Which elements are needed is found as gradients are, from the roots down: a Node is needed where one
that reads it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..graph import dtype as dt
from ..graph.graph import (
    Node,
    cast,
    expand,
    expand_to,
    full,
    node,
    permute,
    reach,
    reduce,
    reshape,
    toposort,
)
from ..graph.op import ELEMENTWISE, HINTS, SCANS, Op
from ..graph.rewrite import is_sum_of_products
from ..graph.shapes import Shape
from .finite import both, either, may_make, negated, regular

Needed = dict[Node, Node | None]  # where a Node is needed; None: everywhere


def suspects(outputs: Sequence[Node], inputs: Iterable[Node]) -> list[Node]:
    """What may be the first to go wrong between the inputs of a kernel and its outputs, sources
    first.

    The products that a matrix product adds are not looked at, but their sums: they are never
    rounded.
    """
    given = set(inputs)
    needed = given.union(reach(outputs, lambda n: () if n in given else n.src))
    inside = [n for n in toposort(outputs) if n in needed]
    known = {*given, *(n.src[0] for n in inside if adds_products(n))}
    return [
        n for n in inside if n not in known and n.size and n.dtype.is_float and _may_go_wrong(n)
    ]


def _may_go_wrong(n: Node) -> bool:
    sums = n.op in SCANS or n.op is Op.SCATTER or (n.op is Op.REDUCE and n.arg[0] != "max")
    return sums or (n.op in ELEMENTWISE and may_make(n))


def adds_products(n: Node) -> bool:
    """Is it a product of matrices: a sum of products, of which both factors, or one in the same
    line, repeat along an axis."""
    if not is_sum_of_products(n):
        return False
    (product,) = n.src
    repeated = [_base(factor).size < product.size for factor in product.src]
    return all(repeated) or (any(repeated) and product.site == n.site)


def _base(n: Node) -> Node:
    while n.op in (Op.EXPAND, Op.PERMUTE, Op.RESHAPE, Op.SLICE, Op.SKEW, Op.PAD, Op.CAST):
        n = n.src[0]
    return n


def which_wrong(nodes: Sequence[Node], needed: Needed, infinities: bool) -> list[Node]:
    """0-d int64, one for each shape that some Nodes have; the greatest is how many follow the first
    wrong one, itself included.

    Few reductions, since each would be a kernel of its own: an element has the number of the first
    Node that is wrong there.
    """
    scores: dict[Shape, Node] = {}
    for left, n in enumerate(reversed(nodes), 1):
        others = scores.get(n.shape, full(0, dt.int64, n.shape))
        scores[n.shape] = node(
            Op.WHERE, (wrong(n, needed.get(n), infinities), full(left, dt.int64, n.shape), others)
        )
    return [reduce("max", score, range(score.ndim)) for score in scores.values()]


def place_wrong(n: Node, needed: Node | None, infinities: bool) -> Node:
    """0-d int64: the size of n less the place of its first wrong element in row-major order, 0
    where there is none."""
    size = (n.size,)
    left = node(Op.SUB, (full(n.size, dt.int64, size), node(Op.IOTA, (), n.size)))
    score = node(
        Op.WHERE, (reshape(wrong(n, needed, infinities), size), left, full(0, dt.int64, size))
    )
    return reduce("max", score, [0])


def wrong(n: Node, needed: Node | None, infinities: bool) -> Node:
    """Which elements of n are wrong."""
    condition = both([negated(regular(n, infinities)), *_fine_operands(n, infinities), needed])
    assert condition is not None
    return condition


def _fine_operands(n: Node, infinities: bool) -> list[Node]:
    """For each operand, where what an element of n was computed of is as it should be."""
    if n.op is Op.REDUCE:
        x = n.src[0]
        parts = x.src if x.op is Op.MUL else (x,)
        return [
            negated(bad) for s in parts if (bad := any_bad(s, n.arg[1], infinities)) is not None
        ]
    fine = [bad for s in n.src if s.dtype.is_float and (bad := _bad(s, infinities)) is not None]
    if n.op in SCANS:
        counts = [node(Op.SCAN, (node(Op.CAST, (bad,), dt.int64),), n.arg) for bad in fine]
        return [node(Op.EQ, (count, full(0, dt.int64, n.shape))) for count in counts]
    if n.op is Op.SCATTER:  # of updates anywhere
        return [negated(expand_to(reduce("max", bad, range(bad.ndim)), n.shape)) for bad in fine]
    return [negated(bad) for bad in fine]


def _bad(n: Node, infinities: bool) -> Node | None:
    fine = regular(n, infinities)
    return None if fine is None else negated(fine)


def any_bad(n: Node, axes: Sequence[int], infinities: bool) -> Node | None:
    """Is any element along these axes not as it should be; None where that cannot be. What is
    repeated is looked at once."""
    left = [a for a in range(n.ndim) if a not in axes]
    if n.op is Op.EXPAND:
        new = dict(n.arg)
        old = [a for a in range(n.ndim) if a not in new]
        bad = any_bad(n.src[0], [k for k, a in enumerate(old) if a in axes], infinities)
        return bad and expand(bad, tuple((k, new[a]) for k, a in enumerate(left) if a in new))
    if n.op is Op.PERMUTE:
        below = sorted(n.arg[a] for a in left)
        bad = any_bad(n.src[0], [n.arg[a] for a in axes], infinities)
        return bad and permute(bad, tuple(below.index(n.arg[a]) for a in left))
    bad = _bad(n, infinities)
    return bad and reduce("max", bad, axes)


def needed_of(roots: Iterable[Node]) -> Needed:
    """Which elements of each Node some root needs."""
    roots = list(roots)
    needed: Needed = dict.fromkeys(roots)
    for n in reversed(toposort(roots)):
        here = needed[n]
        for s, part in zip(n.src, _parts(n, here), strict=True):
            if s in needed:
                before = needed[s]
                needed[s] = None if before is None or part is None else either([before, part])
            else:
                needed[s] = part
    return needed


def _parts(n: Node, here: Node | None) -> list[Node | None]:
    """Which elements of each source an element of n that is needed needs; at least these."""
    match n.op:
        case Op.WHERE:
            chosen = n.src[0]
            return [here, both([chosen, here]), both([negated(chosen), here])]
        case Op.SLICE | Op.SKEW | Op.GATHER:
            return _shown(n, _everywhere(n) if here is None else here)
    if here is None or not n.src:
        return [None] * len(n.src)
    x = n.src[0]
    match n.op:
        case Op.RESHAPE:
            return [reshape(here, x.shape)]
        case Op.PERMUTE:
            return [permute(here, tuple(n.arg.index(a) for a in range(x.ndim)))]
        case Op.FLIP:
            return [node(Op.FLIP, (here,), n.arg)]
        case Op.EXPAND:
            return [reduce("max", here, [axis for axis, _ in n.arg])]
        case Op.UNSKEW:
            return [node(Op.SKEW, (here,), n.arg)]
        case Op.PAD:
            cuts = zip(n.arg, n.shape, strict=True)
            return [
                node(
                    Op.SLICE, (here,), tuple((lo, d - hi, inner + 1) for (lo, hi, inner), d in cuts)
                )
            ]
        case Op.REDUCE:
            return [
                None if adds_products(n) else expand(here, tuple((a, x.shape[a]) for a in n.arg[1]))
            ]
    return [here if n.op in ELEMENTWISE or n.op in HINTS else None for _ in n.src]


def _everywhere(n: Node) -> Node:
    return full(True, dt.bool_, n.shape)


def _shown(n: Node, here: Node) -> list[Node | None]:
    """Which elements of its source a view shows where it is needed; of indices, all count."""
    x = n.src[0]
    if n.op is Op.SKEW:
        return [node(Op.UNSKEW, (here,), n.arg)]
    if n.op is Op.GATHER:
        shown = node(Op.SCATTER, (cast(here, dt.int64), *n.src[1:]), (n.arg, x.shape, "max"))
        return [node(Op.LT, (full(0, dt.int64, x.shape), shown)), *(None for _ in n.src[1:])]
    margins = []
    for (start, _, step), length, extent in zip(n.arg, n.shape, x.shape, strict=True):
        used = (length - 1) * step + 1 if length else 0
        margins.append((start, extent - start - used, step - 1))
    return [node(Op.PAD, (here,), tuple(margins))]
