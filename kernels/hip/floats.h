// Floating-point formats in memory: to f32 exactly, from f32 to nearest, ties to even, subnormals kept, NaN stays NaN.
#pragma once
#include "common.h"

struct F32 {
    typedef float stored;
    DEVICE float decode(stored x) { return x; }
    DEVICE stored encode(float x) { return x; }
};

struct F16 {
    typedef f16 stored;
    DEVICE float decode(stored x) { return (float)x; }
    DEVICE stored encode(float x) { return (f16)x; }
};

struct BF16 {
    typedef u16 stored;
    DEVICE float decode(stored x) { return bits_f32((u32)x << 16); }
    DEVICE stored encode(float x) {
        const u32 bits = f32_bits(x);
        if (x != x) return (u16)(bits >> 16 | 0x40);
        return (u16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
};
