"""Kernels written by hand, right and wrong: what the tests of the emulator run. Text of CUDA C, as
the code generator writes it.

`with_fault(text)` gives the text with the line marked `// FAULT: replacement` replaced.
"""

from __future__ import annotations

import re

SOFTMAX = """
#include "weft.cuh"
extern "C" __global__ void __launch_bounds__(256) softmax_p0(
    const float* __restrict__ x, float* y, long long columns, weft_status* status) {
    const float* row = x + blockIdx.x * columns;
    float largest = -weft_bitcast<float>(0x7f800000u);
    for (long long i = 4 * threadIdx.x; i < columns; i += 1024) {
        weft_vec<float, 4> v = weft_load<4>(row + i);
        for (int j = 0; j < 4; j++) largest = weft_max(largest, v[j]);
    }
    largest = weft_block_reduce<weft_largest, 256>(largest);
    float sum = 0.0f;
    for (long long i = 4 * threadIdx.x; i < columns; i += 1024) {
        weft_vec<float, 4> v = weft_load<4>(row + i);
        for (int j = 0; j < 4; j++) sum += v[j] - largest < -1.0f ? 0.25f : 1.0f + (v[j] - largest) * 0.5f;
    }
    sum = weft_block_reduce<weft_sum, 256>(sum);
    for (long long i = 4 * threadIdx.x; i < columns; i += 1024) {
        weft_vec<float, 4> v = weft_load<4>(row + i);
        for (int j = 0; j < 4; j++) v[j] = (v[j] - largest < -1.0f ? 0.25f : 1.0f + (v[j] - largest) * 0.5f) / sum;
        weft_store(y + blockIdx.x * columns + i, v);
    }
}
"""

# 16 x 16 tiles in shared memory, n a multiple of 16
MATMUL = """
#include "weft.cuh"
extern "C" __global__ void __launch_bounds__(256) matmul_p0(
    const float* a, const float* b, float* c, long long n, weft_status* status) {
    float* left = weft_shared<float>(0);
    float* right = weft_shared<float>(1024);
    int x = threadIdx.x % 16, y = threadIdx.x / 16;
    long long row = blockIdx.x / (n / 16) * 16 + y, column = blockIdx.x % (n / 16) * 16 + x;
    float sum = 0.0f;
    for (long long k = 0; k < n; k += 16) {
        left[16 * y + x] = a[row * n + k + x];
        right[16 * y + x] = b[(k + y) * n + column];
        weft_barrier();  // FAULT 1:
        for (int i = 0; i < 16; i++) sum = weft_fma(left[16 * y + i], right[16 * i + x], sum);
        weft_barrier();  // FAULT 2:
    }
    c[row * n + column] = sum;  // FAULT 3: c[(row + 1) * n + column] = sum;
}
"""

# y[i] = 2 x[i] of n floats in pieces of 512, copied three pieces ahead; n a multiple of 512
PIPELINE = """
#include "weft.cuh"
extern "C" __global__ void __launch_bounds__(128) pipeline_p0(
    const float* x, float* y, long long pieces, weft_status* status) {
    float* stage = weft_shared<float>(0);
    int place = 4 * threadIdx.x;
    for (int s = 0; s < 3; s++) {
        weft_cp_async<16>(stage + 512 * s + place, x + 512 * s + place, s < pieces);
        weft_cp_async_commit();
    }
    for (long long i = 0; i < pieces; i++) {
        weft_cp_async_wait<2>();  // FAULT 1: weft_cp_async_wait<3>();
        weft_barrier();  // FAULT 2:
        for (int j = 0; j < 4; j++) {
            int from = 511 - place - j;
            y[512 * i + place + j] = 2.0f * stage[i % 4 * 512 + from];
        }
        long long next = i + 3;
        weft_cp_async<16>(stage + next % 4 * 512 + place, x + (next < pieces ? 512 * next + place : 0), next < pieces);
        weft_cp_async_commit();
    }
}
"""

# c of 16 x 8 = a of 16 x K by b of K x 8 (stored [k][n]): one warp, K a multiple of 16
TILE_16 = """
#include "weft.cuh"
extern "C" __global__ void __launch_bounds__(32) tile_KIND_p0(
    const weft_KIND* a, const weft_KIND* b, float* c, long long k, weft_status* status) {
    weft_KIND* left = weft_shared<weft_KIND>(0);
    weft_KIND* right = weft_shared<weft_KIND>(512);
    int lane = weft_lane();
    float d[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (long long k0 = 0; k0 < k; k0 += 16) {
        for (int i = lane; i < 256; i += 32) left[i] = a[i / 16 * k + k0 + i % 16];
        for (int i = lane; i < 128; i += 32) right[i] = b[(k0 + i / 8) * 8 + i % 8];
        weft_warp_barrier();  // FAULT 1:
        unsigned ra[4], rb[2];
        weft_ldmatrix_x4(ra, left + lane % 16 * 16 + lane / 16 * 8);
        weft_ldmatrix_x2_trans(rb, right + lane % 16 * 8);
        weft_mma_KIND(d, ra, rb);
        weft_warp_barrier();  // FAULT 2:
    }
    for (int i = 0; i < 4; i++) c[(lane / 4 + 8 * (i / 2)) * 8 + 2 * (lane % 4) + i % 2] = d[i];
}
"""

