"""Python functions of statements, for the interpreter of Loops. In: Nodes, Indexes, masks. Out: the
lines of a function, and it.

A function finds each variable in `vars` and each buffer in `memory`; it evaluates every Node once,
operands first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

import numpy as np

from ..graph.graph import Node
from ..graph.index import Div, Gathered, Index, Mask, Mod, Var
from ..graph.op import Op
from .loop import Buf
from .walk import in_order


class Code:
    """The lines of one function. `meaning` gives what an operation does with scalars."""

    def __init__(
        self,
        memory: Mapping[Buf, Any],
        variables: Mapping[Var, int],
        meaning: Callable[[Node], Callable[..., Any]],
    ) -> None:
        self.names: dict[str, Any] = {
            "memory": memory,
            "vars": variables,
            "inside": _inside,
            "outside": _outside,
        }
        self.meaning = meaning
        self.lines, self.depth, self.serial = ["def run():"], 1, count()
        self.known: dict[Node, str] = {}  # the name of the value of each Node so far

    def function(self) -> Callable[[], Any]:
        exec("\n".join(self.lines), self.names)
        run: Callable[[], Any] = self.names.pop("run")  # else each would hold the other
        return run

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def name(self, thing: object) -> str:
        """A name for a thing that text cannot say."""
        name = f"o{next(self.serial)}"
        self.names[name] = thing
        return name

    # ------------------------------------------------------------ expressions

    def index(self, index: Index) -> str:
        terms = [str(index.const), *(f"{c} * {self.term(t)}" for t, c in index.terms)]
        return f"({' + '.join(terms)})"

    def term(self, t: object) -> str:
        match t:
            case Var():
                return f"vars[{self.name(t)}]"
            case Div(index, by):
                return f"({self.index(index)} // {by})"
            case Mod(index, by):
                return f"({self.index(index)} % {by})"
            case Gathered(n, extent):
                return f"inside({self.known[n]}, {extent})"
        raise AssertionError(t)

    def conditions(self, mask: Mask) -> list[str]:
        return [f"{r.lo} <= {self.index(r.index)} < {r.hi}" for r in mask]

    def element(self, buf: Buf, index: Index) -> None:
        """Lines after which it is array[at]; machine code would read or write foreign memory where
        they raise."""
        place = f"{self.name(buf)}, {self.name(index)}"
        self.line(f"array, at = memory[{self.name(buf)}], {self.index(index)}")
        self.line(f"if not 0 <= at < len(array): outside({place}, at, len(array))")

    def value(self, root: Node) -> str:
        """The name of the scalar that a Node stands for."""
        for n in in_order(root, self.known.__contains__):
            self.known[n] = self.one(n)
        return self.known[root]

    def one(self, n: Node) -> str:
        if n.op is Op.CONST:
            return self.name(n.dtype.numpy.type(n.arg))
        name = f"t{next(self.serial)}"
        if n.op is Op.LOAD:
            self.load(name, n)
        elif n.op is Op.VAR:
            self.line(f"{name} = {self.name(np.int64)}({self.index(n.arg)})")
        else:
            operands = ", ".join(self.known[s] for s in n.src)
            self.line(
                f"{name} ="
                f" {self.name(n.dtype.numpy.type)}({self.name(self.meaning(n))}({operands}))"
            )
        return name

    def load(self, name: str, n: Node) -> None:
        buf, index, mask = n.arg
        if mask:
            self.line(f"{name} = {self.name(n.dtype.numpy.type(0))}")
            self.line(f"if {' and '.join(self.conditions(mask))}:")
        self.depth += bool(mask)
        self.element(buf, index)
        self.line(f"{name} = array[at]")
        self.depth -= bool(mask)

    # ------------------------------------------------------------ statements

    def where(self, mask: Mask) -> None:
        """What follows happens where the mask holds; what a range gathers is not asked for where
        one before it fails."""
        for r in mask:
            for n in r.index.values():
                self.value(n)
            self.line(f"if {self.conditions((r,))[0]}:")
            self.depth += 1

    def at(self, index: Index) -> str:
        for n in index.values():
            self.value(n)
        return self.index(index)


def _inside(value: Any, extent: int) -> int:
    return int(value) if 0 <= value < extent else 0  # a Check reports it


def _outside(buf: Buf, index: Index, at: int, size: int) -> None:
    raise IndexError(f"{buf}[{index}]: {at} is outside 0..{size}")
