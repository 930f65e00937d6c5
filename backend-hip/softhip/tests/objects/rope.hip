// NeoX rotary embedding in place. x: [tokens][heads][dim] f32; pos: [tokens] u32;
// table: [positions][dim / 2][2] f32 of cos, sin. Grid: (tokens, heads). Block: dim / 2.
// pos[token] is the same for the whole block, so the compiler reads it with s_load.
#include "device.h"

extern "C" __global__ void rope_f32(float *x, const u32 *pos, const float *table, u32 heads, u32 dim) {
    const u32 token = block_x(), head = block_y(), i = thread_x(), half = dim / 2;
    if (i >= half) return;
    const float *angle = table + ((u64)pos[token] * half + i) * 2;
    float *v = x + ((u64)token * heads + head) * dim;
    const float c = angle[0], s = angle[1], a = v[i], b = v[i + half];
    v[i] = a * c - b * s;
    v[i + half] = a * s + b * c;
}
