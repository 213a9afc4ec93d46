"""How warps touch memory: what is counted of kernels by hand is known, and default schedules waste
little."""

from __future__ import annotations

from collections.abc import Callable

import graphs as g
import numpy as np
import pytest
from contractkit import conv, in_float32, product, transposed
from cuda_emulator import build
from cuda_emulator.accesses import Recorder, Use
from cuda_emulator.launching import run
from cuda_loops import on_device
from cuda_lowered import SM80, TF32, lowered
from cudakit import compiled, leaf_tensors
from harness import Env, leaf, normal_inputs
from weft.codegen.cuda.contract.tile import TILES, Tile, tensor_tiles
from weft.codegen.cuda.schedules import contraction
from weft.codegen.cuda.target import CudaTarget
from weft.compiler.compile import Compiled
from weft.ir.graph import dtype as dt
from weft.ir.graph import graph
from weft.ir.graph.graph import Node, node
from weft.ir.graph.op import Op
from weft.nn import functional as F

pytestmark = pytest.mark.skipif(build.compiler() is None, reason="no g++ for the CUDA emulator")

HEAD = '#include "weft.cuh"\nextern "C" __global__ void __launch_bounds__(64) {name}_p0('
HEAD += (
    "const float* x, float* y, weft_status* status) {{\n    float* s = weft_shared<float>(0);\n   "
    " int t = threadIdx.x;\n"
)
# of one place: (statement, units, least) of 2 warps
GLOBAL = {
    "contiguous": ("y[t] = 1.0f;", 8, 8),
    "backwards": ("y[63 - t] = 1.0f;", 8, 8),
    "stride_2": ("y[2 * t] = 1.0f;", 16, 8),
    "stride_32": ("y[32 * t] = 1.0f;", 64, 8),
    "misaligned": ("y[t + 1] = 1.0f;", 10, 8),
    "broadcast": ("s[t] = x[t / 32];", 2, 2),
    "vectors": ("weft_store(y + 4 * t, weft_vec<float, 4>{});", 32, 32),
    "strided_vectors": ("weft_store(y + 8 * t, weft_vec<float, 4>{});", 64, 32),
    "some_lanes": ("if (t < 8) y[t] = 1.0f;", 1, 1),
    "in_a_loop": ("for (int i = t; i < 1000; i += 64) y[i] = 1.0f;", 125, 125),
    "copies": ("weft_cp_async<16>(s + 4 * t, x + 4 * t);", 32, 32),
}
SHARED = {
    "s_contiguous": ("s[t] = 1.0f;", 2, 2),
    "s_stride_2": ("s[2 * t] = 1.0f;", 4, 2),
    "s_stride_32": ("s[32 * t] = 1.0f;", 64, 2),
    "s_stride_33": ("s[33 * t] = 1.0f;", 2, 2),
    "s_broadcast": ("y[t] = s[t / 64];", 2, 2),
    "s_halves_of_words": ("weft_shared<short>(0)[t] = 1;", 2, 2),
    "s_doubles": ("weft_shared<double>(0)[t] = 1.0;", 4, 4),
    "s_doubles_stride_2": ("weft_shared<double>(0)[2 * t] = 1.0;", 8, 4),
    "s_vectors": ("weft_store(s + 4 * t, weft_vec<float, 4>{});", 8, 8),
    "s_vectors_stride_4": ("weft_store(s + 16 * t, weft_vec<float, 4>{});", 32, 8),
    "s_vectors_padded": ("weft_store(s + 20 * t, weft_vec<float, 4>{});", 8, 8),
    "s_neighbours": ("for (int i = 0; i < 4; i++) s[4 * t + i] = 1.0f;", 8, 8),
    "s_pairs": ("for (int i = 0; i < 2; i++) s[6 * t + i] = 1.0f;", 4, 4),
    "s_misaligned_pairs": ("for (int i = 0; i < 2; i++) s[2 * t + 1 + i] = 1.0f;", 8, 4),
    "s_vector_for_all": ("weft_store(y, weft_load<4>(s));", 4, 4),
    "s_vectors_for_half_warps": ("weft_store(y, weft_load<4>(s + t / 16 * 4));", 4, 4),
    "s_vectors_by_columns": ("weft_store(y, weft_load<4>(s + t % 16 * 4));", 8, 8),
    "s_vectors_by_zigzag": ("weft_store(y, weft_load<4>(s + t / 2 % 8 * 4));", 4, 4),
    "s_vectors_by_rows_of_zigzag": (
        "weft_store(y, weft_load<4>(s + (t % 2 + t / 16 * 2) * 4));",
        4,
        4,
    ),
    "s_copies": ("weft_cp_async<16>(s + 4 * t, x + 4 * t);", 8, 8),
    "s_matrices": ("unsigned r[4]; weft_ldmatrix_x4(r, s + 20 * (t % 32)); y[t] = r[0];", 8, 8),
    "s_matrices_in_one_bank": (
        "unsigned r[4]; weft_ldmatrix_x4(r, s + 32 * (t % 32)); y[t] = r[0];",
        64,
        8,
    ),
    "s_half_the_matrices": (
        "unsigned r[2]; weft_ldmatrix_x2(r, s + 20 * (t % 32)); y[t] = r[0];",
        4,
        4,
    ),
}


@pytest.fixture(scope="module")
def device() -> Recorder:
    found = Recorder()
    found.build_many([text(name, line) for name, (line, _, _) in (GLOBAL | SHARED).items()])
    return found


def text(name: str, line: str) -> str:
    return f"{HEAD.format(name=name)}    {line}\n}}\n"


