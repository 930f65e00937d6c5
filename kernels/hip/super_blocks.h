// Weight formats with super-blocks of 256 elements: a stretch is a super-block. See blocks.h.
#pragma once
#include "blocks.h"

template <u32 BYTES_> struct SuperBlock {
    static constexpr u32 LEN = 256, BYTES = BYTES_;
    static MEMBER const u8 *block(const u8 *row, u32 t) { return row + (u64)t * BYTES; }
};

// Formats whose bytes hold codes of elements 32 apart, in halves of 128: unit j has elements 8·(j % 4) .. + 8 of the four
// 32s of half j / 4.
template <u32 BYTES_> struct Quarters : SuperBlock<BYTES_> {
    template <u32 S> static MEMBER u32 origin(u32 j) { return j / 4 * 4 * S + j % 4 * 8; }
    template <u32 S> static MEMBER u32 step(u32 q) { return q / 2 * S + q % 2 * 4; }
};

// Formats with a 6-bit scale and minimum per 32 elements, whose bytes hold codes of two neighbouring 32s: unit j has
// elements 16·(j / 4) .. + 16 of the 32s 2·(j % 4) and 2·(j % 4) + 1.
template <u32 BYTES_> struct Pairs : SuperBlock<BYTES_> {
    u32x4 qs;
    f32x2 scale, minimum; // of the two 32s
    template <u32 S> static MEMBER u32 origin(u32 j) { return j % 4 * 2 * S + j / 4 * 16; }
    template <u32 S> static MEMBER u32 step(u32 q) { return q / 4 * S + q % 4 * 4; }

    // Of the packed words: scales of 32s 0..3, minimums of 0..3, low halves of 4..7; see quant/q4_k.rs.
    MEMBER void unpack(const u8 *p, u32 j) {
        const u32x4 head = read<u32x4>(p);
        const float d = low_f16(head.x), dmin = high_f16(head.x);
        const u32 shift = j % 2 * 16; // of the pair's bytes in a word
        const u32 s = head.y >> shift, m = head.z >> shift, low = head.w >> shift;
        const bool upper = j % 4 >= 2;
        const u32 scales = upper ? (low & 0x0f0f) | (s >> 2 & 0x3030) : s & 0x3f3f;
        const u32 minimums = upper ? (low >> 4 & 0x0f0f) | (m >> 2 & 0x3030) : m & 0x3f3f;
        scale = f32x2{(float)(scales & 255), (float)(scales >> 8 & 255)} * d;
        minimum = f32x2{(float)(minimums & 255), (float)(minimums >> 8 & 255)} * dmin;
    }
    MEMBER u32 nibbles(u32 q) const { return pick(qs, q % 4) >> (q / 4 * 4) & 0x0f0f0f0fu; }
    MEMBER f32x4 value(u32 codes, u32 q) const {
        return scaled(unsigned_bytes(codes), q & 4 ? scale.y : scale.x, q & 4 ? -minimum.y : -minimum.x);
    }
};

struct Q4_K : Pairs<144> {
    MEMBER Q4_K(const u8 *row, u32 t, u32 j, u32) {
        const u8 *p = block(row, t);
        unpack(p, j);
        qs = read<u32x4>(p + 16 + j % 4 * 32 + j / 4 * 16);
    }
    template <bool> MEMBER f32x4 quad(u32 q) const { return value(nibbles(q), q); }
};

struct Q5_K : Pairs<176> {
    u32x4 qh; // bit 0 of each byte: fifth bit of the first 32; bit 1: of the second
    MEMBER Q5_K(const u8 *row, u32 t, u32 j, u32) {
        const u8 *p = block(row, t);
        unpack(p, j);
        qh = read<u32x4>(p + 16 + j / 4 * 16) >> (j % 4 * 2);
        qs = read<u32x4>(p + 48 + j % 4 * 32 + j / 4 * 16);
    }
    template <bool> MEMBER f32x4 quad(u32 q) const {
        return value(nibbles(q) | (pick(qh, q % 4) >> (q / 4) & 0x01010101u) << 4, q);
    }
};

struct Q2_K : Quarters<84> {
    u32x2 qs;
    float d, dmin;
    u32x2 scales; // those of 8 sub-blocks of 16; the unit's are 2g + odd
    u32 odd;
    MEMBER Q2_K(const u8 *row, u32 t, u32 j, u32) : odd(j % 4 / 2) {
        const u8 *p = block(row, t);
        scales = read<u32x2>(p + j / 4 * 8);
        qs = read<u32x2>(p + 16 + j / 4 * 32 + j % 4 * 8);
        const u32 dd = read<u32>(p + 80);
        d = low_f16(dd), dmin = high_f16(dd);
    }
    template <bool> MEMBER f32x4 quad(u32 q) const {
        const u32 g = q / 2, packed = pick(scales, g / 2) >> (g % 2 * 16 + odd * 8);
        return scaled(unsigned_bytes(pick(qs, q) >> (2 * g) & 0x03030303u), d * (float)(packed & 15),
                      -(dmin * (float)(packed >> 4 & 15)));
    }
};

