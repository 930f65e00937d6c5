// Byte and half-word work, where the compiler uses SDWA by itself. x, y: [n] u32, out: [n]. Block: 64.
#include "device.h"

extern "C" __global__ void byte_sums(const u32 *x, const u32 *y, u32 *out, u32 n) {
    const u32 i = block_x() * WAVE + thread_x();
    if (i >= n) return;
    const u32 a = x[i], b = y[i];
    const u32 lo = (a & 0xff) + (b >> 8 & 0xff), hi = (a >> 16 & 0xff) * (b >> 24);
    out[i] = lo | hi << 16;
}

extern "C" __global__ void nibbles_to_f32(const u8 *x, float *out, float scale) {
    const u32 i = block_x() * WAVE + thread_x();
    const u8 q = x[i];
    out[2 * i] = (float)((i32)(q & 15) - 8) * scale;
    out[2 * i + 1] = (float)((i32)(q >> 4) - 8) * scale;
}

extern "C" __global__ void bytes_to_f32(const u32 *x, f32x4 *out) {
    const u32 i = block_x() * WAVE + thread_x();
    const u32 v = x[i];
    out[i] = (f32x4){(float)(v & 0xff), (float)(v >> 8 & 0xff), (float)(v >> 16 & 0xff), (float)(v >> 24)};
}

extern "C" __global__ void halves(const f16x2 *x, const f16x2 *y, f16 *out, const i16x2 *u, i32 *v) {
    const u32 i = block_x() * WAVE + thread_x();
    out[i] = x[i].y * y[i].x + x[i].x * y[i].y;
    v[i] = (i32)u[i].x * u[i].y - u[i].y;
}

extern "C" __global__ void saturate_u8(const float *x, u8 *out) {
    const u32 i = block_x() * WAVE + thread_x();
    out[i] = (u8)__builtin_fminf(__builtin_fmaxf(__builtin_rintf(x[i]), 0.0f), 255.0f);
}

extern "C" __global__ void i8_products(const i8 *x, const i8 *y, i16 *out) {
    const u32 i = (block_x() * WAVE + thread_x()) * 4;
    for (u32 j = 0; j < 4; ++j) out[i + j] = (i16)(x[i + j] * y[i + j]);
}

extern "C" __global__ void fp8_round_trip(const float *x, float *out) {
    const u32 i = block_x() * WAVE + thread_x();
    const i32 packed = __builtin_amdgcn_cvt_pk_fp8_f32(x[i], x[i] * 0.5f, 0, false);
    out[2 * i] = __builtin_amdgcn_cvt_f32_fp8(packed, 0);
    out[2 * i + 1] = __builtin_amdgcn_cvt_f32_fp8(packed, 1);
}
