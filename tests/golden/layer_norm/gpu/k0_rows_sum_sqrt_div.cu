#include "weft.cuh"

extern "C" __global__ void __launch_bounds__(64, 2) k0_rows_sum_sqrt_div_p0(const float* in0, const float* in1, const float* in2, float* out0, long long blocks, long long count, weft_status* status) {
    const bool aligned = weft_aligned(in0, in1, in2, out0);
    const unsigned g = blockIdx.x;
    float kept0[4];
    float sum0 = 0.0f;
    // loop 1: kept0 = in0; sum0 += in0
    {
        const unsigned c4 = threadIdx.x;
        const weft_vec<float, 4> in0_0 = weft_load<4>(in0 + (256 * g + 4 * c4), aligned);
        #pragma unroll
        for (unsigned e = 0; e < 4; e++) {
            kept0[e] = in0_0[e];
            sum0 = sum0 + in0_0[e];
        }
    }
    float sum1 = 0.0f;
    sum0 = weft_block_reduce<weft_sum, 64>(sum0);
    // loop 2: sum1 += (kept0 - sum0 * 0.00390625) * (kept0 - sum0 * 0.00390625)
    const float mul_0 = sum0 * 0.00390625f;
    {
        const unsigned c4 = threadIdx.x;
        #pragma unroll
        for (unsigned e = 0; e < 4; e++) {
            const float kept0_0 = kept0[e];
            const float sub_0 = kept0_0 - mul_0;
            sum1 = weft_fma(sub_0, sub_0, sum1);
        }
    }
    sum1 = weft_block_reduce<weft_sum, 64>(sum1);
    // loop 3: out0 = (kept0 - ..) * (1.0 / ..) * in1 + in2
    const float mul_1 = sum1 * 0.00390625f;
    const float add_0 = mul_1 + 0x1.4f8b58p-17f;
    const float sqrt_0 = weft_sqrt(add_0);
    const float div_0 = 1.0f / sqrt_0;
    {
        const unsigned c4 = threadIdx.x;
        const weft_vec<float, 4> in1_0 = weft_load<4>(in1 + (4 * c4), aligned);
        const weft_vec<float, 4> in2_0 = weft_load<4>(in2 + (4 * c4), aligned);
        weft_vec<float, 4> out0_0;
        #pragma unroll
        for (unsigned e = 0; e < 4; e++) {
            const float kept0_1 = kept0[e];
            const float sub_1 = kept0_1 - mul_0;
            const float mul_2 = sub_1 * div_0;
            const float mul_3 = mul_2 * in1_0[e];
            const float add_1 = mul_3 + in2_0[e];
            out0_0[e] = add_1;
        }
        weft_store(out0 + (256 * g + 4 * c4), out0_0, aligned);
    }
}
