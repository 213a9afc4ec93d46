"""Walks over Loops and their expressions. In: statements and loop-level Nodes. Out: what they need,
read, write; substitution."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from ..graph.graph import Node, rebuild, scalar_node
from ..graph.index import Index, Mask, Var
from ..graph.op import Op
from .loop import (
    REG,
    Alloc,
    Buf,
    Check,
    Copy,
    For,
    If,
    Matrix,
    Multiply,
    Prefetch,
    Reduce,
    Stmt,
    Store,
)

SLOW = "rare"  # arg of a WHERE whose second operand is seldom needed


def index_values(mask: Mask) -> list[Node]:
    """The Nodes a mask gathers through."""
    return [v for r in mask for v in r.index.values()]


def operands(n: Node) -> tuple[Node, ...]:
    """Every Node that must be known before n: its sources and those inside its index and mask."""
    if n.src:
        return n.src
    if n.op is Op.LOAD:
        _, index, mask = n.arg
        return (*index.values(), *index_values(mask))
    if n.op is Op.VAR:
        return tuple(n.arg.values())
    return n.src


def usual_operands(n: Node) -> tuple[Node, ...]:
    """The operands evaluated in any case: all but the slow one of a rare WHERE."""
    return (n.src[0], n.src[2]) if n.op is Op.WHERE and n.arg == SLOW else operands(n)


def in_order(
    root: Node, known: Callable[[Node], bool], needs: Callable[[Node], tuple[Node, ...]] = operands
) -> Iterator[Node]:
    """Every Node the root needs that is not known, operands first. The caller makes each known
    before it asks for the next."""
    stack = [root]
    while stack:
        n = stack[-1]
        if missing := [o for o in needs(n) if not known(o)]:
            stack.extend(reversed(missing))
        elif known(stack.pop()):
            continue
        else:
            yield n


def postorder(
    roots: Iterable[Node], needs: Callable[[Node], tuple[Node, ...]] = operands
) -> list[Node]:
    """Every Node the roots need, operands first; a loop, not recursion."""
    done: dict[Node, None] = {}
    for root in roots:
        for n in in_order(root, done.__contains__, needs):
            done[n] = None
    return list(done)


def any_below(root: Node, known: dict[Node, bool], itself: Callable[[Node], bool]) -> bool:
    """Does something hold for the root itself or for any Node that it needs; `known` has what was
    asked before."""
    for n in in_order(root, known.__contains__):
        known[n] = any(known[o] for o in operands(n)) or itself(n)
    return known[root]


def indices(n: Node) -> list[Index]:
    """The Indexes in n's own argument."""
    if n.op is Op.LOAD:
        return [n.arg[1], *(r.index for r in n.arg[2])]
    return [n.arg] if n.op is Op.VAR else []


def variables(n: Node) -> set[Var]:
    """The loop variables in n's own argument."""
    return {v for i in indices(n) for v in i.vars()}


def statements(body: Iterable[Stmt]) -> Iterator[Stmt]:
    """Every statement, outer before inner."""
    for s in body:
        yield s
        if isinstance(s, For | If):
            yield from statements(s.body)


def roots(s: Stmt) -> list[Node]:
    """The Nodes one statement evaluates itself (not those of statements inside it)."""
    match s:
        case Store(_, index, value, mask) | Reduce(_, index, _, value, mask):
            return [value, *index.values(), *index_values(mask)]
        case Check(index, _, _, position):
            return [index, *position.values()]
        case If(cond) | Copy(mask=cond):
            return index_values(cond)
        case For():
            return s.base.values()
    return []


def all_roots(body: Iterable[Stmt]) -> list[Node]:
    return [r for s in statements(body) for r in roots(s)]


def reads(body: Iterable[Stmt]) -> set[Buf]:
    """The buffers LOADed, copied or multiplied anywhere inside."""
    body = list(body)
    loaded = {n.arg[0] for n in postorder(all_roots(body)) if n.op is Op.LOAD}
    return loaded.union(*(_read_whole(s) for s in statements(body)))


