"""Floats in bodies of loops and branches. In: one. Out: the same over sources for them; and back.

    before    loop(body(x, h): h * 0.5 + x)
    apart     loop(body(%c, x, h): h * %c + x)    of 0.5

A key of structure holds graphs whose floats stand apart, so that those which vary become inputs. In
a program the others are in the bodies again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

from ..graph.graph import Node, node, rebuild, toposort
from ..graph.op import Op
from ..graph.region import Branch, Loop, Region, closed, unnumbered
from ..graph.site import keeping_sites, provenance

WITH_BODIES = frozenset({Op.LOOP, Op.BRANCH})

# a loop or branch, and its sources -> others that compute the same
Change = Callable[[Loop | Branch, tuple[Node, ...]], tuple[Loop | Branch, tuple[Node, ...]]]


def captured(spec: Loop | Branch) -> range:
    """Which sources are the same in each iteration."""
    if isinstance(spec, Loop):
        return range(spec.captured)
    return range(1, 1 + len(spec.regions[0].params))


def is_float(n: Node) -> bool:
    """Is it a constant that stands apart?"""
    return n.op is Op.CONST and n.dtype.is_float


# ---------------------------------------------------------------- apart


@lru_cache(maxsize=64)
@keeping_sites()
def apart(spec: Loop | Branch) -> tuple[Loop | Branch, tuple[Node, ...]]:
    """The same with more captured values, and the constants that these are."""
    leaves: dict[Node, Node] = {}  # of constants

    def leaf(s: Node) -> Node:
        return leaves.setdefault(s, unnumbered(s.dtype, ())) if is_float(s) else s

    def change(inner: Loop | Branch, src: tuple[Node, ...]) -> tuple[Any, tuple[Node, ...]]:
        new, floats = apart(inner)
        at = captured(inner).stop
        return new, (*src[:at], *map(leaf, floats), *src[at:])

    bodies = [(r.params, _changed(r.outputs, leaf, change)) for r in spec.regions]
    if not leaves:
        return spec, ()
    at = spec.captured if isinstance(spec, Loop) else len(spec.regions[0].params)
    regions = [closed([*p[:at], *leaves.values(), *p[at:]], outputs) for p, outputs in bodies]
    return _with_bodies(spec, regions), tuple(leaves)


# ---------------------------------------------------------------- inside


def inside(spec: Loop | Branch, src: tuple[Node, ...]) -> tuple[Loop | Branch, tuple[Node, ...]]:
    """The same where captured values that are constants are in the bodies."""
    gone = {i: src[i] for i in captured(spec) if is_float(src[i])}
    if not gone:
        return spec, src
    first = captured(spec).start
    regions = [_inside(r, {r.params[i - first]: c for i, c in gone.items()}) for r in spec.regions]
    left = tuple([s for i, s in enumerate(src) if i not in gone])
    return _with_bodies(spec, regions), left


def _inside(region: Region, constants: Mapping[Node, Node]) -> Region:
    """A body where constants stand in the places of parameters."""
    outputs = _changed(region.outputs, lambda n: constants.get(n, n), inside)
    return closed([p for p in region.params if p not in constants], outputs)


# ---------------------------------------------------------------- both


def _with_bodies(spec: Loop | Branch, regions: Sequence[Region]) -> Loop | Branch:
    return replace(spec, body=regions[0]) if isinstance(spec, Loop) else Branch(tuple(regions))


def _changed(outputs: Sequence[Node], place: Callable[[Node], Node], change: Change) -> list[Node]:
    """The outputs, in which others take the places of some sources, and of loops and branches."""
    change = cache(change)
    known: dict[Node, Node] = {}
    with provenance(None) as here:
        for n in toposort(outputs):
            here.move(n.site)
            src = tuple([place(known[s]) for s in n.src])
            if n.op in WITH_BODIES:
                spec, src = change(n.arg[0], src)
                known[n] = node(n.op, src, (spec, n.arg[1]))
            else:
                known[n] = rebuild(n, src)
    return [known[n] for n in outputs]
