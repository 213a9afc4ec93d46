"""Contractions over windows, computed directly: convolutions and their gradients. In: a Problem.
Out: an Estimate.

    out[b, i, ..., y, x] = sum_k A[b, i, k] * X[b, ..., y + ky, x + kx, k]

The factor X is read through windows: an axis of its source moves with an output axis and with a
reduced one. The packed schedule would repeat each element once a window; here tiles read the source
itself, or a copy of its footprint. Lanes run over the channels i, over x or over terms, whichever
takes the fewest cycles by the estimates of the three files.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from ....ir.graph.index import Index, Var, var
from ....ir.symbolic.questions import is_unknown
from ...kernels.contraction import Problem, spread_groups
from ...kernels.loop_axes import extent
from ...kernels.schedule import Estimate, Refusal
from ...llvm.target import Target
from ..chunks import Tuning
from . import channels as window_channels
from . import places as window_places
from . import weight_gradients as window_sums
from .problem import Windows
from .source import source_of

STEPS, TERMS = "step by step", "lanes over terms"  # orders of sums


@dataclass(frozen=True)
class Ways:
    """Those to read windows directly, the fastest first, each with the order in which it adds up;
    `why_not`: why there are none."""

    ways: list[tuple[str, Estimate]]
    why_not: str = ""

    @property
    def order(self) -> str:
        """That of the fastest."""
        return self.ways[0][0]

    def estimate(self, order: str = "") -> Estimate | Refusal:
        """The fastest; of those that add up in an order, if one is given."""
        ways = [e for o, e in self.ways if order in ("", o)]
        if not ways:
            why_not = self.why_not or "panels do not fit, and a copy has no contiguous lanes"
            return Refusal(why_not)
        return replace(ways[0], slower=tuple(e.lower for e in ways[1:]))


def ways_to_read_windows(p: Problem, target: Target, tuning: Tuning) -> Ways:
    """By estimates of their cycles."""
    if tuning.tiny:
        return Ways([], "vectors do not pay in a tiny kernel")
    w = find_windows(p, target)
    if w is None:
        return Ways([], "no factor is read through windows")
    return Ways(sorted(_ways(w, tuning), key=lambda way: way[1].cycles))


def _ways(w: Windows, tuning: Tuning) -> list[tuple[str, Estimate]]:
    """What is possible, by the order of sums: lanes are contiguous in the copy, panels fit."""
    estimates = []
    channels = window_channels.choose_tile(w)
    if channels:
        lower = partial(window_channels.lower_channels, w, channels, tuning)
        cycles = window_channels.channel_cycles(w, channels)
        estimates.append((STEPS, Estimate(lower, cycles)))
    if not is_unknown(w.line) and w.step(w.places[-1]) in (1, window_places.MOST_STEP):
        places = window_places.choose_tile(w)
        lower = partial(window_places.lower_places, w, places, tuning)
        estimates.append((STEPS, Estimate(lower, window_places.place_cycles(w, places))))
    if w.step(w.reduced[-1]) == 1 and not w.p.pooled:
        sums = window_sums.choose_tile(w)
        lower = partial(window_sums.lower_sums, w, sums, tuning)
        estimates.append((TERMS, Estimate(lower, window_sums.sum_cycles(w, sums))))
    return estimates


def find_windows(p: Problem, target: Target) -> Windows | None:
    """The problem with its windows, if the lane factor has some: an axis read at places of an
    output and a reduced variable."""
    alone = [[v] for g in p.batch for v in g]  # a source may have them on several axes
    kinds = (("b", alone), ("i", p.rows), ("y", p.lanes), ("k", p.reduced))
    batch, channels, places, reduced = (
        [Var(f"{name}{a}", extent(g)) for a, g in enumerate(groups)] for name, groups in kinds
    )
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
