"""What the default run takes of the tests: a cover of the values of each parameter, and a part of
the examples."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import effort
import pytest
from hypothesis import settings

FORMS, SIZES, THREADS = ["nn", "nt", "tn"], [(1, 2), (3, 4), (5, 6), (7, 8)], [1, 2]


class Case:
    """A collected case, as far as effort.py looks at it."""

    def __init__(self, *marks: Any, **params: Any) -> None:
        self.nodeid, self.callspec = "test_file.py::test[case]", SimpleNamespace(params=params)
        self.marks = [mark.mark for mark in marks]

    def iter_markers(self, name: str) -> list[Any]:
        return [mark for mark in self.marks if mark.name == name]

    def get_closest_marker(self, name: str) -> Any:
        return next(iter(self.iter_markers(name)), None)


def cases(*marks: Any) -> list[Any]:
    shapes = pytest.mark.parametrize("form", FORMS), pytest.mark.parametrize(("m", "n"), SIZES)
    return [
        Case(*marks, *shapes, form=form, m=m, n=n, threads=threads)
        for form, (m, n), threads in product(FORMS, SIZES, THREADS)
    ]


def test_each_value_is_shown_and_values_that_come_together_stay_together() -> None:
    every = cases(pytest.mark.thinned)
    left = effort.superfluous(every)
    shown = [case.callspec.params for case in every if case not in left]
    assert {p["form"] for p in shown} == {*FORMS} and {p["threads"] for p in shown} == {*THREADS}
    assert {(p["m"], p["n"]) for p in shown} == {*SIZES}
    assert len(shown) == len(SIZES), "the cover is as small as the longest parameter allows"


def test_a_test_may_say_what_a_case_shows() -> None:
    every = cases(pytest.mark.thinned(by=lambda form, m, n, threads: [threads]))
    assert len(every) - len(effort.superfluous(every)) == len(THREADS)


def test_so_many_cases_as_the_mark_says_have_little_in_common() -> None:
    every = cases(pytest.mark.thinned(to=2))
    left = effort.superfluous(every)
    first, second = (case.callspec.params for case in every if case not in left)
    assert all(first[name] != second[name] for name in ("form", "m", "n", "threads"))
    one = [Case(pytest.mark.thinned(to=3), pytest.mark.parametrize("n", 9), n=n) for n in range(9)]
    left = effort.superfluous(one)
    assert [case.callspec.params["n"] for case in one if case not in left] == [0, 4, 8]


def test_unmarked_and_slow_tests_are_left_alone() -> None:
    assert effort.superfluous([*cases(), *cases(pytest.mark.thinned, pytest.mark.slow)]) == []


@pytest.mark.parametrize(("thorough", "count"), [(False, 15), (True, 150)])
def test_a_thorough_run_draws_every_example(thorough: bool, count: int) -> None:
    before = settings.get_current_profile_name()
    try:
        effort.choose(thorough)
        assert effort.examples(150).max_examples == count
        assert effort.examples(4).max_examples == 4, "of few examples none is left out"
    finally:
        settings.load_profile(before)
