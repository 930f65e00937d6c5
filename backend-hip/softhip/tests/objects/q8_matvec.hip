// out[r] = dot(w[r], x). w: [rows][n / 32] Q8_0 blocks of one f16 scale and 32 i8; x: [n] f32.
// Grid: rows. Block: 64. q8_dot4 quantises x itself: xq [n] i8, xd [n / 32] f32.
#include "device.h"

struct Q8Block {
    f16 scale;
    i8 q[32];
};

extern "C" __global__ void q8_matvec_f32(const Q8Block *w, const float *x, float *out, u32 n) {
    const u32 blocks = n / 32;
    const Q8Block *row = w + (u64)block_x() * blocks;
    float sum = 0.0f;
    for (u32 b = thread_x(); b < blocks; b += WAVE) {
        float part = 0.0f;
        for (u32 j = 0; j < 32; ++j) part += (float)row[b].q[j] * x[b * 32 + j];
        sum += (float)row[b].scale * part;
    }
    sum = wave_sum(sum);
    if (thread_x() == 0) out[block_x()] = sum;
}

extern "C" __global__ void q8_dot4(const Q8Block *w, const i8 *xq, const float *xd, float *out, u32 n) {
    const u32 blocks = n / 32;
    const Q8Block *row = w + (u64)block_x() * blocks;
    float sum = 0.0f;
    for (u32 b = thread_x(); b < blocks; b += WAVE) {
        i32 part = 0;
        for (u32 j = 0; j < 8; ++j) {
            i32 a, c;
            __builtin_memcpy(&a, row[b].q + 4 * j, 4);
            __builtin_memcpy(&c, xq + b * 32 + 4 * j, 4);
            part = __builtin_amdgcn_sdot4(a, c, part, false);
        }
        sum += (float)row[b].scale * xd[b] * (float)part;
    }
    sum = wave_sum(sum);
    if (thread_x() == 0) out[block_x()] = sum;
}
