"""Products and convolutions on the emulated device, in every order of threads; default kernels on
three architectures."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import graphs as g
import numpy as np
import pytest
import weft as wf
from contractkit import conv, in_float32, product, texts, transposed
from cuda_emulator import build
from cuda_emulator.driver import FORWARD, RANDOM, REVERSE, EmulatorDriver
from cuda_loops import on_device
from cuda_lowered import SM80, TF32, lowered
from cudakit import device
from effort import rarely
from harness import leaf, normal_inputs
from weft import options
from weft.codegen.cuda.contract.tile import TILES, Tile, tensor_tiles
from weft.codegen.cuda.emit.emit import emit
from weft.codegen.cuda.schedules import contraction
from weft.codegen.cuda.target import CudaTarget
from weft.codegen.cuda.toolchain import nvcc, nvrtc
from weft.codegen.cuda.toolchain.build import compile_text
from weft.compiler.compile import Compiled
from weft.ir.graph import dtype as dt
from weft.ir.graph.graph import Node
from weft.ir.ops.interp import run as oracle

needs_compiler = pytest.mark.skipif(build.compiler() is None, reason="no g++ for the CUDA emulator")
F, B, H = dt.float32, dt.bfloat16, dt.float16


def check(outputs: list[Node], tolerance: float, target: CudaTarget = SM80) -> Compiled:
    """The same bits in every order of threads, near the oracle's values."""
    env = normal_inputs(outputs)
    program = lowered(outputs, env, target)
    runs = [
        on_device(EmulatorDriver(order=order, seed=5), program, outputs, env)
        for order in (FORWARD, REVERSE, RANDOM)
    ]
    for got, want in zip(runs[0], oracle(outputs, env), strict=True):
        error = np.linalg.norm(got.astype("d").ravel() - np.asarray(want).astype("d").ravel())
        assert error <= tolerance * np.linalg.norm(np.asarray(want).astype("d").ravel()), error
    for other in runs[1:]:
        assert [a.tobytes() for a in other] == [a.tobytes() for a in runs[0]]
    return program


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[Tile], None]:
    """Makes every contraction tiled, in tiles of one kind."""
    return lambda tile: monkeypatch.setattr(
        contraction, "fastest_tile", lambda *_: (tile, 0.0, "a test")
    )


@pytest.fixture
def always_tiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contraction, "naive_cycles", lambda p: float("inf"))


# ---------------------------------------------------------------- every tile


@needs_compiler
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    ("tile", "form"), list(zip(TILES, ["nn", "nt", "tn", "tt"] * 3, strict=False)), ids=str
)
def test_tiles(tile: Tile, form: str, use: Any) -> None:
    use(tile)
    m, n, k = tile.rows + 3, tile.lanes + 4, 2 * tile.k + 3
    check([product(form, m, n, k)], np.sqrt(k) * 1e-7)


TENSOR = list(zip(tensor_tiles(2), ["nn", "nt", "tn", "tt"] * 3, [B, H] * 5, strict=False))
TENSOR += list(zip(tensor_tiles(4)[::2], ["tt", "tn", "nt", "nn"] * 3, [F] * 9, strict=False))


@needs_compiler
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(("tile", "form", "dtype"), TENSOR, ids=str)
def test_tensor_tiles(tile: Tile, form: str, dtype: Any, use: Any) -> None:
    use(tile)
    m, n, k = tile.rows + 8, tile.lanes + 8, 5 * tile.k + 8
    a, b = (
        leaf(*s, dtype=dtype)
        for s in (((m, k) if form[0] == "n" else (k, m)), ((k, n) if form[1] == "n" else (n, k)))
    )
    a, b = (transposed(x) if f == "t" else x for x, f in zip((a, b), form, strict=True))
    check([in_float32(g.matmul, a, b)], 1e-6 if dtype.is_half else 1e-3)


# ---------------------------------------------------------------- around them


def bias_gelu_residual() -> list[Node]:
    y = g.add(g.gelu(g.add_row(product("nt", 70, 48, 40), leaf(48))), leaf(70, 48))
    return [y, g.relu(y)]


