"""Indexes and masks as C++ expressions. In: an Index or a Mask, the names of variables. Out: text,
32-bit where possible.

Sums are unsigned and wrap: an index that is used is one of memory, so that 32 bits hold it if its
greatest value has no more. What is divided is never negative. Where bounds are 2**32 or more, or a
value may be negative, it is a long long; so is what depends on arguments of the kernel, which may
be of any size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ....ir.graph.graph import Node
from ....ir.graph.index import Div, Gathered, Index, Mask, Mod, Range, Var
from ....ir.symbolic.integer import NotSymbolic, Symbolic
from ....ir.symbolic.polynomial import Atom
from ....ir.symbolic.questions import is_below, is_same
from ....ir.symbolic.quotient import Quotient

LIMIT = 1 << 32


def is_wide(v: Var) -> bool:
    """Whether a variable is a long long, not unsigned."""
    return not is_below(v.extent, LIMIT + 1)


def fits(index: Index) -> bool:
    """Whether an unsigned holds all its values."""
    lo, hi = index.bounds
    return is_below(-1, lo) and is_below(hi, LIMIT)


@dataclass
class Indices:
    """Writes Indexes; `value` gives the name of a gathered Node."""

    value: Callable[[Node], str]
    names: dict[Var, str] = field(default_factory=dict)
    arguments: dict[Atom, str] = field(default_factory=dict)  # of symbolic integers

    def constant(self, value: int, wide: bool) -> str:
        """A number, perhaps of arguments."""
        if isinstance(value, Symbolic):
            return _as(self.polynomial(value), True, wide)
        if wide:
            return f"{value}ll"
        return str(value) if -(1 << 31) < value < 1 << 31 else f"{value % LIMIT}u"

    def polynomial(self, value: Symbolic) -> str:
        """A long long."""
        terms = [
            " * ".join(([f"{c}ll"] if c != 1 or not m else []) + [self.argument(a) for a in m])
            for m, c in value.terms
        ]
        text = " + ".join(terms)
        return text if text.isidentifier() else f"({text})"

    def argument(self, a: Atom) -> str:
        """Its name, or a quotient of arguments that an unrolled loop has made. Raises NotSymbolic
        where that may be below 0."""
        if a in self.arguments:
            return self.arguments[a]
        if not isinstance(a, Quotient) or not is_below(-1, a.of):
            raise NotSymbolic(f"the code of a kernel would need {a}")
        of, by = (self.constant(x, True) for x in (a.of, a.by))
        return f"({of} / {by})"

    def place(self, index: Index) -> str:
        """Where an element is: below 0 only for an input that is seen backwards."""
        lo, hi = index.bounds
        if not is_below(-1, lo) and is_below(-lo, LIMIT // 2) and is_below(hi, LIMIT // 2):
            return f"static_cast<int>({self.sum(index, False)})"
        text = self.sum(index, not fits(index))
        alone = is_same(index.const, 0) and len(index.terms) == 1
        is_term = alone and is_same(index.terms[0][1], 1)
        return text[1:-1] if is_term and text.startswith("(") else text

    def number(self, index: Index) -> str:
        """The value, as an unsigned or, where that does not hold it, a long long."""
        return self.sum(index, not fits(index))

    def sum(self, index: Index, wide: bool) -> str:
        parts = [self.product(t, c, wide) for t, c in index.terms]
        if not is_same(index.const, 0) or not parts:
            parts.append(self.constant(index.const, wide))
        text = parts[0]
        for part in parts[1:]:
            text += f" - {part[1:]}" if part.startswith("-") else f" + {part}"
        return text

    def product(self, t: object, c: int, wide: bool) -> str:
        factor = self.term(t, wide)
        if is_same(c, 1):
            return factor
        return f"{self.constant(c, wide)} * {factor}"

    def term(self, t: object, wide: bool) -> str:
        match t:
            case Var():
                return _as(self.names[t], is_wide(t), wide)
            case Gathered(n, extent):
                return _as(f"weft_clamped({self.value(n)}, {self.bare(extent)})", True, wide)
            case Div(index, by):
                return self.quotient(index, by, wide)
            case Mod(index, by):
                return self.remainder(index, by, wide)
        raise AssertionError(t)

    def divided(self, index: Index, by: int) -> tuple[str, int, bool]:
        """The dividend, made not negative by adding a multiple of `by`; that multiple; is it a long
        long."""
        low = index.bounds[0]
        blocks = 0 if is_below(-1, low) else -(low // by)
        index = index + blocks * by
        wide = isinstance(by, Symbolic) or not is_below(index.bounds[1], LIMIT)
        text = self.sum(index, wide)
        is_one = len(index.terms) == 1 and is_same(index.terms[0][1], 1) and is_same(index.const, 0)
        return (text if is_one else f"({text})"), blocks, wide

    def quotient(self, index: Index, by: int, wide: bool) -> str:
        text, blocks, is_long = self.divided(index, by)
        quotient = _as(f"({text} / {self.constant(by, is_long)})", is_long, wide)
        if is_same(blocks, 0):
            return quotient
        return f"({quotient} - {self.constant(blocks, wide)})"

    def remainder(self, index: Index, by: int, wide: bool) -> str:
        text, _, is_long = self.divided(index, by)
        return _as(f"({text} % {self.constant(by, is_long)})", is_long, wide)

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
        if any(isinstance(x, Symbolic) for x in (r.lo, r.hi, lo, hi)):
            return self.any_range(r)
        if r.lo <= lo and lo >= 0 and hi < LIMIT:
            return f"{self.sum(r.index, False)} < {self.constant(r.hi, False)}"
        if hi < r.hi and lo >= 0 and hi < LIMIT:
            return f"{self.sum(r.index, False)} >= {self.constant(r.lo, False)}"
        shifted = r.index - r.lo
        least, most = shifted.bounds
        if (
            most < LIMIT and least > r.hi - r.lo - LIMIT
        ):  # what is below lo wraps to hi - lo or more
            return f"{self.sum(shifted, False)} < {self.constant(r.hi - r.lo, False)}"
        return f"static_cast<unsigned long long>({self.sum(shifted, True)}) < {r.hi - r.lo}ull"

    def any_range(self, r: Range) -> str:
        """The halves that are not certain, of long longs."""
        lo, hi = r.index.bounds
        text = self.sum(r.index, True)
        below, above = is_below(r.lo - 1, lo), is_below(hi, r.hi)
        parts = [] if below else [f"{text} >= {self.constant(r.lo, True)}"]
        parts += [] if above else [f"{text} < {self.constant(r.hi, True)}"]
        return " && ".join(parts)

    def bare(self, value: int) -> str:
        """An argument of a function that takes a long long."""
        return self.constant(value, True) if isinstance(value, Symbolic) else str(value)


def _as(text: str, is_long: bool, wide: bool) -> str:
    """An unsigned or long long as the other one."""
    if is_long == wide:
        return text
    bare = text[1:-1] if text.startswith("(") else text
    return f"static_cast<{'long long' if wide else 'unsigned'}>({bare})"
