"""CUDA C of Loops: the text, and what it does on the emulated device in every order of threads."""

from dataclasses import replace

import numpy as np
import pytest
from cuda_emulator import build
from cuda_emulator.driver import FORWARD, RANDOM, REVERSE, EmulatorDriver
from cuda_loops import check, prepared
from loopkit import (
    GRID,
    REG,
    SCRATCH,
    Alloc,
    Buf,
    For,
    Index,
    Loops,
    Op,
    Param,
    Range,
    Reduce,
    Store,
    Var,
    argument,
    const,
    f32,
    i64,
    kernel,
    lanes,
    load,
    op,
    serial,
    var,
)
from weft.codegen.cuda.emit import emit
from weft.codegen.cuda.expr import EmitError
from weft.codegen.cuda.target import CudaTarget

TARGET = CudaTarget("sm_80")
X, B, Y = argument("x"), argument("b"), argument("y")

SCALED = """\
#include "weft.cuh"

extern "C" __global__ void __launch_bounds__(64) scaled_p0(const float* x, const float* b, float* y, weft_status* status) {
    const bool aligned = weft_aligned(x, y);
    const unsigned g = blockIdx.x;
    {
        weft_vec<float, 4> x_0[2];
        #pragma unroll
        for (unsigned step = 0; step < 2; step++) {
            const unsigned c4 = threadIdx.x + 64 * step;
            x_0[step] = weft_load<4>(x + (512 * g + 4 * c4), aligned);
        }
        #pragma unroll
        for (unsigned step = 0; step < 2; step++) {
            const unsigned c4 = threadIdx.x + 64 * step;
            const float b_0 = b[c4 / 32];
            weft_vec<float, 4> y_0;
            #pragma unroll
            for (unsigned e = 0; e < 4; e++) {
                const float mul_0 = x_0[step][e] * b_0;
                const float add_0 = mul_0 + 0.5f;
                y_0[e] = add_0;
            }
            weft_store(y + (512 * g + 4 * c4), y_0, aligned);
        }
    }
}
"""


def scaled():
    g, c = Var("g", 9), Var("c", 512)
    at = var(g) * 512 + var(c)
    value = op(Op.ADD, op(Op.MUL, load(X, at), load(B, var(c) // 128)), const(0.5, f32))
    return replace(kernel([X, B, Y], lanes(c, Store(Y, at, value), unroll=4), chunk=g, name="scaled"), threads=(64,))


def test_a_map_loads_whole_pieces_before_it_computes():
    assert emit(scaled(), TARGET) == SCALED


def test_the_text_depends_on_the_loops_only():
    assert emit(scaled(), TARGET) == emit(scaled(), TARGET)


def test_loops_without_threads_are_refused():
    with pytest.raises(EmitError, match="no threads"):
        emit(replace(scaled(), threads=()), TARGET)


# ---------------------------------------------------------------- on the emulated device


@pytest.fixture(params=[FORWARD, REVERSE, RANDOM])
def device(request):
    if build.compiler() is None:
        pytest.skip("no g++ for the CUDA emulator")
    return EmulatorDriver(order=request.param)


def floats(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def blocks_of_elements(name="cut"):
    """y = 2.5 x + b, b repeated; as many blocks of 1024 elements as a param says."""
    g, c, n = Var("g", 1 << 20), Var("c", 1024), Param("n")
    at = var(g) * 1024 + var(c)
    value = op(Op.ADD, op(Op.MUL, load(X, at), const(2.5, f32)), load(B, at % 64))
    body = lanes(c, Store(Y, at, value), unroll=4, base=var(g) * 1024, total=n)
    return prepared(Loops(name, (X, B, Y), (Param("blocks"), n), [For(g, Param("blocks"), GRID, [body])]))


@pytest.mark.parametrize("count", [1, 7, 1024, 5003])
def test_a_map_ends_where_its_total_says(device, count):
    loops = blocks_of_elements()
    check(device, loops, [floats(count), floats(64), floats(count) * 0], (-(-count // 1024), count))


def softmax(columns, unroll):
    g, c = Var("g", 3), Var("c", columns)
    at, m, s, row = var(g) * columns + var(c), Buf("m", f32, 1, REG), Buf("s", f32, 1, REG), Buf("row", f32, columns, SCRATCH)
    e = op(Op.EXP, op(Op.SUB, load(X, at), load(m)))
    return prepared(kernel([X, Y], Alloc(m, float("-inf")), Alloc(s, 0.0), Alloc(row),
                           lanes(c, Reduce(m, Index(), "max", load(X, at)), unroll=unroll),
                           lanes(c, Store(row, var(c), e), Reduce(s, Index(), "add", load(row, c)), unroll=unroll),
                           lanes(c, Store(Y, at, op(Op.DIV, load(row, c), load(s))), unroll=unroll),
                           chunk=g, name=f"softmax{columns}x{unroll}"))  # fmt: skip


@pytest.mark.parametrize(("columns", "unroll"), [(1000, 4), (37, 4), (300, 1)])
def test_rows_are_reduced_by_all_threads(device, columns, unroll):
    check(device, softmax(columns, unroll), [floats(3 * columns), floats(3 * columns)], rtol=2e-6)


def test_an_accumulator_inside_lanes_is_one_a_lane(device):
    g, c, k, acc = Var("g", 3), Var("c", 1003), Var("k", 5), Buf("acc", f32, 1, REG)
    x = load(X, var(g) * 5020 + var(k) * 1004 + var(c))
    body = [Alloc(acc, 0.0), serial(k, Reduce(acc, Index(), "add", x)), Store(Y, var(g) * 1004 + var(c), load(acc))]
    loops = prepared(kernel([X, Y], lanes(c, *body, unroll=4), chunk=g, name="columns"))
    check(device, loops, [floats(3 * 5020), floats(3 * 1004)])


def test_what_a_mask_leaves_out_is_0_of_any_type(device):
    """The name of the type is two words."""
    c, (x, y) = Var("c", 300), (argument(name, i64) for name in "xy")
    loops = prepared(kernel([x, y], lanes(c, Store(y, var(c), load(x, c, Range(var(c), 5, 290)))), name="masked"))
    check(device, loops, [np.arange(300), np.arange(300)])


def test_views_that_begin_anywhere_are_read_and_written_by_element(device):
    loops = blocks_of_elements("anywhere")
    check(device, loops, [floats(2060), floats(64), floats(2060)], (3, 2060), shift=1)