def seen(device: Recorder, code: str) -> list[Use]:
    device.uses = []
    run(device, code, 1, 64, [np.zeros(4096, np.float32)] * 2, shared=16384)
    return device.uses


@pytest.mark.parametrize("name", GLOBAL)
def test_sectors(device: Recorder, name: str) -> None:
    line, units, least = GLOBAL[name]
    (use,) = [u for u in seen(device, text(name, line)) if not u.shared]
    assert (use.units, use.least) == (units, least)
    assert use.kernel == f"{name}_p0" and use.line == f"5: {line}"


@pytest.mark.thinned(to=12)
@pytest.mark.parametrize("name", SHARED)
def test_wavefronts(device: Recorder, name: str) -> None:
    line, units, least = SHARED[name]
    (use,) = [u for u in seen(device, text(name, line)) if u.shared]
    assert (use.units, use.least) == (units, least)


# ---------------------------------------------------------------- what schedules make


def total(outputs: list[Node], target: CudaTarget = SM80) -> tuple[float, float]:
    """Sectors and wavefronts of all kernels, each by the fewest that there could be."""
    env = normal_inputs(outputs)
    return wasted(lowered(outputs, env, target), outputs, env)


def wasted(program: Compiled, outputs: list[Node], env: Env) -> tuple[float, float]:
    device = Recorder()
    on_device(device, program, outputs, env)

    def ratio(shared: bool) -> float:
        uses = [u for u in device.uses if u.shared == shared]
        return sum(u.units for u in uses) / max(1, sum(u.least for u in uses))

    return ratio(shared=False), ratio(shared=True)


def sums(*shape: int, axis: int) -> list[Node]:
    return [graph.reduce("add", leaf(*shape), (axis,))]


def turned(dtype: dt.DType) -> list[Node]:
    return [graph.permute(node(Op.ADD, (leaf(256, 128, dtype=dtype),) * 2), (1, 0))]


MAPS: dict[str, Callable[[], list[Node]]] = {
    "map": lambda: [g.exp(g.add_row(leaf(32, 1024), leaf(1024)))],
    "map_of_halves": lambda: [g.exp(leaf(32, 1024, dtype=dt.bfloat16))],
    "rows_of_warps": lambda: [
        g.softmax(leaf(64, 96)),
        g.layer_norm(leaf(64, 96), leaf(96), leaf(96)),
    ],
    "rows_of_blocks": lambda: [
        g.softmax(leaf(3, 2048)),
        g.layer_norm(leaf(3, 2048), leaf(2048), leaf(2048)),
    ],
    "sum": lambda: sums(1 << 15, axis=0),
    "sums_of_columns": lambda: sums(256, 128, axis=0),
    "turned": lambda: turned(dt.float32),
}


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("name", MAPS)
def test_maps_and_rows_ask_for_whole_sectors(name: str) -> None:
    sectors, _ = total(MAPS[name]())
    assert sectors <= 1.1


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("dtype", [dt.int8, dt.bfloat16, dt.float32, dt.float64], ids=str)
def test_tiles_are_turned_without_conflicts(dtype: dt.DType) -> None:
    _, wavefronts = total(turned(dtype))
    assert wavefronts == 1


def factors(form: str, dtype: dt.DType) -> list[Node]:
    """A product of 128 x 128 x 64, whose result is of float32."""
    if dtype is dt.float32:
        return [product(form, 128, 128, 64)]
    a, b = (
        leaf(*((128, 64), (64, 128))[form[0] == "t"], dtype=dtype),
        leaf(*((64, 128), (128, 64))[form[1] == "t"], dtype=dtype),
    )
    return [
        in_float32(
            g.matmul, *(transposed(x) if f == "t" else x for x, f in zip((a, b), form, strict=True))
        )
    ]


LARGEST = {  # how: (tile, dtype, target)
    "simt": (TILES[0], dt.float32, SM80),
    "bf16": (tensor_tiles(2)[0], dt.bfloat16, SM80),
    "tf32": (tensor_tiles(4)[0], dt.float32, TF32),
}


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("form", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize("how", LARGEST)
def test_products_ask_for_whole_sectors_and_meet_all_banks(
    how: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tile, dtype, target = LARGEST[how]
    tiled_by(tile, monkeypatch)
    sectors, wavefronts = total(factors(form, dtype), target)
    assert sectors <= 1.1 and wavefronts <= 1.1


def tiled_by(tile: Tile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contraction, "fastest_tile", lambda *_: (tile, 0.0, "a test"))


@pytest.mark.slow
def test_convolutions_meet_all_banks(monkeypatch: pytest.MonkeyPatch) -> None:
    tiled_by(tensor_tiles(2)[1], monkeypatch)
    _, wavefronts = total(conv((1, 32, 16, 16), (64, 32, 3, 3), pad=1, dtype=dt.bfloat16)[:1])
    assert wavefronts <= 1.1


@pytest.mark.slow
def test_attention_on_tensor_cores_wastes_little() -> None:
    tensors = leaf_tensors((1, 256, 64), (1, 256, 64), (1, 256, 64), dtype=dt.bfloat16)
    outputs = [F.scaled_dot_product_attention(*tensors).node]
    env = normal_inputs(outputs)
    program = compiled(outputs, env, target=CudaTarget("sm_90a"))
    assert "tensor cores" in program.lowered.kernels[0].lowered.schedule
    sectors, wavefronts = wasted(program, outputs, env)
    assert sectors <= 1.1 and wavefronts <= 1.1
