// out = a * b^T: a [m][k], b [n][k], out [m][n] in f32, row-major. m and n are multiples of 128, k of 32.
// Grid: (n / 128, m / 128). Block: 256; each wave computes 64 x 64 of the block's results, in four accumulators.
// Tiles of 128 x 32 are staged in LDS, whose rows are padded so that the banks are hit evenly.
#include "device.h"

typedef u32 u32x4 __attribute__((ext_vector_type(4)));
enum { TILE = 128, STEP = 32, ROW = STEP + 8 };

template <typename T, typename V, typename Op>
static __device__ inline void matmul(const T *a, const T *b, float *out, u32 n, u32 k, Op mfma) {
    __shared__ T tile_a[TILE * ROW], tile_b[TILE * ROW];
    const u32 thread = thread_x(), wave = thread / 64, lane = thread % 64;
    const u32 row = thread / 4, column = thread % 4 * 8;
    const u32 i = lane % 32, half = lane / 32;
    const T *const from_a = a + (block_y() * TILE + row) * k + column;
    const T *const from_b = b + (block_x() * TILE + row) * k + column;
    f32x16 c[2][2] = {};
    for (u32 step = 0; step < k; step += STEP) {
        for (u32 j = 0; j < TILE; j += 64) {
            *(u32x4 *)&tile_a[(row + j) * ROW + column] = *(const u32x4 *)(from_a + j * k + step);
            *(u32x4 *)&tile_b[(row + j) * ROW + column] = *(const u32x4 *)(from_b + j * k + step);
        }
        barrier();
        for (u32 j = 0; j < STEP; j += 8) {
            V x[2], y[2];
            for (u32 part = 0; part < 2; ++part) {
                x[part] = *(const V *)&tile_a[(wave / 2 * 64 + part * 32 + i) * ROW + j + half * 4];
                y[part] = *(const V *)&tile_b[(wave % 2 * 64 + part * 32 + i) * ROW + j + half * 4];
            }
            for (u32 p = 0; p < 4; ++p) c[p / 2][p % 2] = mfma(x[p / 2], y[p % 2], c[p / 2][p % 2]);
        }
        barrier();
    }
    for (u32 p = 0; p < 4; ++p) {
        const u32 first = block_y() * TILE + wave / 2 * 64 + p / 2 * 32 + 4 * half;
        const u32 at = block_x() * TILE + wave % 2 * 64 + p % 2 * 32 + i;
        for (u32 r = 0; r < 16; ++r) out[(first + 8 * (r / 4) + r % 4) * n + at] = c[p / 2][p % 2][r];
    }
}

extern "C" __global__ void matmul_f16(const f16 *a, const f16 *b, float *out, u32 n, u32 k) {
    matmul<f16, f16x4>(a, b, out, n, k, [](f16x4 x, f16x4 y, f32x16 c) {
        return __builtin_amdgcn_mfma_f32_32x32x8f16(x, y, c, 0, 0, 0);
    });
}
extern "C" __global__ void matmul_bf16(const i16 *a, const i16 *b, float *out, u32 n, u32 k) {
    matmul<i16, i16x4>(a, b, out, n, k, [](i16x4 x, i16x4 y, f32x16 c) {
        return __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(x, y, c, 0, 0, 0);
    });
}
