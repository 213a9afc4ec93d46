"""CUDA C of Loops as text: three kernels whole, what must and must not stand in others, and what
compilers make of them."""

import re
from dataclasses import replace

import pytest
from cuda_constructs import cases
from cuda_loops import TARGET, emitted, prepared
from effort import rarely
from loopkit import (
    REG,
    SCRATCH,
    Alloc,
    Buf,
    Gathered,
    Index,
    Op,
    Reduce,
    Store,
    Var,
    argument,
    const,
    dt,
    f32,
    kernel,
    lanes,
    load,
    op,
    serial,
    var,
)
from weft.codegen.cuda.emit.emit import emit, shared_bytes
from weft.codegen.cuda.emit.expr import EmitError
from weft.codegen.cuda.toolchain import nvcc, nvrtc
from weft.codegen.cuda.toolchain.build import compile_text, ptx
from weft.ir.loops.loop import THREAD

X, B, Y = argument("x"), argument("b"), argument("y")
NOW = Index()
compiles = pytest.mark.skipif(
    nvrtc.find() is None and nvcc.find() is None, reason="no CUDA compiler"
)

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
    return replace(
        kernel([X, B, Y], lanes(c, Store(Y, at, value), unroll=4), chunk=g, name="scaled"),
        threads=(64,),
    )


def test_a_map_loads_whole_pieces_before_it_computes():
    assert emit(scaled(), TARGET) == SCALED


def test_registers_of_tiles_leave_room_for_two_blocks():
    g, t = Var("g", 9), Var("t", 64)
    sums = Buf("sums", f32, 64, THREAD)
    body = (
        Alloc(sums),
        lanes(t, Store(sums, var(t), load(X, t))),
        lanes(t, Store(Y, var(t), load(sums, t))),
    )
    assert "__launch_bounds__(64, 2)" in emit(prepared(kernel([X, Y], *body, chunk=g)), TARGET)


def test_the_text_depends_on_the_loops_only():
    assert emit(scaled(), TARGET) == emit(scaled(), TARGET)


def test_loops_without_threads_are_refused():
    with pytest.raises(EmitError, match="no threads"):
        emit(replace(scaled(), threads=()), TARGET)


ROWS = """\
#include "weft.cuh"

extern "C" __global__ void __launch_bounds__(256) rows_p0(const float* x, float* y, weft_status* status) {
    const bool aligned = weft_aligned(x, y);
    const unsigned g = blockIdx.x;
    float s = 0.0f;
    float row[4];
    {
        const unsigned c4 = threadIdx.x;
        if (c4 < 250) {
            const weft_vec<float, 4> x_0 = weft_load<4>(x + (1000 * g + 4 * c4), aligned);
            #pragma unroll
            for (unsigned e = 0; e < 4; e++) {
                const float mul_0 = x_0[e] * x_0[e];
                row[e] = mul_0;
                s = weft_fma(x_0[e], x_0[e], s);
            }
        }
    }
    s = weft_block_reduce<weft_sum, 256>(s);
    {
        const unsigned c4 = threadIdx.x;
        if (c4 < 250) {
            weft_vec<float, 4> y_0;
            #pragma unroll
            for (unsigned e = 0; e < 4; e++) {
                const float row_0 = row[e];
                const float div_0 = row_0 / s;
                y_0[e] = div_0;
            }
            weft_store(y + (1000 * g + 4 * c4), y_0, aligned);
        }
    }
}
"""


def rows():
    """y = x * x / sum(x * x) of rows."""
    g, c = Var("g", 5), Var("c", 1000)
    at, s, row = var(g) * 1000 + var(c), Buf("s", f32, 1, REG), Buf("row", f32, 1000, SCRATCH)
    square = op(Op.MUL, load(X, at), load(X, at))
    body = [
        *[Alloc(s, 0.0), Alloc(row)],
        lanes(c, Store(row, var(c), square), Reduce(s, NOW, "add", square), unroll=4),
        lanes(c, Store(Y, at, op(Op.DIV, load(row, c), load(s))), unroll=4),
    ]
    return prepared(kernel([X, Y], *body, chunk=g, name="rows"), 256)


def test_a_row_stays_in_registers_between_its_loops():
    assert emitted(rows()) == ROWS


COLUMNS = """\
#include "weft.cuh"

extern "C" __global__ void __launch_bounds__(128) columns_p0(const float* x, float* y, weft_status* status) {
    const bool aligned = weft_aligned(x, y);
    const unsigned g = blockIdx.x;
    for (unsigned c4 = threadIdx.x; c4 < 250; c4 += 128) {
        float acc[4];
        #pragma unroll
        for (unsigned i = 0; i < 4; i++) {
            acc[i] = 0.0f;
        }
        for (unsigned k = 0; k < 50; k++) {
            const weft_vec<float, 4> x_0 = weft_load<4>(x + (50200 * g + 1004 * k + 4 * c4), aligned);
            #pragma unroll
            for (unsigned e = 0; e < 4; e++) {
                acc[e] = acc[e] + x_0[e];
            }
        }
        weft_vec<float, 4> y_0;
        #pragma unroll
        for (unsigned e = 0; e < 4; e++) {
            const float acc_0 = acc[e];
            y_0[e] = acc_0;
        }
        weft_store(y + (1004 * g + 4 * c4), y_0, aligned);
    }
    {
        const unsigned c = 1000 + threadIdx.x;
        if (c < 1002) {
            float acc = 0.0f;
            for (unsigned k = 0; k < 50; k++) {
                const float x_1 = x[50200 * g + 1004 * k + c];
                acc = acc + x_1;
            }
            y[1004 * g + c] = acc;
        }
    }
}
"""


