// out[r][i] = x[r][i] / sqrt(mean(x[r]²) + eps) · weight[i]
//
// x, out: f32 [rows][n], rows apart by their strides (elements); weight: f32 [n]. out may be x.
// Grid: rows. Block: a power of two times the wave, at most 1024.
//
// The sum of squares has one lane per thread and a tree over the threads: its shape depends on n and the block
// alone, so a row's bits depend on no other row.
#include "common.h"

KERNEL(256) rms_norm(const float *x, const float *weight, float *out, u64 x_stride, u64 out_stride, u32 n, float eps) {
    const float *row = x + block_x() * x_stride;
    float *dst = out + block_x() * out_stride;
    float sum = 0.0f;
    for (u32 i = thread_x(); i < n; i += 256) sum += row[i] * row[i];
    sum = block_sum<256>(sum);
    const float factor = 1.0f / __builtin_sqrtf(sum / (float)n + eps);
    for (u32 i = thread_x(); i < n; i += 256) dst[i] = row[i] * factor * weight[i];
}
