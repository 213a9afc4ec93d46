"""Contractions in tiles for CUDA: every form, prologue, epilogue and window, interpreted, against
the oracle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import graphs as g
import numpy as np
import pytest
from contractkit import conv, product, texts, transposed
from cuda_lowered import check, lowered
from effort import rarely
from harness import Env, interpret, leaf, normal_inputs
from weft.codegen.cuda.contract.tile import Tile
from weft.codegen.cuda.schedules import contraction
from weft.compiler.compile import Compiled
from weft.ir.graph import dtype as dt
from weft.ir.graph.graph import Node
from weft.ir.loops.loop import Alloc, Buf, Copy, Loops
from weft.ir.loops.walk import statements
from weft.ir.ops.interp import run as oracle

SMALL = Tile(16, 16, 8, (2, 4))  # 32 threads
TILES = [SMALL, Tile(32, 8, 4, (8, 1)), Tile(16, 32, 8, (4, 4)), Tile(8, 64, 16, (4, 4))]


@pytest.fixture
def tiled(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Compiled]:
    """Checks graphs whose contractions are in tiles of this kind; gives the program."""

    def run(
        outputs: list[Node], tile: Tile = SMALL, env: Env | None = None, tolerance: float = 1e-5
    ) -> Compiled:
        monkeypatch.setattr(contraction, "fastest_tile", lambda *_: (tile, 0.0, "a test"))
        program = check(outputs, env or normal_inputs(outputs), tolerance)
        assert "tiled" in " ".join(texts(program))
        return program

    return run


# ---------------------------------------------------------------- forms


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("tile", TILES, ids=str)
@pytest.mark.parametrize("form", ["nn", "nt", "tn", "tt"])
def test_every_form_in_every_tile(form: str, tile: Tile, tiled: Any) -> None:
    tiled([product(form, 19, 27, 9)], tile)


@pytest.mark.parametrize("form", ["nn", *rarely("nt", "tn")])
def test_whole_tiles(form: str, tiled: Any) -> None:
    tiled([product(form, 32, 48, 24)])


def test_batches(tiled: Any) -> None:
    tiled([product("nt", 9, 20, 12, (2,))])


@pytest.mark.parametrize("parts", [*rarely(2), 3])
def test_blocks_that_share_sums(parts: int, tiled: Any) -> None:
    program = tiled([g.relu(product("nn", 9, 10, 52, (2,)))], Tile(16, 16, 8, (2, 4), parts))
    assert len(program.lowered.kernels[0].step.loops.phases) == 2
    assert f"k in {parts} parts" in texts(program)[0]


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    "dtype", [dt.float64, dt.int32, dt.bfloat16, *rarely(dt.int64, dt.uint8, dt.float16)], ids=str
)
def test_dtypes(dtype: Any, tiled: Any) -> None:
    tiled([product("nt", 18, 20, 17, dtype=dtype)], tolerance=1e-2 if dtype.is_half else 1e-6)


def test_tiles_keep_sixteen_bits_of_what_has_sixteen_bits(tiled: Any) -> None:
    program = tiled([product("nn", 16, 16, 16, dtype=dt.bfloat16)], tolerance=1e-2)
    loops = program.lowered.kernels[0].step.loops
    assert {b.dtype for b in block_buffers(loops) if b.name.endswith("_tile")} == {dt.bfloat16}


def block_buffers(loops: Loops) -> list[Buf]:
    return [s.buf for s in statements(loops.phases) if isinstance(s, Alloc)]


# ---------------------------------------------------------------- prologues and epilogues


@pytest.mark.slow
def test_a_prologue_of_either_factor(tiled: Any) -> None:
    a, b = leaf(20, 30), leaf(30, 24)
    program = tiled([g.matmul(g.relu(a), g.exp(b))])
    assert len(program.lowered.kernels) == 1


def test_a_mask_of_a_factor(tiled: Any) -> None:
    a, keep, b = leaf(20, 30), leaf(20, 30, dtype=dt.bool_), leaf(30, 24)
    tiled([g.matmul(g.where(keep, g.scale(a, 2.0), g.like(0.0, a)), b)])


def test_padding_of_a_factor_beyond_its_edges(tiled: Any) -> None:
    a, b = leaf(18, 25), leaf(30, 24)
    tiled([g.matmul(g.pad(a, {0: (1, 2, 0), 1: (2, 3, 0)}), b)])


@pytest.mark.slow
def test_an_epilogue_with_bias_gelu_and_residual(tiled: Any) -> None:
    y = product("nt", 21, 24, 16)
    program = tiled([g.add(g.gelu(g.add_row(y, leaf(24))), leaf(21, 24))])
    assert len(program.lowered.kernels) == 1


@pytest.mark.slow
def test_several_outputs(tiled: Any) -> None:
    y = g.add_row(product("nn", 20, 36, 18), leaf(36))
    program = tiled([y, g.relu(y), g.exp(y)])
    assert len(program.lowered.kernels) == 1


def test_an_output_across_the_lanes(tiled: Any) -> None:
    y = product("nn", 20, 36, 18)
    tiled([y, transposed(g.relu(y))])


def test_infinite_values_stay_in_their_rows_and_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Zeros around a tile never meet an infinity of another row."""
    monkeypatch.setattr(contraction, "fastest_tile", lambda *_: (SMALL, 0.0, "a test"))
    outputs = [product("nn", 17, 18, 17)]
    env = normal_inputs(outputs)
    for a in env.values():
        a[2, 3] = np.inf
    program = lowered(outputs, env)
    assert texts(program)[0].startswith("tiled")
    np.testing.assert_allclose(
        interpret(program, outputs, env)[0], oracle(outputs, env)[0], rtol=1e-4, atol=1e-5
    )


