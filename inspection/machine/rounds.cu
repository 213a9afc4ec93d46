// Kernels that reach the limits of a GPU's memory. In: memory. Out: it, read and written.

#include "weft.cuh"

extern "C" __global__ void __launch_bounds__($threads) weft_nothing(float* out) {}

extern "C" __global__ void __launch_bounds__($threads) weft_read(
    const float* from, long long vectors, float* out
) {
    float sum = 0.0f;
    const long long all = ${threads}ll * gridDim.x;
    for (long long i = blockIdx.x * ${threads}ll + threadIdx.x; i < vectors; i += all) {
        const weft_vec<float, 4> v = weft_load<4>(from + 4 * i);
        sum += (v[0] + v[1]) + (v[2] + v[3]);
    }
    if (sum == 1.0f) out[0] = sum;  // never of zeros, but no compiler knows
}

extern "C" __global__ void __launch_bounds__($threads) weft_write(float* to, long long vectors) {
    const weft_vec<float, 4> zeros = {};
    const long long all = ${threads}ll * gridDim.x;
    for (long long i = blockIdx.x * ${threads}ll + threadIdx.x; i < vectors; i += all) {
        weft_store(to + 4 * i, zeros);
    }
}

extern "C" __global__ void __launch_bounds__($threads) weft_copy(
    const float* from, float* to, long long vectors
) {
    const long long all = ${threads}ll * gridDim.x;
    for (long long i = blockIdx.x * ${threads}ll + threadIdx.x; i < vectors; i += all) {
        weft_store(to + 4 * i, weft_load<4>(from + 4 * i));
    }
}
