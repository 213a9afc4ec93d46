"""Values without gradients of their own. In: a Graph. Out: the same without CUSTOM_VJP, also in the
bodies of loops and branches.

before    %2 = custom_vjp(exp(%0), %0)    after    %2 = exp(%0)

Gradients have been taken when a Graph comes here. Outside of bodies, frontend/lazy/capture.py has
left them out already, so that no program depends on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..graph.graph import Node, node, rebuild, toposort
from ..graph.op import REGIONAL, Op
from ..graph.region import Branch, Loop, Region, nested
from ..graph.routine import Routine
from ..graph.site import provenance


def has_custom_gradients(roots: Sequence[Node]) -> bool:
    """Is there one, if only in a body."""
    graphs = [list(roots), *(r.outputs for r in nested(roots))]
    return any(n.op is Op.CUSTOM_VJP for graph in graphs for n in toposort(graph))


def drop_custom_gradients(roots: Sequence[Node]) -> list[Node]:
    """The values alone."""
    done: dict[Node, Node] = {}
    with provenance(None) as here:
        for n in toposort(roots):
            here.move(n.site)
            src = tuple([done[s] for s in n.src])
            if n.op is Op.CUSTOM_VJP:
                done[n] = src[n.arg[1]]
            elif n.op in REGIONAL:
                done[n] = node(n.op, src, (_dropped(n.arg[0]), n.arg[1]))
            else:
                done[n] = rebuild(n, src)
    return [done[r] for r in roots]


def _dropped(spec: Loop | Branch | Routine) -> Loop | Branch | Routine:
    if isinstance(spec, Routine):
        return spec
    new = [Region(r.params, tuple(drop_custom_gradients(r.outputs))) for r in spec.regions]
    return replace(spec, body=new[0]) if isinstance(spec, Loop) else Branch(tuple(new))
