"""Graph -> Graph: what is computed of 16-bit floats is computed in float32 and rounded once; 16
bits remain for memory.

    before    mul(a, b) of bfloat16
    after     cast(mul(cast(a, float32), cast(b, float32)), bfloat16)

A sum takes products and other sums before they are rounded, also through views: a product of
matrices rounds once. Casts to float32 stand where the fewest elements pass: before an EXPAND, after
a SLICE.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..graph import dtype as dt
from ..graph.graph import Node, cast, const, node, rebuild, toposort
from ..graph.halves import TRANSPARENT, computes_half, is_sum
from ..graph.op import Op
from ..graph.site import provenance


def widen(roots: Sequence[Node]) -> list[Node]:
    """The same values, with MOVES alone over 16-bit floats; before any other pass, since rules
    might merge roundings."""
    order = toposort(roots)
    if not any(n.dtype.is_half for n in order):
        return list(roots)
    done: dict[Node, Node] = {}
    unrounded: dict[Node, Node] = {}  # float32 values of products and sums, and of their views
    for n in order:
        with provenance(n.site):
            done[n] = _widened(n, done, unrounded)
    return [done[r] for r in roots]


def _widened(n: Node, done: dict[Node, Node], unrounded: dict[Node, Node]) -> Node:
    if not n.src:
        return n
    if not computes_half(n):
        if n.op in TRANSPARENT and n.src[0] in unrounded:
            unrounded[n] = rebuild(n, (unrounded[n.src[0]],))
        return rebuild(n, tuple([done[s] for s in n.src]))
    src = [done[s] if not s.dtype.is_half else in_float32(done[s]) for s in n.src]
    if is_sum(n):
        src[0] = unrounded.get(n.src[0], src[0])
    out = node(n.op, src, n.arg)
    if n.op is Op.MUL or is_sum(n):
        unrounded[n] = out
    return cast(out, n.dtype) if n.dtype.is_half else out


def in_float32(n: Node) -> Node:
    """A 16-bit float as float32, cast at the place with the fewest elements between n and what it
    is a view of."""
    chain = [n]
    while chain[-1].op in TRANSPARENT:
        chain.append(chain[-1].src[0])
    place = min(range(len(chain)), key=lambda i: chain[i].size)
    at = chain[place]
    out = const(at.arg, dt.float32) if at.op is Op.CONST else node(Op.CAST, (at,), dt.float32)
    for view in reversed(chain[:place]):
        out = node(view.op, (out,), view.arg)
    return out
