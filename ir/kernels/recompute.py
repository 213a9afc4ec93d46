"""Evaluation counts of the values of a kernel in the making. In: units, their edges and outer axes.
Out: counts.

    y[i] = x[i] + x[i-1]    evaluates the x of one element twice; ten such steps in one kernel, 1024
                            times

What is read under other conditions, as padding sets them, is evaluated again even at the same
place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from ..graph.op import Op
from .align import Form
from .contraction import Users
from .kernel import Unit, cost
from .places import Places, Read
from .reason import Reason, Rule

MAX_REPEATED = 8  # operations an element that a row may repeat rather than store the value
MOST = 64  # places that are distinguished
# where units are read on the way from a result down to a unit, but for their own elements
Path = tuple[object, ...]
HERE = frozenset[Path]({()})


def copies(form: Form, users: Users) -> dict[Unit, int]:
    """For each unit, at how many different places relative to the loops, or under how many
    conditions, its value is needed; not counted beyond MOST.
    """
    paths: dict[Unit, frozenset[Path]] = {}
    places: dict[Unit, Places] = {}
    for u in reversed(form.units):
        at = places[u] = u.places(form.outer[u] or ())
        reads = [(c, r) for c, r in users.get(u.node, ()) if c in paths and c is not u]
        if u.node.op is Op.REDUCE or not reads:
            paths[u] = HERE
        elif at.inner == 1:  # at one place alone
            paths[u] = _joined([paths[c] for c, _ in reads])
        else:
            paths[u] = _joined([_through(at.own, places[c].of(r), paths[c]) for c, r in reads])
    return {u: len(ways) for u, ways in paths.items()}


def refuse_recompute(
    form: Form, edges: Iterable[tuple[Unit, Unit, Read]], users: Users
) -> Reason | None:
    """A map read through a window or at several places of the row would be evaluated again and
    again."""
    for u, places in copies(form, users).items():
        if places > 1 and places * cost(u.node) > MAX_REPEATED:
            return Reason(
                Rule.RECOMPUTE, f"{u} would be evaluated at {places} places for each element"
            )
    for p, c, r in edges:
        p_outer, c_outer = form.outer.get(p), form.outer[c]
        if p_outer is None or c_outer is None or p.node.op is Op.REDUCE:
            continue
        evaluated, elements = c.places(c_outer).reach(r), p.places(p_outer).inner
        if evaluated > elements and evaluated * cost(p.node) > MAX_REPEATED * elements:
            times = f"{evaluated / elements:.0f} times"
            return Reason(Rule.RECOMPUTE, f"{p} would be evaluated {times} for each element")
    return None


def _joined(ways: Sequence[frozenset[Path]]) -> frozenset[Path]:
    if all([f is ways[0] for f in ways]):
        return ways[0]
    out = frozenset[Path]().union(*ways)
    return out if len(out) <= MOST else frozenset(islice(out, MOST))


def _through(own: Path, place: Path, paths: frozenset[Path]) -> frozenset[Path]:
    """Ways to a unit that is read: those to its reader, and one step more unless that reads the
    unit's own element."""
    return paths if place == own else frozenset([(place, *path) for path in paths])
