// out[r] = softmax(x[r]); x, out: [rows][n] f32. Grid: rows. Block: a power of two times 64, at most 1024.
#include "device.h"

extern "C" __global__ void softmax_f32(const float *x, float *out, u32 n) {
    const float *row = x + (u64)block_x() * n;
    float *dst = out + (u64)block_x() * n;
    float top = -__builtin_inff();
    for (u32 i = thread_x(); i < n; i += block_dim_x()) top = __builtin_fmaxf(top, row[i]);
    top = block_combine(top, Max());
    float sum = 0.0f;
    for (u32 i = thread_x(); i < n; i += block_dim_x()) {
        const float e = __builtin_expf(row[i] - top);
        dst[i] = e;
        sum += e;
    }
    sum = block_combine(sum, Sum());
    const float inverse = 1.0f / sum;
    for (u32 i = thread_x(); i < n; i += block_dim_x()) dst[i] *= inverse;
}
