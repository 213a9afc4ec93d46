"""What the machine code of the hot loops looks like: whole vectors, no spills, nothing done
twice."""

import re

import numpy as np
import pytest
from harness import TARGETS
from loopkit import (
    Op,
    Range,
    Store,
    Var,
    argument,
    check_kernel,
    compiled,
    const,
    f32,
    gemm_tile,
    kernel,
    lanes,
    load,
    op,
    var,
)
from weft.codegen.llvm.emit import emit
from weft.codegen.llvm.target import host

random = np.random.default_rng(0)


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


def hot_block(assembly, instruction):
    """The basic block with most of an instruction."""
    return max(re.split(r"\n\.L", assembly), key=lambda block: block.count(instruction))


@pytest.mark.skipif("avx512" not in TARGETS, reason="needs AVX-512")
def test_register_tile_does_not_spill():
    keep = {}
    a, b = normal(12, 64), normal(64, 32)
    compiled(gemm_tile(12, 32, 64), [a, b, np.zeros((12, 32), np.float32)], "avx512", keep=keep)
    block = hot_block(keep["s"], "vfmadd")
    assert block.count("vfmadd") == 24
    assert block.count("%zmm") > 24
    assert "%rsp" not in block


@pytest.mark.skipif("avx2" not in TARGETS, reason="needs AVX2")
def test_register_tile_of_ymm_does_not_spill():
    keep = {}
    a, b = normal(6, 64), normal(64, 16)
    compiled(gemm_tile(6, 16, 64), [a, b, np.zeros((6, 16), np.float32)], "avx2", keep=keep)
    block = hot_block(keep["s"], "vfmadd")
    assert block.count("vfmadd") == 12
    assert "%rsp" not in block


@pytest.mark.skipif("avx512" not in TARGETS, reason="needs AVX-512")
def test_map_uses_whole_vectors():
    x, y, i, keep = argument("x"), argument("y"), Var("i", 10_000), {}
    loops = kernel([x, y], lanes(i, Store(y, var(i), op(Op.SQRT, load(x, i))), unroll=4))
    compiled(loops, [abs(normal(10_000)), normal(10_000)], "avx512", keep=keep)
    block = hot_block(keep["s"], "vsqrtps")
    assert block.count("%zmm") >= 8
    assert "%xmm" not in block


def test_invariant_values_stand_in_front_of_the_loop():
    """A division by a scalar argument: the scalar is loaded and inverted once, although the store
    might alias it."""
    x, s, y, i = argument("x"), argument("s"), argument("y"), Var("i", 1000)
    scale = op(Op.DIV, const(1, f32), load(s))
    text = emit(
        kernel([x, s, y], lanes(i, Store(y, var(i), op(Op.MUL, load(x, i), scale)))), host()
    )
    assert text.count("fdiv") == 1
    assert text.index("fdiv") < text.index(".loop:")


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize(
    ("first", "guarded"), [(-1, False), (-5000, True), (5000, True), (1, False)]
)
def test_vectors_without_a_live_lane_are_not_read_far_beyond_an_array(first, guarded):
    """A fault there would be suppressed, in hundreds of cycles; at a border few vectors would cause
    one."""
    x, y, j, i = argument("x"), argument("y"), Var("j", 100), Var("i", 100)
    at = var(j) * 100 + var(i)
    value = load(x, at + first, Range(at + first, 0, 10_000))
    loops = kernel([x, y], lanes(i, Store(y, at, value)), chunk=j)
    text = emit(loops, host())
    assert ("select i1" in text) is guarded
    ins = normal(10_000)
    want = np.zeros(10_000, np.float32)
    here = np.arange(10_000) + first
    want[(here >= 0) & (here < 10_000)] = ins[here[(here >= 0) & (here < 10_000)]]
    check_kernel(loops, [ins, np.ones(10_000, np.float32)], [ins, want], "host")
