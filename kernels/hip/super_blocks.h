// Weight formats with super-blocks of 256 elements: a stretch is a super-block. See blocks.h.
#pragma once
#include "blocks.h"

// What several units of a super-block need: a lane that works alone reads all of it.
struct Alone {
    u32 j;
    // Words at p.
    MEMBER u32 word(const u8 *p) const { return read<u32>(p); }
    MEMBER u32x2 words2(const u8 *p) const { return read<u32x2>(p); }
    MEMBER u32x4 words4(const u8 *p) const { return read<u32x4>(p); }
    // Those of the half of the stretch that unit j lies in: 4 of 8 half-words, 4 of 8 words.
    MEMBER u32x4 half_u16(const u8 *p) const { return __builtin_convertvector(read<u16x4>(p + j / 4 * 8), u32x4); }
    MEMBER u32x4 half_u32(const u8 *p) const { return read<u32x4>(p + j / 4 * 16); }
    // Words 2·(j % 4) and the next, of 8.
    MEMBER u32x2 pair_u32(const u8 *p) const { return read<u32x2>(p + j % 4 * 8); }
};

// The 8 lanes of a stretch read every byte once and pass it on. All lanes of the wave must be active.
struct Together {
    u32 j;
    // The value of lane AND & own | OR, within 32 lanes.
    template <u32 AND, u32 OR> static MEMBER u32 of_lane(u32 x) { return __builtin_amdgcn_ds_swizzle(x, OR << 5 | AND); }
    template <u32 OR> static MEMBER u32 of_eight(u32 x) { return of_lane<0x18, OR>(x); }
    static MEMBER u32x4 of_half(u32 x) {
        return u32x4{of_lane<0x1c, 0>(x), of_lane<0x1c, 1>(x), of_lane<0x1c, 2>(x), of_lane<0x1c, 3>(x)};
    }
    MEMBER u32 own(const u8 *p, u32 words) const { return j < words ? read<u32>(p + 4 * j) : 0; }
    MEMBER u32 word(const u8 *p) const { return of_eight<0>(own(p, 1)); }
    MEMBER u32x2 words2(const u8 *p) const {
        const u32 x = own(p, 2);
        return u32x2{of_eight<0>(x), of_eight<1>(x)};
    }
    MEMBER u32x4 words4(const u8 *p) const {
        const u32 x = own(p, 4);
        return u32x4{of_eight<0>(x), of_eight<1>(x), of_eight<2>(x), of_eight<3>(x)};
    }
    MEMBER u32x4 half_u16(const u8 *p) const { return of_half(read<u16>(p + 2 * j)); }
    MEMBER u32x4 half_u32(const u8 *p) const { return of_half(read<u32>(p + 4 * j)); }
    MEMBER u32x2 pair_u32(const u8 *p) const {
        const u32 x = read<u32>(p + 4 * j), from = (lane_id() / 8 * 8 + j % 4 * 2) * 4;
        return u32x2{(u32)__builtin_amdgcn_ds_bpermute(from, x), (u32)__builtin_amdgcn_ds_bpermute(from + 4, x)};
    }
};

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
    template <class R> MEMBER void unpack(R reader, const u8 *p, u32 j) {
        const u32x4 head = reader.words4(p);
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
        return scaled(bytes(codes), q & 4 ? scale.y : scale.x, q & 4 ? -minimum.y : -minimum.x);
    }
};

struct Q4_K : Pairs<144> {
    template <class R> MEMBER void load(R reader, const u8 *row, u32 t, u32 j, u32) {
        const u8 *p = block(row, t);
        unpack(reader, p, j);
        qs = read<u32x4>(p + 16 + j % 4 * 32 + j / 4 * 16);
    }
    template <bool> MEMBER f32x4 quad(u32 q) const { return value(nibbles(q), q); }
};

struct Q5_K : Pairs<176> {
    u32x4 qh; // bit 0 of each byte: fifth bit of the first 32; bit 1: of the second
    template <class R> MEMBER void load(R reader, const u8 *row, u32 t, u32 j, u32) {
        const u8 *p = block(row, t);
        unpack(reader, p, j);
        qh = reader.half_u32(p + 16) >> (j % 4 * 2);
        qs = read<u32x4>(p + 48 + j % 4 * 32 + j / 4 * 16);
    }
    template <bool> MEMBER f32x4 quad(u32 q) const {
        return value(nibbles(q) | (pick(qh, q % 4) >> (q / 4) & 0x01010101u) << 4, q);
    }
};

