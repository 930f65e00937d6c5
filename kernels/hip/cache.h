// Slots of a KV cache, f32, f16, bf16 or q8_0, decoded to f32 into LDS.
#pragma once
#include "floats.h"

// Types of a cache, as the host numbers them.
#define CACHE_F32 0
#define CACHE_F16 1
#define CACHE_Q8_0 2
#define CACHE_BF16 3

// One head of one sequence: slots apart by `slot` elements.
struct CacheHead {
    const u8 *start;
    u64 slot;
    u32 type;

    __device__ static u64 bytes(u32 type, u64 elements) {
        return type == CACHE_F32 ? elements * 4 : type == CACHE_Q8_0 ? elements / 32 * 34 : elements * 2;
    }
};

DEVICE CacheHead cache_head(const u8 *cache, u32 type, u64 offset, u64 slot) {
    return {cache + CacheHead::bytes(type, offset), slot, type};
}

// Columns of consecutive slots on their way to LDS.
struct Staging {
    // The first slot, and which of those that follow are wanted: bit j for slot first + j. Others are neither read nor written.
    u32 first, wanted;
    // Slots at most.
    u32 keys;
    // Columns: a slot's from `column` on, to the multiple of 4 above with zeros.
    u32 column, columns;
    // Floats from one slot to the next in LDS, a multiple of 4.
    u32 pitch;
};

template <u32 THREADS, u32 PER_ITEM, class F> DEVICE void for_items(const Staging &s, u32 columns, F f) {
    const u32 per_slot = columns / PER_ITEM;
    for (u32 i = thread_x(); i < s.keys * per_slot; i += THREADS) {
        const u32 key = i / per_slot, column = i % per_slot * PER_ITEM;
        if (s.wanted >> key & 1) f(key, column);
    }
}

// Sixteen bytes at a time where rows allow it, else element by element.
template <u32 THREADS, class Format>
DEVICE void stage_floats(const typename Format::stored *head, u64 slot, float *lds, const Staging &s) {
    typedef typename Format::stored T;
    constexpr u32 WIDE = 16 / sizeof(T);
    const T *start = head + s.first * slot + s.column;
    const bool wide = (((u64)start | slot * sizeof(T)) % 16 | s.columns % WIDE) == 0;
    if (wide) {
        for_items<THREADS, WIDE>(s, s.columns, [=](u32 key, u32 column) {
            typedef T Wide __attribute__((ext_vector_type(WIDE)));
            const Wide v = *(const Wide *)(start + key * slot + column);
            float *to = lds + key * s.pitch + column;
#pragma unroll
            for (u32 i = 0; i < WIDE; i += 4)
                *(f32x4 *)(to + i) = f32x4{Format::decode(v[i]), Format::decode(v[i + 1]), Format::decode(v[i + 2]),
                                           Format::decode(v[i + 3])};
        });
    } else {
        for_items<THREADS, 1>(s, (s.columns + 3) & ~3u, [=](u32 key, u32 column) {
            lds[key * s.pitch + column] = column < s.columns ? Format::decode(start[key * slot + column]) : 0.0f;
        });
    }
}

// Half a block at a time: sixteen codes, read in pairs, times the scale, which the first of two neighbours reads for both.
template <u32 THREADS> DEVICE void stage_q8_0(const u16 *head, u64 slot, float *lds, const Staging &s) {
    for_items<THREADS, 16>(s, s.columns, [=](u32 key, u32 column) {
        const u16 *block = head + ((s.first + key) * slot + s.column + column) / 32 * 17;
        const u32 own = column % 32 == 0 ? block[0] : 0;
        const float d = (float)__builtin_bit_cast(f16, (u16)(own | lane_xor(own, 1)));
        float *to = lds + key * s.pitch + column;
#pragma unroll
        for (u32 i = 0; i < 16; i += 4) {
            const u32 low = block[1 + (column % 32 + i) / 2], high = block[2 + (column % 32 + i) / 2];
            *(f32x4 *)(to + i) = f32x4{(float)(i8)low * d, (float)(i8)(low >> 8) * d, (float)(i8)high * d,
                                       (float)(i8)(high >> 8) * d};
        }
    });
}

template <u32 THREADS> DEVICE void stage(const CacheHead &head, float *lds, const Staging &s) {
    if (head.type == CACHE_F32)
        stage_floats<THREADS, F32>((const float *)head.start, head.slot, lds, s);
    else if (head.type == CACHE_F16)
        stage_floats<THREADS, F16>((const f16 *)head.start, head.slot, lds, s);
    else if (head.type == CACHE_BF16)
        stage_floats<THREADS, BF16>((const u16 *)head.start, head.slot, lds, s);
    else
        stage_q8_0<THREADS>((const u16 *)head.start, head.slot, lds, s);
}
