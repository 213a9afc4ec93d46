"""Graph -> Graph: a sum of shifted sums of products becomes one sum of products.

    before    sum_k(unskew(sum_co(g * w)))          after    sum_{k, co}(unskew(g) * unskew(w))

The input gradient of a convolution has this form. What is gained: it is one masked contraction, and
the window tensor between the two sums is never stored. A slice of such a sum is taken of the
factors; where there are several, and nothing else reads the sum, the block that they lie in is.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..graph.graph import Node, node, permute, rebuild, reduce, reshape, toposort
from ..graph.op import VIEWS, Op
from ..graph.rewrite import Trace, is_sum_of_products
from ..graph.site import provenance
from ..graph.views import steady_axes

Slice = tuple[int, int, int]  # start, stop, step
Slices = tuple[Slice, ...]  # one for each axis


def merge_sums(roots: Iterable[Node], trace: Trace | None = None) -> list[Node]:
    """Merges every such pair of sums whose inner sum has no other user; `trace` takes note of
    it."""
    roots = list(roots)
    order = toposort(roots)
    users = _count_users(order, roots)
    blocks = _blocks(order, users)
    cut: dict[Node, Node] = {}  # for a sum, the block of it
    done: dict[Node, Node] = {}
    with provenance(None) as here:
        for n in order:
            here.move(n.site)
            chain = _chain(n, users)
            if n.op is Op.SLICE and n.src[0] in blocks and is_sum_of_products(done[n.src[0]]):
                total, block = n.src[0], blocks[n.src[0]]
                if total not in cut:
                    cut[total] = _sliced(block, done[total])
                done[n] = (
                    cut[total]
                    if n.arg == block
                    else node(Op.SLICE, (cut[total],), _within(n.arg, block))
                )
                rule = "slice_before_sum"
            elif chain:
                done[n] = _merged(n, chain, done)
                rule = "one_sum_of_products"
            else:
                done[n] = rebuild(n, tuple(done[s] for s in n.src))
                continue
            if trace is not None:
                trace.append((rule, n, done[n]))
    return [done[r] for r in roots]


def _count_users(order: list[Node], roots: list[Node]) -> dict[Node, int]:
    users = dict.fromkeys(order, 0)
    for n in order:
        for s in n.src:
            users[s] += 1
    for r in roots:
        users[r] += 1
    return users


def _blocks(order: list[Node], users: dict[Node, int]) -> dict[Node, Slices]:
    """For each value that is read by slices alone, what holds all of them, unless it is the
    whole."""
    cuts: dict[Node, list[Slices]] = {}
    for n in order:
        if n.op is Op.SLICE:
            cuts.setdefault(n.src[0], []).append(n.arg)
    alone = {n: args for n, args in cuts.items() if len(args) == users[n]}
    blocks = {
        n: args[0] if len(args) == 1 else tuple(map(_block, zip(*args, strict=True)))
        for n, args in alone.items()
    }
    return {n: block for n, block in blocks.items() if block != tuple((0, d, 1) for d in n.shape)}


def _block(slices: Iterable[Slice]) -> Slice:
    """What holds several slices along one axis."""
    starts, stops, _ = zip(*slices, strict=True)
    return min(starts), max(stops), 1


def _within(arg: Slices, block: Slices) -> Slices:
    return tuple(
        (start - first, stop - first, step)
        for (start, stop, step), (first, _, _) in zip(arg, block, strict=True)
    )


def _chain(n: Node, users: dict[Node, int]) -> list[Node]:
    """The views and sums from n down to a product: overlapping windows, or plain views between sum
    and product."""
    if n.op is not Op.REDUCE or n.arg[0] != "add":
        return []
    chain = [n]
    at = n.src[0]
    while users[at] == 1 and (at.op in VIEWS or (at.op is Op.REDUCE and at.arg[0] == "add")):
        chain.append(at)
        if at.op is Op.REDUCE and at.src[0].op is Op.MUL:
            at = at.src[0]
            break
        at = at.src[0]
    overlapping = any(v.op is Op.UNSKEW for v in chain)
    only_views = all(v.op in VIEWS and v.op is not Op.PAD for v in chain[1:])
    return (
        chain
        if at.op is Op.MUL and users[at] == 1 and len(chain) > 1 and (overlapping or only_views)
        else []
    )


def _sliced(cut: Slices, total: Node) -> Node:
    """A slice of a sum of products, as the sum of the sliced product: what is cut off is never
    computed."""
    axes = total.arg[1]
    product = total.src[0]
    rest = iter(cut)
    arg = tuple((0, d, 1) if a in axes else next(rest) for a, d in enumerate(product.shape))
    return reduce("add", node(Op.MUL, [node(Op.SLICE, (f,), arg) for f in product.src]), axes)


def _merged(n: Node, chain: list[Node], done: dict[Node, Node]) -> Node:
    """One sum over the product of the lifted factors."""
    product = chain[-1].src[0]
    factors = [done[s] for s in product.src]
    trailing = 0  # reduced axes, moved after the others
    for step in reversed(chain):
        ndim = factors[0].ndim - trailing
        if step.op is Op.REDUCE:
            axes = step.arg[1]
            order = (
                tuple(a for a in range(ndim) if a not in axes)
                + axes
                + tuple(range(ndim, ndim + trailing))
            )
            factors = [permute(f, order) for f in factors]
            trailing += len(axes)
        else:
            factors = _lift_both(step, factors, trailing)
    ndim = factors[0].ndim
    out = reduce("add", node(Op.MUL, factors), range(ndim - trailing, ndim))
    assert out.shape == n.shape
    return out


def _lift_both(view: Node, factors: list[Node], trailing: int) -> list[Node]:
    """The view applied to both factors; where it fills with zeros, a factor that does not vary
    there is only stretched.

    The other factor carries the zeros, so the product is 0 there (NaN if the stretched factor is
    not finite, as in any product with a zero-padded operand).
    """
    axes = _filled_axes(view)
    steady = [bool(axes) and steady_axes(f).issuperset(axes) for f in factors]
    if steady.count(True) != 1:
        return [_lift(view, f, trailing) for f in factors]
    return [
        _stretch(f, axes, view.shape) if still else _lift(view, f, trailing)
        for f, still in zip(factors, steady, strict=True)
    ]


def _filled_axes(view: Node) -> list[int]:
    """The axes along which a view puts zeros."""
    if view.op is Op.UNSKEW:
        return [view.arg[0]]
    return [a for a, lengths in enumerate(view.arg) if any(lengths)] if view.op is Op.PAD else []


def _stretch(x: Node, axes: list[int], shape: tuple[int, ...]) -> Node:
    """x repeated to the extents of `shape` along axes on which it does not vary."""
    for a in axes:
        repeated = dict(x.arg) if x.op is Op.EXPAND else {}
        if a in repeated:
            x = node(Op.EXPAND, x.src, tuple(sorted((repeated | {a: shape[a]}).items())))
            continue
        x = node(Op.SLICE, (x,), tuple((0, 1 if i == a else d, 1) for i, d in enumerate(x.shape)))
        x = reshape(x, x.shape[:a] + x.shape[a + 1 :])
        x = node(Op.EXPAND, (x,), ((a, shape[a]),))
    return x


def _lift(view: Node, x: Node, trailing: int) -> Node:
    """The view applied to the leading axes of x."""
    behind = x.shape[x.ndim - trailing :]
    arg = view.arg
    match view.op:
        case Op.RESHAPE:
            arg = (*arg, *behind)
        case Op.PERMUTE:
            arg = (*arg, *range(len(arg), len(arg) + trailing))
        case Op.SLICE:
            arg = (*arg, *((0, d, 1) for d in behind))
        case Op.PAD:
            arg = (*arg, *((0, 0, 0) for _ in behind))
    return node(view.op, (x,), arg)
