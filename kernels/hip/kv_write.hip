// k_cache[seqs[r]][positions[r]][h] = encode(k[r][h]) for every row r and head h, and the same for v
//
// k, v: f32 [rows][kv_heads][head_dim]; k_cache, v_cache: f32, f16, bf16 or q8_0 [seqs][slots][kv_heads][head_dim]; all apart by
// their strides (elements; q8_0: multiples of 32). One kernel per pair of cache types: kv_write_f32_q8_0 has keys in f32 and
// values in q8_0.
// Grid: rows, and in y 0 for keys and v_block, 0 or 1, for values. Block: 64. With v_block 1 and 1 in y: keys alone.
//
// A block of q8_0 has 16 threads with two values each. Its peak is the largest magnitude after its last NaN, and NaN where that is the
// last value: what comparing one by one from the first gives.
#include "floats.h"
#include "rows.h"

#define THREADS 64

// Heads of one row, apart by `head` elements in x and in the cache.
struct Row {
    const float *x;
    u64 head, cache_head;
    u32 heads, head_dim;

    // f(head, d) for every N-th d of every head, by the threads of the block in turn.
    template <u32 N, class F> __device__ void for_each(F f) const {
        const u32 per_head = head_dim / N;
        for (u32 i = thread_x(); i < heads * per_head; i += THREADS) f(i / per_head, i % per_head * N);
    }
};

template <class T> DEVICE bool whole_quads(const T *p) { return (u64)p % (4 * sizeof(T)) == 0; }

template <class T> struct Cache {
    typename T::stored *slot;

    // Elements as steps of the pointer.
    __device__ static u64 steps(u64 elements) { return elements; }

    __device__ void write(const Row &row) const {
        typedef typename Quad<typename T::stored>::type Four;
        const bool whole = whole_quads(row.x) && whole_quads(slot) && (row.head | row.cache_head | row.head_dim) % 4 == 0;
        if (whole)
            row.for_each<4>([&](u64 head, u32 d) {
                const f32x4 v = *(const f32x4 *)(row.x + head * row.head + d);
                *(Four *)(slot + head * row.cache_head + d) = {T::encode(v.x), T::encode(v.y), T::encode(v.z),
                                                               T::encode(v.w)};
            });
        else
            row.for_each<1>([&](u64 head, u32 d) {
                slot[head * row.cache_head + d] = T::encode(row.x[head * row.head + d]);
            });
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

// Scale and codes of the block of which this thread has values `place` and `place + 1`.
DEVICE void write_q8_0(float a, float b, i32 place, u16 *block) {
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
    if (place == 0) block[0] = __builtin_bit_cast(u16, (f16)d);
    block[1 + place / 2] = (u16)(q8_code(a * inverse) | q8_code(b * inverse) << 8);
}

template <> struct Cache<Q8_0> {
    u16 *slot;

    __device__ static u64 steps(u64 elements) { return elements / 32 * 17; }

    __device__ void write(const Row &row) const {
        row.for_each<2>([&](u64 head, u32 d) {
            const float *x = row.x + head * row.head + d;
            write_q8_0(x[0], x[1], d % 32, slot + steps(head * row.cache_head + d));
        });
    }
};

#define KV_WRITE(NAME, K, V)                                                                                           \
    KERNEL(THREADS)                                                                                                    \
    NAME(const float *k, const float *v, const u32 *seqs, const u32 *positions, K::stored *k_cache,                    \
         V::stored *v_cache, u64 k_row, u64 k_head, u64 v_row, u64 v_head, u64 k_seq, u64 k_slot, u64 k_cache_head,    \
         u64 v_seq, u64 v_slot, u64 v_cache_head, u32 heads, u32 head_dim, u32 v_block) {                              \
        const u64 row = block_x(), seq = seqs[row], slot = positions[row];                                             \
        if (block_y() == 0)                                                                                            \
            Cache<K>{k_cache + Cache<K>::steps(seq * k_seq + slot * k_slot)}.write(                                    \
                {k + row * k_row, k_head, k_cache_head, heads, head_dim});                                             \
        if (block_y() == v_block)                                                                                      \
            Cache<V>{v_cache + Cache<V>::steps(seq * v_seq + slot * v_slot)}.write(                                    \
                {v + row * v_row, v_head, v_cache_head, heads, head_dim});                                             \
    }

KV_WRITE(kv_write_f32_f32, F32, F32)
KV_WRITE(kv_write_f32_f16, F32, F16)
KV_WRITE(kv_write_f32_bf16, F32, BF16)
KV_WRITE(kv_write_f32_q8_0, F32, Q8_0)
KV_WRITE(kv_write_f16_f32, F16, F32)
KV_WRITE(kv_write_f16_f16, F16, F16)
KV_WRITE(kv_write_f16_bf16, F16, BF16)
KV_WRITE(kv_write_f16_q8_0, F16, Q8_0)
KV_WRITE(kv_write_bf16_f32, BF16, F32)
KV_WRITE(kv_write_bf16_f16, BF16, F16)
KV_WRITE(kv_write_bf16_bf16, BF16, BF16)
KV_WRITE(kv_write_bf16_q8_0, BF16, Q8_0)
KV_WRITE(kv_write_q8_0_f32, Q8_0, F32)
KV_WRITE(kv_write_q8_0_f16, Q8_0, F16)
KV_WRITE(kv_write_q8_0_bf16, Q8_0, BF16)
KV_WRITE(kv_write_q8_0_q8_0, Q8_0, Q8_0)

// One transposed cache: cache[seqs[r]][positions[r]][h][d] = encode(x[r][h][d]), from one d to the next cache_dim elements.
// Grid: rows. Block: 64.
template <class T>
DEVICE void write_columns(const float *x, typename T::stored *slot, u64 head, u64 cache_head, u64 cache_dim, u32 heads,
                          u32 head_dim) {
    ONE_BY_ONE for (u32 i = thread_x(); i < heads * head_dim; i += THREADS) {
        const u64 h = i / head_dim, d = i % head_dim;
        slot[h * cache_head + d * cache_dim] = T::encode(x[h * head + d]);
    }
}

#define KV_WRITE_COLUMNS(NAME, T)                                                                                      \
    KERNEL(THREADS)                                                                                                    \
    NAME(const float *x, const u32 *seqs, const u32 *positions, T::stored *cache, u64 x_row, u64 x_head, u64 seq,      \
         u64 slot, u64 cache_head, u64 cache_dim, u32 heads, u32 head_dim) {                                           \
        const u64 row = block_x();                                                                                     \
        T::stored *to = cache + seqs[row] * seq + positions[row] * slot;                                               \
        write_columns<T>(x + row * x_row, to, x_head, cache_head, cache_dim, heads, head_dim);                         \
    }

KV_WRITE_COLUMNS(kv_write_columns_f32, F32)
KV_WRITE_COLUMNS(kv_write_columns_f16, F16)
KV_WRITE_COLUMNS(kv_write_columns_bf16, BF16)
