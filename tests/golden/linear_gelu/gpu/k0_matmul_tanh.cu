#include "weft.cuh"

extern "C" __global__ void __launch_bounds__(128, 2) k0_matmul_tanh_p0(const float* in0, const float* in1, const float* in2, float* out0, weft_status* status) {
    const bool aligned = weft_aligned(in0, in1, in2, out0);
    const unsigned g = blockIdx.x;
    if ((g % 8) + 8 * (g / 16) < 12) {
        float row_staged[4];
        float lane_staged[16];
        float* const row_tile = weft_shared<float>(0);  // 768 elements
        float* const lane_tile = weft_shared<float>(3072);  // 2304 elements
        float acc[2];
        #pragma unroll
        for (unsigned i = 0; i < 2; i++) {
            acc[i] = 0.0f;
        }
        // loop 1: row_staged = in0
        {
            const unsigned e4 = threadIdx.x;
            const weft_vec<float, 4> in0_0 = weft_load<4>(in0 + (4 * e4 + 512 * (g % 8) + 4096 * (g / 16)), aligned);
            #pragma unroll
            for (unsigned e = 0; e < 4; e++) {
                row_staged[e] = in0_0[e];
            }
        }
        // loop 2: lane_staged = in1
        #pragma unroll
        for (unsigned step = 0; step < 4; step++) {
            const unsigned e4 = threadIdx.x + 128 * step;
            const weft_vec<float, 4> in1_0 = weft_load<4>(in1 + (4 * e4 + 2048 * ((g / 8) % 2)), aligned);
            #pragma unroll
            for (unsigned e = 0; e < 4; e++) {
                lane_staged[e + 4 * step] = in1_0[e];
            }
        }
        // loop 3: row_tile = row_staged
        {
            const unsigned e4 = threadIdx.x;
            #pragma unroll
            for (unsigned e = 0; e < 4; e++) {
                const float row_staged_0 = row_staged[e];
                row_tile[12 * e + 48 * (e4 % 16) + (e4 / 16)] = row_staged_0;
            }
        }
        // loop 4: lane_tile = lane_staged
        #pragma unroll
        for (unsigned step = 0; step < 4; step++) {
            const unsigned e4 = threadIdx.x + 128 * step;
            #pragma unroll
            for (unsigned e = 0; e < 4; e++) {
                const float lane_staged_0 = lane_staged[e + 4 * step];
                lane_tile[36 * e + 144 * (e4 % 16) + (e4 / 16)] = lane_staged_0;
            }
        }
        weft_barrier();
        // loop 5
        {
            const unsigned t = threadIdx.x;
            float a;
            float b[2];
            // inner loop 6: a = row_tile; b = lane_tile; acc += a * b
            for (unsigned group = 0; group < 8; group++) {
                // loop 7
                #pragma unroll
                for (unsigned k = 0; k < 8; k++) {
                    const float row_tile_0 = row_tile[96 * group + 12 * k + 2 * ((t / 16) % 2) + (t % 2) + 4 * (t / 64)];
                    a = row_tile_0;
                    // loop 11
                    #pragma unroll
                    for (unsigned i = 0; i < 2; i++) {
                        const float lane_tile_0 = lane_tile[288 * group + 36 * k + i + 2 * ((t / 2) % 8) + 16 * ((t / 32) % 2)];
                        b[i] = lane_tile_0;
                    }
                    // loop 13
                    #pragma unroll
                    for (unsigned j = 0; j < 2; j++) {
                        const float b_0 = b[j];
                        acc[j] = weft_fma(a, b_0, acc[j]);
                    }
                }
            }
        }
        float* const sums = weft_shared<float>(12288);  // 288 elements
        // loop 15
        {
            const unsigned t = threadIdx.x;
            // loop 18
            #pragma unroll
            for (unsigned j = 0; j < 2; j++) {
                const float acc_0 = acc[j];
                sums[j + 72 * ((t / 16) % 2) + 2 * ((t / 2) % 8) + 16 * ((t / 32) % 2) + 36 * (t % 2) + 144 * (t / 64)] = acc_0;
            }
        }
        weft_barrier();
        // inner loop 19: out0 = (sums + in2) * 0.5 * (1.0 + tanh(.. * 0.7978846))
        for (unsigned row = weft_warp(); row < 8; row += 4) {
            // loop 20: out0 = (sums + in2) * 0.5 * (1.0 + tanh(.. * 0.7978846))
            {
                const unsigned lane4 = weft_lane();
                if (lane4 < 8) {
                    const weft_vec<float, 4> sums_0 = weft_load<4>(sums + (36 * row + 4 * lane4));
                    const weft_vec<float, 4> in2_0 = weft_load<4>(in2 + (4 * lane4 + 32 * ((g / 8) % 2)), aligned);
                    weft_vec<float, 4> out0_0;
                    #pragma unroll
                    for (unsigned e = 0; e < 4; e++) {
                        const float add_0 = sums_0[e] + in2_0[e];
                        const float mul_0 = add_0 * 0.5f;
                        const float mul_1 = add_0 * add_0;
                        const float mul_2 = mul_1 * add_0;
                        const float mul_3 = mul_2 * 0x1.6e4e26p-5f;
                        const float add_1 = add_0 + mul_3;
                        const float mul_4 = add_1 * 0x1.988454p-1f;
                        const int bitcast_0 = weft_bitcast<int>(mul_4);
                        const int and_0 = bitcast_0 & 2147483647;
                        const float bitcast_1 = weft_bitcast<float>(and_0);
                        const bool lt_0 = bitcast_1 < 0.625f;
                        const float mul_5 = bitcast_1 * bitcast_1;
                        const float fma_0 = weft_fma(mul_5, -0x1.75e1d4p-8f, 0x1.52269cp-6f);
                        const float fma_1 = weft_fma(fma_0, mul_5, -0x1.b83c5ap-5f);
                        const float fma_2 = weft_fma(fma_1, mul_5, 0x1.110726p-3f);
                        const float fma_3 = weft_fma(fma_2, mul_5, -0x1.555532p-2f);
                        const float mul_6 = fma_3 * mul_5;
                        const float fma_4 = weft_fma(mul_6, bitcast_1, bitcast_1);
                        const bool lt_1 = 10.0f < bitcast_1;
                        const float where_0 = lt_1 ? 10.0f : bitcast_1;
                        const float add_2 = where_0 + where_0;
                        const float fma_5 = weft_fma(add_2, 0x1.715476p+0f, 12582912.0f);
                        const float sub_0 = fma_5 - 12582912.0f;
                        const float fma_6 = weft_fma(sub_0, -0x1.62e4p-1f, add_2);
                        const float fma_7 = weft_fma(sub_0, -0x1.7f7d1cp-20f, fma_6);
                        const float mul_7 = fma_7 * fma_7;
                        const float fma_8 = weft_fma(fma_7, 0x1.a0d2cep-13f, 0x1.6e879cp-10f);
                        const float fma_9 = weft_fma(fma_8, fma_7, 0x1.11121p-7f);
                        const float fma_10 = weft_fma(fma_9, fma_7, 0x1.555382p-5f);
                        const float fma_11 = weft_fma(fma_10, fma_7, 0x1.555554p-3f);
                        const float fma_12 = weft_fma(fma_11, fma_7, 0.5f);
                        const float fma_13 = weft_fma(mul_7, fma_12, fma_7);
                        const float add_3 = fma_13 + 1.0f;
                        const int bitcast_2 = weft_bitcast<int>(fma_5);
                        const int shl_0 = weft_shl(bitcast_2, 23);
                        const int add_4 = weft_add(shl_0, 1065353216);
                        const float bitcast_3 = weft_bitcast<float>(add_4);
                        const float fma_14 = weft_fma(add_3, bitcast_3, 1.0f);
                        const float div_0 = 1.0f / fma_14;
                        const float fma_15 = weft_fma(div_0, -2.0f, 1.0f);
                        const float where_1 = lt_0 ? fma_4 : fma_15;
                        const int bitcast_4 = weft_bitcast<int>(where_1);
                        const int and_1 = bitcast_0 & (-2147483647 - 1);
                        const int xor_0 = bitcast_4 ^ and_1;
                        const float bitcast_5 = weft_bitcast<float>(xor_0);
                        const float add_5 = 1.0f + bitcast_5;
                        const float mul_8 = mul_0 * add_5;
                        out0_0[e] = mul_8;
                    }
                    weft_store(out0 + (64 * row + 4 * lane4 + 32 * ((g / 8) % 2) + 512 * (g % 8) + 4096 * (g / 16)), out0_0, aligned);
                }
            }
        }
    }
}
