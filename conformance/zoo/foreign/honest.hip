// RMSNorm by unusual and legal ways. None of them is to be accused.
#include "foreign.h"

// The sum of squares of a part of a row, added to the row's sum by an atomic addition. Grid: parts of 64 elements × rows.
KERNEL split_sum(float *sums, const float *x, int n, int x_stride) {
    const int part = __builtin_amdgcn_workgroup_id_x(), row = __builtin_amdgcn_workgroup_id_y();
    const int i = part * 256 + thread_x();
    const float value = i < n ? x[(long)row * x_stride + i] : 0.0f;
    const float sum = block_sum(value * value);
    if (thread_x() == 0) __hip_atomic_fetch_add(&sums[row], sum, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

KERNEL split_scale(float *out, const float *x, const float *weight, const float *sums, float eps, int n, int x_stride,
                   int out_stride) {
    const int part = __builtin_amdgcn_workgroup_id_x(), row = __builtin_amdgcn_workgroup_id_y();
    const int i = part * 256 + thread_x();
    if (i >= n) return;
    const float factor = 1.0f / __builtin_sqrtf(sums[row] / n + eps);
    out[(long)row * out_stride + i] = x[(long)row * x_stride + i] * factor * weight[i];
}

// Multiplies in f16, and says so.
KERNEL half_declared(float *out, const float *x, const float *weight, float eps, int n, int x_stride, int out_stride) {
    x += block_x() * x_stride;
    out += block_x() * out_stride;
    float sum = 0.0f;
    for (int i = thread_x(); i < n; i += 256) sum += x[i] * x[i];
    const float factor = 1.0f / __builtin_sqrtf(block_sum(sum) / n + eps);
    for (int i = thread_x(); i < n; i += 256) out[i] = (float)(f16)(x[i] * factor) * weight[i];
}

// Four elements at a time: rows of whole quads, each aligned to 16 bytes.
typedef float f32x4 __attribute__((ext_vector_type(4)));

KERNEL quads(const f32x4 *x, f32x4 *out, const f32x4 *weight, int n4, int x_stride4, int out_stride4, float eps) {
    x += block_x() * x_stride4;
    out += block_x() * out_stride4;
    float sum = 0.0f;
    for (int i = thread_x(); i < n4; i += 256) {
        const f32x4 v = x[i];
        sum += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
    const float factor = 1.0f / __builtin_sqrtf(block_sum(sum) / (4 * n4) + eps);
    for (int i = thread_x(); i < n4; i += 256) out[i] = x[i] * factor * weight[i];
}
