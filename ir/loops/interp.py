"""Runs Loops an element at a time: the meaning of the language. In: Loops, flat arrays, params. Out: failed checks.

A lane loop is a loop, an accumulator an array, a Reduce one combination. Arrays are changed in place. The value of a
statement is computed whether its mask holds or not: a LOAD that may lie outside its buffer needs a mask of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ..graph import dtype as dt
from ..graph.graph import Node
from ..graph.index import Div, Gathered, Index, Mask, Mod, Var
from ..graph.op import Op
from ..ops.table import VALUES
from .loop import Alloc, Buf, Check, Commit, Copy, Extent, For, If, Loops, Matrix, Multiply, Prefetch, Reduce, Stmt, Store, Wait
from .tensor_core_layout import places
from .walk import postorder

Array = np.ndarray[Any, Any]
Failure = tuple[int, int, int]  # site, position, index value


def run(loops: Loops, buffers: Sequence[Array], params: Mapping[str, int] | Sequence[int] = ()) -> list[Failure]:
    """Runs every phase over all its chunks; gives the failures of Checks, the lowest (site, position) first."""
    named = params if isinstance(params, Mapping) else dict(zip((p.name for p in loops.params), params, strict=True))
    machine = _Machine(dict(zip(loops.buffers, buffers, strict=True)), named)
    with np.errstate(all="ignore"):
        machine.body(list(loops.phases))
    return sorted(set(machine.failures))


class _Machine:
    def __init__(self, memory: dict[Buf, Array], params: Mapping[str, int]) -> None:
        self.memory, self.params = memory, params
        self.vars: dict[Var, int] = {}
        self.failures: list[Failure] = []
        self.copies: list[list[Callable[[], None]]] = [[]]  # on their way, by group; the last one is still open

    # ------------------------------------------------------------ statements

    def body(self, body: list[Stmt]) -> None:
        for s in body:
            match s:
                case For():
                    self.loop(s)
                case If(cond, inside):
                    if self.holds(cond):
                        self.body(inside)
                case Alloc(buf, init):
                    self.memory[buf] = np.full(buf.size, 0 if init is None else init, buf.dtype.numpy)
                case Store(buf, index, node, mask):
                    value = self.value(node)
                    if self.holds(mask):
                        self.memory[buf][self.place(buf, index)] = value
                case Reduce():
                    self.reduce(s)
                case Check():
                    self.check(s)
                case Prefetch():
                    pass
                case Copy():
                    self.copy(s)
                case Commit():
                    self.copies.append([])
                case Wait(groups):
                    self.wait(groups)
                case Multiply(acc, rows, lanes, (m, n, k), part):
                    of_row, of_lane = places((m, n), part)
                    total = self.tile(rows, m, k) @ self.tile(lanes, n, k).T
                    self.memory[acc] += total[of_row, of_lane].astype(np.float32)

    def loop(self, s: For) -> None:
        for i in range(self.extent(s.extent)):
            if s.total is None or self.at(s.base) + i < self.extent(s.total):
                self.vars[s.var] = i
                self.body(s.body)

    def extent(self, e: Extent) -> int:
        return e if isinstance(e, int) else self.params[e.name]

    def reduce(self, s: Reduce) -> None:
        value = self.value(s.value)
        if self.holds(s.mask):
            array, i = self.memory[s.buf], self.place(s.buf, s.index)
            array[i] = _REDUCTIONS[s.op](array.dtype.type(array[i]), value)

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
        return all(r.lo <= self.at(r.index) < r.hi for r in mask)

    def place(self, buf: Buf, index: Index) -> int:
        """An element's position; machine code would read or write foreign memory where this raises."""
        at, size = self.at(index), len(self.memory[buf])
        if not 0 <= at < size:
            raise IndexError(f"{buf}[{index}]: {at} is outside 0..{size}")
        return at

    def at(self, index: Index) -> int:
        return index.const + sum(c * self.term(t) for t, c in index.terms)

    def term(self, t: object) -> int:
        match t:
            case Var():
                return self.vars[t]
            case Div(index, by):
                return self.at(index) // by
            case Mod(index, by):
                return self.at(index) % by
            case Gathered(n, extent):
                value = int(self.value(n))
                return value if 0 <= value < extent else 0  # a Check reports it
        raise AssertionError(t)

    def value(self, root: Node) -> Any:
        """The scalar a Node stands for now."""
        known: dict[Node, Any] = {}
        for n in postorder([root]):
            known[n] = self.one(n, [known[s] for s in n.src])
        return known[root]

    def one(self, n: Node, src: list[Any]) -> Any:
        scalar = n.dtype.numpy.type
        match n.op:
            case Op.CONST:
                return scalar(n.arg)
            case Op.VAR:
                return np.int64(self.at(n.arg))
            case Op.LOAD:
                buf, index, mask = n.arg
                return self.memory[buf][self.place(buf, index)] if self.holds(mask) else scalar(0)
            case op if op in OPS:
                return scalar(OPS[op](*src))
        return scalar(np.asarray(VALUES[n.op](n, *map(np.asarray, src)))[()])


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

# Those that loops alone have, and those that need no more of NumPy than its function: they are most.
OPS: dict[Op, Callable[..., Any]] = {
    Op.ADD: np.add,
    Op.SUB: np.subtract,
    Op.MUL: np.multiply,
    Op.LT: np.less,
    Op.EQ: np.equal,
    Op.AND: np.bitwise_and,
    Op.OR: np.bitwise_or,
    Op.XOR: np.bitwise_xor,
    Op.WHERE: lambda cond, yes, no: yes if cond else no,
    Op.FMA: _fma,
    Op.LDEXP: lambda x, n: np.ldexp(x, int(np.clip(n, -5000, 5000))),
    Op.ANY: lambda cond: cond,
}
