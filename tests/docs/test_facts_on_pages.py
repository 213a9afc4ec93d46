"""Statements of the documentation about the project: files, tables, names, pictures and numbers
that must be right."""

from __future__ import annotations

import builtins
import importlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import pytest
import weft as wf
from project_root import ROOT
from weft import nn, options
from weft.codegen.cpu.lowering import CPU
from weft.codegen.cuda.lowering import CUDA
from weft.codegen.kernels.schedule import Schedule
from weft.ir.graph.op import OF_GRAPHS
from weft.ir.kernels.reason import Rule
from weft.ir.loops.loop import Stmt
from weft.ir.ops import exponential
from weft.ir.ops.record import Record

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
FILE = re.compile(
    r"`((?:frontend|ir|codegen|runtime|nn|inspection|commands|tests|docs|benchmarks|examples)/[\w./-]*)`"
)
PICTURE_BYTES = 200_000
CONTRIBUTING = (DOCS / "contributing.md").read_text()
# A row of "Add an operation": | part | `file` | what to add, in which table |
ADDITIONS = re.findall(r"^\|(?: \w+)? \| `([\w/]+\.\w+)` \| (.*) \|$", CONTRIBUTING, re.MULTILINE)


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda p: p.stem)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    named = FILE.findall(page.read_text())
    assert [
        name for name in named if not (ROOT / name).exists() and not list(ROOT.glob(f"{name}*"))
    ] == []


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda p: p.stem)
def test_pictures_are_there_small_and_described(page: Path) -> None:
    for text, link in re.findall(r"!\[([^\]]*)\]\(([^)#\s]+)", page.read_text()):
        picture = page.parent / link
        assert text and picture.is_file() and picture.stat().st_size < PICTURE_BYTES, link


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r"([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(p.relative_to(DOCS).as_posix() for p in PAGES)


@pytest.mark.parametrize(("file", "addition"), ADDITIONS)
def test_tables_for_a_new_operation_are_there(file: str, addition: str) -> None:
    text = (ROOT / file).read_text()
    assert all(
        re.search(rf"^(?:class )?{table}\b", text, re.MULTILINE)
        for table in re.findall(r"in `(\w+)`", addition)
    )


def test_a_new_operation_needs_the_files_that_are_listed() -> None:
    """An operation of the same kind, EXPM1, stands in these alone."""
    folders = ("ir", "codegen", "compiler", "frontend", "inspection", "runtime")
    files = {p.relative_to(ROOT).as_posix() for f in folders for p in (ROOT / f).rglob("*.py")
             if re.search(r"\bEXPM1\b|^def expm1\b", p.read_text(), re.MULTILINE)}  # fmt: skip
    assert files | {"frontend/ops.py", "docs/reference/elementwise.md"} == {
        file for file, _ in ADDITIONS
    }


def test_the_record_of_a_new_operation_is_one() -> None:
    code = re.search(r"```python\n(function\(.*?)```", CONTRIBUTING, re.DOTALL)
    assert code
    (record,) = eval(code[1].replace("EXPIT", "EXPM1"), vars(exponential))
    assert isinstance(record, Record)


@pytest.mark.parametrize(
    ("title", "schedules"), [("a CPU", CPU), ("a GPU", CUDA)], ids=["cpu", "cuda"]
)
def test_tables_of_schedules_have_those_of_the_target(
    title: str, schedules: Sequence[Schedule[...]]
) -> None:
    table = (
        (DOCS / "design.md")
        .read_text()
        .split(f"| schedule on {title} |")[1]
        .split("|---|---|---|\n")[1]
        .split("\n\n")[0]
    )
    cells = (row.split(" | ")[0].removeprefix("| ") for row in table.splitlines())
    assert sorted(name for cell in cells for name in cell.split(", ")) == sorted(
        s.name for s in schedules
    )


def test_the_rules_of_fusion_are_listed() -> None:
    rows = "".join(f"| {rule} | {rule.value} |\n" for rule in Rule)
    assert f"| rule | what it says |\n|---|---|\n{rows}\n" in (DOCS / "inspection.md").read_text()


def test_what_is_called_a_module_can_be_imported() -> None:
    names = set(re.findall(r"`python -m (weft(?:\.\w+)*)", "".join(p.read_text() for p in PAGES)))
    assert names and all(importlib.import_module(name) for name in names)


TEXT = {p: p.read_text() for p in [ROOT / "README.md", *PAGES]}


def said(pattern: str) -> set[str]:
    """What a pattern finds in all pages."""
    return {hit for text in TEXT.values() for hit in re.findall(pattern, text)}


def test_the_language_of_loops_has_as_many_statements_as_pages_say() -> None:
    numbers = {10: "ten", 11: "eleven", 12: "twelve", 13: "thirteen", 14: "fourteen"}
    assert said(r"with (\w+)\s+statements") == {numbers[len(get_args(Stmt))]}


def test_there_are_about_as_many_operations_as_pages_say() -> None:
    assert said(r"about (\d+)\s+operations") == {str(round(len(OF_GRAPHS), -1))}


def test_the_design_page_names_every_pass_of_the_graph() -> None:
    passes = re.findall(
        r'passes\.(?:graph|rules)\(\s*"([\w ]+)"', (ROOT / "compiler" / "compile.py").read_text()
    )
    design = TEXT[DOCS / "design.md"]
    assert len(passes) > 8 and [name for name in passes if f"`{name}`" not in design] == []


def test_environment_variables_that_a_page_names_exist() -> None:
    assert said(r"\bWEFT_[A-Z_]+\b") <= {f"WEFT_{name.upper()}" for name in options.PARSERS}


def test_errors_and_warnings_that_a_page_names_exist() -> None:
    homes = (wf.errors, nn, nn.data, nn.parallel, builtins)
    named = said(r"`(?:wf\.errors\.|wf\.|nn\.)?(\w+(?:Error|Warning))`") - {
        "IndexingError"
    }  # MiniTorch's
    assert (
        len(named) > 5
        and [name for name in sorted(named) if not any(hasattr(home, name) for home in homes)] == []
    )
