// Weight formats: how a lane reads and decodes them. `kernels/src/quant/<format>.rs` has each format's page.
//
// A row is cut into stretches of 256 elements and each stretch into 8 units of 32, so that 8 lanes side by side read a
// stretch in full. A unit is 8 quads of 4 consecutive elements; which elements a unit has is the format's choice, made so
// that every byte of codes is read by one lane alone and neighbours read neighbouring bytes.
//
// A format F has
//   LEN, BYTES                 elements and bytes of a block
//   .load(reader, row, t, j, n)  reads unit j of stretch t of a row of n elements; the reader (Alone, or Together where the
//                              8 units of the stretch are read by 8 lanes side by side) fetches what units share
//   .quad<WHOLE>(q)            decodes its quad q, bit for bit as the format's page says; WHOLE: the stretch lies in the row
//   origin<S>(j), step<S>(q)   element origin + step of a stretch is the first one of quad q of unit j; S is the distance of
//                              elements 32 apart: 32 where they lie densely, more where room is left between them
// Only float formats can have rows that end inside a unit; what lies past the end is not read and decodes to 0.
#pragma once
#include "common.h"

typedef u16 u16x4 __attribute__((ext_vector_type(4)));
typedef f16 f16x4 __attribute__((ext_vector_type(4)));

#define MEMBER __device__ inline __attribute__((always_inline))

constexpr u32 STRETCH = 256, UNIT = 32, UNITS = STRETCH / UNIT, QUADS = UNIT / 4;

// A value at any byte: rows and blocks are aligned to their smallest part only, and the hardware takes every access
// at every address.
template <class T> struct __attribute__((packed)) Unaligned {
    T value;
};
template <class T> DEVICE T read(const void *p) { return ((const Unaligned<T> *)p)->value; }
template <class T> DEVICE void write(void *p, T value) { ((Unaligned<T> *)p)->value = value; }

DEVICE float f16_value(u32 bits) { return (float)__builtin_bit_cast(f16, (u16)bits); }
DEVICE float low_f16(u32 pair) { return f16_value(pair & 0xffff); }
DEVICE float high_f16(u32 pair) { return f16_value(pair >> 16); }

// The four bytes of a word. The compiler is kept from taking codes out of a word one by one, where the conversion of a byte
// does it.
DEVICE f32x4 bytes(u32 x) {
    asm("" : "+v"(x));
    return f32x4{(float)(x & 255), (float)(x >> 8 & 255), (float)(x >> 16 & 255), (float)(x >> 24)};
}
// The same, less `centre`; and from subtracting before it converts, one by one, where it can do so two by two after.
DEVICE f32x4 centred(u32 x, float centre) {
    const f32x4 code = bytes(x);
    f32x2 low = code.xy, high = code.zw;
    asm("" : "+v"(low), "+v"(high));
    return f32x4{low.x, low.y, high.x, high.y} - centre;
}

// Element i of a vector, by selection: a run-time index would put the vector into memory.
DEVICE u32 pick(u32x2 v, u32 i) { return i & 1 ? v.y : v.x; }
DEVICE u32 pick(u32x4 v, u32 i) { return i & 2 ? pick(v.zw, i) : pick(v.xy, i); }

DEVICE f32x4 scaled(f32x4 code, float step) { return code * step; }
DEVICE f32x4 scaled(f32x4 code, float step, float offset) {
    return __builtin_elementwise_fma(code, f32x4(step), f32x4(offset));
}

// Bits 0..3 of x to bit 0 of each byte.
DEVICE u32 spread(u32 x) { return (x & 15) * 0x00204081u & 0x01010101u; }

// Entry codes[i] of a table of 16 bytes for each of four codes below 16.
DEVICE u32 look_up(u32 codes, u32 t0, u32 t1, u32 t2, u32 t3) {
    const u32 select = codes & 0x07070707u;
    const u32 low = __builtin_amdgcn_perm(t1, t0, select), high = __builtin_amdgcn_perm(t3, t2, select);
    const u32 upper = (codes >> 3 & 0x01010101u) * 255u;
    return (low & ~upper) | (high & upper);
}

