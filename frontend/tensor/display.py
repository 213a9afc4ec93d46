"""Display of Tensors in IPython and notebooks. In: a Tensor. Out: its text, with values if they are
cheap to compute.

They are computed beside: the Tensor stays lazy and keeps its history, no assign that waits is
carried out, and `wf.explain` has as much to tell as before.
"""

from __future__ import annotations

from contextlib import suppress

from ... import options
from ...ir.graph.graph import reach, sources
from ...runtime.memory.devices import CPU
from ...runtime.memory.storage import lookup
from ..lazy import realize, state, watchers
from ..lazy.any_tensor import AnyTensor, bare
from ..lazy.job import root_of

MOST_NODES = 400  # of a graph that is computed to be shown; random bits are 150
MOST_ELEMENTS = 100_000  # of all Nodes together: up to there compiling takes longer than computing


def text(t: AnyTensor) -> str:
    """Its values if they are in memory or little work; else what to write for them."""
    if t._stored() is not None or state.trace() is not None:
        return repr(t)
    o = options.current()
    # or checked, or printed
    is_watched = watchers.requirement() is not None or o.debug or o.dump or o.debug_nans
    if not is_watched and is_little_work(t):
        shown = bare(root_of(t.node))
        with suppress(Exception):  # reading the value raises it
            realize.beside(shown)
            return repr(shown)
    return f"{repr(t)[:-1]}: print it, or call .realize(), to compute its values>"


def is_little_work(t: AnyTensor) -> bool:
    """Is it computed by few operations on few elements, on the CPU."""
    if t.device != CPU:
        return False
    elements = 0
    for count, n in enumerate(reach([t.node], lambda n: sources(n) if lookup(n) is None else ())):
        elements += n.size if lookup(n) is None else 0
        if elements > MOST_ELEMENTS or count >= MOST_NODES:
            return False
    return True
