"""How much a run tries. In: numbers of examples, collected tests. Out: what the default run takes; `-m slow` has the rest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# `max_examples` of a profile is the part of its examples, in per cent, that a test draws.
COMMON: dict[str, Any] = {"deadline": None, "suppress_health_check": list(HealthCheck)}
settings.register_profile("quick", max_examples=20, derandomize=True, **COMMON)
settings.register_profile("thorough", max_examples=100, **COMMON)
LEAST = 8  # examples


def choose(thorough: bool) -> None:
    """The profile of this run."""
    settings.load_profile("thorough" if thorough else "quick")


def examples(count: int) -> settings:
    """So many examples of a property in a thorough run, a part of them in a quick one."""
    return settings(max_examples=min(count, max(LEAST, count * settings.default.max_examples // 100)))


def rarely(*values: Any) -> list[Any]:
    """Values of a parameter for `-m slow`."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


def is_property(item: pytest.Item) -> bool:
    """Does Hypothesis draw the cases of a test?"""
    return bool(getattr(getattr(item, "obj", None), "is_hypothesis_test", False))


def superfluous(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Cases of tests marked `thinned` that show nothing which others do not show."""
    tests: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("thinned") and not item.get_closest_marker("slow"):
            tests[item.nodeid.partition("[")[0]].append(item)
    return [item for cases in tests.values() for item in _uncovering(cases)]


def _uncovering(cases: Sequence[pytest.Item]) -> list[pytest.Item]:
    """All but a cover: first the cases of which everything is new, then those that show anything new."""
    seen: set[Hashable] = set()
    left = list(cases)
    for is_needed in (set.isdisjoint, lambda shown, seen: not shown <= seen):
        rest = []
        for case in left:
            shown = _shown(case)
            if is_needed(shown, seen):
                seen |= shown
            else:
                rest.append(case)
        left = rest
    return left


def _shown(case: pytest.Item) -> set[Hashable]:
    """The value of each parameter; of rows of a table, what the mark's function says of them."""
    (mark,) = case.iter_markers("thinned")
    call = case.callspec  # type: ignore[attr-defined]
    by: Callable[..., Iterable[Hashable]] | None = mark.args[0] if mark.args else None
    return {*by(**call.params)} if by else {*call.indices.items()}
