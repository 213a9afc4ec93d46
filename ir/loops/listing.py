"""Loops for readers. In: Loops. Out: text with infix expressions, beside the user's lines that they
come from.

It says the same as `text.show`. A value that one statement alone needs stands in that statement,
unless another line of the user's made it; the loops of a kernel are numbered, and code that is
printed of them (LLVM IR, assembly, CUDA C) names the number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from ..graph.graph import Node
from ..graph.index import Div, Index, Mod, Var
from ..graph.op import Op
from ..graph.site import Site
from ..symbolic.integer import Symbolic
from ..symbolic.questions import is_same
from .infix import ATOM, Text, infix, number
from .loop import UNROLL, For, If, Loops, Param, Reduce, Stmt, Store
from .margin import Line, beside
from .text import Printer
from .walk import operands, postorder, roots, statements

SUMMARY = 100  # of what a loop computes
WIDEST = 88  # characters of an expression in one piece
SIGNS = {"add": "+=", "mul": "*=", "max": "max="}


def numbered(loops: Loops, is_loop: Callable[[For], bool]) -> Loops:
    """The same with a note in every loop inside of phases: its number, and of an innermost one what
    it computes.

    `is_loop` says what is a loop in the code, and not a run of instructions, of those that are not
    unrolled anyway.
    """
    count = iter(range(1, 1 << 30))

    def is_code(s: Stmt) -> bool:
        if not isinstance(s, For) or s.kind == UNROLL:
            return False
        return (isinstance(s.extent, Param) or not is_same(s.extent, 1)) and is_loop(s)

    def body(statements_: list[Stmt]) -> list[Stmt]:
        return [statement(s) for s in statements_]

    def statement(s: Stmt) -> Stmt:
        match s:
            case For():
                is_inner = is_code(s) and not any(map(is_code, statements(s.body)))
                is_leaf = s.kind != UNROLL and not any(isinstance(t, For) for t in s.body)
                does = f": {summary(s)}" if is_inner or is_leaf else ""
                note = f"{'inner ' if is_inner else ''}loop {next(count)}{does}"
                return replace(s, note=note, body=body(s.body))
            case If():
                return replace(s, body=body(s.body))
        return s

    return replace(loops, phases=[replace(phase, body=body(phase.body)) for phase in loops.phases])


def summary(s: For) -> str:
    """What a loop writes, without indices: `sum1 += exp(in0 - max0)`."""
    text = "; ".join(
        dict.fromkeys(_brief(t) for t in statements(s.body) if isinstance(t, Store | Reduce))
    )
    return text if len(text) <= SUMMARY else f"{text[: SUMMARY - 3]} .."


def _brief(s: Store | Reduce) -> str:
    sign = SIGNS[s.op] if isinstance(s, Reduce) else "="
    return f"{s.buf.name} {sign} {brief(s.value)[0]}"


def brief(n: Node, depth: int = 4) -> Text:
    """An expression without indices, cut below a few levels."""
    match n.op:
        case Op.CONST:
            return number(n.arg, n.dtype), ATOM
        case Op.LOAD:
            return n.arg[0].name, ATOM
        case Op.VAR:
            return str(n.arg), ATOM
    return infix(n, [brief(s, depth - 1) for s in n.src]) if depth else ("..", ATOM)


def listing(loops: Loops, default: Site | None = None) -> str:
    """The text; statements that no single line made come from `default`."""
    printer = _Listing(default)
    printer.kernel(loops)
    return "\n".join(beside(printer.shown)) + "\n"


class _Listing(Printer):
    """Expressions stand where they are needed; `shown` has each line with its site and note."""

    def __init__(self, default: Site | None) -> None:
        super().__init__()
        self.default = default
        self.shown: list[Line] = []
        self.levels: dict[Node, int] = {}  # of what stands inside of expressions
        self.uses: Counter[Node] = Counter()  # in this block
        self.apart: set[Node] = set()  # needed by what another line made

    def line(self, depth: int, text: str, of: Node | Stmt | None = None) -> None:
        note = of.note.split(":")[0] if isinstance(of, For) else ""
        self.shown.append(("  " * depth + text, self.site(of), note))

    def site(self, of: Node | Stmt | None) -> Site | None:
        """The user's line of a Node or a statement that writes."""
        match of:
            case Node():
                return _user_site(of)
            case Store() | Reduce():
                return _user_site(of.value) or _user(of.buf.site) or self.default
        return None

    def body(self, body: list[Stmt], depth: int) -> None:
        before = self.uses, self.apart
        self.uses, self.apart = _uses(body)
        super().body(body, depth)
        self.uses, self.apart = before

    def node(self, n: Node, depth: int) -> str:
        for m in postorder([n]):
            if m.op is Op.CONST or m in self.temps:
                continue
            text, level = self.expression(m)
            if self.stands_inside(m, text):
                self.temps[m], self.levels[m] = text, level
            else:
                self.temps[m], self.levels[m] = f"t{self.count}", ATOM
                self.count += 1
                self.line(depth, f"{self.temps[m]} = {text}", m)
        return self.operand(n)

    def stands_inside(self, n: Node, text: str) -> bool:
        """Whether the one statement or Node that needs it can hold it."""
        return n.op is Op.VAR or (self.uses[n] <= 1 and n not in self.apart and len(text) <= WIDEST)

    def expression(self, n: Node) -> Text:
        if n.op is Op.LOAD:
            buf, index, mask = n.arg
            self.loaded.add(buf)
            text = f"{self.name(buf)}[{self.index(index)}]"
            return (f"({text}{self.mask(mask)} else 0)", ATOM) if mask else (text, ATOM)
        if n.op is Op.VAR:
            return self.index(n.arg), 6
        return infix(n, [self.text(s) for s in n.src])

    def text(self, n: Node) -> Text:
        return (
            (number(n.arg, n.dtype), ATOM) if n.op is Op.CONST else (self.temps[n], self.levels[n])
        )

    def operand(self, n: Node) -> str:
        return self.text(n)[0]

    def index(self, index: Index) -> str:
        parts = []
        for t, c in index.terms:
            size, less = _without_sign(c)
            parts.append((self.term(t) if is_same(size, 1) else f"{size}*{self.factor(t)}", less))
        if not is_same(index.const, 0) or not parts:
            size, less = _without_sign(index.const)
            parts.append((str(size), less))
        (first, minus), *rest = parts
        return (
            ("-" if minus else "")
            + first
            + "".join(f" {'-' if less else '+'} {text}" for text, less in rest)
        )

    def term(self, t: object) -> str:
        if (
            isinstance(t, Div | Mod)
            and isinstance(t.index, Index)
            and len(t.index.terms) == 1
            and is_same(t.index.const, 0)
        ):
            ((inner, scale),) = t.index.terms
            if is_same(scale, 1) and isinstance(inner, Var):
                return f"{self.term(inner)}{'//' if isinstance(t, Div) else '%'}{t.by}"
        return super().term(t)

    def factor(self, t: object) -> str:
        return f"({self.term(t)})" if isinstance(t, Div | Mod) else self.term(t)

    def sign(self, op: str) -> str:
        return SIGNS[op]


def _user_site(n: Node) -> Site | None:
    return None if n.op is Op.CONST else _user(n.site)  # a constant is one Node for all programs


def _user(site: Site | None) -> Site | None:
    return site if site is not None and site[1] else None


def _uses(body: list[Stmt]) -> tuple[Counter[Node], set[Node]]:
    """How often the statements of a block, loops inside left out, need each Node; computed ones
    that another line needs."""
    wanted = [n for s in body for n in (s.base.values() if isinstance(s, For) else roots(s))]
    uses, apart = Counter(wanted), set[Node]()
    for n in postorder(wanted):
        uses.update(operands(n))
        site = _user_site(n)
        apart.update(
            o
            for o in operands(n)
            if o.op is not Op.LOAD and site and _user_site(o) not in (site, None)
        )
    return uses, apart


def _without_sign(x: int) -> tuple[int, bool]:
    """An integer without its sign, and whether that is a minus; of arguments as it is."""
    return (x, False) if isinstance(x, Symbolic) else (abs(x), x < 0)
