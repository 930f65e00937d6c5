// out[r] = min { i : x[r][i] = maxⱼ x[r][j] }
//
// x: f32 [rows][n], rows apart by x_stride (elements); out: u32 [rows].
// Grid: rows. Block: 1024.
//
// An element's rank is a u64: its value as an integer of the same order in the upper half (NaN 0, both zeros alike), the
// complement of its index in the lower. Ranks are all different, so their maximum depends on no order.
#include "common.h"

DEVICE u64 rank_of(float x, u32 index) {
    const u32 bits = f32_bits(x + 0.0f);
    const u32 order = x != x ? 0 : (bits >> 31 ? ~bits : bits | 0x80000000u);
    return (u64)order << 32 | (u32)~index;
}

DEVICE u64 larger(u64 a, u64 b) { return a > b ? a : b; }

DEVICE u64 lane_xor(u64 x, u32 mask) {
    return (u64)lane_xor((u32)(x >> 32), mask) << 32 | lane_xor((u32)x, mask);
}

KERNEL(1024) argmax(const float *x, u32 *out, u64 x_stride, u32 n) {
    const float *row = x + block_x() * x_stride;
    u64 best = 0;
    for (u32 i = thread_x(); i < n; i += 1024) best = larger(best, rank_of(row[i], i));
    for (u32 mask = WAVE / 2; mask; mask >>= 1) best = larger(best, lane_xor(best, mask));
    __shared__ u64 part[1024 / WAVE];
    if (lane_id() == 0) part[wave_id()] = best;
    barrier();
    best = part[lane_id() % (1024 / WAVE)];
    for (u32 mask = 1024 / WAVE / 2; mask; mask >>= 1) best = larger(best, lane_xor(best, mask));
    if (thread_x() == 0) out[block_x()] = ~(u32)best;
}
