// out[r] = dot(w[r], x) with w in f16, bf16 or f32; x: [n] f32. Grid: rows. Block: 64.
#include "device.h"

template <typename Load>
static __device__ inline void matvec(Load w, const float *x, float *out, u32 n) {
    float sum = 0.0f;
    for (u32 i = thread_x(); i < n; i += WAVE) sum += w(i) * x[i];
    sum = wave_sum(sum);
    if (thread_x() == 0) out[block_x()] = sum;
}

extern "C" __global__ void matvec_f32(const float *w, const float *x, float *out, u32 n) {
    const float *row = w + (u64)block_x() * n;
    matvec([=](u32 i) { return row[i]; }, x, out, n);
}

extern "C" __global__ void matvec_f16(const f16 *w, const float *x, float *out, u32 n) {
    const f16 *row = w + (u64)block_x() * n;
    matvec([=](u32 i) { return (float)row[i]; }, x, out, n);
}

extern "C" __global__ void matvec_bf16(const u16 *w, const float *x, float *out, u32 n) {
    const u16 *row = w + (u64)block_x() * n;
    matvec([=](u32 i) { return bits_f32((u32)row[i] << 16); }, x, out, n);
}

// Two f16 products per step, f32 accumulator. n is even.
extern "C" __global__ void matvec_dot2(const f16x2 *w, const f16x2 *x, float *out, u32 n) {
    const f16x2 *row = w + (u64)block_x() * (n / 2);
    float sum = 0.0f;
    for (u32 i = thread_x(); i < n / 2; i += WAVE) sum = __builtin_amdgcn_fdot2(row[i], x[i], sum, false);
    sum = wave_sum(sum);
    if (thread_x() == 0) out[block_x()] = sum;
}
