"""What pages of the documentation say of the project: files, tables, names and pictures that are really there."""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from weft.codegen.cpu.lowering import CPU
from weft.codegen.cuda.lowering import CUDA
from weft.codegen.kernels.schedule import Schedule
from weft.ir.graph.op import TRANSCENDENTAL_UNARY, Op

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
FILE = re.compile(r"`((?:frontend|ir|codegen|runtime|nn|inspection|commands|tests|docs|benchmarks|examples)/[\w./-]*)`")
PICTURE_BYTES = 200_000
# A row of "Add an operation": | `file` | `table` | what a row looks like |
ROW = re.compile(r"^\| `(?P<file>[\w/]+\.py)` \| (?:`(?P<table>\w+)`|names) \|", re.MULTILINE)
TABLES = [(m["file"], m["table"]) for m in ROW.finditer((DOCS / "contributing.md").read_text())]


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda p: p.stem)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    named = FILE.findall(page.read_text())
    assert [name for name in named if not (ROOT / name).exists() and not list(ROOT.glob(f"{name}*"))] == []


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda p: p.stem)
def test_pictures_are_there_small_and_described(page: Path) -> None:
    for text, link in re.findall(r"!\[([^\]]*)\]\(([^)#\s]+)", page.read_text()):
        picture = page.parent / link
        assert text and picture.is_file() and picture.stat().st_size < PICTURE_BYTES, link


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r"([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(p.relative_to(DOCS).as_posix() for p in PAGES)


@pytest.mark.parametrize(("title", "schedules"), [("schedule", CPU), ("schedule on a GPU", CUDA)], ids=["cpu", "cuda"])
def test_tables_of_schedules_have_those_of_the_target(title: str, schedules: Sequence[Schedule[...]]) -> None:
    table = (DOCS / "design.md").read_text().split(f"| {title} | when | loops |\n|---|---|---|\n")[1].split("\n\n")[0]
    cells = (row.split(" | ")[0].removeprefix("| ") for row in table.splitlines())
    assert sorted(name for cell in cells for name in cell.split(", ")) == sorted(s.name for s in schedules)


@pytest.mark.parametrize(("file", "table"), TABLES)
def test_tables_for_a_new_operation_are_there(file: str, table: str | None) -> None:
    text = (ROOT / file).read_text()
    assert table is None or re.search(rf"^(?:class |def )?{table}\b", text, re.MULTILINE)


def test_a_new_operation_needs_a_row_in_each_table_that_is_listed() -> None:
    """An operation of the same kind, TANH, stands in all of them, and in no other module of the compiler."""
    files = {file for file, _ in TABLES} - {"frontend/ops.py"} | {"frontend/elementwise/transcendental.py"}
    assert Op.TANH in TRANSCENDENTAL_UNARY
    folders = ("ir", "codegen", "frontend", "inspection")
    mentions = {p.relative_to(ROOT).as_posix() for f in folders for p in (ROOT / f).rglob("*.py")
                if re.search(r"\bOp\.TANH\b", p.read_text())}  # fmt: skip
    assert mentions | {"tests/optable.py"} == files


def test_what_is_called_a_module_can_be_imported() -> None:
    names = set(re.findall(r"`python -m (weft(?:\.\w+)*)", "".join(p.read_text() for p in PAGES)))
    assert names and all(importlib.import_module(name) for name in names)
