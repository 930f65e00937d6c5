// out[r] = encode(x[r]), block by block, bit for bit as the format's page says
//
// x: f32 [rows][n], rows x_stride elements apart; out: q4_0, q4_1, q5_0, q5_1 or q8_0 [rows][n], n a multiple of 32, rows
// out_stride bytes apart. One kernel per format. Grid: ceil(n / 32 / 256), rows. Block: 256, a thread
// per block of values: the order in which a block's peak is sought decides what becomes of equal peaks and NaN.
#include "blocks.h"

constexpr u32 THREADS = 256;

struct Values {
    f32x4 quad[8];
};

// 1/d, or 0 for the step of a constant block.
DEVICE float reciprocal(float d) { return d == 0.0f ? 0.0f : 1.0f / d; }

DEVICE u16 f16_of(float x) { return __builtin_bit_cast(u16, (f16)x); }

// The value of largest magnitude, with its sign: the first of equals.
DEVICE float signed_peak(const Values &x) {
    float peak = 0.0f, magnitude = 0.0f;
    for (u32 i = 0; i < 32; i++) {
        const float value = x.quad[i / 4][i % 4], size = __builtin_fabsf(value);
        peak = magnitude < size ? value : peak;
        magnitude = magnitude < size ? size : magnitude;
    }
    return peak;
}

// A block's codes of up to 5 bits: (x - offset)·inverse + rounding without its fraction, at most top; NaN becomes 0.
struct Codes {
    u32 nibbles[4], fifths;
    MEMBER Codes(const Values &x, float offset, float inverse, float rounding, float top) : nibbles{}, fifths(0) {
        for (u32 i = 0; i < 32; i++) {
            const float scaled = (x.quad[i / 4][i % 4] - offset) * inverse + rounding;
            const u32 code = (u32)__builtin_fminf(__builtin_fmaxf(scaled, 0.0f), top);
            nibbles[i % 16 / 4] |= (code & 15) << (i % 4 * 8 + i / 16 * 4);
            fifths |= code >> 4 << i;
        }
    }
    MEMBER void write_nibbles(u8 *out) const { write(out, u32x4{nibbles[0], nibbles[1], nibbles[2], nibbles[3]}); }
};

// Codes centred on LEVELS, 4 bits (18 bytes a block) or 5 (22).
template <u32 LEVELS> struct Centred {
    static constexpr u32 BYTES = LEVELS == 8 ? 18 : 22;
    static MEMBER void encode(const Values &x, u8 *out) {
        float d = signed_peak(x) / -(float)LEVELS;
        // The compiler would make a multiply-add with +0 of the product and its conversion, which turns the step -0 of a block of
        // zeros into +0.
        asm("" : "+v"(d));
        const Codes codes(x, 0.0f, reciprocal(d), LEVELS + 0.5f, 2 * LEVELS - 1);
        write(out, f16_of(d));
        if (LEVELS == 16) write(out + 2, codes.fifths);
        codes.write_nibbles(out + BYTES - 16);
    }
};

// Codes from 0 to TOP above a minimum, 4 bits (20 bytes a block) or 5 (24).
template <u32 TOP> struct Ranged {
    static constexpr u32 BYTES = TOP == 15 ? 20 : 24;
    static MEMBER void encode(const Values &x, u8 *out) {
        float min = 3.40282347e+38f, max = -3.40282347e+38f;
        for (u32 i = 0; i < 32; i++) {
            const float value = x.quad[i / 4][i % 4];
            min = value < min ? value : min;
            max = value > max ? value : max;
        }
        const float d = (max - min) / (float)TOP;
        const Codes codes(x, min, reciprocal(d), 0.5f, TOP);
        write(out, f16_of(d) | (u32)f16_of(min) << 16);
        if (TOP == 31) write(out + 4, codes.fifths);
        codes.write_nibbles(out + BYTES - 16);
    }
};

struct Bytes {
    static constexpr u32 BYTES = 34;
    static MEMBER void encode(const Values &x, u8 *out) {
        float peak = 0.0f;
        for (u32 i = 0; i < 32; i++) {
            const float size = __builtin_fabsf(x.quad[i / 4][i % 4]);
            peak = peak > size ? peak : size;
        }
        const float d = peak / 127.0f, inverse = reciprocal(d);
        write(out, f16_of(d));
        for (u32 q = 0; q < 8; q++) {
            u32 packed = 0;
            for (u32 e = 0; e < 4; e++) {
                const float code = __builtin_roundf(x.quad[q][e] * inverse);
                const float within = __builtin_fminf(__builtin_fmaxf(code, -128.0f), 127.0f);
                packed |= ((u32)(code == code ? (i32)within : 0) & 255) << (8 * e);
            }
            write(out + 2 + 4 * q, packed);
        }
    }
};

template <class E> DEVICE void quantize(const float *x, u8 *out, u64 x_stride, u64 out_stride, u32 rows, u32 n) {
    const u32 row = block_row(), block = block_x() * THREADS + thread_x();
    if (row >= rows || block >= n / 32) return;
    const float *from = x + row * x_stride + (u64)block * 32;
    Values values;
    for (u32 q = 0; q < 8; q++) values.quad[q] = read<f32x4>(from + 4 * q);
    E::encode(values, out + row * out_stride + (u64)block * E::BYTES);
}

#define QUANTIZE(NAME, ...)                                                                                            \
    KERNEL(THREADS) quantize_##NAME(const float *x, u8 *out, u64 x_stride, u64 out_stride, u32 rows, u32 n) {          \
        quantize<__VA_ARGS__>(x, out, x_stride, out_stride, rows, n);                                                  \
    }
QUANTIZE(q4_0, Centred<8>)
QUANTIZE(q4_1, Ranged<15>)
QUANTIZE(q5_0, Centred<16>)
QUANTIZE(q5_1, Ranged<31>)
QUANTIZE(q8_0, Bytes)
