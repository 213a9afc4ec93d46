"""LLVM IR text, one method per construct. In: values with their type, lanes and level. Out: one
function's text.

A function is a stack of regions: the function itself, then each open loop or branch. The level of a
value is the depth of the innermost region it depends on. A pure value is written once, at its
level: in front of the loops it does not depend on (LLVM could not move the loads there, since
arguments may alias).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Union

from ...ir.loops.loop import Buf
from ...ir.symbolic.integer import NotSymbolic, Symbolic
from ...ir.symbolic.polynomial import Atom
from ...ir.symbolic.questions import is_below
from ...ir.symbolic.quotient import Quotient
from .naming import Naming
from .values import Val, integer, lanes_of, picks, suffix, vector_literal, vector_type

Line = Union[str, "Spot"]


@dataclass
class Spot:
    """A place in the text that can still grow, and the block it ends in."""

    label: str
    lines: list[Line] = field(default_factory=list)

    def flat(self) -> Iterator[str]:
        stack: list[Iterator[Line]] = [iter(self.lines)]
        while stack:
            line = next(stack[-1], None)
            if line is None:
                stack.pop()
            elif isinstance(line, Spot):
                stack.append(iter(line.lines))
            else:
                yield line


@dataclass
class Region:
    """An open loop (`front`: the spot before it), or a branch, out of which nothing may move."""

    spot: Spot
    front: Spot | None = None
    writes: frozenset[Buf] = frozenset()  # by any statement of the loop
    memo: dict[Hashable, Val] = field(default_factory=dict)
    # memo keys that depend on a buffer's contents
    loaded: dict[Buf, list[Hashable]] = field(default_factory=dict)


class Writer(Naming):
    def __init__(
        self, declared: set[str], for_readers: bool = False, freezes: bool = False
    ) -> None:
        """`freezes`: scalar conditions of selects (see emit.py: freezes)."""
        super().__init__(for_readers)
        self.freezes = freezes
        self.allocas: list[str] = []
        self.regions = [Region(Spot("start"))]
        self.entry = self.here
        self.declared = declared
        self.barrier = 0  # the least level at which anything may be written now
        self.passes = False  # whether something is stored past the caches
        self.arguments: dict[Atom, Val] = {}  # of symbolic integers

    # ------------------------------------------------------------ where text goes

    @property
    def depth(self) -> int:
        return len(self.regions) - 1

    @property
    def here(self) -> Spot:
        return self.regions[-1].spot

    def spot(self, level: int) -> Spot:
        spot = self.here if level == self.depth else self.regions[level + 1].front
        assert spot is not None
        return spot

    def line(self, text: str) -> None:
        self.here.lines.append("  " + text)

    def label(self, name: str, note: str = "") -> None:
        self.here.lines.append(f"{name}:{f'  ; {note}' if note else ''}")
        self.here.label = name

    def branch(self, target: str) -> None:
        self.line(f"br label %{target}")

    def branch_if(self, cond: Val, yes: str, no: str, unlikely: bool = False) -> None:
        self.line(
            f"br i1 {cond.text}, label %{yes}, label %{no}" + (", !prof !0" if unlikely else "")
        )

    # ------------------------------------------------------------ values

    def known(self, key: Hashable) -> Val | None:
        for region in reversed(self.regions):
            if key in region.memo:
                return region.memo[key]
        return None

    def remember(self, key: Hashable, value: Val, bufs: Iterable[Buf] = ()) -> Val:
        region = self.regions[max(value.level, self.barrier)]
        region.memo[key] = value
        for b in bufs:
            region.loaded.setdefault(b, []).append(key)
        return value

    def forget(self, buf: Buf) -> None:
        """buf is about to change: values that depend on its contents are no longer known."""
        for region in self.regions:
            for key in region.loaded.pop(buf, ()):
                region.memo.pop(key, None)

    def emit(self, rhs: str, elem: str, w: int, level: int, hint: str = "t") -> Val:
        """A new value written at this level."""
        level = level if level > self.barrier else self.barrier
        value = Val(f"%{self.fresh(hint)}", elem, w, level)
        self.spot(level).lines.append(f"  {value.text} = {rhs}")
        return value

    def now(self, rhs: str, elem: str, w: int = 1) -> Val:
        """A value that must be written here (it depends on memory, or on control flow)."""
        return self.emit(rhs, elem, w, self.depth)

    def pure(self, rhs: str, elem: str, w: int, *on: Val) -> Val:
        """A value that depends on nothing but `on`: written once."""
        value = self.known(rhs)
        return value or self.remember(
            rhs, self.emit(rhs, elem, w, max([v.level for v in on], default=0))
        )

    def binary(self, op: str, a: Val, b: Val) -> Val:
        a, b = self.same_lanes(a, b)
        return self.pure(f"{op} {a}, {b.text}", a.type, a.w, a, b)

    def compare(self, predicate: str, a: Val, b: Val) -> Val:
        a, b = self.same_lanes(a, b)
        op = "fcmp" if a.type in ("float", "double") else "icmp"
        return self.pure(f"{op} {predicate} {a}, {b.text}", "i1", a.w, a, b)

    def select(self, cond: Val, yes: Val, no: Val) -> Val:
        cond, yes, no = self.same_lanes(cond, yes, no)
        if self.freezes and yes.w == 1 and yes.type in ("float", "double"):
            cond = self.pure(f"freeze {cond}", "i1", 1, cond)
        return self.pure(f"select {cond}, {yes}, {no}", yes.type, yes.w, cond, yes, no)

    def convert(self, op: str, a: Val, elem: str) -> Val:
        return self.pure(f"{op} {a} to {vector_type(elem, a.w)}", elem, a.w, a)

    def call(self, name: str, *args: Val, flags: str = "") -> Val:
        """llvm.name over values of one type, with a result of that type."""
        args = self.same_lanes(*args)
        return self.intrinsic(
            f"llvm.{name}.{suffix(args[0].type, args[0].w)}",
            args[0].type,
            args[0].w,
            *args,
            flags=flags,
        )

    def intrinsic(self, name: str, elem: str, w: int, *args: Val, flags: str = "") -> Val:
        full = vector_type(elem, w)
        self.declare(full, name, *(a.full for a in args))
        return self.pure(f"call {flags}{full} @{name}({', '.join(map(str, args))})", elem, w, *args)

    def declare(self, result: str, name: str, *params: str) -> None:
        self.declared.add(f"declare {result} @{name}({', '.join(params)})")

    def splat(self, v: Val, w: int) -> Val:
        if v.w == w:
            return v
        if v.literal:
            return Val(f"splat ({v})", v.type, w)
        full = vector_type(v.type, w)
        first = self.pure(f"insertelement {full} poison, {v}, i64 0", v.type, w, v)
        return self.shuffle(first, [0] * w)

    def same_lanes(self, *values: Val) -> tuple[Val, ...]:
        widths = {v.w for v in values}
        return values if len(widths) == 1 else tuple([self.splat(v, max(widths)) for v in values])

    def slice(self, a: Val, first: int, count: int) -> Val:
        """Consecutive lanes, two at least."""
        return a if count == a.w else self.shuffle(a, list(range(first, first + count)))

    def shuffle(self, a: Val, lanes: list[int], b: Val | None = None) -> Val:
        """Lanes picked from a, then b; of literals at once.

        LLVM 22 for x86 makes a mask of 8 constant lanes outside of a loop, spills 16 bits of it, of
        which it has set 8, and a masked access of 8 bytes then touches others.
        """
        known, more = lanes_of(a), lanes_of(b) if b else []
        if known is not None and more is not None:
            return vector_literal(a.type, [(known + more)[lane] for lane in lanes])
        mask = picks(tuple(lanes))
        second = str(b) if b else f"{a.full} poison"
        return self.pure(
            f"shufflevector {a}, {second}, {mask}", a.type, len(lanes), a, *([b] if b else [])
        )

    def extract(self, v: Val, lane: Val) -> Val:
        return self.pure(f"extractelement {v}, {lane}", v.type, 1, v, lane)

    def insert(self, v: Val, x: Val, lane: int) -> Val:
        return self.pure(f"insertelement {v}, {x}, i64 {lane}", v.type, v.w, v, x)

    def any_lane(self, cond: Val) -> Val:
        if cond.w == 1:
            return cond
        return self.intrinsic(f"llvm.vector.reduce.or.v{cond.w}i1", "i1", 1, cond)

    # ------------------------------------------------------------ index arithmetic, constants
    # folded

    def add(self, a: Val, b: Val) -> Val:
        if a.literal and b.literal and a.w == b.w == 1:
            return Val(str(int(a.text) + int(b.text)), a.type)
        if b.literal and b.text == "0":
            return a
        return b if a.literal and a.text == "0" else self.binary("add", a, b)

    def number(self, x: int, bits: int = 64) -> Val:
        """An integer, perhaps of arguments."""
        if not isinstance(x, Symbolic):
            return integer(x, bits)
        total = integer(0)
        for atoms, c in x.terms:
            part = integer(c)
            for a in atoms:
                known = self._atom(a)
                part = self.mul(known, c) if part.literal else self.binary("mul", part, known)
            total = self.add(total, part)
        return total if bits == 64 else self.convert("trunc", total, f"i{bits}")

    def _atom(self, a: Atom) -> Val:
        """An argument, or a quotient of arguments that an unrolled loop has made. Raises
        NotSymbolic where that may be below 0."""
        if a in self.arguments:
            return self.arguments[a]
        if not isinstance(a, Quotient) or not is_below(-1, a.of):
            raise NotSymbolic(f"the code of a kernel would need {a}")
        return self.divide(self.number(a.of), a.by, 0)

    def divide(self, v: Val, by: int, least: int) -> Val:
        """floor(v / by), knowing v >= least."""
        if isinstance(by, Symbolic):
            bits = int(v.type[1:])
            divisor = self.splat(self.number(by, bits), v.w)
            if is_below(-1, least):
                return self.binary("udiv", v, divisor)
            # floor(v / by) = ~(~v / by)
            sign = self.binary("ashr", v, Val(str(bits - 1), v.type))
            opposite = self.binary("xor", v, sign)
            return self.binary("xor", self.binary("udiv", opposite, divisor), sign)
        if isinstance(least, Symbolic):
            least = 0 if is_below(-1, least) else int(least)
        if least >= 0:
            return self.binary("udiv", v, Val(str(by), v.type))
        if by & (by - 1) == 0:
            return self.binary("ashr", v, Val(str(by.bit_length() - 1), v.type))
        blocks = -(least // by)
        return self.add(
            self.binary("udiv", self.add(v, Val(str(blocks * by), v.type)), Val(str(by), v.type)),
            Val(str(-blocks), v.type),
        )

    def mul(self, a: Val, by: int) -> Val:
        if isinstance(by, Symbolic):
            return self.binary("mul", a, self.splat(self.number(by, int(a.type[1:])), a.w))
        if a.literal and a.w == 1:
            return Val(str(int(a.text) * by), a.type)
        return a if by == 1 else self.binary("mul", a, Val(str(by), a.type))

    def subtract(self, a: Val, b: Val) -> Val:
        return (
            integer(int(a.text) - int(b.text))
            if a.literal and b.literal
            else self.binary("sub", a, b)
        )

    def minimum(self, a: Val, b: Val) -> Val:
        if a.literal and b.literal:
            return a if int(a.text) <= int(b.text) else b
        return self.call("smin", a, b)

    # ------------------------------------------------------------ memory

    def alloca(self, elem: str, count: int, name: str) -> Val:
        """An array on the stack, once a call of the function: in a loop, it would grow the
        stack."""
        if isinstance(count, Symbolic):
            with self._at_entry():
                return self.emit(f"alloca {elem}, {self.number(count)}, align 64", "ptr", 1, 0)
        name = "%" + "".join(self.unique(name))
        self.allocas.append(f"  {name} = alloca [{count} x {elem}], align 64")
        return Val(name, "ptr")

    def mark_entry(self) -> None:
        """Arguments are known from here on, and nothing else has happened."""
        self.entry = self._nested(self.here.label)

    @contextmanager
    def _at_entry(self) -> Iterator[None]:
        outer = self.regions, self.barrier
        self.regions, self.barrier = [Region(self.entry)], 0
        try:
            yield
        finally:
            self.regions, self.barrier = outer

    def offset(self, base: Val, elem: str, by: Val) -> Val:
        if by.literal and by.w == 1 and by.text == "0":
            return base
        rhs = f"getelementptr {elem}, {base}, {by}"
        value = self.known(rhs)
        return value or self.remember(
            rhs, self.emit(rhs, "ptr", by.w, max(base.level, by.level), self.family(base))
        )

    def load(self, ptr: Val, elem: str, w: int, align: int, level: int) -> Val:
        return self.emit(
            f"load {vector_type(elem, w)}, {ptr}, align {align}",
            elem,
            w,
            max(level, ptr.level),
            self.family(ptr),
        )

    def argument(self, elem: str, slot: int, name: str) -> Val:
        """What the context holds in a slot."""
        ptr = "%ctx" if not slot else f"%{self.fresh()}"
        if slot:
            self.line(f"{ptr} = getelementptr i64, ptr %ctx, i64 {slot}")
        value = Val("%" + "".join(self.unique(name)), elem)
        self.line(f"{value.text} = load {elem}, ptr {ptr}, align 8")
        return value

    def store(self, value: Val, ptr: Val, align: int) -> None:
        self.line(f"store {value}, {ptr}, align {align}")

    def store_past_caches(self, value: Val, ptr: Val, align: int) -> None:
        """The same without reading what is there, of a whole vector aligned as such."""
        self.passes = True
        self.line(f"store {value}, {ptr}, align {align}, !nontemporal !1")

    # ------------------------------------------------------------ control flow

    @contextmanager
    def when(self, cond: Val | None, unlikely: bool = False) -> Iterator[None]:
        """A branch taken where cond holds (None: always, and then no branch)."""
        if cond is None or cond.text == "true":
            yield
            return
        inside, after = self.fresh("then"), self.fresh("done")
        self.branch_if(cond, inside, after, unlikely)
        self.regions.append(Region(self._nested(inside)))
        outer, self.barrier = self.barrier, self.depth
        self.label(inside)
        yield
        self.branch(after)
        self.barrier = outer
        self.regions.pop()
        self.label(after)

    @contextmanager
    def counted(
        self, start: Val, stop: Val, step: int, writes: Iterable[Buf], name: str, note: str = ""
    ) -> Iterator[Val]:
        """A loop from start up to stop, entered at least once; gives the counter, which has this
        name."""
        front = self._nested(self.here.label)
        name, end = self.unique(name, ("", ".next", ".enter", ".loop", ".again", ".end"))
        enter, body, again, after = (
            f"{name}.{part}{end}" for part in ("enter", "loop", "again", "end")
        )
        count = f"%{name}.next{end}"
        self.here.lines += [f"  br label %{enter}", f"{enter}:", f"  br label %{body}"]
        self.regions.append(Region(self._nested(body), front, writes=frozenset(writes)))
        i = Val(f"%{name}{end}", "i64", 1, self.depth)
        self.label(body, note)
        self.line(f"{i.text} = phi i64 [{start.text}, %{enter}], [{count}, %{again}]")
        yield i
        self.branch(again)
        self.label(again)
        self.line(f"{count} = add nuw nsw i64 {i.text}, {step}")
        more = self.now(f"icmp slt i64 {count}, {stop.text}", "i1")
        self.branch_if(more, body, after)
        self.regions.pop()
        self.label(after)

    def _nested(self, label: str) -> Spot:
        spot = Spot(label)
        self.here.lines.append(spot)
        return spot

    def function(self, name: str, params: str) -> str:
        """The text of the finished function. A fence makes other threads see what was stored past
        the caches."""
        if self.passes:
            self.line("fence seq_cst")
        self.line("ret void")
        body: list[Any] = [*self.allocas, *self.regions[0].spot.flat()]
        return "\n".join([f"define void @{name}({params}) #0 {{", "start:", *body, "}"])
