"""Programs on disk: a later process runs no passes and compiles nothing, and means the same; what
is damaged is made again."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import weft as wf
from weft import options
from weft.codegen.llvm.build import runs_anywhere
from weft.compiler import compile
from weft.compiler.backends import compile_kernels
from weft.frontend.lazy import program_table
from weft.runtime import cache
from weft.runtime.code import known
from weft.runtime.pack import HEADER, Pack

Start = Callable[[], None]


@pytest.fixture
def new_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """A cache folder of its own, and a function that forgets what this process knows of programs
    and code."""

    def start() -> None:
        monkeypatch.setattr(program_table, "_programs", program_table.Programs())
        known.clear()
        cache.default().close()

    with options.override(cache_dir=tmp_path):
        start()
        yield start
        cache.default().close()


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows at every run of the passes and every compilation."""
    done: list[str] = []

    def counted(module: ModuleType, name: str) -> Callable[..., object]:
        real = getattr(module, name)
        return lambda *args, **options: (done.append(name), real(*args, **options))[1]

    for module, name in ((compile, "build"), (compile_kernels, "compile_text")):
        monkeypatch.setattr(module, name, counted(module, name))
    return done


def softmax(scale: float = 2.0) -> np.ndarray:
    x = wf.tensor(np.arange(12, dtype="float32").reshape(3, 4))
    return (x * scale).softmax(axis=-1).numpy()


def gathered(index: int) -> np.ndarray:
    return wf.tensor([1.0, 2.0, 3.0])[wf.tensor([0, index])].exp().numpy()


def test_a_later_process_runs_no_passes_and_compiles_nothing(
    new_process: Start, builds: list[str]
) -> None:
    first = softmax()
    assert builds == ["build", "compile_text"]
    new_process()
    again = softmax()
    assert len(builds) == 2
    np.testing.assert_array_equal(again.view(np.uint32), first.view(np.uint32))


CHANGES = (
    "constant",
    "dtype",
    "shape",
    "strides",
    "min_chunks",
    "serial_threshold",
    "target",
    "verify",
    "strict",
)


@pytest.mark.thinned(to=5)
@pytest.mark.parametrize("change", CHANGES)
def test_another_graph_or_setting_is_another_program(
    new_process: Start, builds: list[str], change: str
) -> None:
    x = wf.tensor(np.ones((4, 4), "float32"))
    (x + 2.0).numpy()
    new_process()
    settings = {
        "min_chunks": 2,
        "serial_threshold": 0,
        "target": "sse2",
        "verify": True,
        "strict": True,
    }
    graphs = {
        "constant": x + 3.0,
        "dtype": x.double() + 2.0,
        "shape": wf.tensor(np.ones((5, 4), "float32")) + 2.0,
        "strides": x.T + 2.0,
    }
    with options.override(**{name: settings[name] for name in settings if name == change}):
        graphs.get(change, x + 2.0).numpy()
    assert builds.count("build") == 2


def test_constants_that_vary_are_inputs_in_a_later_process_too(
    new_process: Start, builds: list[str]
) -> None:
    results = [softmax(s) for s in (1.0, 2.0, 3.0)]
    assert builds.count("build") == 2
    new_process()
    again = [softmax(s) for s in (1.0, 4.0, 3.0)]
    assert builds.count("build") == 2
    np.testing.assert_array_equal(again[::2], results[::2])


def test_errors_name_the_line_of_this_process(new_process: Start, builds: list[str]) -> None:
    np.testing.assert_allclose(gathered(2), np.exp([1.0, 3.0]), rtol=1e-6)
    new_process()
    built = len(builds)
    message = "index 7 is out of range for axis 0 of extent 3"
    with pytest.raises(wf.errors.IndexError, match=message) as caught:
        wf.tensor([1.0, 2.0, 3.0])[wf.tensor([0, 7])].exp().numpy()
    line = test_errors_name_the_line_of_this_process.__code__.co_firstlineno + 6
    assert f"{Path(__file__).name}:{line}" in str(caught.value)
    assert len(builds) == built


def test_updates_stay_in_place(new_process: Start, builds: list[str]) -> None:
    def step() -> bool:
        p = wf.tensor(np.zeros(1000, "float32"))
        before = p._stored().address
        p.assign(p + 1)
        wf.realize()
        return p._stored().address == before and p.numpy()[0] == 1

    assert step()
    new_process()
    assert step() and builds.count("build") == 1


