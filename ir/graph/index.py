"""Affine integer expressions over loop variables: what views turn into. In: Vars. Out: canonical,
hashable Indexes.

An Index is const + sum of coef * term; a term is a Var, a Div or Mod of another Index, or a
Gathered (a loop-level Node). Two Indexes are equal if they print equal: `+ * // %` simplify at
construction, using the extents of the variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from math import gcd
from typing import TYPE_CHECKING

from ..symbolic.integer import Symbolic, whole_part
from ..symbolic.questions import has_several, is_below, is_same, is_unknown, value_of

if TYPE_CHECKING:
    from .graph import Node

_serials = count()
ANYWHERE = 1 << 40  # elements beyond an array: more than any has


class Var:
    """A loop variable, 0 <= var < extent. Identity is equality."""

    __slots__ = ("extent", "name", "order", "serial")

    def __init__(self, name: str, extent: int) -> None:
        self.name, self.extent, self.serial = name, extent, next(_serials)
        # of terms in an Index: variables as they were made, then the others by text
        self.order = (
            0,
            self.serial,
            "",
        )

    @property
    def bounds(self) -> tuple[int, int]:
        last = self.extent - 1
        return 0, last if isinstance(last, Symbolic) else max(last, 0)

    def __repr__(self) -> str:
        return self.name


def _is_upward(step: int) -> bool:
    """Is it greater than 0? A symbolic one that is known not to be less counts as such."""
    if isinstance(step, Symbolic) and is_below(-1, step):
        return True
    return step > 0


class _Quotient:
    """What Div and Mod share: immutable, equal by value."""

    __slots__ = ("_hash", "_order", "by", "index")
    __match_args__ = ("index", "by")

    def __init__(self, index: Index, by: int) -> None:
        self.index, self.by = index, by
        self._hash = hash((type(self), index, by))
        self._order: tuple[int, int, str] | None = None

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            type(other) is type(self) and is_same(other.by, self.by) and other.index == self.index
        )

    @property
    def order(self) -> tuple[int, int, str]:
        if self._order is None:
            self._order = 1, 0, str(self)
        return self._order


class Div(_Quotient):
    """floor(index / by)."""

    __slots__ = ()

    @property
    def bounds(self) -> tuple[int, int]:
        lo, hi = self.index.bounds
        return lo // self.by, hi // self.by

    def __repr__(self) -> str:
        return f"({self.index})//{self.by}"


class Mod(_Quotient):
    """index - by * floor(index / by)."""

    __slots__ = ("_quotient",)

    def __init__(self, index: Index, by: int) -> None:
        super().__init__(index, by)
        self._quotient: Index | None = None

    @property
    def bounds(self) -> tuple[int, int]:
        return 0, self.by - 1

    @property
    def quotient(self) -> Index:
        """floor(index / by), simplified."""
        if self._quotient is None:
            self._quotient = self.index // self.by
        return self._quotient

    def __repr__(self) -> str:
        return f"({self.index})%{self.by}"


@dataclass(frozen=True, eq=False)
class Gathered:
    """An int64 loop-level Node used as an index; `extent` is what its bounds check guarantees."""

    node: Node
    extent: int

    @property
    def bounds(self) -> tuple[int, int]:
        return 0, max(self.extent - 1, 0)

    @property
    def order(self) -> tuple[int, int, str]:
        return 1, 0, str(self)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Gathered)
            and other.node is self.node
            and is_same(other.extent, self.extent)
        )

    def __hash__(self) -> int:
        return hash((id(self.node), self.extent))

    def __repr__(self) -> str:
        return f"<{self.node.op.value}>"


Term = Var | Div | Mod | Gathered
Linear = dict[Term, int]


Terms = tuple[tuple[Term, int], ...]


class Index:
    """const + sum(coef * term): immutable, hashable, canonical."""

    __slots__ = ("_affine", "_bounds", "_hash", "const", "terms")
    terms: Terms
    const: int

    def __init__(self, terms: Linear | None = None, const: int = 0) -> None:
        kept = [tc for tc in terms.items() if not is_same(tc[1], 0)] if terms else []
        if len(kept) > 1:
            kept.sort(key=_order)
        self.terms, self.const = tuple(kept), const
        self._hash: int | None = None
        self._bounds: tuple[int, int] | None = None
        self._affine: bool | None = None

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((frozenset(self.terms), self.const))
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if (
            not isinstance(other, Index)
            or len(self.terms) != len(other.terms)
            or not is_same(self.const, other.const)
        ):
            return False
        coefs = dict(other.terms)  # in another order where terms print alike
        return all([t in coefs and is_same(coefs[t], c) for t, c in self.terms])

    def __add__(self, other: Index | int) -> Index:
        if not isinstance(other, Index):
            return self if is_same(other, 0) else _canonical(self.terms, self.const + other)
        a, b = self.terms, other.terms
        if _recombines(a) or _recombines(b):
            total = _sum(a, b)
            const = _recombine(total)
            return Index(total, self.const + other.const + const)
        if not b or not a or a[-1][0].order < b[0][0].order:
            return _canonical(a + b, self.const + other.const)
        return Index(_sum(a, b), self.const + other.const)

    def __sub__(self, other: Index | int) -> Index:
        return self + other * -1

    def __mul__(self, by: int) -> Index:
        if is_same(by, 1):
            return self
        return _canonical(
            () if is_same(by, 0) else tuple([(t, c * by) for t, c in self.terms]), self.const * by
        )

    def __floordiv__(self, by: int) -> Index:
        return self.divmod(by)[0]

    def __mod__(self, by: int) -> Index:
        return self.divmod(by)[1]

    def divmod(self, by: int) -> tuple[Index, Index]:
        """(self // by, self % by), split exactly wherever the bounds allow it."""
        if is_same(by, 1):
            return self, Index()
        whole, rest = self._divided(by)
        lo, hi = rest.bounds
        if is_same(lo // by, hi // by):
            return whole + lo // by, rest - lo // by * by
        g = by
        for _, largest in sorted(rest.terms, key=lambda tc: -_magnitude(tc[1])):
            g = _common(g, largest)
            high, low = rest._divided(g)
            # (g*e + low) // (g*m) with 0 <= low < g
            if is_below(1, g) and is_below(-1, low.bounds[0]) and is_below(low.bounds[1], g):
                q, r = high.divmod(by // g)
                return whole + q, r * g + low
        match rest.terms:
            case ((Div(index, first), 1),) if is_same(rest.const, 0):
                return whole + index // (first * by), Index({Mod(rest, by): 1})
            case ((Mod(index, outer), 1),) if is_same(rest.const, 0) and is_same(outer % by, 0):
                return whole + index // by % (outer // by), index % by
        return whole + Index({Div(rest, by): 1}), Index({Mod(rest, by): 1})

    def _divided(self, by: int) -> tuple[Index, Index]:
        """(whole, rest): by * whole + rest is the same; terms that divide are in the first."""
        if not isinstance(by, Symbolic):
            const = whole_part(self.const, by)
        else:
            const = self.const // by if is_same(self.const % by, 0) else 0
        whole = tuple([(t, c // by) for t, c in self.terms if is_same(c % by, 0)])
        rest = tuple([tc for tc in self.terms if not is_same(tc[1] % by, 0)])
        return _canonical(whole, const), _canonical(rest, self.const - const * by)

    @property
    def bounds(self) -> tuple[int, int]:
        """Least and greatest value, inclusive (exact for independent terms)."""
        if self._bounds is None:
            lo = hi = self.const
            for t, c in self.terms:
                a, b = t.bounds
                lo, hi = (lo + c * a, hi + c * b) if _is_upward(c) else (lo + c * b, hi + c * a)
            self._bounds = lo, hi
        return self._bounds

    def coef(self, term: Term) -> int:
        return next((c for t, c in self.terms if t == term), 0)

    @property
    def as_var(self) -> Var | None:
        """The variable this is, if it is one and nothing else."""
        match self.terms:
            case ((Var() as v, 1),) if is_same(self.const, 0):
                return v
        return None

    def substitute(
        self, by: Mapping[Var, Index], value: Callable[[Node], Node] = lambda n: n
    ) -> Index:
        """Replaces variables (also inside Div, Mod and, through `value`, gathered Nodes);
        simplifies again."""
        if self.is_affine:
            return self._substitute_affine(by)
        out = Index(const=self.const)
        for t, c in self.terms:
            match t:
                case Var():
                    new = by.get(t) or Index({t: 1})
                case Div(index, m):
                    new = index.substitute(by, value) // m
                case Mod(index, m):
                    new = index.substitute(by, value) % m
                case Gathered(n, extent):
                    new = Index({Gathered(value(n), extent): 1})
            out = out + new * c
        return out

    def _substitute_affine(self, by: Mapping[Var, Index]) -> Index:
        """The same for a sum of variables; most often some become constants."""
        kept, const = [], self.const
        for tc in self.terms:
            new = by.get(tc[0])  # type: ignore[arg-type]
            if new is None:
                kept.append(tc)
            elif not new.terms:
                const += tc[1] * new.const
            else:
                out = Index(const=self.const)
                for t, c in self.terms:
                    out = out + (by.get(t) or _canonical(((t, 1),), 0)) * c  # type: ignore[arg-type]
                return out
        return _canonical(tuple(kept), const)

    @property
    def is_affine(self) -> bool:
        """Whether its terms are variables."""
        if self._affine is None:
            self._affine = all([type(t) is Var for t, _ in self.terms])
        return self._affine

    def vars(self) -> set[Var]:
        """Every variable in it, also inside Div and Mod (not inside gathered Values)."""
        if self.is_affine:
            return {t for t, _ in self.terms}  # type: ignore[misc]
        out: set[Var] = set()
        for t, _ in self.terms:
            match t:
                case Var():
                    out.add(t)
                case Div(index, _) | Mod(index, _):
                    out |= index.vars()
        return out

    def at_hand(self, by: Mapping[Var, Index]) -> Index:
        """The same of other variables, with numbers for whatever is not known."""
        out = Index(const=value_of(self.const))
        for t, c in self.terms:
            match t:
                case Var():
                    new = by[t]
                case Div(index, m):
                    new = index.at_hand(by) // value_of(m)
                case Mod(index, m):
                    new = index.at_hand(by) % value_of(m)
                case _:
                    new = Index({t: 1})
            out = out + new * value_of(c)
        return out

    def values(self) -> list[Node]:
        """The loop-level Nodes it gathers through."""
        if self.is_affine:
            return []
        out: list[Node] = []
        for t, _ in self.terms:
            match t:
                case Gathered(n, _):
                    out.append(n)
                case Div(index, _) | Mod(index, _):
                    out.extend(index.values())
        return out

    def __repr__(self) -> str:
        parts = [str(t) if is_same(c, 1) else f"{c}*{t}" for t, c in self.terms]
        if not is_same(self.const, 0) or not parts:
            parts.append(str(self.const))
        return "+".join(parts).replace("+-", "-")


def _magnitude(coef: int) -> int:
    return ANYWHERE if isinstance(coef, Symbolic) else abs(coef)


def _common(a: int, b: int) -> int:
    """A factor of both."""
    if not isinstance(a, Symbolic) and not isinstance(b, Symbolic):
        return gcd(a, b)
    if is_same(a % b, 0):
        return b
    return a if is_same(b % a, 0) else 1


def _canonical(terms: Terms, const: int) -> Index:
    """An Index of terms that are in order, none of them 0."""
    out = Index.__new__(Index)
    out.terms, out.const, out._hash, out._bounds, out._affine = terms, const, None, None, None
    return out


def _order(tc: tuple[Term, int]) -> tuple[int, int, str]:
    return tc[0].order


def _sum(a: Terms, b: Terms) -> Linear:
    total = dict(a)
    for t, c in b:
        total[t] = total.get(t, 0) + c
    return total


def _recombines(terms: Terms) -> bool:
    """Whether there is a remainder, which may meet its quotient."""
    return any([type(t) is Mod for t, _ in terms])


def _recombine(total: Linear) -> int:
    """m*c*(e//m) + c*(e%m) becomes c*e, in place; returns the constant that e brings along."""
    const = 0
    while True:
        for t, c in total.items():
            if isinstance(t, Mod) and not is_same(c, 0):
                quotient = t.quotient
                if quotient.terms and all(
                    [is_same(total.get(u, 0), k * c * t.by) for u, k in quotient.terms]
                ):
                    break
        else:
            return const
        for u, _ in quotient.terms:
            del total[u]
        del total[t]
        for u, k in t.index.terms:
            total[u] = total.get(u, 0) + k * c
        const += (t.index.const - quotient.const * t.by) * c


def var(v: Var) -> Index:
    """The Index that is this variable."""
    return Index({v: 1})


def constant(value: int) -> Index:
    return Index(const=value)


@dataclass(frozen=True)
class Range:
    """A condition of a mask: lo <= index < hi."""

    index: Index
    lo: int
    hi: int

    @property
    def always(self) -> bool:
        """As far as that is known."""
        a, b = self.index.bounds
        return is_below(self.lo - 1, a) and is_below(b, self.hi)

    @property
    def never(self) -> bool:
        """As far as that is known."""
        a, b = self.index.bounds
        return is_below(b, self.lo) or is_below(self.hi - 1, a) or is_below(self.hi - 1, self.lo)

    @property
    def is_met(self) -> bool:
        """Does it hold for an index without terms? Asks."""
        return not self.index.terms and self.lo <= self.index.const < self.hi

    @property
    def beyond(self) -> int:
        """How far the index goes beyond the range, at the end where it goes further."""
        a, b = self.index.bounds
        below, above = self.lo - a, b - self.hi + 1
        if isinstance(below, Symbolic) or isinstance(above, Symbolic):
            return ANYWHERE
        return max(below, above)

    def divided(self) -> Range:
        """The same condition without a factor that all terms share."""
        coefs = [c for _, c in self.index.terms]
        if any(isinstance(c, Symbolic) for c in coefs) or (by := gcd(*coefs)) < 2:
            return self
        const = self.index.const
        index = Index({t: c // by for t, c in self.index.terms}, const // by)
        return Range(
            index,
            -((const - self.lo) // by) + const // by,
            -((const - self.hi) // by) + const // by,
        )

    def both(self, other: Range) -> Range:
        """This condition and another one on the same terms."""
        shift = other.index.const - self.index.const
        return Range(self.index, max(self.lo, other.lo - shift), min(self.hi, other.hi - shift))

    def substitute(
        self, by: Mapping[Var, Index], value: Callable[[Node], Node] = lambda n: n
    ) -> Range:
        return Range(self.index.substitute(by, value), self.lo, self.hi)

    def __repr__(self) -> str:
        return f"{self.lo}<={self.index}<{self.hi}"


Mask = tuple[Range, ...]  # all of them must hold


def mask_of(ranges: Iterable[Range]) -> Mask:
    """A canonical mask: one condition for the same terms, none that always holds. Asks for those of
    no terms."""
    by_terms: dict[tuple[tuple[Term, int], ...], Range] = {}
    for r in (r.divided() for r in ranges if not (r.always or r.is_met)):
        known = by_terms.get(r.index.terms)
        by_terms[r.index.terms] = r if known is None else known.both(r)
    return tuple(by_terms.values())


def stretch(index: Index, v: Var) -> int:
    """How many neighbouring values of v share a value of the index: 2 for 3*a + (4*b + v) // 2; 1
    for other forms, or where that is not known."""
    terms = [t for t, c in index.terms if v in Index({t: 1}).vars()]
    match terms:
        case [Div(inner, by) as term] if index.coef(term) == 1 and inner.coef(v) == 1:
            rest = inner - Index({v: 1})
            return (
                by
                if v not in rest.vars()
                and not is_unknown(by)
                and rest.const % by == 0
                and all(c % by == 0 for _, c in rest.terms)
                else 1
            )
    return 1


def row_major(indices: Iterable[Index], shape: Iterable[int]) -> Index:
    """The position in row-major order of a multi-dimensional index."""
    out = Index()
    for i, d in zip(indices, shape, strict=True):
        out = out * d + i if out.terms or out.const else i
    return out


def row_major_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements of the dense layout."""
    strides, step = [], 1
    for d in reversed(shape):
        strides.append(step)
        step *= d
    return tuple(reversed(strides))


def unravel(position: Index, shape: tuple[int, ...]) -> list[Index]:
    """The multi-dimensional index of a row-major position within the shape; size-1 axes are
    constant 0. The first other axis takes what is left, also of a position that a mask excludes."""
    first = next((a for a, d in enumerate(shape) if has_several(d)), len(shape))
    out: list[Index] = []
    for d in reversed(shape[first + 1 :]):
        position, r = position.divmod(d) if has_several(d) else (position, Index())
        out.append(r)
    if first < len(shape):
        out.append(position)
    return [Index()] * first + out[::-1]
