"""Runs Loops an element at a time: the meaning of the language. In: Loops, flat arrays, params.
Out: failed checks.

A lane loop is a loop, an accumulator an array, a Reduce one combination. Arrays are changed in
place. The value of a statement is computed whether its mask holds or not: a LOAD that may lie
outside its buffer needs a mask of its own.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from ..graph import dtype as dt
from ..graph.graph import Node
from ..graph.index import Index, Mask, Var
from ..graph.op import Op
from ..ops.table import VALUES
from .interp_code import Code
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
    Prefetch,
    Reduce,
    Stmt,
    Store,
    Wait,
)
from .tensor_core_layout import places

Array = np.ndarray[Any, Any]
Failure = tuple[int, int, int]  # site, position, index value


def run(
    loops: Loops, buffers: Sequence[Array], params: Mapping[str, int] | Sequence[int] = ()
) -> list[Failure]:
    """Runs every phase over all its chunks; gives the failures of Checks, the lowest (site,
    position) first."""
    named = (
        params
        if isinstance(params, Mapping)
        else dict(zip((p.name for p in loops.params), params, strict=True))
    )
    machine = _Machine(dict(zip(loops.buffers, buffers, strict=True)), named)
    with np.errstate(all="ignore"):
        machine.body(list(loops.phases))
    machine.made.clear()  # it holds the machine, which holds the arrays
    return sorted(set(machine.failures))


class _Machine:
    def __init__(self, memory: dict[Buf, Array], params: Mapping[str, int]) -> None:
        self.memory, self.params = memory, params
        self.vars: dict[Var, int] = {}
        self.failures: list[Failure] = []
        # on their way, by group; the last one is still open
        self.copies: list[list[Callable[[], None]]] = [[]]
        self.made: dict[int, Any] = {}  # functions, by the identity of what the Loops hold

    def code(self) -> Code:
        return Code(self.memory, self.vars, _meaning)

    # ------------------------------------------------------------ statements

    def body(self, body: list[Stmt]) -> None:
        if (steps := self.made.get(id(body))) is None:
            steps = self.made[id(body)] = [self.step(s) for s in body]
        for step in steps:
            step()

    def step(self, s: Stmt) -> Callable[[], Any]:
        """What runs a statement."""
        match s:
            case For():
                return partial(self.loop, s)
            case If():
                return partial(self.branch, s)
            case Alloc():
                return partial(self.alloc, s)
            case Store() | Reduce():
                return self.store(s)
            case Check():
                return partial(self.check, s)
            case Prefetch():
                return int  # does nothing
            case Copy():
                return partial(self.copy, s)
            case Commit():
                return lambda: self.copies.append([])
            case Wait(groups):
                return partial(self.wait, groups)
            case Multiply():
                return partial(self.multiply, s)
        raise AssertionError(s)

    def branch(self, s: If) -> None:
        if self.holds(s.cond):
            self.body(s.body)

    def alloc(self, s: Alloc) -> None:
        self.memory[s.buf] = np.full(s.buf.size, 0 if s.init is None else s.init, s.buf.dtype.numpy)

    def store(self, s: Store | Reduce) -> Callable[[], None]:
        code = self.code()
        value = code.value(s.value)
        if isinstance(s, Reduce):
            value = f"{code.name(_REDUCTIONS[s.op])}(array[at], {value})"
        code.where(s.mask)
        code.at(s.index)
        code.element(s.buf, s.index)
        code.line(f"array[at] = {value}")
        return code.function()

    def multiply(self, s: Multiply) -> None:
        m, n, k = s.shape
        of_row, of_lane = places((m, n), s.part)
        total = self.tile(s.rows, m, k) @ self.tile(s.lanes, n, k).T
        self.memory[s.acc] += total[of_row, of_lane].astype(np.float32)

    def loop(self, s: For) -> None:
        for i in range(self.extent(s.extent)):
            if s.total is None or self.at(s.base) + i < self.extent(s.total):
                self.vars[s.var] = i
                self.body(s.body)

    def extent(self, e: Extent) -> int:
        return e if isinstance(e, int) else self.params[e.name]

    def check(self, s: Check) -> None:
        value = int(self.value(s.index))
        if not 0 <= value < s.extent:
            self.failures.append((self.extent(s.site), self.at(s.position), value))

    def copy(self, s: Copy) -> None:
        """As late as it may: the target is not what it was, nor what it will be."""
        to, source, holds = self.memory[s.to], self.memory[s.source], self.holds(s.mask)
        at, index = self.place(s.to, s.at), self.place(s.source, s.index) if holds else 0

        def arrive() -> None:
            to[at : at + s.size] = source[index : index + s.size] if holds else 0

        to[at : at + s.size].view(np.uint8)[:] = 0xFF
        self.copies[-1].append(arrive)

    def wait(self, groups: int) -> None:
        ready = max(0, len(self.copies) - 1 - groups)
        for arrive in (c for group in self.copies[:ready] for c in group):
            arrive()
        del self.copies[:ready]

    def tile(self, m: Matrix, size: int, steps: int) -> Array:
        """A factor in float64; float32 rounded to tf32."""
        i, k = np.indices((size, steps))
        factor: Array = self.memory[m.buf][self.at(m.first) + i * m.across + k * m.along]
        if m.buf.dtype is dt.float32:
            rounded = ((factor.view(np.uint32) + 0x1000) & 0xFFFFE000).view(np.float32)
            factor = np.where(np.isfinite(factor), rounded, factor)
        return factor.astype(np.float64)

    # ------------------------------------------------------------ expressions

    def holds(self, mask: Mask) -> bool:
        if (known := self.made.get(id(mask))) is None:
            code = self.code()
            code.where(mask)
            code.line("return True")
            known = self.made[id(mask)] = code.function()
        return bool(known())

    def place(self, buf: Buf, index: Index) -> int:
        """An element's position; machine code would read or write foreign memory where this
        raises."""
        at, size = self.at(index), len(self.memory[buf])
        if not 0 <= at < size:
            raise IndexError(f"{buf}[{index}]: {at} is outside 0..{size}")
        return at

    def at(self, index: Index) -> int:
        if (known := self.made.get(id(index))) is None:
            code = self.code()
            code.line(f"return {code.at(index)}")
            known = self.made[id(index)] = code.function()
        return int(known())

    def value(self, root: Node) -> Any:
        """The scalar a Node stands for now."""
        if (known := self.made.get(id(root))) is None:
            code = self.code()
            code.line(f"return {code.value(root)}")
            known = self.made[id(root)] = code.function()
        return known()


def _meaning(n: Node) -> Callable[..., Any]:
    """What an operation does with scalars."""
    return (
        OPS[n.op]
        if n.op in OPS
        else lambda *src: np.asarray(VALUES[n.op](n, *map(np.asarray, src)))[()]
    )


def _fma(a: Any, b: Any, c: Any) -> Any:
    """Rounded once (f32: from f64), by exact rationals."""
    if not (np.isfinite(a) and np.isfinite(b)):
        return a * b + c
    if not np.isfinite(c):
        return c  # also where a product rounded by itself would be the other infinity
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    return float(exact) if exact else a * b + c


def _maximum(a: Any, b: Any) -> Any:
    return a if a >= b or a != a else b


def _add(a: Any, b: Any) -> Any:
    return a | b if a.dtype == dt.bool_.numpy else a + b


def _multiply(a: Any, b: Any) -> Any:
    return a & b if a.dtype == dt.bool_.numpy else a * b


_REDUCTIONS: dict[str, Callable[[Any, Any], Any]] = {"add": _add, "mul": _multiply, "max": _maximum}

# Those that loops alone have, and those that need no more of NumPy than its function: they are
# most.
OPS: dict[Op, Callable[..., Any]] = {
    Op.ADD: operator.add,
    Op.SUB: operator.sub,
    Op.MUL: operator.mul,
    Op.LT: operator.lt,
    Op.EQ: operator.eq,
    Op.AND: np.bitwise_and,
    Op.OR: np.bitwise_or,
    Op.XOR: np.bitwise_xor,
    Op.WHERE: lambda cond, yes, no: yes if cond else no,
    Op.FMA: _fma,
    Op.LDEXP: lambda x, n: np.ldexp(x, int(np.clip(n, -5000, 5000))),
    Op.ANY: lambda cond: cond,
}