# ---------------------------------------------------------------- tensor cores

HALVES = Tile(32, 16, 16, (16, 16), stages=3, tensor=True)
TF32 = Tile(16, 32, 8, (16, 32), stages=4, tensor=True)


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize(
    ("tile", "dtype"), [(HALVES, dt.bfloat16), (HALVES, dt.float16), (TF32, dt.float32)], ids=str
)
@pytest.mark.parametrize("form", ["nn", "nt", "tn", "tt"])
def test_tensor_cores(form: str, tile: Tile, dtype: Any, tiled: Any) -> None:
    program = tiled(
        [product(form, 40, 24, 72, dtype=dtype)], tile, tolerance=1e-2 if dtype.is_half else 1e-3
    )
    assert copies(program) == 2


@pytest.mark.parametrize("dtype", [dt.bfloat16, dt.float32], ids=str)
def test_tensor_cores_on_odd_sizes(dtype: Any, tiled: Any) -> None:
    tile = HALVES if dtype.is_half else TF32
    program = tiled(
        [product("nn", 19, 21, 23, dtype=dtype)], tile, tolerance=1e-2 if dtype.is_half else 1e-3
    )
    assert copies(program) == 0


def test_tensor_cores_and_a_prologue_of_one_factor(tiled: Any) -> None:
    a, b = leaf(20, 48), leaf(48, 24)
    program = tiled([g.matmul(g.relu(a), b)], TF32, tolerance=1e-3)
    assert copies(program) == 1 and len(program.lowered.kernels) == 1


def test_tensor_cores_with_sums_in_parts(tiled: Any) -> None:
    tiled([g.relu(product("nt", 20, 24, 72))], replace(TF32, parts=3), tolerance=1e-3)


def test_tensor_cores_on_windows_copy_the_weights(tiled: Any) -> None:
    """They lie in one line along several reduced axes."""
    program = tiled(conv((2, 4, 7, 6), (6, 4, 3, 3), pad=1)[:1], TF32, tolerance=1e-3)
    assert copies(program) == 1


def test_fewer_steps_than_stages(tiled: Any) -> None:
    tiled([product("nt", 40, 24, 8)], TF32, tolerance=1e-3)


def copies(program: Compiled) -> int:
    """Factors that pass around registers."""
    found = statements(program.lowered.kernels[0].step.loops.phases)
    return len({s.to for s in found if isinstance(s, Copy)})


# ---------------------------------------------------------------- windows

CONVOLUTIONS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, int]]] = {
    "plain": ((2, 3, 8, 9), (5, 3, 3, 3), {}),
    "padded": ((2, 3, 7, 7), (4, 3, 3, 3), {"pad": 1}),
    "strided": ((2, 4, 9, 8), (5, 4, 3, 3), {"stride": 2, "pad": 1}),
    "dilated": ((1, 3, 11, 11), (4, 3, 3, 3), {"dilation": 2}),
    "groups": ((2, 4, 7, 6), (6, 2, 3, 3), {"groups": 2}),
}


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.parametrize("which", [0, 1, 2], ids=["forward", "input gradient", "weight gradient"])
def test_convolutions_and_their_gradients(name: str, which: int, tiled: Any) -> None:
    x, w, how = CONVOLUTIONS[name]
    tiled(conv(x, w, **how)[which : which + 1])


def test_an_input_gradient_of_strides_has_a_phase_for_each_residue_class(tiled: Any) -> None:
    program = tiled(conv((2, 4, 9, 8), (5, 4, 3, 3), stride=2)[1:2])
    assert len(program.lowered.kernels[-1].step.loops.phases) > 1


# ---------------------------------------------------------------- choices


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize(
    ("shape", "tile"),
    [
        ((4096, 4096, 4096), "128x128x8"),
        ((512, 512, 512), "32x32x32"),
        ((8, 4096, 4096), "8x128x32 of 2x4 a thread, 256 blocks of 128 threads, k in 8 parts"),
        ((4096, 10, 256), "16x16x64"),
        ((64, 64, 100_000), "k in 64 parts"),
    ],
)
def test_the_tile_follows_the_shape(shape: tuple[int, int, int], tile: str) -> None:
    (text,) = texts(lowered([product("nn", *shape)]))
    assert tile in text, text


def test_sums_of_large_results_stay_in_one_block() -> None:
    """Parts would take as much memory as the result, several times."""
    (text,) = texts(lowered([product("nn", 4100, 4100, 4100)]))
    assert "tiled" in text and "parts" not in text


def test_few_products_take_a_thread_a_result() -> None:
    (text,) = texts(lowered([product("nn", 20, 20, 20)]))
    assert text.startswith("naive")