def _read_whole(s: Stmt) -> set[Buf]:
    """What a statement reads without LOADs."""
    match s:
        case Copy(source=source):
            return {source}
        case Multiply(acc, rows, lanes):
            return {acc, rows.buf, lanes.buf}
    return set()


def writes(body: Iterable[Stmt]) -> set[Buf]:
    """The buffers allocated, stored, copied or reduced to anywhere inside."""
    return {b for s in statements(body) if (b := written(s))}


def written(s: Stmt) -> Buf | None:
    """The buffer that a statement itself changes."""
    match s:
        case Alloc(buf) | Store(buf) | Reduce(buf) | Copy(buf) | Multiply(buf):
            return buf
    return None


def part_of(s: Stmt) -> Buf | None:
    """The accumulator whose whole contents a Reduce adds to another one, element by element."""
    if isinstance(s, Reduce) and s.value.op is Op.LOAD and not s.mask:
        buf, index, mask = s.value.arg
        if (
            buf.space == REG
            and s.buf.space == REG
            and index == s.index == Index()
            and not mask
            and buf.size == s.buf.size == 1
        ):
            return buf  # type: ignore[no-any-return]
    return None


class Substitution:
    """Replaces loop variables and buffers in Nodes, Indexes, masks and statements; each distinct
    Node once."""

    def __init__(self, by: Mapping[Var, Index], buffers: Mapping[Buf, Buf] | None = None) -> None:
        self.by, self.buffers = by, buffers or {}
        self.done: dict[Node, Node] = {}

    def node(self, root: Node) -> Node:
        for n in in_order(root, self.done.__contains__):
            self.done[n] = self._replaced(n)
        return self.done[root]

    def _replaced(self, n: Node) -> Node:
        if n.op is Op.LOAD:
            buf, index, mask = n.arg
            new = self.buffers.get(buf, buf), self.index(index), self.mask(mask)
            return (
                n
                if new[0] is buf and new[1] is index and new[2] is mask
                else scalar_node(Op.LOAD, (), new, n.dtype)
            )
        if n.op is Op.VAR:
            at = self.index(n.arg)
            return n if at is n.arg else scalar_node(Op.VAR, (), at, n.dtype)
        return rebuild(n, tuple(self.done[s] for s in n.src))

    def index(self, index: Index) -> Index:
        if index.values() or not self.by.keys().isdisjoint(index.vars()):
            return index.substitute(self.by, self.node)
        return index

    def mask(self, mask: Mask) -> Mask:
        if all(self.index(r.index) is r.index for r in mask):
            return mask
        return tuple(replace(r, index=self.index(r.index)) for r in mask)

    def body(self, body: list[Stmt]) -> list[Stmt]:
        return [self.statement(s) for s in body]

    def statement(self, s: Stmt) -> Stmt:
        match s:
            case Store(buf, index, value, mask) | Reduce(buf, index, _, value, mask):
                into = self.buffers.get(buf, buf)
                return replace(
                    s,
                    buf=into,
                    index=self.index(index),
                    value=self.node(value),
                    mask=self.mask(mask),
                )
            case Alloc(buf):
                return replace(s, buf=self.buffers.get(buf, buf))
            case Check(index, _, _, position):
                return replace(s, index=self.node(index), position=self.index(position))
            case Prefetch(buf, index, cache):
                return Prefetch(self.buffers.get(buf, buf), self.index(index), cache)
            case If(cond, body):
                return If(self.mask(cond), self.body(body))
            case Copy(to, at, source, index, _, mask):
                to, source = self.buffers.get(to, to), self.buffers.get(source, source)
                return replace(
                    s,
                    to=to,
                    at=self.index(at),
                    source=source,
                    index=self.index(index),
                    mask=self.mask(mask),
                )
            case Multiply(acc, rows, lanes):
                return replace(
                    s,
                    acc=self.buffers.get(acc, acc),
                    rows=self.matrix(rows),
                    lanes=self.matrix(lanes),
                )
            case For():
                return replace(s, base=self.index(s.base), body=self.body(s.body))
        return s

    def matrix(self, m: Matrix) -> Matrix:
        return replace(m, buf=self.buffers.get(m.buf, m.buf), first=self.index(m.first))
