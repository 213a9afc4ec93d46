#include "weft.cuh"

extern "C" __global__ void __launch_bounds__(128) k0_map_sqrt_div_p0(const float* in0, const float* in1, const float* in2, const float* in3, const float* in4, const float* in5, const float* in6, const float* in7, float* out0, float* out1, float* out2, long long blocks, long long count, weft_status* status) {
    const unsigned g = blockIdx.x;
    // loop 1: out0 = in7 - in3 * (in1 + ..) / (sqrt(..) + in6); out1 = in1 + in2 * (in0 - in1); out2 = in4 + in ..
    const float in3_0 = in3[0];
    const float in2_0 = in2[0];
    const float in5_0 = in5[0];
    const float in6_0 = in6[0];
    const long long l_left = count - static_cast<long long>(128 * g);
    const unsigned l_end = l_left < 0 ? 0 : l_left < 128 ? l_left : 128;
    {
        const unsigned l = threadIdx.x;
        if (l < l_end) {
            const float in7_0 = in7[128 * g + l];
            const float in1_0 = in1[128 * g + l];
            const float in0_0 = in0[128 * g + l];
            const float sub_0 = in0_0 - in1_0;
            const float mul_0 = in2_0 * sub_0;
            const float add_0 = in1_0 + mul_0;
            const float mul_1 = in3_0 * add_0;
            const float in4_0 = in4[128 * g + l];
            const float mul_2 = in0_0 * in0_0;
            const float sub_1 = mul_2 - in4_0;
            const float mul_3 = in5_0 * sub_1;
            const float add_1 = in4_0 + mul_3;
            const float sqrt_0 = weft_sqrt(add_1);
            const float add_2 = sqrt_0 + in6_0;
            const float div_0 = mul_1 / add_2;
            const float sub_2 = in7_0 - div_0;
            out0[128 * g + l] = sub_2;
            out1[128 * g + l] = add_0;
            out2[128 * g + l] = add_1;
        }
    }
}
