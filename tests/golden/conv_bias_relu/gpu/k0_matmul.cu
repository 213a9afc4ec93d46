#include "weft.cuh"

extern "C" __global__ void __launch_bounds__(128) k0_matmul_p0(const float* in0, const float* in1, const float* in2, float* out0, long long blocks_0, long long count_0, weft_status* status) {
    const unsigned g = blockIdx.x;
    // loop 1
    const long long l_left = count_0 - static_cast<long long>(128 * g);
    const unsigned l_end = l_left < 0 ? 0 : l_left < 128 ? l_left : 128;
    {
        const unsigned l = threadIdx.x;
        if (l < l_end) {
            float acc = 0.0f;
            // loop 2
            for (unsigned k0 = 0; k0 < 8; k0++) {
                // loop 3
                for (unsigned k1 = 0; k1 < 3; k1++) {
                    // inner loop 4: acc += in0 * in1
                    for (unsigned k2 = 0; k2 < 3; k2++) {
                        const float in0_0 = k1 + 8 * (g % 2) + (l / 16) - 1 < 16 && k2 + (l % 16) - 1 < 16 ? in0[static_cast<int>(256 * k0 + 16 * k1 + k2 + l + 2048 * ((g / 2) % 4) + 128 * (g % 2) - 17)] : 0.0f;
                        const float in1_0 = in1[9 * k0 + 3 * k1 + k2 + 72 * (g / 8)];
                        acc = weft_fma(in0_0, in1_0, acc);
                    }
                }
            }
            const float in2_0 = in2[g / 8];
            const float add_0 = acc + in2_0;
            const bool lt_0 = 0.0f < add_0;
            const bool eq_0 = add_0 == add_0;
            const bool xor_0 = eq_0 != true;
            const bool or_0 = lt_0 || xor_0;
            const float where_0 = or_0 ? add_0 : 0.0f;
            out0[l + 4096 * ((g / 2) % 4) + 128 * (g % 2) + 256 * (g / 8)] = where_0;
        }
    }
}
