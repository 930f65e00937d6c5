// out[r][i] = x[r][i] / sqrt(mean(x[r]^2) + eps) * weight[i]
// x, out: [rows][n] f32; weight: [n] f32. Grid: rows. Block: a power of two times 64, at most 1024.
#include "device.h"

extern "C" __global__ void rms_norm_f32(const float *x, const float *weight, float *out, u32 n, float eps) {
    const float *row = x + (u64)block_x() * n;
    float *dst = out + (u64)block_x() * n;
    float sum = 0.0f;
    for (u32 i = thread_x(); i < n; i += block_dim_x()) sum += row[i] * row[i];
    sum = block_combine(sum, Sum());
    const float scale = 1.0f / __builtin_sqrtf(sum / (float)n + eps);
    for (u32 i = thread_x(); i < n; i += block_dim_x()) dst[i] = row[i] * scale * weight[i];
}
