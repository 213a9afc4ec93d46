"""Indexes and masks as C++ expressions. In: an Index or a Mask, the names of variables. Out: text,
32-bit where possible.

Sums are unsigned and wrap: an index that is used is one of memory, so that 32 bits hold it if its
greatest value has no more. What is divided is never negative. Where bounds are 2**32 or more, or a
value may be negative, it is a long long.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ....ir.graph.graph import Node
from ....ir.graph.index import Div, Gathered, Index, Mask, Mod, Range, Var

LIMIT = 1 << 32


def is_wide(v: Var) -> bool:
    """Whether a variable is a long long, not unsigned."""
    return v.extent > LIMIT


@dataclass
class Indices:
    """Writes Indexes; `value` gives the name of a gathered Node."""

    value: Callable[[Node], str]
    names: dict[Var, str] = field(default_factory=dict)

    def place(self, index: Index) -> str:
        """Where an element is: below 0 only for an input that is seen backwards."""
        lo, hi = index.bounds
        if lo < 0 and max(-lo, hi) < LIMIT // 2:
            return f"static_cast<int>({self.sum(index, False)})"
        text = self.sum(index, lo < 0 or hi >= LIMIT)
        return (
            text[1:-1]
            if text.startswith("(") and len(index.terms) == 1 and not index.const
            else text
        )

    def number(self, index: Index) -> str:
        """The value, as an unsigned or, where that does not hold it, a long long."""
        lo, hi = index.bounds
        return self.sum(index, lo < 0 or hi >= LIMIT)

    def sum(self, index: Index, wide: bool) -> str:
        parts = [self.product(t, c, wide) for t, c in index.terms]
        if index.const or not parts:
            parts.append(_constant(index.const, wide))
        text = parts[0]
        for part in parts[1:]:
            text += f" - {part[1:]}" if part.startswith("-") else f" + {part}"
        return text

    def product(self, t: object, c: int, wide: bool) -> str:
        factor = self.term(t, wide)
        if c == 1:
            return factor
        return f"{_constant(c, wide)} * {factor}"

    def term(self, t: object, wide: bool) -> str:
        match t:
            case Var():
                return _as(self.names[t], is_wide(t), wide)
            case Gathered(n, extent):
                return _as(f"weft_clamped({self.value(n)}, {extent})", True, wide)
            case Div(index, by):
                return self.quotient(index, by, wide)
            case Mod(index, by):
                return self.remainder(index, by, wide)
        raise AssertionError(t)

    def divided(self, index: Index, by: int) -> tuple[str, int, bool]:
        """The dividend, made not negative by adding a multiple of `by`; that multiple; is it a long
        long."""
        blocks = max(0, -(index.bounds[0] // by))
        index = index + blocks * by
        wide = index.bounds[1] >= LIMIT
        text = self.sum(index, wide)
        is_one = len(index.terms) == 1 and index.terms[0][1] == 1 and not index.const
        return (text if is_one else f"({text})"), blocks, wide

    def quotient(self, index: Index, by: int, wide: bool) -> str:
        text, blocks, is_long = self.divided(index, by)
        quotient = _as(f"({text} / {_constant(by, is_long)})", is_long, wide)
        return f"({quotient} - {_constant(blocks, wide)})" if blocks else quotient

    def remainder(self, index: Index, by: int, wide: bool) -> str:
        text, _, is_long = self.divided(index, by)
        return _as(f"({text} % {_constant(by, is_long)})", is_long, wide)

    # ------------------------------------------------------------ masks

    def mask(self, mask: Mask) -> str:
        """The condition; empty where it always holds."""
        return " && ".join(self.range(r) for r in mask if not r.always)

    def range(self, r: Range) -> str:
        """lo <= index < hi: only the half that is not certain, or both as one unsigned
        comparison."""
        lo, hi = r.index.bounds
        if r.never:
            return "false"
        if r.lo <= lo and lo >= 0 and hi < LIMIT:
            return f"{self.sum(r.index, False)} < {_constant(r.hi, False)}"
        if hi < r.hi and lo >= 0 and hi < LIMIT:
            return f"{self.sum(r.index, False)} >= {_constant(r.lo, False)}"
        shifted = r.index - r.lo
        least, most = shifted.bounds
        if (
            most < LIMIT and least > r.hi - r.lo - LIMIT
        ):  # what is below lo wraps to hi - lo or more
            return f"{self.sum(shifted, False)} < {_constant(r.hi - r.lo, False)}"
        return f"static_cast<unsigned long long>({self.sum(shifted, True)}) < {r.hi - r.lo}ull"


def _constant(value: int, wide: bool) -> str:
    if wide:
        return f"{value}ll"
    return str(value) if -(1 << 31) < value < 1 << 31 else f"{value % LIMIT}u"


def _as(text: str, is_long: bool, wide: bool) -> str:
    """An unsigned or long long as the other one."""
    if is_long == wide:
        return text
    bare = text[1:-1] if text.startswith("(") else text
    return f"static_cast<{'long long' if wide else 'unsigned'}>({bare})"