// Four floats, or as many of them as lie before the end of the row, which is `left` elements away, and zeros. Rows of blocks of LEN
// elements end with a block: their quads lie before the end or behind it.
template <u32 LEN> DEVICE f32x4 read_quad(const float *p, i32 left) {
    if (left >= 4) return read<f32x4>(p);
    if (LEN % 4 == 0) return f32x4(0.0f);
    return f32x4{left > 0 ? p[0] : 0.0f, left > 1 ? p[1] : 0.0f, left > 2 ? p[2] : 0.0f, 0.0f};
}

// Floats: lanes read vectors side by side.
struct Float {
    const u8 *at;
    i32 left; // elements from the unit's first one to the end of the row
};

struct F32 : Float {
    static constexpr u32 LEN = 1, BYTES = 4;
    template <u32 S> static MEMBER u32 origin(u32 j) { return 4 * j; }
    template <u32 S> static MEMBER u32 step(u32 q) { return S * q; }
    template <class R> MEMBER void load(R, const u8 *row, u32 t, u32 j, u32 n) {
        const u32 first = STRETCH * t + origin<32>(j);
        at = row + 4 * (u64)first, left = (i32)(n - first);
    }
    template <bool WHOLE> MEMBER f32x4 quad(u32 q) const {
        const float *p = (const float *)at + step<32>(q);
        return read_quad<LEN>(p, WHOLE ? 4 : left - (i32)step<32>(q));
    }
};

template <class VALUE> struct Half : Float {
    static constexpr u32 LEN = 1, BYTES = 2;
    template <u32 S> static MEMBER u32 origin(u32 j) { return j / 4 * S + j % 4 * 8; }
    template <u32 S> static MEMBER u32 step(u32 q) { return (q % 2 * 2 + q / 4) * 2 * S + q / 2 % 2 * 4; }
    template <class R> MEMBER void load(R, const u8 *row, u32 t, u32 j, u32 n) {
        const u32 first = STRETCH * t + origin<32>(j);
        at = row + 2 * (u64)first, left = (i32)(n - first);
    }
    template <bool WHOLE> MEMBER f32x4 quad(u32 q) const {
        const u16 *p = (const u16 *)at + step<32>(q);
        const i32 rest = left - (i32)step<32>(q);
        if (WHOLE || rest >= 4) return VALUE::of(read<u16x4>(p));
        const u16 zero = 0;
        return VALUE::of(u16x4{rest > 0 ? p[0] : zero, rest > 1 ? p[1] : zero, rest > 2 ? p[2] : zero, zero});
    }
};
struct F16Value {
    static MEMBER f32x4 of(u16x4 x) { return __builtin_convertvector(__builtin_bit_cast(f16x4, x), f32x4); }
};
struct BF16Value {
    static MEMBER f32x4 of(u16x4 x) {
        const u32x2 v = __builtin_bit_cast(u32x2, x);
        return f32x4{bits_f32(v.x << 16), bits_f32(v.x & 0xffff0000), bits_f32(v.y << 16), bits_f32(v.y & 0xffff0000)};
    }
};
typedef Half<F16Value> F16;
typedef Half<BF16Value> BF16;

// Blocks of 32: a unit is a block.
template <u32 BYTES_> struct Block {
    static constexpr u32 LEN = 32, BYTES = BYTES_;
    template <u32 S> static MEMBER u32 origin(u32 j) { return j * S; }
    template <u32 S> static MEMBER u32 step(u32 q) { return q * 4; }
    static MEMBER const u8 *block(const u8 *row, u32 t, u32 j) { return row + (u64)(UNITS * t + j) * BYTES; }
};

// 16 bytes of codes: those of elements i in the low halves, of i + 16 in the high ones.
struct Nibbles {
    u32x4 qs;
    MEMBER u32 codes(u32 q) const { return pick(qs, q % 4) >> (q / 4 * 4) & 0x0f0f0f0fu; }
};

