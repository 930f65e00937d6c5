// Decoding of a row to f32, for the ops that only do that.
#pragma once
#include "super_blocks.h"

constexpr u32 DECODE_THREADS = 256, DECODED = DECODE_THREADS * 8;

// Stores what lies before the end of the row, which is behind the first element, and behind all of it in rows of blocks.
template <u32 LEN> DEVICE void store_quad(float *out, f32x4 value, i32 left) {
    if (LEN % 4 == 0 || left >= 4) {
        write(out, value);
        return;
    }
    out[0] = value.x;
    if (left > 1) out[1] = value.y;
    if (left > 2) out[2] = value.z;
}

// Part `part` of a row of n elements, DECODED elements: a thread takes two quads of a unit.
template <class F> DEVICE void decode_part(const u8 *row, float *out, u32 part, u32 n) {
    const u32 thread = part * DECODE_THREADS + thread_x();
    const u32 t = thread / 32, j = thread / 4 % UNITS, q = thread % 4 * 2;
    const u32 at = t * STRETCH + F::template origin<32>(j) + F::template step<32>(q);
    if (at >= n) return;
    F unit;
    unit.load(Alone{j}, row, t, j, n);
    store_quad<F::LEN>(out + at, unit.template quad<false>(q), (i32)(n - at));
    const u32 next = t * STRETCH + F::template origin<32>(j) + F::template step<32>(q + 1);
    if (F::LEN >= UNIT || next < n) store_quad<F::LEN>(out + next, unit.template quad<false>(q + 1), (i32)(n - next));
}
