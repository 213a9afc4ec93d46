"""The project's own promises: complete packaging, one-way dependencies, a light import, one reader
of the environment."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pytest
import weft as wf
from project_root import ROOT

OUTSIDE = {"tests", "examples", "benchmarks", "docs", "build", "dist"}
# Bottom to top: a file imports from its own room and from those before it. Rooms of one line are
# strangers.
ROOMS = (
    ("ir/symbolic",),
    ("ir/graph",),
    ("ir/ops",),
    ("ir/regions",),
    ("ir/gradient", "ir/analysis"),
    ("ir/kernels",),
    ("ir/parts",),
    ("ir/passes",),
    ("ir/loops",),
    ("ir/program",),
    ("codegen/math",),
    ("codegen/kernels",),
    ("codegen/llvm", "codegen/cuda"),
    ("codegen/cpu",),
    ("runtime",),
    ("compiler",),
    ("frontend/lazy",),
    ("frontend/operands",),
    ("frontend/elementwise",),
    ("frontend/functions",),
    ("frontend/windows", "frontend/selection", "frontend/linear_algebra", "frontend/fourier"),
    ("frontend/tensor",),
    ("frontend/gradients", "frontend/control"),
    ("frontend/transformations",),
    ("frontend/jit",),
    ("frontend/modes",),
    ("frontend",),
    ("nn", "array_api", "linalg", "fft"),
    ("inspection",),
    ("commands",),
)
STRANGERS = {("codegen/cpu", "codegen/cuda")}  # of different lines
# every layer may use them
SHARED = {
    "errors",
    "locks",
    "mistakes",
    "modes",
    "options",
    "signals",
    "system",
    "version",
    "wording",
}


@cache
def package_files() -> list[Path]:
    found = []
    for folder, inner, names in os.walk(ROOT):
        outside = OUTSIDE if Path(folder) == ROOT else ()
        inner[:] = [name for name in inner if name[0] != "." and name not in outside]
        found += [Path(folder, name) for name in names if name.endswith(".py") and name[0] != "."]
    return found


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


LINES = {room: line for line, rooms in enumerate(ROOMS) for room in rooms}


def room_of(parts: tuple[str, ...]) -> str | None:
    """The room in which a module or folder stands; None for the modules at the root."""
    return next((room for n in (2, 1) if (room := "/".join(parts[:n])) in LINES), None)


@cache
def imports(path: Path) -> list[ast.Import | ast.ImportFrom]:
    """Of any function, too."""
    return [n for n in statements(tree(path)) if isinstance(n, ast.Import | ast.ImportFrom)]


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Those below a node, at any depth: no expression is looked into, since none holds one."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        inner = getattr(node, part, None)
        for each in inner if isinstance(inner, list) else ():
            yield each
            yield from statements(each)


def imported(path: Path) -> Iterator[tuple[int, tuple[str, ...]]]:
    """(line, folders and name) of every import of the package in a file."""
    here = path.relative_to(ROOT).parts[:-1]
    for node in imports(path):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = (
                *here[: len(here) - (node.level - 1)],
                *filter(None, (node.module or "").split(".")),
            )
            yield from ((node.lineno, (*base, alias.name)) for alias in node.names)


def test_pyproject_lists_every_package() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    folders = [p.parent.relative_to(ROOT).parts for p in package_files() if p.name == "__init__.py"]
    assert sorted(listed) == sorted(".".join(("weft", *parts)) for parts in folders)


def test_every_folder_of_code_is_a_package() -> None:
    assert {p.parent for p in package_files()} == {
        p.parent for p in package_files() if p.name == "__init__.py"
    }


def may_import(room: str, other: str) -> bool:
    return room == other or (LINES[other] < LINES[room] and (room, other) not in STRANGERS)


def test_dependencies_point_one_way() -> None:
    wrong = []
    for path in package_files():
        where = path.relative_to(ROOT)
        room = room_of(where.parts[:-1])
        for line, used in imported(path) if room else ():
            other = room_of(used)
            if other is None and used[0] not in SHARED:
                wrong.append(f"{where}:{line} {used}")
            elif other is not None and not may_import(room, other):
                wrong.append(f"{where}:{line} {room} -> {other}")
    assert wrong == []


def test_no_files_import_each_other_in_a_circle() -> None:
    modules = {p.relative_to(ROOT).with_suffix("").parts: p for p in package_files()}
    below: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for module, path in modules.items():
        ends = (
            ((*used, "__init__"), used, used[:-1], (*used[:-1], "__init__"))
            for _, used in imported(path)
        )
        below[module] = {next(end for end in each if end in modules) for each in ends} - {module}
    TopologicalSorter(below).prepare()  # raises CycleError


def test_every_file_stands_in_a_room() -> None:
    folders = {p.relative_to(ROOT).parts[:-1] for p in package_files() if p.name != "__init__.py"}
    assert [folder for folder in folders if folder and room_of(folder) is None] == []


def test_only_the_debug_option_reaches_the_interpreter() -> None:
    imports = re.compile(
        r"^from \S+ import (?:interp|strict)\b|^from \S*\.(?:interp|strict) import", re.M
    )
    reaching = [
        p.relative_to(ROOT).as_posix() for p in package_files() if imports.search(p.read_text())
    ]
    assert sorted(reaching) == ["compiler/programs/interpreted.py", "ir/ops/strict.py"]


def test_values_come_from_machine_code_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.ir.ops.interp.run", None)
    assert ((wf.ones(3) * 2).exp().sum() - 22.167168).abs().item() < 1e-4


def test_inside_the_package_imports_are_relative() -> None:
    absolute = []
    for path in package_files():
        for node in imports(path):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += (
                [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            )
            absolute += [
                f"{path.relative_to(ROOT)}:{node.lineno}"
                for name in names
                if name.split(".")[0] == "weft"
            ]
    assert absolute == []


def test_only_options_reads_the_environment() -> None:
    readers = {
        str(path.relative_to(ROOT))
        for path in package_files()
        if re.search("environ|getenv", path.read_text())
        for node in ast.walk(tree(path))
        if (isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv", "environb"))
        or (isinstance(node, ast.alias) and node.name in ("environ", "getenv"))
    }
    assert readers == {"options.py"}


def test_readme_lists_every_environment_variable() -> None:
    from weft import options

    listed = set(re.findall(r"^\| `(WEFT_\w+)`", (ROOT / "README.md").read_text(), re.M))
    assert listed == {f"WEFT_{name.upper()}" for name in options.PARSERS}


def test_every_file_begins_with_a_docstring() -> None:
    bare = [
        str(p.relative_to(ROOT))
        for p in package_files()
        if p.read_text().strip() and not ast.get_docstring(tree(p))
    ]
    assert bare == []


def test_every_file_is_headed_by_the_thing_that_it_holds() -> None:
    question = re.compile(
        r"(?:What|Who|Whose|How|When|Where|Why|Which|Whether|May|Is|Are|Does)\b|In:"
    )
    heads = {str(p.relative_to(ROOT)): ast.get_docstring(tree(p)) or "" for p in package_files()}
    assert {
        path: head.splitlines()[0] for path, head in heads.items() if question.match(head)
    } == {}


def test_version_has_one_source() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", wf.__version__)
    assert f"## {wf.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert wf.__version__ not in (ROOT / "pyproject.toml").read_text()


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **environment}
    # The package stands wherever this process found it: installed, or in a folder on its path.
    prelude = f"import sys; sys.path[:0] = {[p for p in sys.path if p]!r}; "
    return subprocess.run(
        [sys.executable, "-c", prelude + code], capture_output=True, text=True, env=env, check=True
    )


def test_import_takes_no_longer_than_that_of_numpy() -> None:
    """What it needs apart: about 0.06 s on a processor where NumPy takes 0.09 s. Processor time, so
    that a busy machine does not count; importing waits for nothing else."""
    code = """
