
// A kernel that reaches the limit of its arithmetic, in floats of one type.
extern "C" __global__ void __launch_bounds__($threads) weft_fma_$type($type* out) {
    $type sums[$chains];
    for (int k = 0; k < $chains; k++) sums[k] = out[threadIdx.x];
    const $type x = sums[0];
    for (int i = 0; i < $steps; i++) {
#pragma unroll
        for (int k = 0; k < $chains; k++) sums[k] = weft_fma(x, x, sums[k]);
    }
    for (int k = 1; k < $chains; k++) sums[0] += sums[k];
    out[threadIdx.x] = sums[0];
}
