"""A program that serves many sizes. In: two structures that differ in extents. Out: executables for
all sizes for which its guards hold.

Kernels are compiled once and take extents as arguments. For each size the program is laid out: its
arguments are computed, the order of kernels and the places of buffers planned, as they would be for
that size alone. So it has the same order of sums and the same memory, and nothing is compiled.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ...ir.graph.graph import Node, toposort
from ...ir.graph.op import ELEMENTWISE
from ...ir.graph.region import Loop
from ...ir.symbolic.decisions import ask_residue
from ...ir.symbolic.guard import Guard, implies
from ...ir.symbolic.integer import Symbolic
from ...ir.symbolic.questions import text
from ...ir.symbolic.scope import LEAST, Condition
from ..backends.kinds import current_backend
from ..compile import Compiled, build
from ..structure import Structure
from .extents import Apart, together
from .formulas import Formulas

LARGEST = 1 << 48  # elements of an axis in any memory


@dataclass
class Generic:
    """`structure`: one with formulas for extents."""

    structure: Structure
    formulas: Formulas
    compiled: Compiled
    kept: int = 0  # sizes on disk

    def values_of(self, parts: Apart, structure: Structure) -> tuple[int, ...] | None:
        """What its symbols are in a structure with the same rest, if it serves that one."""
        if not varying(self.structure, structure) <= {*self.structure.varying}:
            return None
        values = self.formulas.values_of(parts.extents)
        return values if values and self.formulas.scope.holds(values) else None

    def __str__(self) -> str:
        """`a program of float32[n, 784] serves n >= 2 where n <= 2048`."""
        inputs = [v for v in self.structure.values() if v.shape]
        shapes = dict.fromkeys(f"{v.dtype.name}[{', '.join(map(text, v.shape))}]" for v in inputs)
        shapes |= dict.fromkeys(f"{text(n)} iterations" for n in self._lengths())
        scope = self.formulas.scope
        symbols = ", ".join(f"{s} >= {LEAST}" for s in scope.values)
        guards = dict.fromkeys(str(g) for g in scope.guards if not _goes_without(g, scope.guards))
        where = f" where {', '.join(guards)}" if guards else ""
        return f"a program of {', '.join(shapes) or 'constants'} serves {symbols}{where}"

    def _lengths(self) -> list[int]:
        """Those of its loops that are not known."""
        loops = [spec for spec in self.structure.regional if isinstance(spec, Loop)]
        return [loop.length for loop in loops if isinstance(loop.length, Symbolic)]

    def laid_out(self, values: Sequence[int]) -> Compiled:
        """The program for these values of its symbols."""
        scope = self.formulas.scope
        with scope.at(values):
            program, keys, executable = self.compiled.arranged(scope)
        return replace(self.compiled, program=program, kernel_keys=keys, executable=executable)


def _goes_without(guard: Guard | Condition, others: Iterable[Guard | Condition]) -> bool:
    """Does it exclude nothing but sizes that no memory has, or that another one excludes, too?"""
    if not isinstance(guard, Guard):
        return False
    if guard.relation == "<=" and dict(guard.what.terms).get((), 0) < -LARGEST:
        return True
    return any(isinstance(g, Guard) and g is not guard and implies(g, guard) for g in others)


def generic(first: Structure, second: Structure, parts: Apart, found: Formulas) -> Generic:
    """A program for two structures: `parts` are those of the second, `found` the formulas of both.
    Raises NotSymbolic where the compiler has to know the sizes."""
    uses = varying(first, second) | {*first.varying}
    key = together(parts.rest, found.extents)
    symbolic = replace(second, key=key, varying=tuple(sorted(uses)))
    inside, backend = symbolic.inside, current_backend(second.device)
    for n, same in zip(inside, second.inside, strict=True):
        n.site = same.site
    unfolded = symbolic.unfolded()
    _ask_residues([*toposort(unfolded[0]), *inside])
    return Generic(symbolic, found, build(*unfolded, backend, found.scope))


def _ask_residues(nodes: Sequence[Node]) -> None:
    """Values that meet have the same formulas for extents, or those that sizes of one residue alone
    make the same. Raises NotSymbolicUnless for these: then nothing is divided."""
    for n in nodes:
        if n.op in ELEMENTWISE:
            for s in n.src[1:]:
                for a, b in zip(n.src[0].shape, s.shape, strict=True):
                    ask_residue(a - b)


def varying(one: Structure, other: Structure) -> set[int]:
    """The uses of constants that differ, or are inputs of the other."""
    a, b = one.constants, other.constants
    differing = {i // 8 for i in range(0, len(a), 8) if a[i : i + 8] != b[i : i + 8]}
    return differing | {*other.varying}
