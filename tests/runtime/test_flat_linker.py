"""Code that is copied into place gives the bits of code that the engine links; what cannot be
copied is left as it is."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable

import graphs as g
import numpy as np
import pytest
from harness import compiled, execute, leaf, normal_inputs
from weft.codegen.llvm.build import runs_anywhere
from weft.compiler.backends import compile_kernels
from weft.ir.graph import dtype as dt
from weft.ir.graph.graph import Node, node
from weft.ir.graph.op import Op
from weft.runtime import flat, native
from weft.runtime.code import known

pytestmark = pytest.mark.skipif(not runs_anywhere(), reason="code is copied on Linux x86-64 only")
OPTIONS = {"tiny": {"serial_threshold": None, "min_chunks": 1}, "wide": {}}


def remainder() -> list[Node]:
    x, y = leaf(7), leaf(7)
    return [
        node(Op.MOD, (x, y)),
        node(Op.MOD, (leaf(5, dtype=dt.float64), leaf(5, dtype=dt.float64))),
    ]  # calls fmodf and fmod


CASES: dict[str, Callable[[], list[Node]]] = {
    "softmax": lambda: [g.softmax(leaf(5, 9))],
    "sine": lambda: [node(Op.SIN, (leaf(30),), 0)],
    "matmul": lambda: [g.relu(g.matmul(leaf(20, 30), leaf(30, 40)))],
    "remainder": remainder,
}


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("case", CASES)
def test_copied_code_gives_the_bits_of_linked_code(
    case: str, options: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = CASES[case]()
    env = normal_inputs(outputs)
    results, kinds = [], []
    for flatten in (flat.flattened, lambda data, names: data):
        loaded: list[bool] = []

        def kept(
            data: bytes,
            names: list[str],
            flatten: Callable[..., bytes] = flatten,
            loaded: list[bool] = loaded,
        ) -> bytes:
            made = flatten(data, names)
            loaded.append(flat.is_flat(made))
            return made

        monkeypatch.setattr(compile_kernels.flat, "flattened", kept)
        known.clear()
        results.append(execute(compiled(outputs, **OPTIONS[options]), outputs, env))
        kinds.append(set(loaded))
        monkeypatch.undo()
    assert kinds == [{True}, {False}]
    for copied, linked in zip(*results, strict=True):
        np.testing.assert_array_equal(copied.view(np.uint8), linked.view(np.uint8))


COUNTERS = """
@low = internal global i64 5
@high = internal global [2000 x i64] zeroinitializer, align 64
define i64 @f() {
  %old = atomicrmw add ptr @low, i64 1 monotonic
  %place = getelementptr i64, ptr @high, i64 1999
  %far = atomicrmw add ptr %place, i64 %old monotonic
  %sum = add i64 %old, %far
  ret i64 %sum
}
"""


def test_data_of_its_own_is_copied_with_the_code_and_can_be_written() -> None:
    data = flat.flattened(native.compile_portable(COUNTERS), ["f"])
    assert flat.is_flat(data)
    first, second = (
        ctypes.CFUNCTYPE(ctypes.c_int64)(flat.load(data).addresses[0]) for _ in range(2)
    )
    assert [first(), first(), first(), second()] == [5, 11, 18, 5]


def test_an_object_that_needs_a_linker_is_left_as_it_is() -> None:
    # an address that is filled in when it is loaded
    text = "@f.p = global ptr @f\ndefine i64 @f() {\n  ret i64 0\n}\n"
    data = native.compile_portable(text)
    assert flat.flattened(data, ["f"]) is data and not flat.is_flat(data)
    assert flat.flattened(b"not an object", ["f"]) == b"not an object"


def _in_child(outputs: list[Node]) -> None:
    program = compiled(outputs, **OPTIONS["tiny"])
    env = normal_inputs(outputs)
    np.testing.assert_array_equal(execute(program, outputs, env)[0], env[next(iter(env))] * 3)


def test_a_forked_child_loads_code_of_its_own() -> None:
    x, y = leaf(6), leaf(6)
    child = multiprocessing.get_context("fork").Process(
        target=_in_child, args=([g.mul(x, g.like(3, x))],)
    )
    child.start()
    program = compiled([g.mul(y, g.like(5, y))], **OPTIONS["tiny"])
    child.join(60)
    env = normal_inputs([program.graph[0]])
    np.testing.assert_array_equal(execute(program, program.graph, env)[0], env[y] * 5)
    assert child.exitcode == 0


def test_code_stays_mapped_while_python_ends() -> None:
    """A daemon thread, and the pool's workers, are in machine code when the interpreter drops its
    modules."""
    program = (
        "import threading, time, numpy as np, weft as wf\n"
        "x = wf.tensor(np.ones((1000, 1000), 'float32')).realize()\n"
        "(x @ x).realize()\n"
        "def work():\n"
        "    y = x\n"
        "    for _ in range(100): y = y @ x\n"
        "    y.realize()\n"
        "threading.Thread(target=work, daemon=True).start()\n"
        "time.sleep(0.15)\n"
    )
    environment = os.environ | {
        "WEFT_NUM_THREADS": "2",
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
    }
    assert (
        subprocess.run([sys.executable, "-c", program], env=environment, check=False).returncode
        == 0
    )
