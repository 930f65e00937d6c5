// Reductions and permutations across the lanes of one wave. One wave per block; x, out: [grid * 64].
#include "device.h"

extern "C" __global__ void sum_bpermute(const float *x, float *out) {
    const u32 i = block_x() * WAVE + thread_x();
    out[i] = wave_sum(x[i]);
}

// Row shifts and broadcasts: the total arrives in lane 63.
extern "C" __global__ void sum_dpp(const float *x, float *out) {
    const u32 i = block_x() * WAVE + thread_x();
    float v = x[i];
#define STEP(ctrl, row_mask, bank_mask) \
    v += bits_f32(__builtin_amdgcn_update_dpp(0, f32_bits(v), ctrl, row_mask, bank_mask, false))
    STEP(0x111, 0xf, 0xf); // row_shr:1
    STEP(0x112, 0xf, 0xf); // row_shr:2
    STEP(0x114, 0xf, 0xe); // row_shr:4
    STEP(0x118, 0xf, 0xc); // row_shr:8
    STEP(0x142, 0xa, 0xf); // row_bcast:15
    STEP(0x143, 0xc, 0xf); // row_bcast:31
#undef STEP
    out[i] = bits_f32(__builtin_amdgcn_readlane(f32_bits(v), 63));
}

// Every DPP pattern once; out: [8][64] u32 of lane numbers, ~0 where no lane was read.
extern "C" __global__ void dpp_patterns(u32 *out) {
    const u32 lane = lane_id();
    out[0 * WAVE + lane] = __builtin_amdgcn_update_dpp(~0u, lane, 0x1b, 0xf, 0xf, false); // quad_perm 3 2 1 0
    out[1 * WAVE + lane] = __builtin_amdgcn_update_dpp(~0u, lane, 0x103, 0xf, 0xf, false); // row_shl:3
    out[2 * WAVE + lane] = __builtin_amdgcn_update_dpp(~0u, lane, 0x115, 0xf, 0xf, false); // row_shr:5
    out[3 * WAVE + lane] = __builtin_amdgcn_update_dpp(~0u, lane, 0x127, 0xf, 0xf, false); // row_ror:7
    out[4 * WAVE + lane] = __builtin_amdgcn_update_dpp(~0u, lane, 0x140, 0xf, 0xf, false); // row_mirror
    out[5 * WAVE + lane] = __builtin_amdgcn_update_dpp(~0u, lane, 0x141, 0xf, 0xf, false); // row_half_mirror
    out[6 * WAVE + lane] = __builtin_amdgcn_update_dpp(~0u, lane, 0x154, 0xf, 0xf, false); // row_newbcast:4
    out[7 * WAVE + lane] = __builtin_amdgcn_update_dpp(~0u, lane, 0x111, 0xf, 0xf, true); // row_shr:1 bound_ctrl
}

// out[i] = number of lower lanes of the wave with x != 0; total in count.
extern "C" __global__ void ballot_rank(const u32 *x, u32 *out, u32 *count) {
    const u32 i = block_x() * WAVE + thread_x();
    const u64 mask = __builtin_amdgcn_ballot_w64(x[i] != 0);
    out[i] = __builtin_amdgcn_mbcnt_hi((u32)(mask >> 32), __builtin_amdgcn_mbcnt_lo((u32)mask, 0));
    if (thread_x() == 0) count[block_x()] = __builtin_popcountll(mask);
}

extern "C" __global__ void swizzle_and_permute(const u32 *x, u32 *out) {
    const u32 i = thread_x();
    out[i] = __builtin_amdgcn_ds_swizzle(x[i], 0x041f); // xor 1
    out[WAVE + i] = __builtin_amdgcn_ds_permute((i * 7 % WAVE) << 2, x[i]);
    out[2 * WAVE + i] = __builtin_amdgcn_readfirstlane(x[i]);
    out[3 * WAVE + i] = __builtin_amdgcn_readlane(x[i], 17);
}
