"""Random graphs as CUDA programs on the emulated device. In: graphs of fuzz.py. Out: what the
oracle gives, in any order."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest
from cuda_subjects import SEEDS
from cudakit import Programs, compiled, execute, in_order, needs_compiler
from effort import rarely, taken
from fuzz import Case, Unsuitable, evaluate, random_case, seeded, tolerances
from harness import assert_same_bits
from opspec import assert_matches

pytestmark = needs_compiler


def _case(seed: list[int]):  # type: ignore[no-untyped-def]
    """The first graph from the seed on that does not amplify rounding errors beyond comparison."""
    exact = seed[0] % 5 == 0
    for number in count(seed[0], len(SEEDS) * 1000):
        case = random_case(seeded(number), exact)
        want = evaluate(case.outputs, case.env)
        try:
            allowed = [0.0] * len(want) if exact else tolerances(case, want)
        except Unsuitable:
            continue
        return case, want, allowed, compiled(case.outputs, case.env, case.donations)


_SEEDS = [[seed] for seed in SEEDS]  # each an object of its own


@pytest.fixture(scope="module")
def programs(request: pytest.FixtureRequest) -> Programs[list[int]]:
    return Programs(taken(request, "seed"), _case, group=20)


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize(
    "seed", [*_SEEDS[:20], *rarely(*_SEEDS[20:])], ids=[str(seed) for seed in SEEDS]
)
def test_random_graph_equals_the_oracle(seed: list[int], programs: Programs[list[int]]) -> None:
    case, want, allowed, program = programs[seed]
    got = execute(program, case.outputs, case.env)
    for i in range(len(want)):
        _compare(case, i, got[i], np.asarray(want[i]), allowed[i])
    with in_order("random", seed[0]):
        assert_same_bits(execute(program, case.outputs, case.env), got)


def _compare(case: Case, i: int, got: np.ndarray, want: np.ndarray, allowed: float) -> None:
    if case.exact[i] or not case.outputs[i].dtype.is_float:
        assert_matches(got, want)
    else:
        error = np.abs(got.astype(np.float64) - want.astype(np.float64)).max(initial=0)
        assert error <= allowed, f"output {i} is off by {error:.3g}, allowed {allowed:.3g}"
