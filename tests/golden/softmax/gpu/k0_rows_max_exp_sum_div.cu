#include "weft.cuh"

extern "C" __global__ void __launch_bounds__(64, 2) k0_rows_max_exp_sum_div_p0(const float* in0, float* out0, long long blocks, long long count, weft_status* status) {
    const bool aligned = weft_aligned(in0, out0);
    const unsigned g = blockIdx.x;
    float exp_row0[4];
    float kept0[4];
    float max0 = weft_bitcast<float>(0xff800000u);
    // loop 1: kept0 = in0; max0 max= in0
    {
        const unsigned c4 = threadIdx.x;
        const weft_vec<float, 4> in0_0 = weft_load<4>(in0 + (256 * g + 4 * c4), aligned);
        #pragma unroll
        for (unsigned e = 0; e < 4; e++) {
            kept0[e] = in0_0[e];
            max0 = weft_combine<weft_largest>(max0, in0_0[e]);
        }
    }
    float sum1 = 0.0f;
    max0 = weft_block_reduce<weft_largest, 64>(max0);
    // loop 2: sum1 += exp(kept0 - max0); exp_row0 = exp(kept0 - max0)
    {
        const unsigned c4 = threadIdx.x;
        #pragma unroll
        for (unsigned e = 0; e < 4; e++) {
            const float kept0_0 = kept0[e];
            const float sub_0 = kept0_0 - max0;
            const bool lt_0 = 89.0f < sub_0;
            const float where_0 = lt_0 ? 89.0f : sub_0;
            const bool lt_1 = where_0 < -104.0f;
            const float where_1 = lt_1 ? -104.0f : where_0;
            const float fma_0 = weft_fma(where_1, 0x1.715476p+0f, 12582912.0f);
            const float sub_1 = fma_0 - 12582912.0f;
            const float fma_1 = weft_fma(sub_1, -0x1.62e4p-1f, where_1);
            const float fma_2 = weft_fma(sub_1, -0x1.7f7d1cp-20f, fma_1);
            const float mul_0 = fma_2 * fma_2;
            const float fma_3 = weft_fma(fma_2, 0x1.a0d2cep-13f, 0x1.6e879cp-10f);
            const float fma_4 = weft_fma(fma_3, fma_2, 0x1.11121p-7f);
            const float fma_5 = weft_fma(fma_4, fma_2, 0x1.555382p-5f);
            const float fma_6 = weft_fma(fma_5, fma_2, 0x1.555554p-3f);
            const float fma_7 = weft_fma(fma_6, fma_2, 0.5f);
            const float fma_8 = weft_fma(mul_0, fma_7, fma_2);
            const float add_0 = fma_8 + 1.0f;
            const int bitcast_0 = weft_bitcast<int>(fma_0);
            const int sub_2 = weft_sub(bitcast_0, 1262485504);
            const float ldexp_0 = weft_ldexp(add_0, sub_2);
            sum1 = sum1 + ldexp_0;
            exp_row0[e] = ldexp_0;
        }
    }
    sum1 = weft_block_reduce<weft_sum, 64>(sum1);
    // loop 3: out0 = exp_row0 / sum1
    {
        const unsigned c4 = threadIdx.x;
        weft_vec<float, 4> out0_0;
        #pragma unroll
        for (unsigned e = 0; e < 4; e++) {
            const float exp_row0_0 = exp_row0[e];
            const float div_0 = exp_row0_0 / sum1;
            out0_0[e] = div_0;
        }
        weft_store(out0 + (256 * g + 4 * c4), out0_0, aligned);
    }
}
