"""Contractions over windows, computed directly: convolutions and their gradients. In: a Problem. Out: Loops, or None.

    out[b, i, ..., y, x] = sum_k A[b, i, k] * X[b, ..., y + ky, x + kx, k]

The factor X is read through windows: an axis of its source moves with an output axis and with a reduced one. The packed
schedule would repeat each element once a window; here tiles read the source itself, or a copy of its footprint. Lanes run
over the channels i or over x, whichever wastes fewer of them and needs fewer steps: `Windows.cost` estimates cycles.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ....ir.graph.index import Index, Var, var
from ...kernels.contraction import Problem, spread_groups
from ...kernels.loop_axes import extent
from ...kernels.lowered import Lowered
from ...llvm.target import Target
from ..chunks import Tuning
from . import channels as window_channels
from . import places as window_places
from . import weight_gradients as window_sums
from .problem import Windows
from .source import source_of


def lower_window(p: Problem, target: Target, tuning: Tuning) -> Lowered | None:
    """Loops of the direct schedule that is estimated to be the fastest; None where there are no windows to read."""
    if tuning.tiny or not p.rows:
        return None
    w = find_windows(p, target)
    if w is None:
        return None
    cycles_and_loops = _candidates(w)
    return min(cycles_and_loops, key=lambda c: c[0])[1](tuning) if cycles_and_loops else None


def _candidates(w: Windows) -> list[tuple[float, Callable[[Tuning], Lowered]]]:
    """(cycles, schedule) of what is possible: lanes are contiguous in the copy, panels fit."""
    found: list[tuple[float, Callable[[Tuning], Lowered]]] = []
    channels = window_channels.choose_tile(w)
    if channels:
        found.append((window_channels.channel_cycles(w, channels), partial(window_channels.lower_channels, w, channels)))
    if w.step(w.places[-1]) == 1:
        places = window_places.choose_tile(w)
        found.append((window_places.place_cycles(w, places), partial(window_places.lower_places, w, places)))
    if w.step(w.reduced[-1]) == 1 and not w.p.pooled:
        sums = window_sums.choose_tile(w)
        found.append((window_sums.sum_cycles(w, sums), partial(window_sums.lower_sums, w, sums)))
    return found


def find_windows(p: Problem, target: Target) -> Windows | None:
    """The problem with its windows, if the lane factor has some: an axis read at places of an output and a reduced variable."""
    alone = [[v] for g in p.batch for v in g]  # a source may have them on several axes
    kinds = (("b", alone), ("i", p.rows), ("y", p.lanes), ("k", p.reduced))
    batch, channels, places, reduced = ([Var(f"{name}{a}", extent(g)) for a, g in enumerate(groups)] for name, groups in kinds)
    by: dict[Var, Index] = {}
    for vs, (_, groups) in zip((batch, channels, places, reduced), kinds, strict=True):
        by |= spread_groups(groups, [var(v) for v in vs])
    source = source_of(p, p.lane_factor, by)
    if source is None:
        return None
    shared = [e.vars() for e in source.at]
    windowed = {v for vs in shared if vs & set(places) and vs & set(reduced) for v in vs}
    if not windowed:
        return None
    reduced.sort(key=lambda v: v in windowed)
    return Windows(p, target, source, batch, channels, places, reduced, by)
