"""Symbolic integers in loops as arguments. In: the loops of a kernel over sizes that are not known.
Out: the same with a Param for each symbol and quotient.

    for k < ⟨n⟩ serial: sum += x[⟨n⟩*g + k]    ->    for k < n0 serial: sum += x[n0*g + k]

So the code is the same for all sizes, and for all programs that have other extents there. It knows
of an argument only how great it is at least, and of which number it is a multiple.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import isinf

from ...ir.graph.graph import Node, scalar_node
from ...ir.graph.index import Div, Gathered, Index, Mask, Mod, Range, Term, Var
from ...ir.graph.op import Op
from ...ir.loops.loop import SCRATCH, UNROLL, Alloc, Buf, Check, Extent, For, Param, Stmt
from ...ir.loops.walk import Substitution
from ...ir.symbolic.arguments import Argument, argument
from ...ir.symbolic.integer import NotSymbolic, NotSymbolicHere, Symbolic, of_atom, polynomial
from ...ir.symbolic.multiples import factored, multiples
from ...ir.symbolic.polynomial import Atom
from ...ir.symbolic.scope import Scope
from .lowered import Lowered


def with_arguments(lowered: Lowered, most_scratch: int, scope: Scope) -> Lowered:
    """Loops of arguments, the same if there are none; `scope` has the symbols. Scratch memory whose
    size is an argument takes at most so many bytes a buffer, which is a guard."""
    loops = lowered.loops
    made = _Arguments((p.name for p in loops.params), most_scratch, multiples(scope.guards))
    phases = [made.loop(phase) for phase in loops.phases]
    if not made.arguments:
        return lowered
    # whoever launches a phase knows no arguments but whole ones
    blocks = {i: p.extent for i, p in enumerate(loops.phases) if isinstance(p.extent, Symbolic)}
    grids = {i: Param(f"grid{i}") for i in blocks}
    phases = [replace(p, extent=grids.get(i, p.extent)) for i, p in enumerate(phases)]
    valued = len(lowered.params)  # the numbers of sites have no values yet
    arguments = [Param(a.name, a) for a in made.arguments]
    params = (*loops.params[:valued], *arguments, *grids.values(), *loops.params[valued:])
    return replace(
        lowered,
        loops=replace(loops, phases=phases, params=params),
        params=(*lowered.params, *made.arguments.values(), *blocks.values()),
    )


class _Arguments(Substitution):
    """`arguments`, each with what it stands for."""

    def __init__(
        self, taken: Iterable[str], most_scratch: int, multiples: Mapping[Atom, int]
    ) -> None:
        super().__init__({})
        self._multiples = multiples
        self.buffers = self._scratch = dict[Buf, Buf]()
        self._most_scratch = most_scratch
        self.arguments: dict[Argument, int] = {}
        self._known: dict[Atom, int] = {}
        self._variables: dict[Var, Var] = {}
        self._taken = set(taken)

    def number(self, x: int) -> int:
        """An integer of arguments."""
        return polynomial(factored(x, self._multiples), self._argument)

    def _argument(self, atom: Atom) -> int:
        """The argument, or its opposite where only that has a least value."""
        low, high = atom.bounds
        sign = -1 if isinf(low) and not isinf(high) else 1
        if atom not in self._known:
            number = len(self.arguments)
            name, least = f"n{number}", low if sign > 0 else -high
            if name in self._taken:
                raise NotSymbolic(f"there is another {name}")
            made = argument(name, None if isinf(least) else int(least), number)
            self.arguments[made] = sign * of_atom(atom)
            self._known[atom] = sign * of_atom(made)
        return self._known[atom]

    def extent(self, e: Extent) -> Extent:
        """Of a loop."""
        return e if isinstance(e, Param) else self.number(e)

    def variable(self, v: Var) -> Var:
        """The same, or one whose extent is an argument."""
        if not isinstance(v.extent, Symbolic):
            return v
        if v not in self._variables:
            self._variables[v] = Var(v.name, self.number(v.extent))
        return self._variables[v]

    def _replaced(self, n: Node) -> Node:
        if n.op is Op.CONST and isinstance(n.arg, Symbolic):
            return scalar_node(Op.VAR, (), Index(const=self.number(n.arg)), n.dtype)
        return super()._replaced(n)

    def index(self, index: Index) -> Index:
        """Its coefficients, too."""
        terms = {self._term(t): self.number(c) for t, c in index.terms}
        const = self.number(index.const)
        pairs = zip(terms.items(), index.terms, strict=True)
        if const is index.const and all([t is s and c is d for (t, c), (s, d) in pairs]):
            return index
        return Index(terms, const)

    def _term(self, t: Term) -> Term:
        match t:
            case Var():
                return self.variable(t)
            case Gathered(n, extent):
                return Gathered(self.node(n), self.number(extent))
            case Div(index, by):
                new, by_ = self.index(index), self.number(by)
                return t if new is index and by_ is by else Div(new, by_)
            case Mod(index, by):
                new, by_ = self.index(index), self.number(by)
                return t if new is index and by_ is by else Mod(new, by_)
        raise AssertionError(t)

    def mask(self, mask: Mask) -> Mask:
        """Its bounds, too."""
        return tuple(
            [Range(self.index(r.index), self.number(r.lo), self.number(r.hi)) for r in mask]
        )

    def loop(self, s: For) -> For:
        """Its extent, too."""
        if s.kind == UNROLL and isinstance(s.extent, Symbolic):
            raise NotSymbolic(f"a loop of {s.extent} iterations would be unrolled")
        return replace(
            s,
            var=self.variable(s.var),
            extent=self.extent(s.extent),
            total=None if s.total is None else self.extent(s.total),
            base=self.index(s.base),
            body=self.body(s.body),
        )

    def _buffer(self, buf: Buf) -> Buf:
        """A buffer whose size is an argument."""
        if buf.space != SCRATCH or not self._most_scratch:
            raise NotSymbolic(f"{buf} would take {buf.size} elements")
        if buf.size * buf.dtype.itemsize > self._most_scratch:
            raise NotSymbolicHere(f"{buf} would take {buf.size} elements")
        return replace(buf, size=self.number(buf.size))

    def statement(self, s: Stmt) -> Stmt:
        match s:
            case For():
                return self.loop(s)
            case Alloc(buf) if isinstance(buf.size, Symbolic):
                if buf not in self._scratch:
                    self._scratch[buf] = self._buffer(buf)
            case Check():
                new = super().statement(s)
                assert isinstance(new, Check)
                return replace(new, extent=self.number(s.extent))
        return super().statement(s)
