"""Random products and convolutions in random tiles, on the emulated device, against the oracle."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

import graphs as g
import numpy as np
import pytest
from contractkit import conv, in_float32, transposed
from cuda_emulator import build
from cuda_emulator.driver import RANDOM, EmulatorDriver
from cuda_loops import emitted, on_device
from cuda_lowered import SM80, lowered
from effort import rarely
from harness import Env, leaf, normal_inputs
from weft.codegen.cuda.contract.tile import Tile, simt_tiles, tensor_tiles
from weft.codegen.cuda.schedules import contraction
from weft.compiler.compile import Compiled
from weft.ir.graph import dtype as dt
from weft.ir.graph.dtype import DType
from weft.ir.graph.graph import Node
from weft.ir.ops.interp import run as oracle

LEAST = 4096  # products of a contraction


@dataclass
class Case:
    what: tuple[object, ...]
    tile: Tile
    outputs: list[Node]
    env: Env
    program: Compiled

    @property
    def tolerance(self) -> float:
        return 1e-3 if self.tile.tensor and self.tile.k == tensor_tiles(4)[0].k else 1e-5


def drawn_tile(r: Random, dtype: DType) -> Tile:
    """Of any kind, with sums in one to three parts."""
    on_tensor_cores = dtype.is_float and dtype.bits <= 32 and r.random() < 0.5
    tiles = tensor_tiles(dtype.itemsize) if on_tensor_cores else simt_tiles(dtype.itemsize)
    return replace(r.choice(tiles), parts=r.choice((1, 1, 2, 3)))


def drawn_product(r: Random, dtype: DType) -> tuple[tuple[object, ...], list[Node]]:
    """Of extents that are multiples of a power of two or not, perhaps with a prologue and an
    epilogue."""
    multiple = r.choice((1, 1, 4, 8, 16))
    m, n, k = (max(2, r.randint(1, 150) // multiple * multiple) for _ in range(3))
    m *= -(-LEAST // (m * n * k))
    batch, form = r.choice(((), (), (3,), (2, 2))), r.choice(("nn", "nt", "tn", "tt"))
    shapes = ((m, k) if form[0] == "n" else (k, m)), ((k, n) if form[1] == "n" else (n, k))
    a, b = (leaf(*batch, *shape, dtype=dtype) for shape in shapes)
    a, b = (transposed(x) if side == "t" else x for x, side in zip((a, b), form, strict=True))
    a = g.relu(a) if dtype.is_float and r.random() < 0.3 else a
    y = in_float32(g.matmul, a, b) if dtype.is_half else g.matmul(a, b)
    after = (
        g.relu(g.add(y, leaf(*y.shape, dtype=y.dtype)))
        if dtype.is_float and r.random() < 0.5
        else y
    )
    return (form, batch, m, n, k), [y, after] if after is not y and r.random() < 0.5 else [after]


def drawn_convolution(r: Random) -> tuple[tuple[object, ...], list[Node]]:
    """Or one of its gradients."""
    channels, out = r.choice(((4, 8), (4, 6), (8, 16)))
    groups, size, which = r.choice((1, 1, 2)), r.choice((1, 3)), r.randrange(3)
    how = {
        "stride": r.choice((1, 2)),
        "pad": r.choice((0, 1)),
        "dilation": r.choice((1, 2)),
        "groups": groups,
    }
    image = 2, channels, r.randint(7, 13), r.randint(7, 13)
    return (image, out, size, *how.values(), which), conv(
        image, (out, channels // groups, size, size), **how
    )[which : which + 1]


def drawn(seed: int, monkeypatch: pytest.MonkeyPatch) -> Case:
    r = Random(seed)
    if r.random() < 0.25:
        dtype, (what, outputs) = dt.float32, drawn_convolution(r)
    else:
        dtype = r.choice((dt.float32, dt.float32, dt.bfloat16, dt.float16, dt.float64, dt.int32))
        what, outputs = drawn_product(r, dtype)
    tile, env = drawn_tile(r, dtype), normal_inputs(outputs, seed)
    monkeypatch.setattr(contraction, "fastest_tile", lambda *_: (tile, 0.0, "a test"))
    program = lowered(outputs, env, SM80)
    for i, call in enumerate(program.program.calls):
        call.loops.name = f"random{seed}_{i}"
    return Case((dtype.name, *what), tile, outputs, env, program)


@pytest.mark.slow
@pytest.mark.skipif(build.compiler() is None, reason="no g++ for the CUDA emulator")
@pytest.mark.parametrize("seeds", [range(12), *rarely(range(12, 30))], ids=str)
def test_random_contractions_in_random_tiles(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    """One run of the C++ compiler for all of them."""
    cases = [drawn(seed, monkeypatch) for seed in seeds]
    device = EmulatorDriver(order=RANDOM, seed=1)
    device.build_many(
        [emitted(call.loops) for case in cases for call in case.program.program.calls]
    )
    for case in cases:
        found = on_device(device, case.program, case.outputs, case.env)
        for got, want in zip(found, oracle(case.outputs, case.env), strict=True):
            error = np.linalg.norm(got.astype("d") - np.asarray(want).astype("d"))
            assert error <= case.tolerance * np.linalg.norm(np.asarray(want).astype("d")), (
                case.what,
                str(case.tile),
            )