struct Q2_K : Quarters<84> {
    u32x2 qs;
    u32x4 scales; // of the four quarters: scale in bits 0..4, minimum in bits 4..8
    float d, dmin;
    template <class R> MEMBER void load(R reader, const u8 *row, u32 t, u32 j, u32) {
        const u8 *p = block(row, t);
        scales = reader.half_u16(p) >> (j % 4 / 2 * 8);
        qs = read<u32x2>(p + 16 + j / 4 * 32 + j % 4 * 8);
        const u32 dd = reader.word(p + 80);
        d = low_f16(dd), dmin = high_f16(dd);
    }
    template <bool> MEMBER f32x4 quad(u32 q) const {
        const u32 g = q / 2, packed = pick(scales, g);
        return scaled(bytes(pick(qs, q) >> (2 * g) & 0x03030303u), d * (float)(packed & 15),
                      -(dmin * (float)(packed >> 4 & 15)));
    }
};

struct Q3_K : Quarters<110> {
    u32x2 qs, hmask; // hmask: bit g of each byte is the third bit of the code in quarter g
    u32 scales;      // byte g: that of quarter g, with 32 added
    float d;
    template <class R> MEMBER void load(R reader, const u8 *row, u32 t, u32 j, u32) {
        const u8 *p = block(row, t);
        const u32 shift = j / 4 * 4 + j % 4 / 2 * 8;
        hmask = reader.pair_u32(p) >> (j / 4 * 4);
        qs = read<u32x2>(p + 32 + j / 4 * 32 + j % 4 * 8);
        // Quarter g of half h, column j: sub-block 8·h + 2g + (j % 4) / 2. Its low bits are in nibble h of byte (2g + ..) of
        // bytes 96..104, the high ones in bits 4·h + 2·(g / 2) of byte 104 + (2g + ..) % 4.
        const u32x4 tail = reader.words4(p + 94);
        const u32 low0 = __builtin_amdgcn_alignbyte(tail.y, tail.x, 2) >> shift;
        const u32 low1 = __builtin_amdgcn_alignbyte(tail.z, tail.y, 2) >> shift;
        const u32 high = __builtin_amdgcn_alignbyte(tail.w, tail.z, 2) >> shift;
        scales = (__builtin_amdgcn_perm(low1, low0, 0x06040200u) & 0x0f0f0f0fu) |
                 (__builtin_amdgcn_perm(high >> 2, high, 0x06040200u) << 4 & 0x30303030u);
        d = high_f16(tail.w);
    }
    template <bool> MEMBER f32x4 quad(u32 q) const {
        const u32 g = q / 2;
        const float step = d * (float)((i32)(scales >> (8 * g) & 63) - 32);
        const u32 codes = (pick(qs, q) >> (2 * g) & 0x03030303u) | (pick(hmask, q) >> g & 0x01010101u) << 2;
        return scaled(centred(codes, 4.0f), step);
    }
};

struct Q6_K : Quarters<210> {
    u32x2 first, second, qh; // low bits of quarters 0 and 2, of 1 and 3; high bits of all
    u32x4 scales;            // of the four quarters, in bits 0..8
    float d;
    template <class R> MEMBER void load(R reader, const u8 *row, u32 t, u32 j, u32) {
        const u8 *p = block(row, t);
        const u32 half = j / 4, column = j % 4 * 8;
        first = read<u32x2>(p + half * 64 + column);
        second = read<u32x2>(p + half * 64 + 32 + column);
        qh = read<u32x2>(p + 128 + half * 32 + column);
        scales = reader.half_u16(p + 192) >> (j % 4 / 2 * 8);
        d = high_f16(reader.word(p + 206));
    }
    template <bool> MEMBER f32x4 quad(u32 q) const {
        const u32 g = q / 2;
        const float step = d * (float)(i8)pick(scales, g);
        const u32 low = (g & 1 ? pick(second, q) : pick(first, q)) >> (g / 2 * 4) & 0x0f0f0f0fu;
        return scaled(centred(low | (pick(qh, q) >> (2 * g) & 0x03030303u) << 4, 32.0f), step);
    }
};

struct IQ4_XS : SuperBlock<136>, Nibbles {
    float step_; // of the unit's 32 elements
    template <u32 S> static MEMBER u32 origin(u32 j) { return j * S; }
    template <u32 S> static MEMBER u32 step(u32 q) { return q * 4; }
    template <class R> MEMBER void load(R reader, const u8 *row, u32 t, u32 j, u32) {
        const u8 *p = block(row, t);
        const u32x2 head = reader.words2(p);
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
