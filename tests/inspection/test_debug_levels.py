"""WEFT_DEBUG: what each level prints of a program that is new, and the times that are told at the
end."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import weft as wf
from weft import options
from weft.inspection.dumps import shown

SCRIPT = """
import weft as wf
x = wf.ones(300, 500).realize()
f = wf.jit(lambda x: (x * 2).softmax(axis=1))
for _ in range(3):
    y = f(x)
print(y.sum().item())
"""


@pytest.fixture(autouse=True)
def nothing_is_told_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown, "atexit", SimpleNamespace(register=lambda *args: None))
    monkeypatch.setattr(shown, "_watched", [])


def printed(level: int, rows: int, capsys: pytest.CaptureFixture[str], columns: int = 100) -> str:
    """Of a program that no other test makes."""
    x = wf.ones(rows, columns).realize()
    with options.override(debug=level):
        (x * 3).softmax(axis=1).realize()
    return capsys.readouterr().err


def test_level_1_has_a_line_for_each_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    head, kernel = printed(1, 61, capsys).splitlines()
    assert re.fullmatch(
        r"program \d+: printed \(test_debug_levels\.py:\d+\), 1 kernel for cpu", head
    )
    assert re.fullmatch(
        r"    k0_rows_\w+  rows, writes float32\[61, 100\], from test_debug_levels\.py:\d+", kernel
    )


def test_level_2_adds_what_explain_says(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(2, 62, capsys)
    assert "schedule  rows: " in text and "memory: " in text and "for c <" not in text


def test_level_3_adds_loops_beside_the_lines(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(3, 63, capsys)
    assert (
        "for c < 100 lanes" in text
        and "(x * 3).softmax(axis=1)" in text
        and "define void" not in text
    )


@pytest.mark.slow
def test_level_4_adds_the_code_with_its_notes(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(4, 64, capsys, 300)
    assert (
        "schedule  rows: " in text
        and "for c < 300 lanes" in text
        and re.search(r"define void @k0_rows_\w+_p0\(", text)
    )
    assert re.search(r"^[\w.]+:  ; inner loop \d: ", text, re.M)


def test_without_a_level_nothing_is_printed_or_timed(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(0, 65, capsys) == "" and shown.times_text() == ""


def test_times_have_the_runs_of_each_program_and_each_kernel(
    capsys: pytest.CaptureFixture[str],
) -> None:
    printed(1, 66, capsys)
    head, kernel = shown.times_text().splitlines()
    assert re.fullmatch(r"program \d+: printed \(.*\): 1 run of [\d.]+ [mun]?s", head)
    assert re.fullmatch(r"    100 % +[\d.]+ [mun]?s  k0_rows_\w+", kernel)


def test_a_program_that_never_ran_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    class Never:
        runs = 0

    monkeypatch.setattr(shown, "_watched", [shown._Watched("program 9: f", [], None, Never())])
    assert shown.times_text() == "program 9: f: no runs"


@pytest.mark.slow
def test_results_are_the_same_at_any_level(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shown, "_watched", [])  # no times at the end of the tests
    x = np.random.default_rng(0).standard_normal((40, 70)).astype(np.float32)
    plain = (wf.tensor(x) * 3.7).softmax(axis=1).numpy()
    with options.override(debug=1):
        np.testing.assert_array_equal((wf.tensor(x) * 3.7 + 0.0).softmax(axis=1).numpy(), plain)


@pytest.mark.parametrize(
    ("text", "level"), [("1", 1), ("on", 1), ("TRUE", 1), ("2", 2), ("4", 4), ("0", 0), ("no", 0)]
)
def test_levels_are_read_from_the_environment(text: str, level: int) -> None:
    assert options.PARSERS["debug"](text) == level


@pytest.mark.parametrize("text", ["5", "-1", "01", "1.0", "loops"])
def test_other_levels_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a level from 1 to 4"):
        options.PARSERS["debug"](text)


@pytest.mark.slow
def test_a_script_tells_times_on_stderr_as_it_ends(tmp_path: Path) -> None:
    env = {**os.environ, "WEFT_DEBUG": "1", "WEFT_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=True
    )
    assert float(done.stdout) == pytest.approx(300, rel=1e-4)
    assert "jit: <lambda> is traced: this is the first call" in done.stderr
    assert re.search(
        r"^program 2: .*: 3 runs of [\d.]+ [mun]s\n    100 % .*k0_rows_", done.stderr, re.M
    )


def test_a_forked_process_tells_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    shown._tell(os.getpid() + 1)
    assert capsys.readouterr().err == ""
