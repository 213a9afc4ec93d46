"""A line search for the strong Wolfe conditions. In: a function along a line. Out: a point that is
low and flat enough.

Nocedal and Wright 2006, algorithms 3.5 and 3.6, with the constants and the safeguards of Schmidt's
minFunc, as in torch.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isnan, nan, sqrt
from typing import NamedTuple

from ...frontend.tensor.tensor import Tensor

DECREASE, CURVATURE = 1e-4, 0.9  # c1 and c2 of the conditions


class Point(NamedTuple):
    """A place t on the line: the value there, the gradient (of all parameters, flat) and its part
    along the line."""

    t: float
    value: float
    gradient: Tensor
    slope: float
    largest: float  # absolute element of the gradient


Function = Callable[[float], Point]


def strong_wolfe(
    at: Function, start: Point, t: float, reach: float, least: float, most: int
) -> tuple[Point, int]:
    """A point, t being the first guess, and how often the function was asked for one: at most
    `most` times and once.

    start: the point at 0, which is found for a first guess of 0. reach: the largest element of the
    direction; a bracket that moves no element by `least` is enough. A value that is NaN counts as
    infinite.
    """
    if not t:
        return start, 0
    at, start = _ordered(at), _in_order(start)
    bracket, asked, is_found = _bracket(at, start, t, most)
    low, high = (0, -1) if bracket[0].value <= bracket[-1].value else (-1, 0)
    was_near_edge = False
    while (
        not is_found
        and asked <= most
        and _width(bracket) > 0.0
        and _width(bracket) * reach >= least
    ):
        t, was_near_edge = _inside(bracket, was_near_edge)
        new = at(t)
        asked += 1
        if _is_high(new, start) or new.value >= bracket[low].value:
            bracket[high] = new
            low, high = (0, -1) if bracket[0].value <= bracket[-1].value else (-1, 0)
            continue
        is_found = _is_flat(new, start)
        if not is_found and new.slope * (bracket[high].t - bracket[low].t) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = new
    return bracket[low], asked


def _in_order(point: Point) -> Point:
    return point._replace(value=inf) if isnan(point.value) else point


def _ordered(at: Function) -> Function:
    return lambda t: _in_order(at(t))


def _width(bracket: list[Point]) -> float:
    return abs(bracket[1].t - bracket[0].t)


def _is_high(new: Point, start: Point) -> bool:
    return new.value == inf or new.value > start.value + DECREASE * new.t * start.slope


def _is_flat(new: Point, start: Point) -> bool:
    return abs(new.slope) <= -CURVATURE * start.slope


def _bracket(at: Function, start: Point, t: float, most: int) -> tuple[list[Point], int, bool]:
    """Two points around one that is sought, or that one itself; how often the function was asked;
    was the point found."""
    previous, new = start, at(t)
    for asked in range(1, most + 1):
        if _is_high(new, start) or (asked > 2 and new.value >= previous.value):
            return [previous, new], asked, False
        if _is_flat(new, start):
            return [new], asked, True
        if new.slope >= 0:
            return [previous, new], asked, False
        least, greatest = new.t + 0.01 * (new.t - previous.t), new.t * 10.0
        previous, new = new, at(_lowest(previous, new, least, greatest))
    return [start, new], most + 1, False


def _inside(bracket: list[Point], was_near_edge: bool) -> tuple[float, bool]:
    """The next place between two points; one close to an edge for the second time is moved away
    from it."""
    a, b = sorted(p.t for p in bracket)
    t, margin = _lowest(bracket[0], bracket[1], a, b), 0.1 * (b - a)
    if min(b - t, t - a) >= margin:
        return t, False
    if was_near_edge or t >= b or t <= a:
        return (b - margin if abs(t - b) < abs(t - a) else a + margin), False
    return t, True


def _lowest(first: Point, second: Point, least: float, greatest: float) -> float:
    """Where the cubic through two points with their slopes is lowest, within bounds; their middle
    where it is nowhere."""
    a, b = sorted((first, second), key=lambda p: p.t)
    d1 = a.slope + b.slope - 3.0 * (a.value - b.value) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    d2 = sqrt(square) if square >= 0.0 else 0.0
    bend = b.slope - a.slope + 2.0 * d2
    place = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / bend) if square >= 0.0 and bend else nan
    return (least + greatest) / 2.0 if isnan(place) else min(max(place, least), greatest)
