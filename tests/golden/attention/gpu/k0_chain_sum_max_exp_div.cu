#include "weft.cuh"

extern "C" __global__ void __launch_bounds__(256, 2) k0_chain_sum_max_exp_div_p0(const float* in0, const float* in1, const float* in2, float* out0, long long blocks_0, long long count_0, weft_status* status) {
    const bool aligned = weft_aligned(in0, in1, in2);
    const unsigned g = blockIdx.x;
    float max0[1];
    float* const sum1 = weft_shared<float>(0);  // 16 elements
    float* const queries0 = weft_shared<float>(64);  // 576 elements
    float* const columns0 = weft_shared<float>(2368);  // 2304 elements
    float* const columns1 = weft_shared<float>(11584);  // 2304 elements
    float space0[4];
    float* const parts0 = weft_shared<float>(20800);  // 272 elements
    float* const rescale = weft_shared<float>(21888);  // 16 elements
    float* const safe = weft_shared<float>(21952);  // 16 elements
    float* const weights0 = weft_shared<float>(22016);  // 1088 elements
    float sums0[2];
    // loop 1: queries0 = in0
    {
        const unsigned x4 = threadIdx.x;
        if (x4 < 128) {
            const weft_vec<float, 4> in0_0 = weft_load<4>(in0 + (512 * g + 4 * x4), aligned);
            weft_vec<float, 4> queries0_0;
            #pragma unroll
            for (unsigned e = 0; e < 4; e++) {
                queries0_0[e] = in0_0[e];
            }
            weft_store(queries0 + (4 * (x4 % 8) + 36 * (x4 / 8)), queries0_0);
        }
    }
    // loop 2: max0 = -inf; sum1 = 0.0
    {
        const unsigned l = threadIdx.x;
        if (l < 16) {
            max0[0] = weft_bitcast<float>(0xff800000u);
            sum1[l] = 0.0f;
        }
    }
    // loop 3
    {
        const unsigned t = threadIdx.x;
        // loop 6
        #pragma unroll
        for (unsigned n = 0; n < 2; n++) {
            sums0[n] = 0.0f;
        }
    }
    // loop 8: columns0 = in1
    {
        weft_vec<float, 4> in1_0[2];
        #pragma unroll
        for (unsigned step = 0; step < 2; step++) {
            const unsigned x4 = threadIdx.x + 256 * step;
            in1_0[step] = weft_load<4>(in1 + (4 * x4 + 2048 * (g / 4)), aligned);
        }
        #pragma unroll
        for (unsigned step = 0; step < 2; step++) {
            const unsigned x4 = threadIdx.x + 256 * step;
            weft_vec<float, 4> columns0_0;
            #pragma unroll
            for (unsigned e = 0; e < 4; e++) {
                columns0_0[e] = in1_0[step][e];
            }
            weft_store(columns0 + (4 * (x4 % 8) + 36 * (x4 / 8)), columns0_0);
        }
    }
    // loop 9: columns1 = in2
    {
        weft_vec<float, 4> in2_0[2];
        #pragma unroll
        for (unsigned step = 0; step < 2; step++) {
            const unsigned x4 = threadIdx.x + 256 * step;
            in2_0[step] = weft_load<4>(in2 + (4 * x4 + 2048 * (g / 4)), aligned);
        }
        #pragma unroll
        for (unsigned step = 0; step < 2; step++) {
            const unsigned x4 = threadIdx.x + 256 * step;
            weft_vec<float, 4> columns1_0;
            #pragma unroll
            for (unsigned e = 0; e < 4; e++) {
                columns1_0[e] = in2_0[step][e];
            }
            weft_store(columns1 + (4 * (x4 % 8) + 36 * (x4 / 8)), columns1_0);
        }
    }
    // loop 10
    {
        const unsigned t = threadIdx.x;
        // loop 12
        #pragma unroll
        for (unsigned v = 0; v < 4; v++) {
            space0[v] = 0.0f;
        }
    }
    weft_barrier();
    // loop 14
    {
        const unsigned t = threadIdx.x;
        // inner loop 15: space0 += queries0 * columns0
        for (unsigned k = 0; k < 8; k++) {
            // loop 16
            #pragma unroll
            for (unsigned u = 0; u < 4; u++) {
                // loop 18
                #pragma unroll
                for (unsigned v = 0; v < 4; v++) {
                    const float queries0_1 = queries0[4 * k + u + 36 * (t / 16)];
                    const float columns0_1 = columns0[4 * k + u + 576 * v + 36 * (t % 16)];
                    space0[v] = weft_fma(queries0_1, columns0_1, space0[v]);
                }
            }
        }
    }
    // loop 20
    {
        const unsigned t = threadIdx.x;
        float row_max = weft_bitcast<float>(0xff800000u);
        // loop 22
        #pragma unroll
        for (unsigned v = 0; v < 4; v++) {
            const float space0_0 = space0[v];
            const float mul_0 = space0_0 * 0x1.6a09e6p-3f;
            row_max = weft_combine<weft_largest>(row_max, mul_0);
        }
        parts0[(t % 16) + 17 * (t / 16)] = row_max;
    }
    weft_barrier();
    // loop 25: rescale = exp(max0 - where(.. == -inf, 0.0, max(max0, ..))); safe = where(max(max0, max(.., ..))  ..
    {
        const unsigned l = threadIdx.x;
        if (l < 16) {
            const float max0_0 = max0[0];
            const float parts0_0 = parts0[17 * l];
            const float parts0_1 = parts0[17 * l + 1];
            const float max_0 = weft_max(parts0_0, parts0_1);
            const float parts0_2 = parts0[17 * l + 2];
            const float parts0_3 = parts0[17 * l + 3];
            const float max_1 = weft_max(parts0_2, parts0_3);
            const float max_2 = weft_max(max_0, max_1);
            const float parts0_4 = parts0[17 * l + 4];
            const float parts0_5 = parts0[17 * l + 5];
            const float max_3 = weft_max(parts0_4, parts0_5);
            const float parts0_6 = parts0[17 * l + 6];
            const float parts0_7 = parts0[17 * l + 7];
            const float max_4 = weft_max(parts0_6, parts0_7);
            const float max_5 = weft_max(max_3, max_4);
            const float max_6 = weft_max(max_2, max_5);
            const float parts0_8 = parts0[17 * l + 8];
            const float parts0_9 = parts0[17 * l + 9];
            const float max_7 = weft_max(parts0_8, parts0_9);
            const float parts0_10 = parts0[17 * l + 10];
            const float parts0_11 = parts0[17 * l + 11];
            const float max_8 = weft_max(parts0_10, parts0_11);
            const float max_9 = weft_max(max_7, max_8);
            const float parts0_12 = parts0[17 * l + 12];
            const float parts0_13 = parts0[17 * l + 13];
            const float max_10 = weft_max(parts0_12, parts0_13);
            const float parts0_14 = parts0[17 * l + 14];
            const float parts0_15 = parts0[17 * l + 15];
            const float max_11 = weft_max(parts0_14, parts0_15);
            const float max_12 = weft_max(max_10, max_11);
            const float max_13 = weft_max(max_9, max_12);
            const float max_14 = weft_max(max_6, max_13);
            const float max_15 = weft_max(max0_0, max_14);
            const bool eq_0 = max_15 == weft_bitcast<float>(0xff800000u);
            const float where_0 = eq_0 ? 0.0f : max_15;
            const float sub_0 = max0_0 - where_0;
            const bool lt_0 = 89.0f < sub_0;
            const float where_1 = lt_0 ? 89.0f : sub_0;
            const bool lt_1 = where_1 < -104.0f;
            const float where_2 = lt_1 ? -104.0f : where_1;
            const float fma_0 = weft_fma(where_2, 0x1.715476p+0f, 12582912.0f);
            const float sub_1 = fma_0 - 12582912.0f;
            const float fma_1 = weft_fma(sub_1, -0x1.62e4p-1f, where_2);
            const float fma_2 = weft_fma(sub_1, -0x1.7f7d1cp-20f, fma_1);
            const float mul_1 = fma_2 * fma_2;
            const float fma_3 = weft_fma(fma_2, 0x1.a0d2cep-13f, 0x1.6e879cp-10f);
            const float fma_4 = weft_fma(fma_3, fma_2, 0x1.11121p-7f);
            const float fma_5 = weft_fma(fma_4, fma_2, 0x1.555382p-5f);
            const float fma_6 = weft_fma(fma_5, fma_2, 0x1.555554p-3f);
            const float fma_7 = weft_fma(fma_6, fma_2, 0.5f);
            const float fma_8 = weft_fma(mul_1, fma_7, fma_2);
            const float add_0 = fma_8 + 1.0f;
            const int bitcast_0 = weft_bitcast<int>(fma_0);
            const int sub_2 = weft_sub(bitcast_0, 1262485504);
            const float ldexp_0 = weft_ldexp(add_0, sub_2);
            rescale[l] = ldexp_0;
            safe[l] = where_0;
            max0[0] = max_15;
        }
    }
    weft_barrier();
    // loop 26
    {
        const unsigned t = threadIdx.x;
        float row_sum = 0.0f;
        // loop 28
        #pragma unroll
        for (unsigned v = 0; v < 4; v++) {
            const float space0_1 = space0[v];
            const float mul_2 = space0_1 * 0x1.6a09e6p-3f;
            const float safe_0 = safe[t / 16];
            const float sub_3 = mul_2 - safe_0;
            const bool lt_2 = 89.0f < sub_3;
            const float where_3 = lt_2 ? 89.0f : sub_3;
            const bool lt_3 = where_3 < -104.0f;
            const float where_4 = lt_3 ? -104.0f : where_3;
            const float fma_9 = weft_fma(where_4, 0x1.715476p+0f, 12582912.0f);
            const float sub_4 = fma_9 - 12582912.0f;
            const float fma_10 = weft_fma(sub_4, -0x1.62e4p-1f, where_4);
            const float fma_11 = weft_fma(sub_4, -0x1.7f7d1cp-20f, fma_10);
            const float mul_3 = fma_11 * fma_11;
            const float fma_12 = weft_fma(fma_11, 0x1.a0d2cep-13f, 0x1.6e879cp-10f);
            const float fma_13 = weft_fma(fma_12, fma_11, 0x1.11121p-7f);
            const float fma_14 = weft_fma(fma_13, fma_11, 0x1.555382p-5f);
            const float fma_15 = weft_fma(fma_14, fma_11, 0x1.555554p-3f);
            const float fma_16 = weft_fma(fma_15, fma_11, 0.5f);
            const float fma_17 = weft_fma(mul_3, fma_16, fma_11);
            const float add_1 = fma_17 + 1.0f;
            const int bitcast_1 = weft_bitcast<int>(fma_9);
            const int sub_5 = weft_sub(bitcast_1, 1262485504);
            const float ldexp_1 = weft_ldexp(add_1, sub_5);
            row_sum = row_sum + ldexp_1;
            weights0[16 * v + (t % 16) + 68 * (t / 16)] = ldexp_1;
        }
        parts0[(t % 16) + 17 * (t / 16)] = row_sum;
    }
    weft_barrier();
    // loop 31: sum1 = sum1 * rescale + (.. + .. + (.. + ..) + (.. + .. + (.. + ..)))
    {
        const unsigned l = threadIdx.x;
        if (l < 16) {
            const float sum1_0 = sum1[l];
            const float rescale_0 = rescale[l];
            const float mul_4 = sum1_0 * rescale_0;
            const float parts0_16 = parts0[17 * l];
            const float parts0_17 = parts0[17 * l + 1];
            const float add_2 = parts0_16 + parts0_17;
            const float parts0_18 = parts0[17 * l + 2];
            const float parts0_19 = parts0[17 * l + 3];
            const float add_3 = parts0_18 + parts0_19;
            const float add_4 = add_2 + add_3;
            const float parts0_20 = parts0[17 * l + 4];
            const float parts0_21 = parts0[17 * l + 5];
            const float add_5 = parts0_20 + parts0_21;
            const float parts0_22 = parts0[17 * l + 6];
            const float parts0_23 = parts0[17 * l + 7];
            const float add_6 = parts0_22 + parts0_23;
            const float add_7 = add_5 + add_6;
            const float add_8 = add_4 + add_7;
            const float parts0_24 = parts0[17 * l + 8];
            const float parts0_25 = parts0[17 * l + 9];
            const float add_9 = parts0_24 + parts0_25;
            const float parts0_26 = parts0[17 * l + 10];
            const float parts0_27 = parts0[17 * l + 11];
            const float add_10 = parts0_26 + parts0_27;
            const float add_11 = add_9 + add_10;
            const float parts0_28 = parts0[17 * l + 12];
            const float parts0_29 = parts0[17 * l + 13];
            const float add_12 = parts0_28 + parts0_29;
            const float parts0_30 = parts0[17 * l + 14];
            const float parts0_31 = parts0[17 * l + 15];
            const float add_13 = parts0_30 + parts0_31;
            const float add_14 = add_12 + add_13;
            const float add_15 = add_11 + add_14;
            const float add_16 = add_8 + add_15;
            const float add_17 = mul_4 + add_16;
            sum1[l] = add_17;
        }
    }
    // loop 32
    {
        const unsigned t = threadIdx.x;
        // loop 35
        #pragma unroll
        for (unsigned n = 0; n < 2; n++) {
            const float sums0_0 = sums0[n];
            const float rescale_1 = rescale[t / 16];
            const float mul_5 = sums0_0 * rescale_1;
            sums0[n] = mul_5;
        }
    }
    // loop 36
    {
        const unsigned t = threadIdx.x;
        // inner loop 37: sums0 += weights0 * columns1
        for (unsigned k = 0; k < 16; k++) {
            // loop 38
            #pragma unroll
            for (unsigned u = 0; u < 4; u++) {
                // loop 41
                #pragma unroll
                for (unsigned n = 0; n < 2; n++) {
                    const float weights0_0 = weights0[4 * k + u + 68 * (t / 16)];
                    const float columns1_1 = columns1[144 * k + 36 * u + n + 2 * (t % 16)];
                    sums0[n] = weft_fma(weights0_0, columns1_1, sums0[n]);
                }
            }
        }
    }
    // loop 42: sum1 = where(max0 == -inf, nan, sum1)
    {
        const unsigned l = threadIdx.x;
        if (l < 16) {
            const float max0_1 = max0[0];
            const bool eq_1 = max0_1 == weft_bitcast<float>(0xff800000u);
            const float sum1_1 = sum1[l];
            const float where_5 = eq_1 ? weft_bitcast<float>(0x7fc00000u) : sum1_1;
            sum1[l] = where_5;
        }
    }
    weft_barrier();
    // loop 43
    {
        const unsigned t = threadIdx.x;
        // loop 46
        #pragma unroll
        for (unsigned n = 0; n < 2; n++) {
            const float sums0_1 = sums0[n];
            const float sum1_2 = sum1[t / 16];
            const float div_0 = sums0_1 / sum1_2;
            out0[512 * g + n + 2 * t] = div_0;
        }
    }
}
