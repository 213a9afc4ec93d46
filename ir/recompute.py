"""How often each value of a kernel in the making would be evaluated. In: units, their edges and outer axes. Out: counts.

y[i] = x[i] + x[i-1]      evaluates the x of one element twice; ten such steps in one kernel, 1024 times
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from .graph import Node, Op
from .index import Index, Var, var
from .kernel import Read, Unit

Outer = tuple[Var, ...]
Users = Mapping[Node, Sequence[tuple[Unit, Read]]]


def copies(units: Iterable[Unit], users: Users, outer: Mapping[Unit, Outer | None]) -> dict[Unit, int]:
    """For each unit, at how many different places relative to the loops its value is needed."""
    count: dict[Unit, int] = {}
    for u in sorted(units, key=lambda u: -u.position):
        places: dict[object, int] = {}
        for c, r in users.get(u.node, ()):
            if c in count and c is not u:
                place = _place(c.inner_vars(outer[c] or ()), outer[c] or (), r)
                places[place] = max(places.get(place, 0), count[c])
        count[u] = 1 if u.node.op is Op.REDUCE else max(1, sum(places.values()))
    return count


def _place(inner: Outer, outer: Outer, r: Read) -> object:
    """The index of a read in terms of loop axes that all units of a kernel share."""
    by = {v: ("outer", i, v.extent) for i, v in enumerate(outer)} | {v: ("inner", i, v.extent) for i, v in enumerate(inner)}
    plain = [e.as_var for e in r.index]
    if all(v in by or not e.terms for v, e in zip(plain, r.index, strict=True)):
        return tuple(by.get(v, e.const) for v, e in zip(plain, r.index, strict=True))
    shared: dict[Var, Index] = {v: var(_axis(*key)) for v, key in by.items()}
    return tuple(e.substitute(shared) for e in r.index)


@cache
def _axis(kind: str, number: int, extent: int) -> Var:
    return Var(f"{kind}{number}", extent)
