"""The benchmark scripts run, on grids of a moment: what they print has the rows and the summary
they promise."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from effort import rarely
from project_root import ROOT

FOLDER = ROOT / "benchmarks"
QUICK = ("--rounds", "1", "--slice", "1e-5")


def printed(script, *arguments):
    command = [sys.executable, FOLDER / script, *arguments]
    run = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("dtypes", [["float32"], *rarely(["float32", "float64"])])
@pytest.mark.parametrize("threads", ["2", *rarely("1")])
def test_gemm_prints_a_row_a_product_and_a_summary(threads, dtypes):
    only = ("--dtype", *dtypes) if len(dtypes) == 1 else ()
    sizes = ("--sizes", "16,97,3x300x17")
    head, *rows = printed("gemm.py", *sizes, *only, "--threads", threads, *QUICK)
    count = 12 * len(dtypes)
    products, summaries = rows[:count], rows[count:]
    assert head.startswith("M x N x K")
    assert all(
        re.search(r"(nn|nt|tn|tt)  float(32|64) +\d+\.\d\d us +\d+\.\d +\d+\.\d% +\d+\.\d%$", row)
        for row in products
    )
    assert [line.split()[:3] for line in summaries] == [
        [dtype, kind, "4"] for dtype in dtypes for kind in ("large", "skinny", "small")
    ]


@pytest.mark.slow
def test_gemm_measures_another_target():
    found = os.environ.get("WEFT_TARGET")
    os.environ["WEFT_TARGET"] = "sse2"
    try:
        rows = printed("gemm.py", "--sizes", "33", "--form", "nn", "--dtype", "float32", *QUICK)
    finally:
        os.environ.pop("WEFT_TARGET") if found is None else os.environ.update(WEFT_TARGET=found)
    assert len(rows) == 3


@pytest.mark.slow
def test_reductions_print_a_row_a_case_and_the_slowest():
    cases = (
        "100x64:1:sum:float32,64x100:0:max:float64,5x6x7t:0+2:sum:int8,50x8s:all:sum:bfloat16,"
        "9x99:1:argmax:float32"
    )
    head, *rows = printed(
        "reductions.py", "--case", cases, "--threads", "2", "--worst", "2", *QUICK
    )
    assert head.startswith("shape:axes:operation:dtype")
    assert [row.split()[0] for row in rows[:5]] == cases.split(",")
    assert all(
        re.search(r"K +\d+\.\d us +\d+\.\d +\d+\.\d%$", row) for row in [*rows[:5], *rows[6:]]
    )
    assert rows[5].startswith("median") and len(rows) == 8


@pytest.mark.slow
def test_a_product_compiles_fast_and_loads_at_once():
    """Loose bounds on a busy machine: 17 ms and 0.2 ms on an idle one."""
    rows = [line.split() for line in printed("compile_products.py", "8")]
    median = [float(row[row.index("median") + 1]) for row in rows if row[0] == "processor"]
    assert median[0] < 120 and median[1] < 4


@pytest.mark.slow
def test_startup_prints_each_measurement_beside_its_target():
    head, *rows = printed("startup.py", "--repeats", "1")
    assert head.split() == ["cold", "target", "warm", "target"]
    cells = [row[36:].split() for row in rows]
    assert len(cells) == 8 and all(len(c) == 4 and float(c[0]) > 0 for c in cells)
    first_step = next(
        c for row, c in zip(rows, cells, strict=True) if row.startswith("first LeNet step")
    )
    assert float(first_step[2]) < float(first_step[0]), (
        "a program from the disk costs no compilation"
    )


@pytest.mark.slow
def test_training_prints_a_row_a_network():
    head, row = printed("training.py", "--only", "sine", "--rounds", "1", "--seconds", "0.01")
    assert head.startswith("us a step") and re.match(r"sine +\d+\.\d +\d+\.\d ", row)


@pytest.mark.parametrize("how", ["lazy", "realised", "jitted"])
def test_lazy_loops_agree_with_numpy_in_each_form(how, monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import lazy_loops

    newton = lazy_loops.LOOPS["newton"]
    found, expected = (lazy_loops.run(newton, form, 3) for form in (how, "NumPy"))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.slow
def test_lazy_loops_print_a_row_a_loop():
    head, names, *rows = printed("lazy_loops.py", "--turns", "3", "--only", "newton")
    assert (
        names.split()[2:6] == ["lazy", "realised", "jitted", "NumPy"] and head.split()[0] == "cold,"
    )
    assert [row.split()[0] for row in rows] == ["newton"] and all(
        len(row.split()) == 12 for row in rows
    )


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    ("script", "arguments", "names"),
    [
        ("transformations.py", [], ["gradients", "hessian"]),
        ("loops.py", ["--only", "gru"], ["gru"]),
    ],
)
def test_systems_side_by_side_have_a_row_each(script, arguments, names):
    head, *rows = printed(script, "--rounds", "1", *arguments)
    assert head.split()[:2] == ["system", "first,"]
    ours = [row for row in rows if row.split()[1] == "weft"]
    assert [row.split()[0] for row in ours] == names
    assert all(re.fullmatch(r"\w+ +weft +\d+ +\d+\.\d+ *", row) for row in ours)
