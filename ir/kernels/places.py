"""Places of reads in the loops of a kernel. In: the loops of a unit, what it reads. Out: keys,
equal for equal places.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import prod

from ..graph.graph import Node
from ..graph.index import Index, Mask, Var, var
from ..symbolic.questions import has_several

Name = tuple[str, int, int]  # of a loop axis: outer or inner, which one, its extent
Place = tuple[object, ...]


@dataclass(frozen=True)
class Read:
    """What a unit reads: base[index] where the mask holds, else 0."""

    base: Node
    index: tuple[Index, ...]
    mask: Mask


class Places:
    """Elements that a unit computes and reads, in terms of loop axes that all units of a kernel
    share.

    `axes`: the variables that each axis of the unit was split into. Equal places are one element of
    the same Node.
    """

    def __init__(
        self, outer: tuple[Var, ...], inner: tuple[Var, ...], axes: list[list[Var]]
    ) -> None:
        self.inner = prod([v.extent for v in inner])  # elements
        self.names: dict[Var, Name] = {v: ("outer", i, v.extent) for i, v in enumerate(outer)}
        self.names.update((v, ("inner", i, v.extent)) for i, v in enumerate(inner))
        self.own = tuple(
            [(0, frozenset((self.names[v], c) for v, c in _coefficients(sub))) for sub in axes]
        )
        self._inside = {*inner}
        self._of: dict[int, Place] = {}
        self._reach: dict[int, int] = {}

    def of(self, r: Read) -> Place:
        """The index of a read, and its conditions."""
        place = self._of.get(id(r))
        if place is None:
            place = tuple([self._element(e) for e in r.index])
            if r.mask:
                place = place, *((self._element(m.index), m.lo, m.hi) for m in r.mask)
            self._of[id(r)] = place
        return place

    def reach(self, r: Read) -> int:
        """How many different elements the inner loops read."""
        count = self._reach.get(id(r))
        if count is None:
            used = {v for e in r.index for v in e.vars()} & self._inside
            count = self._reach[id(r)] = prod([v.extent for v in used])
        return count

    def _element(self, e: Index) -> object:
        if e.is_affine:
            return e.const, frozenset((self.names.get(v, v), c) for v, c in e.terms)  # type: ignore[arg-type]
        return e.substitute({v: var(_axis(*name)) for v, name in self.names.items()})


def _coefficients(sub: list[Var]) -> Iterator[tuple[Var, int]]:
    """Of the variables that an axis was split into, in row-major order; those of extent 1 are no
    part of an index."""
    step = 1
    for v in reversed(sub):
        if has_several(v.extent):
            yield v, step
        step *= v.extent


@cache
def _axis(kind: str, number: int, extent: int) -> Var:
    return Var(f"{kind}{number}", extent)