TILE_TF32 = """
#include "weft.cuh"
extern "C" __global__ void __launch_bounds__(32) tile_tf32_p0(
    const float* a, const float* b, float* c, long long k, weft_status* status) {
    int lane = weft_lane(), row = lane / 4, quad = lane % 4;
    float d[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (long long k0 = 0; k0 < k; k0 += 8) {
        unsigned ra[4], rb[2];
        for (int i = 0; i < 4; i++) ra[i] = weft_tf32(a[(row + 8 * (i % 2)) * k + k0 + quad + 4 * (i / 2)]);
        for (int i = 0; i < 2; i++) rb[i] = weft_tf32(b[(k0 + quad + 4 * i) * 8 + row]);
        weft_mma_tf32(d, ra, rb);
    }
    for (int i = 0; i < 4; i++) c[(row + 8 * (i / 2)) * 8 + 2 * quad + i % 2] = d[i];
}
"""

CHECKS = """
#include "weft.cuh"
extern "C" __global__ void __launch_bounds__(64) checks_p0(
    const long long* index, float* y, long long extent, weft_status* status) {
    long long position = blockIdx.x * 64 + threadIdx.x;
    weft_check(status, index[position], extent, 3, position);
    y[position] = weft_clamped(index[position], extent);
}
"""

DIVERGENT = """
#include "weft.cuh"
extern "C" __global__ void __launch_bounds__(64) divergent_p0(float* y, weft_status* status) {
    if (threadIdx.x < 40) weft_barrier();
    y[threadIdx.x] = 1.0f;
}
extern "C" __global__ void __launch_bounds__(64) elsewhere_p0(float* y, weft_status* status) {
    if (threadIdx.x < 40)
        weft_barrier();
    else
        weft_barrier();
    y[threadIdx.x] = 1.0f;
}
extern "C" __global__ void __launch_bounds__(64) lanes_p0(float* y, weft_status* status) {
    if (threadIdx.x % 32 < 20) y[threadIdx.x] = weft_warp_reduce<weft_sum>(1.0f);
}
extern "C" __global__ void __launch_bounds__(64) misaligned_p0(float* y, weft_status* status) {
    weft_store(y + 1, weft_load<2>(y));
}
extern "C" __global__ void __launch_bounds__(64) overrun_p0(float* y, weft_status* status) {
    float* stage = weft_shared<float>(0);
    stage[threadIdx.x] = y[threadIdx.x];
}
extern "C" __global__ void __launch_bounds__(64) unset_p0(float* y, weft_status* status) {
    y[threadIdx.x] = weft_shared<float>(0)[threadIdx.x];
    weft_shared<float>(0)[threadIdx.x] = 1.0f;
}
"""


# blocks that write the same element
OVERLAPPING = """
#include "weft.cuh"
extern "C" __global__ void __launch_bounds__(32) overlapping_p0(float* y, weft_status* status) {
    y[blockIdx.x + threadIdx.x] = 1.0f;
}
"""

C_TYPES = {
    "bool": "bool", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long long",
    "uint8": "unsigned char",
    "uint16": "unsigned short", "uint32": "unsigned", "uint64": "unsigned long long",
    "float16": "weft_f16",
    "bfloat16": "weft_bf16", "float32": "float", "float64": "double",
}  # fmt: skip


def elementwise(name: str, expression: str, result: str, *operands: str) -> str:
    """y[i] = expression of a, b and c at i < n, for names of dtypes."""
    letters = "abc"[: len(operands)]
    pointers = "".join(
        f"const {C_TYPES[d]}* p{x}, " for x, d in zip(letters, operands, strict=True)
    )
    values = "".join(
        f" {C_TYPES[d]} {x} = p{x}[i];" for x, d in zip(letters, operands, strict=True)
    )
    return f"""
#include "weft.cuh"
extern "C" __global__ void __launch_bounds__(128) {name}_p0({pointers}{C_TYPES[result]}* y, long long n, weft_status* status) {{
    for (long long i = threadIdx.x; i < n; i += 128) {{
       {values}
        y[i] = {expression};
    }}
}}
"""


def with_fault(text: str, number: int = 1) -> str:
    """The text with a mistake, its kernels under other names."""
    found, count = re.subn(rf"\n[^\n]*// FAULT {number}:([^\n]*)", r"\n\1", text)
    assert count == 1
    return found.replace("_p0(", f"_fault{number}_p0(")


def tile(kind: str) -> str:
    return TILE_TF32 if kind == "tf32" else TILE_16.replace("KIND", kind)


ALL = [SOFTMAX, MATMUL, PIPELINE, tile("bf16"), tile("f16"), TILE_TF32, CHECKS]
