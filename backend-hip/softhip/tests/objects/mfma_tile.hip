// out = a * b, one wave, one MFMA tile: a [m][k], b [k][n], out [m][n], row-major. Grid: 1. Block: 64.
// Each kernel is one instruction between the loads and stores its register layout asks for.
#include "device.h"

// 32x32: lane l holds row or column l % 32 and k-block l / 32; result register r is row
// 8 * (r / 4) + 4 * (l / 32) + r % 4.
template <typename T, typename V, int K, typename Op>
static __device__ inline void tile_32(const T *a, const T *b, float *out, Op mfma) {
    const u32 lane = thread_x(), i = lane % 32, block = lane / 32;
    const int per = K / 2;
    V va, vb;
    for (int j = 0; j < per; ++j) {
        va[j] = a[i * K + block * per + j];
        vb[j] = b[(block * per + j) * 32 + i];
    }
    f32x16 c = {};
    c = mfma(va, vb, c);
    for (int r = 0; r < 16; ++r) out[(8 * (r / 4) + 4 * block + r % 4) * 32 + i] = c[r];
}

// 16x16: lane l holds row or column l % 16 and k-block l / 16; result register r is row 4 * (l / 16) + r.
template <typename T, typename V, typename C, typename E, int K, typename Op>
static __device__ inline void tile_16(const T *a, const T *b, E *out, Op mfma) {
    const u32 lane = thread_x(), i = lane % 16, block = lane / 16;
    const int per = K / 4;
    V va, vb;
    for (int j = 0; j < per; ++j) {
        va[j] = a[i * K + block * per + j];
        vb[j] = b[(block * per + j) * 16 + i];
    }
    C c = {};
    c = mfma(va, vb, c);
    for (int r = 0; r < 4; ++r) out[(4 * block + r) * 16 + i] = c[r];
}

extern "C" __global__ void mfma_f16_32x32x8(const f16 *a, const f16 *b, float *out) {
    tile_32<f16, f16x4, 8>(a, b, out, [](f16x4 x, f16x4 y, f32x16 c) {
        return __builtin_amdgcn_mfma_f32_32x32x8f16(x, y, c, 0, 0, 0);
    });
}
extern "C" __global__ void mfma_bf16_32x32x8(const i16 *a, const i16 *b, float *out) {
    tile_32<i16, i16x4, 8>(a, b, out, [](i16x4 x, i16x4 y, f32x16 c) {
        return __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(x, y, c, 0, 0, 0);
    });
}
extern "C" __global__ void mfma_f16_16x16x16(const f16 *a, const f16 *b, float *out) {
    tile_16<f16, f16x4, f32x4, float, 16>(a, b, out, [](f16x4 x, f16x4 y, f32x4 c) {
        return __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, c, 0, 0, 0);
    });
}
extern "C" __global__ void mfma_bf16_16x16x16(const i16 *a, const i16 *b, float *out) {
    tile_16<i16, i16x4, f32x4, float, 16>(a, b, out, [](i16x4 x, i16x4 y, f32x4 c) {
        return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(x, y, c, 0, 0, 0);
    });
}
extern "C" __global__ void mfma_f32_16x16x4(const float *a, const float *b, float *out) {
    const u32 lane = thread_x(), i = lane % 16, k = lane / 16;
    f32x4 c = {};
    c = __builtin_amdgcn_mfma_f32_16x16x4f32(a[i * 4 + k], b[k * 16 + i], c, 0, 0, 0);
    for (int r = 0; r < 4; ++r) out[(4 * k + r) * 16 + i] = c[r];
}
extern "C" __global__ void mfma_f32_32x32x2(const float *a, const float *b, float *out) {
    const u32 lane = thread_x(), i = lane % 32, k = lane / 32;
    f32x16 c = {};
    c = __builtin_amdgcn_mfma_f32_32x32x2f32(a[i * 2 + k], b[k * 32 + i], c, 0, 0, 0);
    for (int r = 0; r < 16; ++r) out[(8 * (r / 4) + 4 * k + r % 4) * 32 + i] = c[r];
}
extern "C" __global__ void mfma_i8_16x16x32(const i8 *a, const i8 *b, i32 *out) {
    const u32 lane = thread_x(), i = lane % 16, block = lane / 16;
    i64 va = 0, vb = 0;
    for (int j = 0; j < 8; ++j) {
        va |= (i64)(u8)a[i * 32 + block * 8 + j] << (8 * j);
        vb |= (i64)(u8)b[(block * 8 + j) * 16 + i] << (8 * j);
    }
    i32x4 c = {};
    c = __builtin_amdgcn_mfma_i32_16x16x32_i8(va, vb, c, 0, 0, 0);
    for (int r = 0; r < 4; ++r) out[(4 * block + r) * 16 + i] = c[r];
}
extern "C" __global__ void mfma_i8_32x32x16(const i8 *a, const i8 *b, i32 *out) {
    const u32 lane = thread_x(), i = lane % 32, block = lane / 32;
    i64 va = 0, vb = 0;
    for (int j = 0; j < 8; ++j) {
        va |= (i64)(u8)a[i * 16 + block * 8 + j] << (8 * j);
        vb |= (i64)(u8)b[(block * 8 + j) * 32 + i] << (8 * j);
    }
    i32x16 c = {};
    c = __builtin_amdgcn_mfma_i32_32x32x16_i8(va, vb, c, 0, 0, 0);
    for (int r = 0; r < 16; ++r) out[(8 * (r / 4) + 4 * block + r % 4) * 32 + i] = c[r];
}
extern "C" __global__ void mfma_f64_16x16x4(const double *a, const double *b, double *out) {
    typedef double f64x4 __attribute__((ext_vector_type(4)));
    const u32 lane = thread_x(), i = lane % 16, k = lane / 16;
    f64x4 c = {};
    c = __builtin_amdgcn_mfma_f64_16x16x4f64(a[i * 4 + k], b[k * 16 + i], c, 0, 0, 0);
    for (int r = 0; r < 4; ++r) out[(4 * r + k) * 16 + i] = c[r];
}
// An accumulator that stays in accumulation registers over many steps. k is a multiple of 8.
extern "C" __global__ void mfma_loop_f16(const f16 *a, const f16 *b, float *out, u32 k) {
    const u32 lane = thread_x(), i = lane % 32, block = lane / 32;
    f32x16 c = {};
    for (u32 step = 0; step < k; step += 8) {
        f16x4 va, vb;
        for (u32 j = 0; j < 4; ++j) {
            va[j] = a[i * k + step + block * 4 + j];
            vb[j] = b[(step + block * 4 + j) * 32 + i];
        }
        c = __builtin_amdgcn_mfma_f32_32x32x8f16(va, vb, c, 0, 0, 0);
    }
    for (int r = 0; r < 16; ++r) out[(8 * (r / 4) + 4 * block + r % 4) * 32 + i] = c[r];
}
