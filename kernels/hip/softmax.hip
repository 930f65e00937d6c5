// out[r][i] = exp(t[r][i] − m) / Σⱼ exp(t[r][j] − m), t = scale·x, m = maxⱼ t[r][j]
//
// x, out: f32 [rows][n], rows apart by their strides (elements). out may be x.
// Grid: rows. Block: 256.
//
// The sum has one lane per thread and a tree over the threads: its shape depends on n alone. The maximum passes NaN over; the
// sum does not, so that a NaN or a maximum of ±∞ makes the row NaN.
#include "common.h"

KERNEL(256) softmax(const float *x, float *out, u64 x_stride, u64 out_stride, u32 n, float scale) {
    const float *row = x + block_x() * x_stride;
    float *dst = out + block_x() * out_stride;
    float most = -__builtin_inff();
    for (u32 i = thread_x(); i < n; i += 256) most = __builtin_fmaxf(most, scale * row[i]);
    most = block_max<256>(most);
    float sum = 0.0f;
    for (u32 i = thread_x(); i < n; i += 256) sum += __builtin_expf(scale * row[i] - most);
    sum = block_sum<256>(sum);
    for (u32 i = thread_x(); i < n; i += 256) dst[i] = __builtin_expf(scale * row[i] - most) / sum;
}