struct Q3_K : Quarters<110> {
    u32x2 qs, hmask; // hmask: bit g of each byte is the third bit of the code in quarter g
    float d;
    u32 low, high; // scales of the unit, byte g: low four bits, and high two in bits 4..6
    MEMBER Q3_K(const u8 *row, u32 t, u32 j, u32) {
        const u8 *p = block(row, t);
        const u32 half = j / 4, odd = j % 4 / 2;
        hmask = read<u32x2>(p + j % 4 * 8) >> (half * 4);
        qs = read<u32x2>(p + 32 + half * 32 + j % 4 * 8);
        // Sub-blocks 8·half + 2g + odd: low bits in byte 2g + odd, in the half's nibble; high bits in byte 8 + (2g + odd) % 4.
        const u32x2 nibbles = read<u32x2>(p + 96) >> (half * 4 + odd * 8);
        low = __builtin_amdgcn_perm(nibbles.y, nibbles.x, 0x06040200u) & 0x0f0f0f0fu;
        const u32 pairs = read<u32>(p + 104) >> (half * 4 + odd * 8);
        high = __builtin_amdgcn_perm(pairs >> 2, pairs, 0x06040200u) << 4 & 0x30303030u;
        d = f16_value(read<u16>(p + 108));
    }
    template <bool> MEMBER f32x4 quad(u32 q) const {
        const u32 g = q / 2;
        const float step = d * (float)((i32)((low | high) >> (8 * g) & 63) - 32);
        const u32 codes = (pick(qs, q) >> (2 * g) & 0x03030303u) | (pick(hmask, q) >> g & 0x01010101u) << 2;
        return scaled(unsigned_bytes(codes) - 4.0f, step);
    }
};

struct Q6_K : Quarters<210> {
    u32x2 first, second, qh; // low bits of quarters 0 and 2, of 1 and 3; high bits of all
    u32x2 scales;
    float d;
    MEMBER Q6_K(const u8 *row, u32 t, u32 j, u32) {
        const u8 *p = block(row, t);
        const u32 half = j / 4, column = j % 4 * 8, odd = j % 4 / 2;
        first = read<u32x2>(p + half * 64 + column);
        second = read<u32x2>(p + half * 64 + 32 + column);
        qh = read<u32x2>(p + 128 + half * 32 + column);
        scales = read<u32x2>(p + 192 + half * 8) >> (odd * 8);
        d = f16_value(read<u16>(p + 208));
    }
    template <bool> MEMBER f32x4 quad(u32 q) const {
        const u32 g = q / 2;
        const float step = d * (float)(i8)(pick(scales, g / 2) >> (g % 2 * 16));
        const u32 low = (g & 1 ? pick(second, q) : pick(first, q)) >> (g / 2 * 4) & 0x0f0f0f0fu;
        return scaled(unsigned_bytes(low | (pick(qh, q) >> (2 * g) & 0x03030303u) << 4) - 32.0f, step);
    }
};

struct IQ4_XS : SuperBlock<136>, Nibbles {
    float step_; // of the unit's 32 elements
    template <u32 S> static MEMBER u32 origin(u32 j) { return j * S; }
    template <u32 S> static MEMBER u32 step(u32 q) { return q * 4; }
    MEMBER IQ4_XS(const u8 *row, u32 t, u32 j, u32) {
        const u8 *p = block(row, t);
        const u32x2 head = read<u32x2>(p);
        const u32 low = head.y >> (4 * j) & 15, high = head.x >> (16 + 2 * j) & 3;
        step_ = low_f16(head.x) * (float)((i32)(low | high << 4) - 32);
        qs = read<u32x4>(p + 8 + j * 16);
    }
    template <bool> MEMBER f32x4 quad(u32 q) const { return scaled(uneven(codes(q)), step_); }
};

// Every format, for kernels that are made once per format.
#define WEIGHT_FORMATS(MAKE)                                                                                           \
    MAKE(f32, F32)                                                                                                     \
    MAKE(f16, F16)                                                                                                     \
    MAKE(bf16, BF16)                                                                                                   \
    MAKE(q4_0, Q4_0)                                                                                                   \
    MAKE(q4_1, Q4_1)                                                                                                   \
    MAKE(q5_0, Q5_0)                                                                                                   \
    MAKE(q5_1, Q5_1)                                                                                                   \
    MAKE(q8_0, Q8_0)                                                                                                   \
    MAKE(q2_k, Q2_K)                                                                                                   \
    MAKE(q3_k, Q3_K)                                                                                                   \
    MAKE(q4_k, Q4_K)                                                                                                   \
    MAKE(q5_k, Q5_K)                                                                                                   \
    MAKE(q6_k, Q6_K)                                                                                                   \
    MAKE(iq4_nl, IQ4_NL)                                                                                               \
    MAKE(iq4_xs, IQ4_XS)                                                                                               \
    MAKE(mxfp4, MXFP4)
