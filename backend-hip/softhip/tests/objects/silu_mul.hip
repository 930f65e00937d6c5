// out[i] = gate[i] / (1 + exp(-gate[i])) * up[i]; n elements. Grid * block >= n.
#include "device.h"

extern "C" __global__ void silu_mul_f32(const float *gate, const float *up, float *out, u32 n) {
    const u32 i = block_x() * block_dim_x() + thread_x();
    if (i >= n) return;
    const float g = gate[i];
    out[i] = g / (1.0f + __builtin_expf(-g)) * up[i];
}
