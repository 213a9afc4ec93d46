"""The examples of the documentation: every block of output is what its code gives."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import executed
import pytest
from effort import rarely
from executed import HELPERS, Output, run, target
from project_root import ROOT
from weft.codegen.llvm.target import host, named

DOCS = ROOT / "docs"
PAGES = [p for p in sorted(DOCS.glob("*.md")) if "\n<!-- prints" in p.read_text()]
OFTEN = ("linear-algebra",)  # pages of a default run


@pytest.mark.parametrize(
    "page",
    [*(p for p in PAGES if p.stem in OFTEN), *rarely(*(p for p in PAGES if p.stem not in OFTEN))],
    ids=lambda p: p.stem,
)
def test_outputs_are_what_the_code_gives(page: Path) -> None:
    if (wanted := target(page.read_text())) != "host" and not named(wanted).runs_on(host()):
        pytest.skip("needs AVX-512")
    path = os.pathsep.join(p for p in sys.path if p)
    command = [sys.executable, executed.__file__, "--compare", str(page)]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (
        f"{done.stdout}{done.stderr}\npython tests/kit/executed.py docs/{page.name} writes it anew"
    )


PAGE = """\
```python
x = 1
print(x + 1)
```

<!-- prints -->
```text
3
```

<!-- prints: f"{x}!" -->
```text
1!
```

<!-- differs -->
```text
noise
```

```sh
python -m weft --version
```

<!-- differs -->
```text
```
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    return path


def test_a_wrong_output_is_found_at_its_line(page: Path) -> None:
    first, second, *_ = run(page)[1]
    assert first == Output(8, "3\n", "2\n", True)
    assert second.shown == second.found == "1!\n"


def test_a_comparison_tells_lines_and_changes_nothing(
    page: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert executed.main(["--compare", str(page)]) == 1
    assert capsys.readouterr().out == f"{page}:8\n- 3\n+ 2\n" and page.read_text() == PAGE


def test_a_page_is_written_with_the_outputs_of_now(page: Path) -> None:
    text = run(page)[0]
    assert text.startswith(PAGE[: PAGE.index("3\n")] + "2\n")
    assert "```text\nweft " in text


def test_outputs_that_differ_between_machines_are_not_compared(page: Path) -> None:
    assert [o.compared for o in run(page)[1]] == [True, True, False, False]


def test_code_that_fails_names_its_line_of_the_script(page: Path) -> None:
    page.write_text(PAGE.replace("1!", "").replace("print(x + 1)", "print(x / 0)"))
    with pytest.raises(ZeroDivisionError) as failure:
        run(page)
    last = failure.traceback[-1]
    assert Path(last.path).name == "page.py" and last.lineno == 1  # counted from 0


def test_a_command_that_fails_is_named(page: Path) -> None:
    page.write_text(PAGE.replace("--version", "no-such-command"))
    with pytest.raises(RuntimeError, match="no-such-command: exit status 2"):
        run(page)


def test_an_inner_loop_is_cut_out_by_its_jump(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("k.s").write_text("f:\n\tmov\n.L1:\n\tadd\n.L2:\n\tmul\n\tjl\t.L2\n\tjl\t.L1\n\tret\n")
    assert HELPERS["inner_loop"]("*.s", "mul") == ".L2:\n\tmul\n\tjl\t.L2"
    with pytest.raises(LookupError):
        HELPERS["inner_loop"]("*.s", "div")
