"""SciPy's elementwise solvers on Tensors, which read a few numbers in every turn: right, and few
programs."""

from __future__ import annotations

from pathlib import Path

import pytest
from commandkit import python
from effort import rarely

SOLVERS = """
import sys, numpy as np, weft as wf
from scipy.optimize import elementwise
from weft.frontend.lazy.program_table import statistics

def numbers(*values): return wf.tensor(values, dtype=wf.float64)

def find_root():
    roots = elementwise.find_root(lambda x, c: x**3 - c, (numbers(0, 0, 0, 0), numbers(5, 5, 5, 5)),
        args=(numbers(1, 2, 3, 4),))
    assert type(roots.x) is wf.Tensor and bool(wf.all(roots.success))
    np.testing.assert_allclose(np.asarray(roots.x), np.cbrt([1, 2, 3, 4]), rtol=1e-12)

def find_minimum():
    c, edge = numbers(1, 2, 3, 4), numbers(9, 9, 9, 9)
    least = elementwise.find_minimum(lambda x, c: (x - c) ** 2, (-edge, edge * 0, edge), args=(c,))
    np.testing.assert_allclose(np.asarray(least.x), [1, 2, 3, 4], rtol=1e-6)

for name in sys.argv[1:]:
    before = statistics["built"]
    globals()[name]()
    print(statistics["built"] - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize("names", [["find_root"], *rarely(["find_root", "find_minimum"])], ids=str)
def test_turns_of_a_solver_find_the_programs_of_the_turns_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str]
) -> None:
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    done = python(tmp_path, "-c", SOLVERS, *names)
    assert done.returncode == 0, done.stderr
    built = [*map(int, done.stdout.split())]
    assert len(built) == len(names)
    assert max(built) <= 30, "each turn builds programs of its own"
