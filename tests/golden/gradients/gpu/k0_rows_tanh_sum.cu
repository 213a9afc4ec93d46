#include "weft.cuh"

extern "C" __global__ void __launch_bounds__(256) k0_rows_tanh_sum_p0(const float* in0, const float* in1, float* out0, long long blocks, long long count, weft_status* status) {
    const unsigned g = blockIdx.x;
    float sum0[1];
    float* const part0 = weft_shared<float>(0);  // 256 elements
    // loop 1
    for (unsigned w = weft_warp(); w < 8; w += 8) {
        // loop 2
        {
            const unsigned l = weft_lane();
            float own0 = 0.0f;
            // inner loop 3: own0 += .. * in0 + .. * in0 + .. * .. * in0 + (.. + ..) * (1.0 - ..) * in0
            for (unsigned k = 0; k < 2; k++) {
                const float in0_0 = in0[32 * g + 2048 * w + 1024 * k + l];
                const float in1_0 = in1[32 * g + l];
                const float mul_0 = in0_0 * in1_0;
                const int bitcast_0 = weft_bitcast<int>(mul_0);
                const int and_0 = bitcast_0 & 2147483647;
                const float bitcast_1 = weft_bitcast<float>(and_0);
                const bool lt_0 = bitcast_1 < 0.625f;
                const float mul_1 = bitcast_1 * bitcast_1;
                const float fma_0 = weft_fma(mul_1, -0x1.75e1d4p-8f, 0x1.52269cp-6f);
                const float fma_1 = weft_fma(fma_0, mul_1, -0x1.b83c5ap-5f);
                const float fma_2 = weft_fma(fma_1, mul_1, 0x1.110726p-3f);
                const float fma_3 = weft_fma(fma_2, mul_1, -0x1.555532p-2f);
                const float mul_2 = fma_3 * mul_1;
                const float fma_4 = weft_fma(mul_2, bitcast_1, bitcast_1);
                const bool lt_1 = 10.0f < bitcast_1;
                const float where_0 = lt_1 ? 10.0f : bitcast_1;
                const float add_0 = where_0 + where_0;
                const float fma_5 = weft_fma(add_0, 0x1.715476p+0f, 12582912.0f);
                const float sub_0 = fma_5 - 12582912.0f;
                const float fma_6 = weft_fma(sub_0, -0x1.62e4p-1f, add_0);
                const float fma_7 = weft_fma(sub_0, -0x1.7f7d1cp-20f, fma_6);
                const float mul_3 = fma_7 * fma_7;
                const float fma_8 = weft_fma(fma_7, 0x1.a0d2cep-13f, 0x1.6e879cp-10f);
                const float fma_9 = weft_fma(fma_8, fma_7, 0x1.11121p-7f);
                const float fma_10 = weft_fma(fma_9, fma_7, 0x1.555382p-5f);
                const float fma_11 = weft_fma(fma_10, fma_7, 0x1.555554p-3f);
                const float fma_12 = weft_fma(fma_11, fma_7, 0.5f);
                const float fma_13 = weft_fma(mul_3, fma_12, fma_7);
                const float add_1 = fma_13 + 1.0f;
                const int bitcast_2 = weft_bitcast<int>(fma_5);
                const int shl_0 = weft_shl(bitcast_2, 23);
                const int add_2 = weft_add(shl_0, 1065353216);
                const float bitcast_3 = weft_bitcast<float>(add_2);
                const float fma_14 = weft_fma(add_1, bitcast_3, 1.0f);
                const float div_0 = 1.0f / fma_14;
                const float fma_15 = weft_fma(div_0, -2.0f, 1.0f);
                const float where_1 = lt_0 ? fma_4 : fma_15;
                const int bitcast_4 = weft_bitcast<int>(where_1);
                const int and_1 = bitcast_0 & (-2147483647 - 1);
                const int xor_0 = bitcast_4 ^ and_1;
                const float bitcast_5 = weft_bitcast<float>(xor_0);
                const float mul_4 = 0x1p-14f * bitcast_5;
                const float add_3 = mul_4 + mul_4;
                const float mul_5 = bitcast_5 * bitcast_5;
                const float sub_1 = 1.0f - mul_5;
                const float mul_6 = add_3 * sub_1;
                const float mul_7 = mul_6 * in0_0;
                const float in0_1 = in0[32 * g + 2048 * w + 1024 * k + l + 256];
                const float mul_8 = in0_1 * in1_0;
                const int bitcast_6 = weft_bitcast<int>(mul_8);
                const int and_2 = bitcast_6 & 2147483647;
                const float bitcast_7 = weft_bitcast<float>(and_2);
                const bool lt_2 = bitcast_7 < 0.625f;
                const float mul_9 = bitcast_7 * bitcast_7;
                const float fma_16 = weft_fma(mul_9, -0x1.75e1d4p-8f, 0x1.52269cp-6f);
                const float fma_17 = weft_fma(fma_16, mul_9, -0x1.b83c5ap-5f);
                const float fma_18 = weft_fma(fma_17, mul_9, 0x1.110726p-3f);
                const float fma_19 = weft_fma(fma_18, mul_9, -0x1.555532p-2f);
                const float mul_10 = fma_19 * mul_9;
                const float fma_20 = weft_fma(mul_10, bitcast_7, bitcast_7);
                const bool lt_3 = 10.0f < bitcast_7;
                const float where_2 = lt_3 ? 10.0f : bitcast_7;
                const float add_4 = where_2 + where_2;
                const float fma_21 = weft_fma(add_4, 0x1.715476p+0f, 12582912.0f);
                const float sub_2 = fma_21 - 12582912.0f;
                const float fma_22 = weft_fma(sub_2, -0x1.62e4p-1f, add_4);
                const float fma_23 = weft_fma(sub_2, -0x1.7f7d1cp-20f, fma_22);
                const float mul_11 = fma_23 * fma_23;
                const float fma_24 = weft_fma(fma_23, 0x1.a0d2cep-13f, 0x1.6e879cp-10f);
                const float fma_25 = weft_fma(fma_24, fma_23, 0x1.11121p-7f);
                const float fma_26 = weft_fma(fma_25, fma_23, 0x1.555382p-5f);
                const float fma_27 = weft_fma(fma_26, fma_23, 0x1.555554p-3f);
                const float fma_28 = weft_fma(fma_27, fma_23, 0.5f);
                const float fma_29 = weft_fma(mul_11, fma_28, fma_23);
                const float add_5 = fma_29 + 1.0f;
                const int bitcast_8 = weft_bitcast<int>(fma_21);
                const int shl_1 = weft_shl(bitcast_8, 23);
                const int add_6 = weft_add(shl_1, 1065353216);
                const float bitcast_9 = weft_bitcast<float>(add_6);
                const float fma_30 = weft_fma(add_5, bitcast_9, 1.0f);
                const float div_1 = 1.0f / fma_30;
                const float fma_31 = weft_fma(div_1, -2.0f, 1.0f);
                const float where_3 = lt_2 ? fma_20 : fma_31;
                const int bitcast_10 = weft_bitcast<int>(where_3);
                const int and_3 = bitcast_6 & (-2147483647 - 1);
                const int xor_1 = bitcast_10 ^ and_3;
                const float bitcast_11 = weft_bitcast<float>(xor_1);
                const float mul_12 = 0x1p-14f * bitcast_11;
                const float add_7 = mul_12 + mul_12;
                const float mul_13 = bitcast_11 * bitcast_11;
                const float sub_3 = 1.0f - mul_13;
                const float mul_14 = add_7 * sub_3;
                const float mul_15 = mul_14 * in0_1;
                const float add_8 = mul_7 + mul_15;
                const float in0_2 = in0[32 * g + 2048 * w + 1024 * k + l + 512];
                const float mul_16 = in0_2 * in1_0;
                const int bitcast_12 = weft_bitcast<int>(mul_16);
                const int and_4 = bitcast_12 & 2147483647;
                const float bitcast_13 = weft_bitcast<float>(and_4);
                const bool lt_4 = bitcast_13 < 0.625f;
                const float mul_17 = bitcast_13 * bitcast_13;
                const float fma_32 = weft_fma(mul_17, -0x1.75e1d4p-8f, 0x1.52269cp-6f);
                const float fma_33 = weft_fma(fma_32, mul_17, -0x1.b83c5ap-5f);
                const float fma_34 = weft_fma(fma_33, mul_17, 0x1.110726p-3f);
                const float fma_35 = weft_fma(fma_34, mul_17, -0x1.555532p-2f);
                const float mul_18 = fma_35 * mul_17;
                const float fma_36 = weft_fma(mul_18, bitcast_13, bitcast_13);
                const bool lt_5 = 10.0f < bitcast_13;
                const float where_4 = lt_5 ? 10.0f : bitcast_13;
                const float add_9 = where_4 + where_4;
                const float fma_37 = weft_fma(add_9, 0x1.715476p+0f, 12582912.0f);
                const float sub_4 = fma_37 - 12582912.0f;
                const float fma_38 = weft_fma(sub_4, -0x1.62e4p-1f, add_9);
                const float fma_39 = weft_fma(sub_4, -0x1.7f7d1cp-20f, fma_38);
                const float mul_19 = fma_39 * fma_39;
                const float fma_40 = weft_fma(fma_39, 0x1.a0d2cep-13f, 0x1.6e879cp-10f);
                const float fma_41 = weft_fma(fma_40, fma_39, 0x1.11121p-7f);
                const float fma_42 = weft_fma(fma_41, fma_39, 0x1.555382p-5f);
                const float fma_43 = weft_fma(fma_42, fma_39, 0x1.555554p-3f);
                const float fma_44 = weft_fma(fma_43, fma_39, 0.5f);
                const float fma_45 = weft_fma(mul_19, fma_44, fma_39);
                const float add_10 = fma_45 + 1.0f;
                const int bitcast_14 = weft_bitcast<int>(fma_37);
                const int shl_2 = weft_shl(bitcast_14, 23);
                const int add_11 = weft_add(shl_2, 1065353216);
                const float bitcast_15 = weft_bitcast<float>(add_11);
                const float fma_46 = weft_fma(add_10, bitcast_15, 1.0f);
                const float div_2 = 1.0f / fma_46;
                const float fma_47 = weft_fma(div_2, -2.0f, 1.0f);
                const float where_5 = lt_4 ? fma_36 : fma_47;
                const int bitcast_16 = weft_bitcast<int>(where_5);
                const int and_5 = bitcast_12 & (-2147483647 - 1);
                const int xor_2 = bitcast_16 ^ and_5;
                const float bitcast_17 = weft_bitcast<float>(xor_2);
                const float mul_20 = 0x1p-14f * bitcast_17;
                const float add_12 = mul_20 + mul_20;
                const float mul_21 = bitcast_17 * bitcast_17;
                const float sub_5 = 1.0f - mul_21;
                const float mul_22 = add_12 * sub_5;
                const float mul_23 = mul_22 * in0_2;
                const float add_13 = add_8 + mul_23;
                const float in0_3 = in0[32 * g + 2048 * w + 1024 * k + l + 768];
                const float mul_24 = in0_3 * in1_0;
                const int bitcast_18 = weft_bitcast<int>(mul_24);
                const int and_6 = bitcast_18 & 2147483647;
                const float bitcast_19 = weft_bitcast<float>(and_6);
                const bool lt_6 = bitcast_19 < 0.625f;
                const float mul_25 = bitcast_19 * bitcast_19;
                const float fma_48 = weft_fma(mul_25, -0x1.75e1d4p-8f, 0x1.52269cp-6f);
                const float fma_49 = weft_fma(fma_48, mul_25, -0x1.b83c5ap-5f);
                const float fma_50 = weft_fma(fma_49, mul_25, 0x1.110726p-3f);
                const float fma_51 = weft_fma(fma_50, mul_25, -0x1.555532p-2f);
                const float mul_26 = fma_51 * mul_25;
                const float fma_52 = weft_fma(mul_26, bitcast_19, bitcast_19);
                const bool lt_7 = 10.0f < bitcast_19;
                const float where_6 = lt_7 ? 10.0f : bitcast_19;
                const float add_14 = where_6 + where_6;
                const float fma_53 = weft_fma(add_14, 0x1.715476p+0f, 12582912.0f);
                const float sub_6 = fma_53 - 12582912.0f;
                const float fma_54 = weft_fma(sub_6, -0x1.62e4p-1f, add_14);
                const float fma_55 = weft_fma(sub_6, -0x1.7f7d1cp-20f, fma_54);
                const float mul_27 = fma_55 * fma_55;
                const float fma_56 = weft_fma(fma_55, 0x1.a0d2cep-13f, 0x1.6e879cp-10f);
                const float fma_57 = weft_fma(fma_56, fma_55, 0x1.11121p-7f);
                const float fma_58 = weft_fma(fma_57, fma_55, 0x1.555382p-5f);
                const float fma_59 = weft_fma(fma_58, fma_55, 0x1.555554p-3f);
                const float fma_60 = weft_fma(fma_59, fma_55, 0.5f);
                const float fma_61 = weft_fma(mul_27, fma_60, fma_55);
                const float add_15 = fma_61 + 1.0f;
                const int bitcast_20 = weft_bitcast<int>(fma_53);
                const int shl_3 = weft_shl(bitcast_20, 23);
                const int add_16 = weft_add(shl_3, 1065353216);
                const float bitcast_21 = weft_bitcast<float>(add_16);
                const float fma_62 = weft_fma(add_15, bitcast_21, 1.0f);
                const float div_3 = 1.0f / fma_62;
                const float fma_63 = weft_fma(div_3, -2.0f, 1.0f);
                const float where_7 = lt_6 ? fma_52 : fma_63;
                const int bitcast_22 = weft_bitcast<int>(where_7);
                const int and_7 = bitcast_18 & (-2147483647 - 1);
                const int xor_3 = bitcast_22 ^ and_7;
                const float bitcast_23 = weft_bitcast<float>(xor_3);
                const float mul_28 = 0x1p-14f * bitcast_23;
                const float add_17 = mul_28 + mul_28;
                const float mul_29 = bitcast_23 * bitcast_23;
                const float sub_7 = 1.0f - mul_29;
                const float mul_30 = add_17 * sub_7;
                const float mul_31 = mul_30 * in0_3;
                const float add_18 = add_13 + mul_31;
                own0 = own0 + add_18;
            }
            part0[32 * w + l] = own0;
        }
    }
    weft_barrier();
    // loop 4
    {
        const unsigned l = threadIdx.x;
        if (l < 32) {
            float own0 = 0.0f;
            // loop 5
            #pragma unroll
            for (unsigned w = 0; w < 8; w++) {
                const float part0_0 = part0[32 * w + l];
                own0 = own0 + part0_0;
            }
            sum0[0] = own0;
        }
    }
    // loop 6: out0 = sum0
    {
        const unsigned l = threadIdx.x;
        if (l < 32) {
            const float sum0_0 = sum0[0];
            out0[32 * g + l] = sum0_0;
        }
    }
}