def test_damaged_or_missing_entries_are_made_again(
    new_process: Start, builds: list[str], tmp_path: Path
) -> None:
    want = softmax()
    cache.default().close()
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    for _, _, offset, _ in [*Pack(str(path), os.open(path, os.O_RDONLY)).new_entries()]:
        path.write_bytes(whole[: offset + HEADER.size] + b"?" + whole[offset + HEADER.size + 1 :])
        new_process()
        np.testing.assert_array_equal(softmax(), want)
    path.unlink()
    new_process()
    np.testing.assert_array_equal(softmax(), want)
    assert (builds.count("build"), builds.count("compile_text")) == (
        4,
        3,
    )  # first; program, kernel damaged; both gone


def test_nothing_is_kept_without_a_folder(new_process: Start, builds: list[str]) -> None:
    with options.override(cache_dir=None):
        for _ in range(2):
            new_process()
            softmax()
    assert builds.count("build") == 2


PROCESS = """
import weft.compiler.compile as compile, weft.compiler.backends.compile_kernels as kernels
import numpy as np, weft as wf
def refused(*_): raise AssertionError("a pass runs")
if {warm}: compile.build = kernels.compile_text = kernels.emit = refused
x = wf.tensor(np.arange(6, dtype="float32").reshape(2, 3), requires_grad=True)
loss = (x.tanh() @ wf.tensor(np.ones((3, 2), "float32"))).square().sum()
loss.backward()
print(loss.item(), x.grad.numpy().tobytes().hex())
"""


@pytest.mark.slow
def test_two_processes(tmp_path: Path) -> None:
    environment = os.environ | {
        "WEFT_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
    }
    outputs = []
    for warm in (False, True):
        command = [sys.executable, "-c", PROCESS.format(warm=warm)]
        outputs.append(
            subprocess.run(
                command, env=environment, capture_output=True, text=True, check=True
            ).stdout
        )
    assert outputs[0] == outputs[1]


def test_graphs_share_programs_and_kernels_where_they_can(
    new_process: Start, builds: list[str]
) -> None:
    """A dense map is one kernel whatever its shape; equal structures are one program."""
    with options.override(dynamic_shapes=False):
        shapes = [(12,), (3, 4), (4, 3), (2, 2, 3), (1, 12), (12, 1)]
        for repeat in range(2):
            for shape in shapes:
                x = wf.tensor(np.full(shape, float(repeat), "float32"))
                (x.tanh() + x).numpy()
        assert (builds.count("build"), builds.count("compile_text")) == (len(shapes), 1)
        new_process()
        for shape in shapes:
            x = wf.tensor(np.full(shape, 3.0, "float32"))
            (x.tanh() + x).numpy()
        assert builds.count("build") == len(shapes)


def test_without_dynamic_shapes_no_program_of_many_sizes_is_found(
    new_process: Start, builds: list[str]
) -> None:
    def summed(dynamic: bool) -> int:
        new_process()
        before = builds.count("build")
        f = wf.jit(lambda x: x.softmax(1).sum(0), dynamic=dynamic)
        for rows in (20, 30, 40):
            f(wf.tensor(np.ones((rows, 8), "float32"))).numpy()
        return builds.count("build") - before

    assert [summed(True), summed(True)] == [1, 0], "and that of many sizes, by itself"
    assert [summed(False), summed(False)] == [2, 0], "the first size has one of its own already"


@pytest.mark.skipif(not runs_anywhere(), reason="elsewhere LLVM's engine links what is on disk")
def test_a_later_process_loads_neither_compiler_nor_llvm(tmp_path: Path) -> None:
    program = (
        "import sys, weft as wf; print((wf.arange(100000) * 2).sum().item())\nprint([m for m in"
        " ('llvmlite.binding', 'weft.compiler.compile', 'weft.codegen.cpu.rows') if m in"
        " sys.modules])"
    )
    environment = os.environ | {"WEFT_CACHE_DIR": str(tmp_path / "cache"), "WEFT_NUM_THREADS": "2"}

    def run() -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()

    first, second = run(), run()
    assert first[0] == second[0] == "9999900000"
    assert first[1] != "[]" and second[1] == "[]"
