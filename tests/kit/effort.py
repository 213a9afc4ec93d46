"""How much a run tries. In: numbers of examples, collected tests. Out: what the default run takes;
`-m slow` has the rest."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# `max_examples` of a profile is the part of its examples, in per cent, that a test draws.
COMMON: dict[str, Any] = {"deadline": None, "suppress_health_check": list(HealthCheck)}
settings.register_profile("quick", max_examples=10, derandomize=True, **COMMON)
settings.register_profile("thorough", max_examples=100, **COMMON)
LEAST = 4  # examples


def choose(thorough: bool) -> None:
    """The profile of this run."""
    settings.load_profile("thorough" if thorough else "quick")


def examples(count: int, quick: int | None = None) -> settings:
    """So many examples of a property in a thorough run; in a quick one a part of them, or the given
    number."""
    part = settings.default.max_examples
    if part < 100 and quick is not None:
        return settings(max_examples=quick)
    return settings(max_examples=min(count, max(LEAST, count * part // 100)))


def rarely(*values: Any) -> list[Any]:
    """Values of a parameter for `-m slow`."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


def is_property(item: pytest.Item) -> bool:
    """Does Hypothesis draw the cases of a test?"""
    return bool(getattr(getattr(item, "obj", None), "is_hypothesis_test", False))


def taken(request: pytest.FixtureRequest, parameter: str) -> list[Any]:
    """The values of a parameter that the tests of this run take with a fixture, which asks."""
    tests = [
        item
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.path == request.path
        and request.fixturename in item.fixturenames
    ]
    values = [item.callspec.params[parameter] for item in tests]
    return [*{id(value): value for value in values}.values()]


def superfluous(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Cases of tests marked `thinned` that show nothing which others do not show."""
    tests: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("thinned") and not item.get_closest_marker("slow"):
            tests[item.nodeid.partition("[")[0]].append(item)
    return [item for cases in tests.values() for item in _left_out(cases)]


def _left_out(cases: Sequence[pytest.Item]) -> list[pytest.Item]:
    """All but a cover, or all but as many as the mark says."""
    (mark,) = cases[0].iter_markers("thinned")
    if "to" in mark.kwargs:
        return _unlike(cases, mark.kwargs["to"])
    return _uncovering(cases)


def _unlike(cases: Sequence[pytest.Item], count: int) -> list[pytest.Item]:
    """All but so many that have few values in common and lie far apart in the list."""
    if len(cases) <= count:
        return []
    shown = [_shown(case) for case in cases]
    showing: dict[Hashable, list[int]] = defaultdict(list)
    for k, values in enumerate(shown):
        for value in values:
            showing[value].append(k)
    common = [0] * len(cases)  # with those chosen
    away = [len(cases)] * len(cases)  # from the nearest of them
    left = [*range(len(cases))]
    for _ in range(count):
        best = min(left, key=lambda k: (common[k], -away[k]))
        left.remove(best)
        for k in (k for value in shown[best] for k in showing[value]):
            common[k] += 1
        away = [min(distance, abs(k - best)) for k, distance in enumerate(away)]
    return [cases[k] for k in left]


def _uncovering(cases: Sequence[pytest.Item]) -> list[pytest.Item]:
    """All but a cover: for each value that is not shown yet, the case whose values were shown
    least."""
    shown = {case: _shown(case) for case in cases}
    showing: dict[Hashable, list[pytest.Item]] = defaultdict(list)
    for case in cases:
        for value in shown[case]:
            showing[value].append(case)
    counts: Counter[Hashable] = Counter()
    chosen = set()
    for value, having in showing.items():
        if not counts[value]:
            chosen.add(best := min(having, key=lambda case: sum(counts[v] for v in shown[case])))
            counts.update(shown[best])
    return [case for case in cases if case not in chosen]


def _shown(case: pytest.Item) -> list[Hashable]:
    """The value of each parameter, or the values of several that come together; else what the
    mark's function says of them."""
    (mark,) = case.iter_markers("thinned")
    params: dict[str, Any] = case.callspec.params  # type: ignore[attr-defined]
    if "by" in mark.kwargs:
        return [*mark.kwargs["by"](**params)]
    groups = [_names(parametrize.args[0]) for parametrize in case.iter_markers("parametrize")]
    groups += [
        (name,) for name in params if not any(name in group for group in groups)
    ]  # of fixtures
    return [(group, *(id(params[name]) for name in group)) for group in groups]


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (
        tuple(name.strip() for name in given.split(",")) if isinstance(given, str) else tuple(given)
    )
