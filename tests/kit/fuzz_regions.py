"""Random loops and branches, as moves of fuzz_graphs.Builder. In: a Builder. Out: results of loops
whose bodies are grown of a few steps, nested ones among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import graphs as g
from weft.ir.graph import dtype as dt
from weft.ir.graph.graph import Node, cast, const, expand_to, full, node
from weft.ir.graph.op import Op
from weft.ir.graph.region import unnumbered
from weft.ir.ops.interp import run
from weft.ir.regions.body import Carry, OpenBranch, OpenLoop

if TYPE_CHECKING:
    from fuzz_graphs import Builder, Built

LENGTHS = (1, 2, 3, 5)
Step = Callable[[Node, Node], Node]  # of a carry and another value like it


def _scaled(a: Node, by: float) -> Node:
    return node(Op.MUL, (a, full(by, a.dtype, a.shape)))


def _mixed(a: Node, b: Node) -> Node:
    return node(Op.ADD, (_scaled(a, 0.5), b))


def _centred(a: Node, b: Node) -> Node:
    """A reduction of the carry, repeated."""
    if not a.shape or not a.size:
        return _mixed(b, a)
    total = node(Op.REDUCE, (a,), ("max", (0,)))
    back = node(Op.EXPAND, (total,), ((0, a.shape[0]),))
    return node(Op.SUB, (_scaled(b, 0.5), _scaled(back, 0.25)))


def _product(a: Node, b: Node) -> Node:
    """A matrix product of the carry with itself, as far as it is square."""
    if a.ndim != 2 or a.shape[0] != a.shape[1] or a.shape[0] > 40:
        return _mixed(a, b)
    return node(Op.ADD, (_scaled(g.matmul(a, b), 0.03125), a))


def _flipped(a: Node, b: Node) -> Node:
    return node(Op.MAX, (node(Op.FLIP, (a,), (0,)) if a.shape else a, b))


def _chosen(a: Node, b: Node) -> Node:
    return node(Op.WHERE, (node(Op.LT, (a, b)), _scaled(b, 0.5), a))


STEPS: tuple[Step, ...] = (_mixed, _centred, _product, _flipped, _chosen)


def _body(b: Builder, carry: Node, others: list[Node]) -> Node:
    n = carry
    for _ in range(1 + b.choose(3)):
        n = b.one_of(STEPS)(n, b.one_of(others))
    return n


def _built(b: Builder, results: list[Node]) -> Built:
    """One of the results, as the interpreter computes it."""
    from fuzz_graphs import Built

    n = b.one_of(results)
    (array,) = run([n], b.env)
    return Built(n, array, False)


def loop(b: Builder) -> Built | None:
    """A counted loop with one carry or two, over slices and a captured value; or one that stops
    where a counter says so."""
    first = b.float(1)
    like, length = first.node, b.one_of(LENGTHS)
    if like.size * length > 6000 or like.ndim > 3:
        return None
    xs = b.leaf((length, *like.shape), like.dtype)
    captured = b.partner(first)
    carry, x = unnumbered(like.dtype, like.shape), unnumbered(like.dtype, like.shape)
    others = [x, captured.node, carry]
    if b.choose(4) == 0:
        others.append(_inner(b, carry, captured.node))
    new = _body(b, carry, others)
    carries = [Carry(carry, like, new)]
    if b.choose(2):
        second = unnumbered(like.dtype, like.shape)
        last = node(Op.ADD, (second, _scaled(new, 0.25)))
        carries.append(Carry(second, captured.node, last))
    if b.choose(4) == 0:
        results = _stopping(b, carries, {x: captured.node}).close()
    else:
        stacked = [new, _body(b, new, others)][: b.choose(3)]
        made = OpenLoop(carries, [(x, xs.node)], stacked, length, reverse=b.choose(2) == 1)
        results = made.close()
    return _built(b, results)


def _stopping(b: Builder, carries: list[Carry], places: dict[Node, Node]) -> OpenLoop:
    """The loop as long as a counter is below a number that is computed."""
    count, most = unnumbered(dt.int64, ()), b.leaf((), dt.int64, 0, 5).node
    goes_on = unnumbered(dt.bool_, ())
    one, zero = const(1, dt.int64), const(0, dt.int64)
    more = node(Op.ADD, (count, one))
    condition = [
        Carry(goes_on, node(Op.LT, (zero, most)), node(Op.LT, (more, most))),
        Carry(count, zero, more),
    ]
    bound = None if b.choose(2) else b.one_of(LENGTHS)
    made = OpenLoop([*condition, *carries], [], [], bound, is_while=True)
    return made.over(places)


def _inner(b: Builder, carry: Node, captured: Node) -> Node:
    """A loop inside a body."""
    own, count = unnumbered(carry.dtype, carry.shape), unnumbered(dt.int64, ())
    step = expand_to(cast(count, carry.dtype), carry.shape)
    new = _mixed(_body(b, own, [captured, own]), _scaled(step, 0.125))
    counted = Carry(count, const(0, dt.int64), node(Op.ADD, (count, const(1, dt.int64))))
    return OpenLoop([Carry(own, carry, new), counted], length=b.one_of(LENGTHS)).close()[0]


def branch(b: Builder) -> Built | None:
    """One of two or three bodies, by an index that may be out of range."""
    x = b.float(1)
    if x.node.size > 6000:
        return None
    y = b.partner(x)
    leaves = [(unnumbered(v.node.dtype, v.node.shape), v.node) for v in (x, y)]
    own = [leaf for leaf, _ in leaves]
    ways = [[_body(b, own[0], own), own[1]] for _ in range(2 + b.choose(2))]
    index = b.leaf((), dt.int64, -1, 4)
    return _built(b, OpenBranch(index.node, leaves, ways).close())


REGIONS = (loop, loop, branch)
