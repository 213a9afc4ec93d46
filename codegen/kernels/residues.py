"""Residue classes of axes. In: axes, and the mask outside of which what is summed is 0. Out: for
each class, shorter axes.

    out[i] = sum_k g[(i + p - k) / s] * w[k]  where s divides i + p - k       most products are 0
    out[s*i + r] = sum_k g[i - k + c] * w[s*k + k0]  for each r   no condition, no division

The input gradient of a strided convolution has such a mask. Residues that follow each other by a
constant step in every axis, and leave axes of the same extents, are one class: the number of the
step is an axis of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd, lcm, prod

from ...ir.graph.index import Index, Mask, Mod, Range, Var, var

MOST_CLASSES = 16  # each is a loop nest to compile
MOST_RESIDUES = 1 << 12  # combinations looked at

Point = tuple[int, ...]  # a number for each axis


@dataclass(frozen=True)
class Residues:
    """One class: the axes in terms of its own. Where there is nothing to sum, `reduced` is None and
    `at` has kept axes alone."""

    at: dict[Var, Index]
    kept: list[Var]
    reduced: list[Var] | None


@dataclass(frozen=True)
class Congruence:
    """lo <= (const + sum of coefs * axes) % by < hi."""

    coefs: dict[Var, int]
    const: int
    by: int
    lo: int
    hi: int

    def holds(self, residues: dict[Var, int]) -> bool:
        total = self.const + sum(c * residues[v] for v, c in self.coefs.items())
        return self.lo <= total % self.by < self.hi

    def period(self, v: Var) -> int:
        return self.by // gcd(self.coefs.get(v, 0), self.by)


@dataclass
class Run:
    """`count` points, each a `step` after the one before. `shape`: what is left of the axes;
    `sums`: is anything summed?"""

    first: Point
    step: Point
    count: int
    shape: Point
    sums: bool

    def extended(self, at: Point, shape: Point, sums: bool) -> Run | None:
        """With one more point, if it follows."""
        step = (
            tuple(a - b for a, b in zip(at, self.first, strict=True))
            if self.count == 1
            else self.step
        )
        expected = tuple(f + self.count * s for f, s in zip(self.first, step, strict=True))
        follows = expected == at and shape == self.shape and sums == self.sums
        return Run(self.first, step, self.count + 1, shape, sums) if follows else None


@dataclass
class Cluster:
    """Axes whose residues depend on each other."""

    axes: list[Var]
    periods: Point
    runs: list[Run]


def classes(kept: Sequence[Var], reduced: Sequence[Var], mask: Mask) -> list[Residues]:
    """The classes of the axes; where there is no congruence in the mask, one: the axes as they
    are."""
    by_group = (
        _cluster(group, kept, reduced) for group in _groups(_congruences(mask, {*kept, *reduced}))
    )
    clusters = [c for c in by_group if c is not None]
    if prod(len(c.runs) for c in clusters) > MOST_CLASSES:
        clusters = []
    return [
        _residues(kept, reduced, clusters, runs) for runs in product(*(c.runs for c in clusters))
    ]


def _congruences(mask: Mask, axes: set[Var]) -> Iterable[Congruence]:
    for r in mask:
        match r:
            case Range(Index(terms=((Mod(e, by), 1),), const=shift), lo, hi):
                coefs = {t: c for t, c in e.terms if isinstance(t, Var) and t in axes}
                if len(coefs) == len(e.terms):
                    yield Congruence(coefs, e.const, by, lo - shift, hi - shift)


def _groups(congruences: Iterable[Congruence]) -> list[list[Congruence]]:
    """Those that share axes, together."""
    groups: list[list[Congruence]] = []
    for c in congruences:
        touching = [g for g in groups if any(not c.coefs.keys().isdisjoint(d.coefs) for d in g)]
        groups = [g for g in groups if g not in touching] + [[c, *(d for g in touching for d in g)]]
    return groups


def _cluster(
    group: list[Congruence], kept: Sequence[Var], reduced: Sequence[Var]
) -> Cluster | None:
    """The runs of a group's residues; None where several residues of the reduced axes fit to one of
    the kept axes."""
    periods = {v: lcm(*(c.period(v) for c in group)) for v in [*kept, *reduced]}
    moving, summed = ([v for v in axes if periods[v] > 1] for axes in (kept, reduced))
    axes = [*moving, *summed]
    if prod(periods[v] for v in axes) > MOST_RESIDUES:
        return None
    runs: list[Run] = []
    for at in _residues_of(moving, periods):
        fitting = [
            p
            for p in _residues_of(summed, periods)
            if _all_hold(group, dict(zip(axes, (*at, *p), strict=True)))
        ]
        if len(fitting) > 1:
            return None
        point = (*at, *(fitting[0] if fitting else (0,) * len(summed)))
        shape = tuple(-(-(v.extent - r) // periods[v]) for v, r in zip(axes, point, strict=True))
        longer = runs[-1].extended(point, shape, bool(fitting)) if runs else None
        runs[-1:] = (
            [longer]
            if longer
            else [*runs[-1:], Run(point, (0,) * len(axes), 1, shape, bool(fitting))]
        )
    return Cluster(axes, tuple(periods[v] for v in axes), runs)


def _residues_of(axes: list[Var], periods: dict[Var, int]) -> Iterable[Point]:
    return product(*(range(min(periods[v], v.extent)) for v in axes))


def _all_hold(group: list[Congruence], residues: dict[Var, int]) -> bool:
    return all(c.holds(residues) for c in group)


def _residues(
    kept: Sequence[Var], reduced: Sequence[Var], clusters: list[Cluster], runs: Sequence[Run]
) -> Residues:
    """The class of one run of every cluster."""
    parts: dict[Var, list[Var]] = {v: [v] for v in (*kept, *reduced)}
    at = {v: var(v) for v in parts}
    for cluster, run in zip(clusters, runs, strict=True):
        number = Var(cluster.axes[0].name + "r", run.count)
        for i, v in enumerate(cluster.axes):
            left = Var(v.name, run.shape[i])
            parts[v] = [left] if left.extent > 1 else []
            at[v] = _axis(left) * cluster.periods[i] + _axis(number) * run.step[i] + run.first[i]
        if run.count > 1:
            parts[cluster.axes[0]].insert(0, number)
    summed = [w for v in reduced for w in parts[v]]
    left_over = [w for v in kept for w in parts[v]]
    if all(r.sums for r in runs):
        return Residues(at, left_over, summed)
    return Residues({v: at[v] for v in kept}, left_over, None)


def _axis(v: Var) -> Index:
    return var(v) if v.extent > 1 else Index()