def relu_and_mask() -> list[Node]:
    a, keep = leaf(40, 72), leaf(40, 72, dtype=dt.bool_)
    return [g.matmul(g.where(keep, g.relu(a), g.like(0.0, a)), leaf(72, 64))]


def strided() -> list[Node]:
    return conv((2, 8, 11, 11), (16, 8, 3, 3), stride=2, pad=1)


def grouped() -> list[Node]:
    return conv((2, 8, 9, 9), (8, 4, 3, 3), groups=2, dilation=2, pad=1)


def attention_scores() -> list[Node]:
    return [g.softmax(g.scale(product("nt", 40, 40, 16, (6,)), 0.25))]


def wide_sums() -> list[Node]:
    return [g.relu(product("tn", 24, 24, 4000))]


AROUND = [
    *[bias_gelu_residual, relu_and_mask, strided, attention_scores, wide_sums],
    *rarely(grouped),
]


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@needs_compiler
@pytest.mark.usefixtures("always_tiled")
@pytest.mark.parametrize("case", AROUND, ids=lambda c: c.__name__)
def test_what_stands_around_a_product(case: Callable[[], list[Node]]) -> None:
    check(case(), 1e-5)


@pytest.mark.thinned(to=1)
@needs_compiler
@pytest.mark.usefixtures("always_tiled")
@pytest.mark.parametrize(
    "case", [bias_gelu_residual, relu_and_mask, *rarely(strided)], ids=lambda c: c.__name__
)
def test_what_stands_around_a_product_on_tensor_cores(case: Callable[[], list[Node]]) -> None:
    assert "on tensor cores" in " ".join(texts(check(case(), 1e-3, TF32)))


@pytest.mark.thinned(to=1)
@needs_compiler
@pytest.mark.usefixtures("always_tiled")
@pytest.mark.parametrize("dtype", [dt.float64, dt.int32, dt.int64], ids=str)
def test_other_dtypes(dtype: Any) -> None:
    check([product("nt", 40, 40, 40, dtype=dtype)], 1e-14)


# ---------------------------------------------------------------- machine code


KINDS = [(t, F) for t in TILES], [(t, d) for d in (B, F) for t in tensor_tiles(d.itemsize)]
LEAST_THREADS = 512  # at once on a multiprocessor, which has 65536 registers


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90a"])
def test_registers_suffice_for_every_tile(arch: str, use: Any) -> None:
    if nvrtc.find() is None and nvcc.find() is None:
        pytest.skip("no CUDA compiler")
    target, text = CudaTarget(arch, matmul="tf32"), ""
    kinds = KINDS[0] + KINDS[1] * target.has_async_copies
    for i, ((tile, dtype), form) in enumerate(
        zip(kinds, ["nn", "nt", "tn", "tt"] * 8, strict=False)
    ):
        use(tile)
        y = g.relu(product(form, 2 * tile.rows, 2 * tile.lanes, 16 * tile.k, dtype=dtype))
        (kernel,) = lowered([y], target=target).lowered.kernels
        text += emit(dataclasses.replace(kernel.step.loops, name=f"tile{i}"), target)
    report = compile_text(text, arch).report
    assert len(report) == len(kinds)
    for usage in report.values():
        assert usage.spill_stores == usage.spill_loads == usage.local == 0
        assert usage.registers <= 65536 // LEAST_THREADS


@needs_compiler
def test_factors_may_begin_anywhere_in_memory() -> None:
    """Copies of 16 bytes need aligned memory, which a view need not have."""
    device()
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(64 * 64 + 1).astype(np.float32) for _ in range(2))
    x, y = (wf.tensor(v, device="cuda").realize()[1:].reshape(64, 64).realize() for v in (a, b))
    want = a[1:].reshape(64, 64).astype("d") @ b[1:].reshape(64, 64)
    with options.override(matmul="tf32"):
        got = (x @ y).cpu().numpy()
    assert 1e-5 < np.linalg.norm(got - want) / np.linalg.norm(want) < 1e-3
