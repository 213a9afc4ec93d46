"""How often each value of a kernel in the making would be evaluated. In: units, their edges and outer axes. Out: counts.

    y[i] = x[i] + x[i-1]      evaluates the x of one element twice; ten such steps in one kernel, 1024 times
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from .graph import Node
from .index import Index, Var, var
from .kernel import Read, Unit
from .op import Op

Outer = tuple[Var, ...]
Users = Mapping[Node, Sequence[tuple[Unit, Read]]]


def copies(units: Iterable[Unit], users: Users, outer: Mapping[Unit, Outer | None]) -> dict[Unit, int]:
    """For each unit, at how many different places relative to the loops its value is needed."""
    count: dict[Unit, int] = {}
    for u in sorted(units, key=lambda u: -u.position):
        reads = [(c, r) for c, r in users.get(u.node, ()) if c in count and c is not u]
        if u.node.op is Op.REDUCE or not reads:
            count[u] = 1
        elif len(reads) == 1 or not u.inner_vars(outer[u] or ()):  # at one place alone
            count[u] = max(count[c] for c, _ in reads)
        else:
            count[u] = _at_places(reads, count, outer)
    return count


def _at_places(reads: list[tuple[Unit, Read]], count: dict[Unit, int], outer: Mapping[Unit, Outer | None]) -> int:
    places: dict[object, int] = {}
    for c, r in reads:
        place = _place(c.inner_vars(outer[c] or ()), outer[c] or (), r)
        places[place] = max(places.get(place, 0), count[c])
    return sum(places.values())


def _place(inner: Outer, outer: Outer, r: Read) -> object:
    """The index of a read in terms of loop axes that all units of a kernel share."""
    by = {v: ("outer", i, v.extent) for i, v in enumerate(outer)} | {v: ("inner", i, v.extent) for i, v in enumerate(inner)}
    plain = [by.get(v) if (v := e.as_var) is not None else None if e.terms else e.const for e in r.index]
    if all(p is not None for p in plain):
        return tuple(plain)
    shared: dict[Var, Index] = {v: var(_axis(*key)) for v, key in by.items()}
    return tuple(e.substitute(shared) for e in r.index)


@cache
def _axis(kind: str, number: int, extent: int) -> Var:
    return Var(f"{kind}{number}", extent)
