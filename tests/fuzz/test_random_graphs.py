"""Random graphs: oracle, one thread and several threads agree. `python tests/kit/fuzz.py 5000` runs
many."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress

import guarded
import pytest
from effort import examples, rarely
from fuzz import Hits, Unsuitable, compare_case, main, random_case, seeded
from fuzz_corpus import FILE, is_exact, stored
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

PATHS = {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}


def chooser(data: DataObject):
    """Choices that Hypothesis draws and can shrink."""
    return lambda n: data.draw(st.integers(0, n - 1))


def agrees(seed: int, hits: Hits) -> None:
    with suppress(Unsuitable):
        compare_case(random_case(seeded(seed), is_exact(seed)), hits, is_exact(seed))


def few() -> list[int]:
    """Seeds of the corpus that are there for each thing at least once."""
    lines = [line.split(maxsplit=1) for line in FILE.read_text().splitlines() if line[0] != "#"]
    things = {int(seed): {*named.split(", ")} for seed, named in lines}
    chosen, left = [], set().union(*things.values())
    while left:
        chosen.append(max(things, key=lambda seed: len(things[seed] & left)))
        left -= things[chosen[-1]]
    return chosen


@pytest.mark.parametrize("seeds", [few(), *rarely(stored())], ids=["few", "all"])
def test_the_corpus_agrees_and_reaches_everything(seeds: list[int]) -> None:
    """If it does not: `python tests/kit/fuzz_corpus.py 1500` looks for seeds that do."""
    hits = Hits()
    for seed in seeds:
        agrees(seed, hits)
    assert hits.missing() == []


@examples(60)
@given(st.data())
def test_random_graphs_agree(data: DataObject) -> None:
    case = random_case(chooser(data))
    try:
        compare_case(case, Hits())
    except Unsuitable:
        assume(False)


@pytest.mark.slow
@examples(60)
@given(st.data())
def test_arithmetic_and_views_agree_bit_for_bit_in_any_fusion(data: DataObject) -> None:
    compare_case(random_case(chooser(data), exact=True), Hits(), exact=True)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 200, 10))
def test_seeded_graphs_agree(first: int) -> None:
    for seed in range(first, first + 10):
        agrees(seed, Hits())


def test_a_graph_depends_on_its_seed_alone() -> None:
    a, b = (random_case(seeded(7)) for _ in range(2))
    assert [n.op for n in a.outputs] == [n.op for n in b.outputs] and [n.shape for n in a.env] == [
        n.shape for n in b.env
    ]


@pytest.mark.skipif(os.name != "posix", reason="no page protection on this system")
@pytest.mark.parametrize("count", ["3", *rarely("40")])
def test_no_kernel_touches_foreign_memory(count: str) -> None:
    command = [sys.executable, guarded.__file__, count, "500"]
    run = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | PATHS
    )
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.slow
def test_many_graphs_agree_and_reach_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(500, first=10_000) == 0
    assert "not reached: nothing" in capsys.readouterr().out
