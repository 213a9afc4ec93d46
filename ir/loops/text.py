"""Loops as text. In: Loops. Out: text that is equal only for equal kernels.

An expression is printed before its statement, one `t3 = mul t1, t2` a line, each once until memory
it read changes. Names that collide get a number in order of appearance; values of Params never
appear.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import replace

from ..graph.dtype import DType
from ..graph.graph import Node
from ..graph.index import Div, Gathered, Index, Mask, Mod, Range, Var
from ..graph.op import Op
from ..symbolic.integer import MARK, NotSymbolic
from ..symbolic.questions import is_same
from .loop import (
    Alloc,
    Buf,
    Check,
    Commit,
    Copy,
    Extent,
    For,
    If,
    Loops,
    Matrix,
    Multiply,
    Param,
    Prefetch,
    Reduce,
    Stmt,
    Store,
    Wait,
)
from .walk import operands, postorder, roots, statements, writes


def literal(value: float | int | bool, dtype: DType) -> str:
    """A constant, exactly; a NaN by its bits."""
    if dtype.is_float and value != value:
        return f"nan:{struct.unpack('<Q', struct.pack('<d', value))[0]:x}"
    return repr(
        float(value) if dtype.is_float else bool(value) if dtype.kind == "b" else int(value)
    )


def show(loops: Loops) -> str:
    """The text of a kernel; it determines the code, and is hashed as its identity."""
    p = Printer()
    p.kernel(loops)
    return "\n".join(p.lines) + "\n"


def key(loops: Loops, *more: str) -> str:
    """What identifies the code of a kernel, whatever its name: its text, and what else the code
    depends on."""
    text = show(replace(loops, name="kernel"))
    if MARK in text:
        raise NotSymbolic(f"the code of {loops.name} would need {_marked(text)}")
    return hashlib.sha256("\n".join([text, *more]).encode()).hexdigest()


def _marked(text: str) -> str:
    """The line of the first symbolic integer."""
    return next(line.strip() for line in text.splitlines() if MARK in line)


def _least(q: Param) -> str:
    """What the code knows of a param."""
    return "" if q.atom is None or q.atom.least is None else f" >= {q.atom.least}"


class Names:
    """A name of its own for each variable, buffer and param: what it is called, with a number where
    others are called so."""

    def __init__(self) -> None:
        self.names: dict[object, str] = {}
        self.taken: set[str] = set()

    def name(self, thing: Var | Buf | Param) -> str:
        """The first that asks has the plain name."""
        if thing not in self.names:
            name, number = thing.name, 0
            while name in self.taken:
                number += 1
                name = f"{thing.name}_{number}"
            self.taken.add(name)
            self.names[thing] = name
        return self.names[thing]


def names_of(loops: Loops) -> Names:
    """Those of the text."""
    names = Names()
    for buf in loops.buffers:
        names.name(buf)
    for param in loops.params:
        names.name(param)
    for s in statements(loops.phases):
        match s:
            case For():
                names.name(s.var)
            case Alloc(allocated):
                names.name(allocated)
    return names


class Printer(Names):
    """The lines of a kernel, statement by statement."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.temps: dict[Node, str] = {}  # printed, and still what they were
        self.loaded: set[Buf] = set()  # buffers that some printed Node reads
        self.count = 0

    def line(self, depth: int, text: str, of: Node | Stmt | None = None) -> None:
        """One more; `of` is what it shows."""
        self.lines.append("  " * depth + text)

    def kernel(self, loops: Loops) -> None:
        """All of it."""
        streamed = {b: " past the caches" for b in loops.streamed}
        arguments = [f"{self.name(b)}: {b.dtype.name}{streamed.get(b, '')}" for b in loops.buffers]
        arguments += [self.name(q) + _least(q) for q in loops.params]
        self.line(0, f"{'tiny ' if loops.tiny else ''}kernel {loops.name}({', '.join(arguments)})")
        for i, phase in enumerate(loops.phases):
            self.line(0, f"phase {i}{f' of {loops.threads[i]} threads' if loops.threads else ''}")
            self.statement(phase, 1)

    # ------------------------------------------------------------ expressions

    def node(self, n: Node, depth: int) -> str:
        """The name of a Node, after the lines that define it."""
        for m in postorder([n]):
            if m.op is not Op.CONST and m not in self.temps:
                self.temps[m] = f"t{self.count}"
                self.count += 1
                self.line(depth, f"{self.temps[m]} = {self.operation(m)}", m)
        return self.operand(n)

    def operand(self, n: Node) -> str:
        return f"{literal(n.arg, n.dtype)}:{n.dtype.name}" if n.op is Op.CONST else self.temps[n]

    def operation(self, n: Node) -> str:
        if n.op is Op.LOAD:
            buf, index, mask = n.arg
            self.loaded.add(buf)
            return f"load {self.name(buf)}[{self.index(index)}]{self.mask(mask)} {n.dtype.name}"
        if n.op is Op.VAR:
            return f"var {self.index(n.arg)}"
        arg = "" if n.arg is None else f" {n.arg.name if isinstance(n.arg, DType) else n.arg}"
        return f"{n.op.value} {', '.join(map(self.operand, n.src))}{arg} {n.dtype.name}"

    def index(self, index: Index) -> str:
        parts = [self.term(t) if is_same(c, 1) else f"{c}*{self.term(t)}" for t, c in index.terms]
        if not is_same(index.const, 0) or not parts:
            parts.append(str(index.const))
        return " + ".join(parts)

    def term(self, t: object) -> str:
        match t:
            case Var():
                return self.name(t)
            case Div(index, by):
                return f"({self.index(index)})//{by}"
            case Mod(index, by):
                return f"({self.index(index)})%{by}"
            case Gathered(n, extent):
                return f"[{self.operand(n)} < {extent}]"
        raise AssertionError(t)

    def range(self, r: Range) -> str:
        return f"{r.lo} <= {self.index(r.index)} < {r.hi}"

    def mask(self, mask: Mask) -> str:
        return " if " + " and ".join(map(self.range, mask)) if mask else ""

    # ------------------------------------------------------------ statements

    def body(self, body: list[Stmt], depth: int) -> None:
        """A block: what is printed inside holds inside only."""
        outer = dict(self.temps)
        for s in body:
            self.statement(s, depth)
        self.temps = {n: t for n, t in outer.items() if n in self.temps}

    def changed(self, bufs: set[Buf]) -> None:
        if self.loaded.isdisjoint(bufs):
            return
        stale: set[Node] = set()
        for n in postorder(self.temps):
            if (n.op is Op.LOAD and n.arg[0] in bufs) or any(o in stale for o in operands(n)):
                stale.add(n)
        self.temps = {n: t for n, t in self.temps.items() if n not in stale}

    def statement(self, s: Stmt, depth: int) -> None:
        if not isinstance(s, For):
            for n in roots(s):
                self.node(n, depth)
        match s:
            case For():
                self.loop(s, depth)
            case If():
                self.line(depth, f"if{self.mask(s.cond).removeprefix(' if')}", s)
                self.body(s.body, depth + 1)
            case Alloc(buf, init):
                value = "" if init is None else f" = {literal(init, buf.dtype)}"
                self.line(
                    depth,
                    f"alloc {self.name(buf)}: {buf.dtype.name} {buf.space}[{buf.size}]{value}",
                    s,
                )
            case Store(buf, index, value_, mask):
                self.line(
                    depth,
                    f"{self.name(buf)}[{self.index(index)}] ="
                    f" {self.operand(value_)}{self.mask(mask)}",
                    s,
                )
            case Reduce(buf, index, op, value_, mask, rounded):
                value = f"rounded {self.operand(value_)}" if rounded else self.operand(value_)
                self.line(
                    depth,
                    f"{self.name(buf)}[{self.index(index)}] {self.sign(op)}"
                    f" {value}{self.mask(mask)}",
                    s,
                )
            case Check(node, extent, site, position):
                named = self.name(site) if isinstance(site, Param) else site
                self.line(
                    depth,
                    f"check {self.operand(node)} < {extent} else site {named} at"
                    f" {self.index(position)}",
                    s,
                )
            case Prefetch(buf, index, cache):
                level = f" into level {cache}" if cache > 1 else ""
                self.line(depth, f"prefetch {self.name(buf)}[{self.index(index)}]{level}", s)
            case Copy(to, at, source, index, size, mask):
                places = (
                    f"{self.name(to)}[{self.index(at)}], {self.name(source)}[{self.index(index)}]"
                )
                self.line(depth, f"copy {places} x{size}{self.mask(mask)}", s)
            case Commit():
                self.line(depth, "commit", s)
            case Wait(groups):
                self.line(depth, f"wait for all but {groups}", s)
            case Multiply(acc, rows, lanes, shape, part):
                sizes = f"{'x'.join(map(str, shape))} by warps of {part[0]}x{part[1]}"
                self.line(
                    depth,
                    f"{self.name(acc)} += {self.matrix(rows)} @ {self.matrix(lanes)}, {sizes}",
                    s,
                )
        if not isinstance(s, For | If):
            self.changed(writes([s]))

    def sign(self, op: str) -> str:
        """Of a reduction."""
        return f"{op}="

    def loop(self, s: For, depth: int) -> None:
        for n in s.base.values():
            self.node(n, depth)
        limit = (
            ""
            if s.total is None
            else f" while {self.index(s.base + Index({s.var: 1}))} < {self.extent(s.total)}"
        )
        is_bound = not isinstance(s.extent, Param) and is_same(s.var.extent, s.extent)
        bound = "" if is_bound else f" (at most {s.var.extent})"
        unroll = (f" x{s.unroll}" if s.unroll != 1 else "") + (f" mod {s.apart}" if s.apart else "")
        self.line(
            depth,
            f"for {self.name(s.var)} < {self.extent(s.extent)}{bound} {s.kind}{unroll}{limit}",
            s,
        )
        self.changed(writes(s.body))
        self.body(s.body, depth + 1)

    def matrix(self, m: Matrix) -> str:
        return f"{self.name(m.buf)}[{self.index(m.first)} + {m.across}i + {m.along}k]"

    def extent(self, e: Extent) -> str:
        return self.name(e) if isinstance(e, Param) else str(e)