struct Q4_0 : Block<18>, Nibbles {
    float d;
    template <class R> MEMBER void load(R, const u8 *row, u32 t, u32 j, u32) {
        const u8 *p = block(row, t, j);
        d = f16_value(read<u16>(p));
        qs = read<u32x4>(p + 2);
    }
    template <bool> MEMBER f32x4 quad(u32 q) const { return scaled(centred(codes(q), 8.0f), d); }
};

struct Q4_1 : Block<20>, Nibbles {
    float d, m;
    template <class R> MEMBER void load(R, const u8 *row, u32 t, u32 j, u32) {
        const u8 *p = block(row, t, j);
        const u32 dm = read<u32>(p);
        d = low_f16(dm), m = high_f16(dm);
        qs = read<u32x4>(p + 4);
    }
    template <bool> MEMBER f32x4 quad(u32 q) const { return scaled(bytes(codes(q)), d, m); }
};

struct Q5_0 : Block<22>, Nibbles {
    float d;
    u32 qh;
    template <class R> MEMBER void load(R, const u8 *row, u32 t, u32 j, u32) {
        const u8 *p = block(row, t, j);
        d = f16_value(read<u16>(p));
        qh = read<u32>(p + 2);
        qs = read<u32x4>(p + 6);
    }
    template <bool> MEMBER f32x4 quad(u32 q) const {
        return scaled(centred(codes(q) | spread(qh >> q * 4) << 4, 16.0f), d);
    }
};

struct Q5_1 : Block<24>, Nibbles {
    float d, m;
    u32 qh;
    template <class R> MEMBER void load(R, const u8 *row, u32 t, u32 j, u32) {
        const u8 *p = block(row, t, j);
        const u32x2 head = read<u32x2>(p);
        d = low_f16(head.x), m = high_f16(head.x);
        qh = head.y;
        qs = read<u32x4>(p + 8);
    }
    template <bool> MEMBER f32x4 quad(u32 q) const {
        return scaled(bytes(codes(q) | spread(qh >> q * 4) << 4), d, m);
    }
};

struct Q8_0 : Block<34> {
    float d;
    u32x4 low, high;
    template <class R> MEMBER void load(R, const u8 *row, u32 t, u32 j, u32) {
        const u8 *p = block(row, t, j);
        d = f16_value(read<u16>(p));
        low = read<u32x4>(p + 2);
        high = read<u32x4>(p + 18);
    }
    template <bool> MEMBER f32x4 quad(u32 q) const {
        return scaled(centred((q & 4 ? pick(high, q) : pick(low, q)) ^ 0x80808080u, 128.0f), d);
    }
};

// The uneven steps of IQ4_NL and IQ4_XS; the table has 128 added.
DEVICE f32x4 uneven(u32 codes) {
    return centred(look_up(codes, 0x3f2d1801u, 0x766a5d4fu, 0xa6998d81u, 0xf1d9c5b5u), 128.0f);
}

struct IQ4_NL : Block<18>, Nibbles {
    float d;
    template <class R> MEMBER void load(R, const u8 *row, u32 t, u32 j, u32) {
        const u8 *p = block(row, t, j);
        d = f16_value(read<u16>(p));
        qs = read<u32x4>(p + 2);
    }
    template <bool> MEMBER f32x4 quad(u32 q) const { return scaled(uneven(codes(q)), d); }
};

struct MXFP4 : Block<17>, Nibbles {
    float d; // 2^(e - 128): the table has the values doubled, as integers, and 12 added
    template <class R> MEMBER void load(R, const u8 *row, u32 t, u32 j, u32) {
        const u8 *p = block(row, t, j);
        d = __builtin_ldexpf(1.0f, (i32)p[0] - 128);
        qs = read<u32x4>(p + 1);
    }
    template <bool> MEMBER f32x4 quad(u32 q) const {
        return scaled(centred(look_up(codes(q), 0x0f0e0d0cu, 0x18141210u, 0x090a0b0cu, 0x00040608u), 12.0f), d);
    }
};
