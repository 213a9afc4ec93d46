"""Machine code is in memory as long as a program needs it, and no longer; what runs is never
freed."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading

import numpy as np
import pytest
import weft as wf
from harness import TARGETS
from weft import options
from weft.codegen.llvm.build import runs_anywhere
from weft.compiler.backends import compile_kernels
from weft.errors import CompileError
from weft.frontend.lazy import program_table
from weft.runtime import code, flat, native
from weft.runtime.code import Known, known

PAGE = 4096


def constant(value: int) -> bytes:
    """Code that returns a number."""
    return flat.flattened(
        native.compile_portable(f"define i64 @f() {{\n  ret i64 {value}\n}}\n"), ["f"]
    )


def result(found: code.Code) -> int:
    return int(ctypes.CFUNCTYPE(ctypes.c_int64)(found.addresses[0])())


@pytest.mark.skipif(not runs_anywhere(), reason="code is copied on Linux x86-64 only")
def test_memory_of_code_that_nothing_refers_to_is_used_again() -> None:
    before = flat.memory.used
    first, second, third = (code.load(constant(n), ["f"]) for n in (1, 2, 3))
    assert flat.memory.used == before + 3 * PAGE
    places = {first.addresses[0], second.addresses[0]}
    del first, second
    assert flat.memory.used == before + PAGE and result(third) == 3
    again = [code.load(constant(n), ["f"]) for n in (4, 5)]
    assert {a.addresses[0] for a in again} == places and [result(a) for a in again] == [4, 5]
    del again, third
    assert flat.memory.used == before


def test_of_code_that_is_not_in_use_so_many_bytes_are_kept() -> None:
    data = [constant(n) for n in range(4)]
    with options.override(cache_dir=None):
        store = Known(limit=code.load(data[0], ["f"]).size * 2)
        held = store.add("0", data[0], ["f"])
        for n in (1, 2, 3):
            store.add(str(n), data[n], ["f"])
        assert [store.find(str(n), ["f"]) is not None for n in (3, 2, 1, 0)] == [
            True,
            True,
            False,
            True,
        ]
        assert store.find("0", ["f"]) is held and result(held) == 0


@pytest.mark.usefixtures("young_objects")
@pytest.mark.skipif(not runs_anywhere(), reason="code is copied on Linux x86-64 only")
def test_a_long_run_of_programs_keeps_a_bounded_amount_of_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(program_table, "MAX_PROGRAMS", 4)
    monkeypatch.setattr(program_table, "_programs", program_table.Programs())
    monkeypatch.setattr(known, "limit", 8 * PAGE)
    used = []
    for n in range(24):
        x = wf.arange(n + 3)
        for power in range(n):
            x = x * (power + 2) + x  # a text of its own for each length
        assert x.numpy()[1] == np.prod([p + 3 for p in range(n)], dtype=np.int64)
        gc.collect()
        used.append(flat.memory.used)
    assert max(used[12:]) - used[11] < 8 * PAGE, used


def several(n: int) -> list[wf.Tensor]:
    """Values of kernels that nobody has."""
    x = wf.arange(50 + n, dtype=wf.float32)
    return [(x * k + n).tanh().sum() for k in range(2, 6)] + [
        (x[: k * 9].reshape(k, 9) @ x[:9] + n) for k in range(2, 6)
    ]


def test_what_a_failed_compilation_raises_is_raised_and_nothing_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real, calls = compile_kernels.compile_text, []

    def failing(*args: object, **named: object) -> bytes:
        calls.append(threading.current_thread())
        if len(calls) == 2:
            raise CompileError("as LLVM would")
        return real(*args, **named)

    interval = sys.getswitchinterval()
    with options.override(cache_dir=None):
        monkeypatch.setattr(compile_kernels, "compile_text", failing)
        with pytest.raises(CompileError, match="as LLVM would"):
            wf.realize(*several(1))
        assert sys.getswitchinterval() == interval and not any(
            t.name == "weft-compile" for t in threading.enumerate()
        )
        assert threading.main_thread() not in calls, "several kernels are compiled beside"
        monkeypatch.undo()
        wanted = [np.tanh(np.arange(51, dtype="f4") * k + 1).sum() for k in range(2, 6)]
        np.testing.assert_allclose([t.item() for t in several(1)[:4]], wanted, rtol=1e-4)


def correlated(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    places = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3))
    return np.einsum("nchwyx,ocyx->nohw", places, w)


ROWS_OF_8 = pytest.mark.skipif(
    "avx512" not in TARGETS, reason="needs AVX-512"
)  # tiles of a product whose lanes run over k


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize(
    "step", ["convolution", "input gradient", pytest.param("product", marks=ROWS_OF_8)]
)
def test_another_number_of_images_needs_no_new_kernel(step: str) -> None:
    random = np.random.default_rng(0)

    def compute(count: int) -> None:
        x, w = (
            random.standard_normal((count, 3, 12, 12), dtype="f4"),
            random.standard_normal((8, 3, 3, 3), dtype="f4"),
        )
        g, rows, matrix = (
            random.standard_normal(shape, dtype="f4")
            for shape in ((count, 8, 10, 10), (count, 84), (10, 84))
        )
        images = wf.tensor(x, requires_grad=True)
        if step == "product":
            got, wanted = wf.tensor(rows) @ wf.tensor(matrix).T, rows @ matrix.T
        elif step == "convolution":
            got, wanted = wf.nn.functional.conv2d(images, wf.tensor(w)).detach(), correlated(x, w)
        else:
            (got,) = wf.grad(
                (wf.nn.functional.conv2d(images, wf.tensor(w)) * wf.tensor(g)).sum(), [images]
            )
            wanted = correlated(
                np.pad(g, ((0, 0), (0, 0), (2, 2), (2, 2))), w[:, :, ::-1, ::-1].swapaxes(0, 1)
            )
        np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-3, atol=1e-4)

    alone = options.override(
        cache_dir=None, serial_threshold=None, min_chunks=1, dynamic_shapes=False
    )
    with alone:
        compute(64)
        before = len(known)
        for count in (48, 72):
            compute(count)
        assert len(known) == before