def columns():
    g, c, k, acc = Var("g", 3), Var("c", 1002), Var("k", 50), Buf("acc", f32, 1, REG)
    x = load(X, var(g) * 50200 + var(k) * 1004 + var(c))
    body = [
        Alloc(acc, 0.0),
        serial(k, Reduce(acc, NOW, "add", x)),
        Store(Y, var(g) * 1004 + var(c), load(acc)),
    ]
    return prepared(kernel([X, Y], lanes(c, *body, unroll=4), chunk=g, name="columns"), 128)


def test_sums_of_columns_are_an_accumulator_a_lane():
    assert emitted(columns()) == COLUMNS


# ---------------------------------------------------------------- parts of texts


def text_of(*body, buffers=(X, Y), threads=64, grid=None):
    return emitted(prepared(kernel(buffers, *body, chunk=grid), threads))


def test_products_that_are_summed_are_fused():
    c, acc = Var("c", 20), Buf("acc", f32, 1, REG)
    body = serial(c, Reduce(acc, NOW, "add", op(Op.MUL, load(X, c), load(X, c))))
    assert "acc = weft_fma(x_0, x_0, acc);" in text_of(
        Alloc(acc, 0.0), body, Store(Y, NOW, load(acc))
    )


def test_indices_have_64_bits_only_where_they_must():
    g, c = Var("g", 1 << 24), Var("c", 512)
    at = var(g) * 512 + var(c)
    text = text_of(lanes(c, Store(Y, at, load(X, at % (1 << 20)))), grid=g)
    assert "x[(512 * g + c) % 1048576]" not in text
    assert "y[512ll * static_cast<long long>(g) + static_cast<long long>(c)]" in text


def test_what_passes_through_is_stored_past_the_caches():
    loops = replace(scaled(), streamed=(Y,))
    assert "weft_store_streaming(y + (512 * g + 4 * c4), y_0, aligned);" in emit(loops, TARGET)


def test_lanes_that_follow_each_other_need_no_barrier():
    assert "barrier" not in emitted(rows())


def test_rows_that_an_index_chooses_are_loaded_by_vectors():
    assert "weft_load<4>(x + " in emitted(cases()["rows_that_an_index_chooses"].loops)


def test_rows_of_other_threads_need_one_barrier():
    c, row = Var("c", 100), Buf("row", f32, 100, SCRATCH)
    backwards = lanes(c, Store(Y, var(c), load(row, var(c) * -1 + 99)))
    text = text_of(Alloc(row), lanes(c, Store(row, var(c), load(X, c))), backwards)
    assert text.count("weft_barrier();") == 1


def test_neighbouring_lanes_go_to_neighbouring_threads_where_nothing_is_a_vector():
    c = Var("c", 300)
    assert "threadIdx.x; c < 300" in text_of(
        lanes(c, Store(Y, var(c) * 3, load(X, var(c) * 5)), unroll=4)
    ).replace("first", "c")


def test_shared_memory_is_what_is_in_use_at_once():
    a, b, c = (Buf(name, f32, 100, SCRATCH) for name in "abc")
    k = Var("k", 100)
    fill = [serial(k, Store(buf, var(k), load(X, k))) for buf in (a, b, c)]
    body = [
        Alloc(a),
        fill[0],
        Alloc(b),
        serial(k, Store(b, var(k), load(a, k))),
        Alloc(c),
        fill[2],
        Store(Y, NOW, load(c, 1)),
    ]
    assert shared_bytes(prepared(kernel([X, Y], *body)), 0) == 800


def test_inputs_are_const():
    assert "(const float* x, const float* b, float* y, weft_status* status)" in emit(
        scaled(), TARGET
    )


# ---------------------------------------------------------------- refusals


def test_lanes_that_meet_in_memory_are_refused():
    c = Var("c", 100)
    with pytest.raises(EmitError, match="lanes meet"):
        text_of(lanes(c, Reduce(Y, NOW, "add", load(X, c))))


def test_gathered_places_are_not_added_to_by_lanes():
    c, i = Var("c", 100), argument("i", dt.int64)
    at = Index({Gathered(load(i, c), 10): 1})
    with pytest.raises(EmitError, match="lanes meet"):
        text_of(lanes(c, Reduce(Y, at, "add", load(X, c))), buffers=(X, Y, i))


def test_registers_that_loops_deal_out_otherwise_are_refused():
    c, d, kept = Var("c", 128), Var("d", 128), Buf("kept", f32, 128, THREAD)
    with pytest.raises(
        EmitError, match="kept is dealt out in pieces of 4 among 64, and of 1 among 64"
    ):
        text_of(
            Alloc(kept),
            lanes(c, Store(kept, var(c), load(X, c)), unroll=4),
            lanes(d, Store(Y, var(d), load(kept, d))),
        )


def test_transcendental_ops_are_refused():
    loops = replace(kernel([X, Y], Store(Y, NOW, op(Op.EXP, load(X)))), threads=(32,))
    with pytest.raises(EmitError, match="exp has no CUDA function: expand it first"):
        emitted(loops)


# ---------------------------------------------------------------- compilers


@pytest.mark.slow
@compiles
def test_whole_pieces_are_accesses_of_16_bytes():
    text = ptx(emitted(scaled()), "sm_80")
    assert len(re.findall(r"ld\.global\.v4", text)) == len(re.findall(r"st\.global\.v4", text)) == 2


@compiles
@pytest.mark.parametrize("arch", ["sm_80", *rarely("sm_75", "sm_90a")])
def test_every_construct_compiles_without_spills(arch):
    built = compile_text("\n".join(emitted(c.loops) for c in cases().values()), arch)
    assert len(built.report) >= len(cases())
    assert all(u.spill_stores == u.spill_loads == u.local == 0 for u in built.report.values())
