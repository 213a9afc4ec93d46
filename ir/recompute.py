"""How often each value of a kernel in the making would be evaluated. In: units, their edges and outer axes. Out: counts.

    y[i] = x[i] + x[i-1]      evaluates the x of one element twice; ten such steps in one kernel, 1024 times
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from math import prod

from .graph import Node
from .index import Index, Var, var
from .kernel import Read, Reason, Unit, cost
from .op import Op

MAX_REPEATED = 8  # operations an element that a row may repeat rather than store the value
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


def refuse_recompute(
    units: Iterable[Unit], edges: Iterable[tuple[Unit, Unit, Read]], users: Users, outer: Mapping[Unit, Outer | None]
) -> Reason | None:
    """A map read through a window or at several places of the row would be evaluated again and again."""
    for u, places in copies(units, users, outer).items():
        if places > 1 and places * cost(u.node) > MAX_REPEATED:
            return Reason("recompute", f"{u} would be evaluated at {places} places for each element")
    for p, c, r in edges:
        if p not in outer or outer[p] is None or outer[c] is None or p.node.op is Op.REDUCE:
            continue
        inner = set(c.inner_vars(outer[c] or ()))
        used = {v for e in r.index for v in e.vars()} & inner
        times = prod(v.extent for v in used) / max(1, prod(v.extent for v in p.inner_vars(outer[p] or ())))
        if times > 1 and times * cost(p.node) > MAX_REPEATED:
            return Reason("recompute", f"{p} would be evaluated {times:.0f} times for each element")
    return None


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