from time import process_time as now
start = now(); import numpy
numpys = now() - start; import llvmlite.binding, llvmlite.ir
start = now(); import weft
print((now() - start) / numpys)
"""
    bytecode = {"PYTHONDONTWRITEBYTECODE": ""}  # as after any first import
    assert any(float(run(code, **bytecode).stdout) < 1 for _ in range(10))


IMPORTS = """
import json, os, numpy
opened, threads = [], lambda: len(os.listdir('/proc/self/task'))
sys.addaudithook(lambda name, args: name == 'open' and opened.append(str(args[0])))
told = {'threads': [threads()]}
import weft
told |= {'threads': [*told['threads'], threads()], 'modules': [*sys.modules], 'opened': [*opened]}
import weft.nn
told['modules of nn'] = [*sys.modules]
from weft.runtime.native import native_text
native_text('linux', 'x86_64')
print(json.dumps(told | {'opened then': opened}))
"""
OTHERS = {
    "matplotlib",
    "sklearn",
    "scipy",
    "safetensors",
    "mpi4py",
    "pooch",
    "tqdm",
    "torch",
    "pycuda",
    "llvmlite.binding",
}


@pytest.fixture(scope="module")
def importing(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a process that imports the package, and then nn, tells; and what is in its home then."""
    home = tmp_path_factory.mktemp("home")
    done = run(IMPORTS, WEFT_CACHE_DIR=str(home / "cache"), HOME=str(home))
    return json.loads(done.stdout) | {"home": [*home.iterdir()]}


def test_import_touches_no_network_gpu_or_cache(importing: dict[str, Any]) -> None:
    modules = {*importing["modules"]}
    assert not modules & (OTHERS | {"socket", "ssl", "http.client"})
    assert not [m for m in modules if m.startswith("weft.codegen")]
    assert importing["home"] == []


def test_import_reads_no_text_of_native_code(importing: dict[str, Any]) -> None:
    assert not [path for path in importing["opened"] if path.endswith(".ll")]
    assert [path for path in importing["opened then"] if path.endswith(".ll")]


def test_importing_nn_loads_no_optional_package(importing: dict[str, Any]) -> None:
    assert "weft.nn" not in importing["modules"]  # it is loaded when it is first asked for
    assert not OTHERS & {*importing["modules of nn"]}


def test_import_starts_no_thread(importing: dict[str, Any]) -> None:
    numpys, ours = importing["threads"]
    assert numpys == ours


def test_readme_commands_are_single_lines_that_ci_runs() -> None:
    commands = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    setup = [c.strip() for c in commands if c.startswith("python3 -m venv")]
    assert len(setup) == 2 and all("\n" not in c for c in setup)
    assert "grep -m1 -- '-m pytest' README.md" in (ROOT / ".ci" / "run").read_text()


@pytest.mark.parametrize("folder", ["examples", "tests", "benchmarks"])
def test_scripts_import_the_package_by_name(folder: str) -> None:
    suspects = (
        p for p in (ROOT / folder).rglob("*.py") if re.search(r"\bfrom[\s\\]+\.", p.read_text())
    )
    found = ((p, n) for p in suspects for n in imports(p) if isinstance(n, ast.ImportFrom))
    assert [f"{p}:{n.lineno}" for p, n in found if n.level] == []
