"""Random graphs: oracle, one thread and several threads agree. `python tests/kit/fuzz.py 5000` runs many."""

from __future__ import annotations

import os
import subprocess
import sys

import guarded
import pytest
from fuzz import Hits, Unsuitable, compare_case, main, random_case, seeded
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

HITS = Hits()
PATHS = {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
quick = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def chooser(data: DataObject):
    """Choices that Hypothesis draws and can shrink."""
    return lambda n: data.draw(st.integers(0, n - 1))


@quick
@given(st.data())
def test_random_graphs_agree(data: DataObject) -> None:
    case = random_case(chooser(data))
    try:
        compare_case(case, HITS)
    except Unsuitable:
        assume(False)


@quick
@given(st.data())
def test_arithmetic_and_views_agree_bit_for_bit_in_any_fusion(data: DataObject) -> None:
    compare_case(random_case(chooser(data), exact=True), HITS, exact=True)


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_seeded_graphs_agree(first: int) -> None:
    for seed in range(first, first + 50):
        try:
            compare_case(random_case(seeded(seed), exact=seed % 5 == 0), HITS, exact=seed % 5 == 0)
        except Unsuitable:
            continue


def test_a_graph_depends_on_its_seed_alone() -> None:
    a, b = (random_case(seeded(7)) for _ in range(2))
    assert [n.op for n in a.outputs] == [n.op for n in b.outputs] and [n.shape for n in a.env] == [n.shape for n in b.env]


@pytest.mark.skipif(os.name != "posix", reason="no page protection on this system")
def test_no_kernel_touches_foreign_memory() -> None:
    command = [sys.executable, guarded.__file__, "40", "500"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | PATHS)
    assert run.returncode == 0, run.stdout + run.stderr


def test_many_graphs_agree_and_reach_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(500, first=10_000) == 0
    assert "not reached: nothing" in capsys.readouterr().out
