// Element by element over strided rows: each block takes one tile of one row, four elements a thread, as vectors where the
// host says that addresses and strides allow it (`quads`).
#pragma once
#include "common.h"

#define TILE_THREADS 256
// Elements of a tile.
#define TILE 1024

// Elements start..end of a row.
struct Tile {
    u64 row;
    u32 start, end;
};

// The tile of this block, without elements past the last row. Grid: ceil(n / TILE), rows.
DEVICE Tile tile_of(u32 rows, u32 n) {
    const u32 row = block_row(), start = block_x() * TILE, end = n - start < TILE ? n : start + TILE;
    return {row, start, row < rows ? end : 0};
}

// A loop of at most four turns: to take several at a time would cost more than it saves.
#define ONE_BY_ONE _Pragma("clang loop unroll(disable) vectorize(disable) interleave(disable)")

// Four elements that are loaded and stored at once.
template <class T> struct Quad { typedef T type __attribute__((ext_vector_type(4))); };

// out[i] = f(x[i]) for i in start..end. out may be x.
template <class X, class Y, class F> DEVICE void map_row(const X *x, Y *out, u32 start, u32 end, u32 quads, F f) {
    if (!quads) {
        ONE_BY_ONE for (u32 i = start + thread_x(); i < end; i += TILE_THREADS) out[i] = f(x[i]);
        return;
    }
    const u32 i = start + 4 * thread_x();
    if (i >= end) return;
    if (end - i >= 4) {
        const auto v = *(const typename Quad<X>::type *)(x + i);
        *(typename Quad<Y>::type *)(out + i) = {f(v.x), f(v.y), f(v.z), f(v.w)};
    } else {
        for (u32 j = i; j < end; ++j) out[j] = f(x[j]);
    }
}

// out[i] = f(a[i], b[i]) for i in start..end. out may be a.
template <class F>
DEVICE void map_rows(const float *a, const float *b, float *out, u32 start, u32 end, u32 quads, F f) {
    if (!quads) {
        ONE_BY_ONE for (u32 i = start + thread_x(); i < end; i += TILE_THREADS) out[i] = f(a[i], b[i]);
        return;
    }
    const u32 i = start + 4 * thread_x();
    if (i >= end) return;
    if (end - i >= 4) {
        const f32x4 u = *(const f32x4 *)(a + i), v = *(const f32x4 *)(b + i);
        *(f32x4 *)(out + i) = {f(u.x, v.x), f(u.y, v.y), f(u.z, v.z), f(u.w, v.w)};
    } else {
        for (u32 j = i; j < end; ++j) out[j] = f(a[j], b[j]);
    }
}

// out[i] = value for i in start..end.
template <class T> DEVICE void fill_row(T *out, u32 start, u32 end, u32 quads, T value) {
    if (!quads) {
        ONE_BY_ONE for (u32 i = start + thread_x(); i < end; i += TILE_THREADS) out[i] = value;
        return;
    }
    const u32 i = start + 4 * thread_x();
    if (i >= end) return;
    if (end - i >= 4) {
        *(typename Quad<T>::type *)(out + i) = value;
    } else {
        for (u32 j = i; j < end; ++j) out[j] = value;
    }
}
