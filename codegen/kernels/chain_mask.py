"""Masks of a chain: the parts of its space that one rules out. In: a Chain; the mask as an
expression. Out: its condition, ranges of indices.

    causal: S where j <= i, else -inf
    columns first_j.. of rows ..last_i matter only if first_j <= last_i
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...ir.graph.graph import Node
from ...ir.graph.index import Div, Gathered, Index, Mask, Mod, Range, Var
from ...ir.graph.op import Op
from ...ir.kernels.chain import factor_of
from ...ir.kernels.kernel import Chain, Unit, base_of
from ...ir.symbolic.questions import is_below, is_same
from .evaluate import as_index

FAR = 1 << 40  # beyond every index


@dataclass(frozen=True)
class SpaceMask:
    """Where the condition of a map is not `live`, every weight is 0 and no reduction changes, as
    long as operands are finite."""

    unit: Unit
    condition: Node
    live: bool


def mask_of(chain: Chain) -> SpaceMask | None:
    """The mask of a chain, if it has one whose effect is certain."""
    for u in chain.inner:
        if u.node.op is Op.WHERE:
            for live in (True, False):
                mask = SpaceMask(u, u.node.src[0], live)
                if not _is_computed(chain, mask.condition) and _rules_out(chain, mask):
                    return mask
    return None


def _is_computed(chain: Chain, condition: Node) -> bool:
    """Does a condition depend on a score, or on what a row is reduced to?"""
    inner, scores = {u.node for u in chain.inner}, {u.node for u in chain.scores}
    seen: set[Node] = set()
    stack = [base_of(condition)]
    while stack:
        n = stack.pop()
        if n in scores or (n in inner and n.op is Op.REDUCE):
            return True
        if n in inner and n not in seen:
            seen.add(n)
            stack += [base_of(s) for s in n.src]
    return False


def _rules_out(chain: Chain, mask: SpaceMask) -> bool:
    """Follows -inf and 0 from where the condition does not hold to reductions and weights."""
    lowest: set[Node] = set()
    zero: set[Node] = set()
    for u in chain.inner:
        n = u.node
        if n.op is Op.REDUCE:
            if base_of(n.src[0]) not in {"max": lowest, "add": zero}.get(n.arg[0], set()):
                return False
        elif _is_lowest(n, mask, lowest):
            lowest.add(n)
        elif _is_zero(n, mask, zero, lowest):
            zero.add(n)
    return all(base_of(factor_of(chain, r)) in zero for r in chain.results)


def _branches(n: Node, mask: SpaceMask) -> list[Node]:
    """What a WHERE can give where the mask rules it out."""
    _, a, b = n.src
    return [
        base_of(x)
        for x in (
            (a, b)
            if base_of(n.src[0]) is not base_of(mask.condition)
            else (b,)
            if mask.live
            else (a,)
        )
    ]


def _is_lowest(n: Node, mask: SpaceMask, lowest: set[Node]) -> bool:
    match n.op:
        case Op.WHERE:
            return all(
                x in lowest or (x.op is Op.CONST and x.arg == float("-inf"))
                for x in _branches(n, mask)
            )
        case Op.SUB:
            return base_of(n.src[0]) in lowest and base_of(n.src[1]) not in lowest
        case Op.CAST:
            return base_of(n.src[0]) in lowest
    return False


def _is_zero(n: Node, mask: SpaceMask, zero: set[Node], lowest: set[Node]) -> bool:
    match n.op:
        case Op.EXP:
            return base_of(n.src[0]) in lowest
        case Op.WHERE:
            return all(x in zero or (x.op is Op.CONST and x.arg == 0) for x in _branches(n, mask))
        case Op.MUL:
            return base_of(n.src[0]) in zero or base_of(n.src[1]) in zero
        case Op.DIV | Op.NEG | Op.CAST:
            return base_of(n.src[0]) in zero
    return False


def may_hold(condition: Node, over: Iterable[Var], truth: bool = True) -> Mask:
    """Ranges that all hold if the condition is `truth` anywhere in a block of these variables; ()
    where that is not known."""
    match condition.op:
        case Op.XOR if condition.src[1].op is Op.CONST:
            return may_hold(condition.src[0], over, truth != condition.src[1].arg)
        case Op.AND if truth:
            return may_hold(condition.src[0], over) + may_hold(condition.src[1], over)
        case Op.OR if not truth:
            return may_hold(condition.src[0], over, False) + may_hold(condition.src[1], over, False)
        case Op.LT if all(s.op in (Op.VAR, Op.CONST) and s.dtype.is_int for s in condition.src):
            a, b = (as_index(s, 1) for s in condition.src)
            difference = _extreme(a - b, over, -1 if truth else 1)
            if difference is not None:
                return (Range(difference, -FAR, 0) if truth else Range(difference, 0, FAR),)
    return ()


def holds_always(r: Range) -> bool:
    """One of these ranges, of which one side is beyond every index."""
    a, b = r.index.bounds
    return is_below(-1, a) if is_same(r.lo, 0) else is_below(b, r.hi)


def _extreme(index: Index, over: Iterable[Var], sign: int) -> Index | None:
    """The least (sign -1) or greatest value of an index as these variables run."""
    over = set(over)
    if any(
        isinstance(t, Div | Mod | Gathered) and t not in over and _has(t, over)
        for t, _ in index.terms
    ):
        return None
    by = {v: Index(const=v.extent - 1 if index.coef(v) * sign > 0 else 0) for v in over}
    return index.substitute(by)


def _has(term: Div | Mod | Gathered | Var, over: set[Var]) -> bool:
    return isinstance(term, Gathered) or (
        isinstance(term, Div | Mod) and not over.isdisjoint(term.index.vars())
    )
