// out = softmax(q * k^T / 8) * v in f32: q [queries][64], k and v [keys][64], out [queries][64].
// queries is a multiple of 16, keys of 64. Grid: queries / 16. Block: 256.
// Queries, keys, values and probabilities all pass through LDS.
#include "device.h"

enum { HEAD = 64, QUERIES = 16, KEYS = 64, ROW = HEAD + 1 };

extern "C" __global__ void attention_f32(const float *q, const float *k, const float *v, float *out, u32 keys) {
    __shared__ float tile_q[QUERIES * HEAD], tile_k[KEYS * ROW], tile_v[KEYS * HEAD], p[QUERIES * KEYS];
    const u32 thread = thread_x(), wave = thread / 64, lane = thread % 64;
    const u32 first = block_x() * QUERIES;
    for (u32 i = thread; i < QUERIES * HEAD; i += 256) tile_q[i] = q[first * HEAD + i];
    // Each wave has four queries; a lane is a key of theirs, and later a column of the result.
    float largest[4], total[4], sum[4];
    for (u32 j = 0; j < 4; ++j) {
        largest[j] = -1e30f;
        total[j] = 0.0f;
        sum[j] = 0.0f;
    }
    for (u32 start = 0; start < keys; start += KEYS) {
        for (u32 i = thread; i < KEYS * HEAD; i += 256) {
            tile_k[i / HEAD * ROW + i % HEAD] = k[start * HEAD + i];
            tile_v[i] = v[start * HEAD + i];
        }
        barrier();
        float score[4] = {};
        for (u32 i = 0; i < HEAD; ++i) {
            const float key = tile_k[lane * ROW + i];
            for (u32 j = 0; j < 4; ++j) score[j] += tile_q[(wave * 4 + j) * HEAD + i] * key;
        }
        for (u32 j = 0; j < 4; ++j) {
            const float scaled = score[j] * 0.125f;
            const float above = __builtin_fmaxf(largest[j], wave_max(scaled));
            const float shrink = __builtin_expf(largest[j] - above), weight = __builtin_expf(scaled - above);
            largest[j] = above;
            total[j] = total[j] * shrink + wave_sum(weight);
            sum[j] *= shrink;
            p[(wave * 4 + j) * KEYS + lane] = weight;
        }
        barrier();
        for (u32 i = 0; i < KEYS; ++i) {
            const float value = tile_v[i * HEAD + lane];
            for (u32 j = 0; j < 4; ++j) sum[j] += p[(wave * 4 + j) * KEYS + i] * value;
        }
        barrier();
    }
    for (u32 j = 0; j < 4; ++j) out[(first + wave * 4 + j) * HEAD + lane] = sum[j] / total[j];
}
