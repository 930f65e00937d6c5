// k_cache[seqs[r]][positions[r]][h] = encode(k[r][h]) for every row r and head h, and the same for v
//
// k, v: f32 [rows][kv_heads][head_dim]; k_cache, v_cache: f32, f16 or q8_0 [seqs][slots][kv_heads][head_dim]; all apart by
// their strides (elements; q8_0: multiples of 32). One kernel per pair of cache types: kv_write_f32_q8_0 has keys in f32 and
// values in q8_0.
// Grid: rows, kv_heads, 2 (keys, values). Block: 64.
//
// A block of q8_0 has 16 threads with two values each. Its peak is the largest magnitude after its last NaN, and NaN where that is the
// last value: what comparing one by one from the first gives.
#include "floats.h"
#include "rows.h"

#define THREADS 64

template <class T> struct Cache {
    typename T::stored *start;
    __device__ void write(const float *x, u64 at, u32 n) const {
        map_row<THREADS>(x, start + at, 0, n, [](float v) { return T::encode(v); });
    }
};

struct Q8_0 {
    typedef u16 stored;
};

// The nearest integer, halves away from zero, within an i8; 0 for NaN.
DEVICE u32 q8_code(float x) {
    const float rounded = __builtin_fminf(__builtin_fmaxf(__builtin_roundf(x), -128.0f), 127.0f);
    return x != x ? 0 : (u32)(i32)rounded & 0xff;
}

template <> struct Cache<Q8_0> {
    u16 *start;
    __device__ void write(const float *x, u64 at, u32 n) const {
        for (u32 i = 2 * thread_x(); i < n; i += 2 * THREADS) {
            const float a = x[i], b = x[i + 1];
            const i32 place = i % 32;
            i32 last_nan = b != b ? place + 1 : a != a ? place : -1;
            for (u32 mask = 8; mask; mask >>= 1) {
                const i32 other = (i32)lane_xor((u32)last_nan, mask);
                last_nan = other > last_nan ? other : last_nan;
            }
            float peak = __builtin_fmaxf(place > last_nan ? __builtin_fabsf(a) : 0.0f,
                                         place + 1 > last_nan ? __builtin_fabsf(b) : 0.0f);
            for (u32 mask = 8; mask; mask >>= 1) peak = __builtin_fmaxf(peak, lane_xor(peak, mask));
            if (last_nan == 31) peak = __builtin_nanf("");
            const float d = peak / 127.0f, inverse = d == 0.0f ? 0.0f : 1.0f / d;
            u16 *block = start + (at + i) / 32 * 17;
            if (place == 0) block[0] = __builtin_bit_cast(u16, (f16)d);
            block[1 + place / 2] = (u16)(q8_code(a * inverse) | q8_code(b * inverse) << 8);
        }
    }
};

template <class K, class V>
DEVICE void kv_write(const float *k, const float *v, const u32 *seqs, const u32 *positions, Cache<K> k_cache,
                     Cache<V> v_cache, u64 k_row, u64 k_head, u64 v_row, u64 v_head, u64 k_seq, u64 k_slot,
                     u64 k_cache_head, u64 v_seq, u64 v_slot, u64 v_cache_head, u32 head_dim) {
    const u64 row = block_x(), head = block_y(), seq = seqs[row], slot = positions[row];
    if (block_z() == 0)
        k_cache.write(k + row * k_row + head * k_head, seq * k_seq + slot * k_slot + head * k_cache_head, head_dim);
    else
        v_cache.write(v + row * v_row + head * v_head, seq * v_seq + slot * v_slot + head * v_cache_head, head_dim);
}

#define KV_WRITE(NAME, K, V)                                                                                           \
    KERNEL(THREADS)                                                                                                    \
    NAME(const float *k, const float *v, const u32 *seqs, const u32 *positions, K::stored *k_cache,                    \
         V::stored *v_cache, u64 k_row, u64 k_head, u64 v_row, u64 v_head, u64 k_seq, u64 k_slot, u64 k_cache_head,    \
         u64 v_seq, u64 v_slot, u64 v_cache_head, u32 head_dim) {                                                      \
        kv_write<K, V>(k, v, seqs, positions, {k_cache}, {v_cache}, k_row, k_head, v_row, v_head, k_seq, k_slot,       \
                       k_cache_head, v_seq, v_slot, v_cache_head, head_dim);                                           \
    }

KV_WRITE(kv_write_f32_f32, F32, F32)
KV_WRITE(kv_write_f32_f16, F32, F16)
KV_WRITE(kv_write_f32_q8_0, F32, Q8_0)
KV_WRITE(kv_write_f16_f32, F16, F32)
KV_WRITE(kv_write_f16_f16, F16, F16)
KV_WRITE(kv_write_f16_q8_0, F16, Q8_0)
KV_WRITE(kv_write_q8_0_f32, Q8_0, F32)
KV_WRITE(kv_write_q8_0_f16, Q8_0, F16)
KV_WRITE(kv_write_q8_0_q8_0, Q8_0, Q8_0)
