"""One kernel function while it is written. In: Nodes, indices, masks. Out: lines that define them,
and the names they then have.

A value is a `const` named after its op or buffer. It is known to the end of its block, or until
memory that it read changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ....ir.graph.graph import Node
from ....ir.graph.index import Index, Mask, Var
from ....ir.graph.op import Op
from ....ir.loops.loop import GLOBAL, REG, Buf, Extent, Param
from ....ir.loops.walk import SLOW, any_below, in_order, indices, operands, usual_operands
from ..target import WARP, CudaTarget
from .barriers import Order
from .expr import expression
from .index import Indices, is_wide
from .layout import Layout
from .values import TYPES, literal, zero
from .writer import Writer


@dataclass(eq=False)
class Lanes:
    """An open LANES loop: lane = unroll * piece + e, of which a thread has whole pieces; step
    counts those of a thread."""

    piece: Var
    e: Var | None  # None where unroll is 1
    step: Index
    unroll: int
    own: set[Buf]  # allocated inside: `unroll` copies
    varying: dict[Node, bool] = field(default_factory=dict)

    def varies(self, root: Node) -> bool:
        """Whether a Node may differ between the elements of a piece."""
        if self.e is None:
            return False
        return any_below(root, self.varying, self._itself)

    def _itself(self, n: Node) -> bool:
        return (n.op is Op.LOAD and n.arg[0] in self.own) or any(
            self.e in i.vars() for i in indices(n)
        )


class Function:
    def __init__(
        self, target: CudaTarget, layout: Layout, order: Order, threads: int, name: str
    ) -> None:
        self.target, self.layout, self.order, self.threads, self.symbol = (
            target,
            layout,
            order,
            threads,
            name,
        )
        self.writer = Writer()
        self.indices = Indices(self.value)
        self.names: dict[Buf | Param, str] = {}
        self.known: dict[Node, str] = {}
        self.contents: dict[Node, frozenset[Buf]] = {}
        self.streamed: frozenset[Buf] = frozenset()
        self.lanes: Lanes | None = None
        self.in_warps = False
        self.outside: set[Buf] = set()  # private buffers from outside of the WARPS loop
        self.by_vectors: dict[
            Buf, None
        ] = {}  # arguments that are loaded or stored 16 bytes at a time

    # ------------------------------------------------------------ threads

    @property
    def team(self) -> int:
        """The threads that share a LANES loop here."""
        return WARP if self.in_warps else self.threads

    @property
    def thread(self) -> str:
        """This one's number among them."""
        return "weft_lane()" if self.in_warps else "threadIdx.x"

    # ------------------------------------------------------------ names

    def name(self, thing: Buf | Param) -> str:
        if thing not in self.names:
            # i counts registers
            self.names[thing] = self.writer.name(
                f"{thing.name}_" if thing.name == "i" else thing.name
            )
        return self.names[thing]

    @contextmanager
    def variable(self, v: Var) -> Iterator[str]:
        """A name for a variable, free again afterwards."""
        name = self.indices.names[v] = self.writer.name(v.name)
        yield name
        self.writer.taken.discard(name)

    def type_of(self, v: Var) -> str:
        return "long long" if is_wide(v) else "unsigned"

    def extent(self, e: Extent) -> str:
        return self.name(e) if isinstance(e, Param) else self.indices.bare(e)

    # ------------------------------------------------------------ blocks

    @contextmanager
    def block(self, head: str, *pragmas: str) -> Iterator[None]:
        """What is computed inside is known inside only."""
        outer = dict(self.known)
        with self.writer.block(head, *pragmas):
            yield
        self.known = {n: t for n, t in outer.items() if n in self.known}

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        if not condition:
            yield
            return
        with self.block(f"if ({condition})"):
            yield

    def changed(self, bufs: Iterable[Buf]) -> None:
        gone = set(bufs)
        self.known = {n: t for n, t in self.known.items() if self.reads(n).isdisjoint(gone)}

    def reads(self, root: Node) -> frozenset[Buf]:
        """Every buffer whose contents a Node depends on."""
        for n in in_order(root, self.contents.__contains__):
            inside = frozenset[Buf]().union(*(self.contents[o] for o in operands(n)))
            self.contents[n] = inside | {n.arg[0]} if n.op is Op.LOAD else inside
        return self.contents[root]

    # ------------------------------------------------------------ values

    def value(self, n: Node) -> str:
        """A Node that is known, or a constant."""
        return literal(n.arg, n.dtype) if n.op is Op.CONST else self.known[n]

    def evaluate(self, root: Node) -> str:
        """The name of a Node, after the lines that it needs."""
        for n in in_order(root, lambda n: n.op is Op.CONST or n in self.known, usual_operands):
            self.define(n)
        return self.value(root)

    def evaluate_all(self, nodes: Iterable[Node]) -> None:
        for n in nodes:
            self.evaluate(n)

    def define(self, n: Node) -> None:
        match n.op:
            case Op.LOAD:
                self.load(n)
            case Op.VAR:
                self.constant(n, "index", self.indices.number(n.arg))
            case Op.ANY:
                self.known[n] = self.value(n.src[0])
            case Op.WHERE if n.arg == SLOW:
                self.rare(n)
            case _:
                self.constant(n, n.op.value, expression(n, [self.value(s) for s in n.src]))

    def constant(self, n: Node, kind: str, text: str) -> None:
        self.known[n] = self.writer.fresh(kind)
        self.writer.line(f"const {TYPES[n.dtype]} {self.known[n]} = {text};")

    def rare(self, n: Node) -> None:
        """The slow operand in a branch that few threads take."""
        cond, slow, fast = n.src
        name = self.writer.fresh("where")
        self.writer.line(f"{TYPES[n.dtype]} {name} = {self.value(fast)};")
        with self.block(f"if ({self.value(cond)})"):
            self.writer.line(f"{name} = {self.evaluate(slow)};")
        self.known[n] = name

    # ------------------------------------------------------------ memory

    def load(self, n: Node) -> None:
        text = self.loaded(n)
        if text.isidentifier():
            self.known[n] = text  # an accumulator; forgotten when it changes
        else:
            self.constant(n, n.arg[0].name, text)

    def loaded(self, n: Node) -> str:
        """What a LOAD reads, 0 where its mask does not hold."""
        buf, index, mask = n.arg
        condition, element = self.indices.mask(mask), self.element(buf, index)
        return f"{condition} ? {element} : {zero(n.dtype)}" if condition else element

    def element(self, buf: Buf, index: Index) -> str:
        """An element as something that can be read and assigned."""
        name = self.name(buf)
        if buf in self.layout.registers:
            index = self.own_index(index)
        elif self.lanes and buf in self.lanes.own and self.lanes.e is not None:
            index = index * self.lanes.unroll + Index({self.lanes.e: 1})
        elif buf.space == REG and buf.size == 1:
            return name
        return f"{name}[{self.indices.place(index)}]"

    def own_index(self, index: Index) -> Index:
        """Where the registers of one thread hold an element of a lane."""
        lanes = self.lanes
        assert lanes is not None
        per = index.coef(lanes.piece) // lanes.unroll
        return index - Index({lanes.piece: per * lanes.unroll}) + lanes.step * (lanes.unroll * per)

    def address(self, buf: Buf, index: Index) -> str:
        place = self.indices.place(index)
        return (
            self.name(buf)
            if place == "0"
            else f"{self.name(buf)} + {place if place.isidentifier() else f'({place})'}"
        )

    def aligned(self, buf: Buf) -> str:
        """A last argument for vector accesses: arguments may be views that begin anywhere, shared
        memory is aligned."""
        if buf.space != GLOBAL:
            return ""
        self.by_vectors[buf] = None
        return ", aligned"

    def condition(self, mask: Mask) -> str:
        return self.indices.mask(mask)

    def is_private(self, buf: Buf) -> bool:
        """Whether every thread has it for itself."""
        return buf.space == REG or buf in self.layout.registers
