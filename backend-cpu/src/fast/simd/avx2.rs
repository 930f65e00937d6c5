//! The vector operations by AVX2, FMA and F16C. Sixteen lanes are two vectors.
//!
//! Only [`Avx2::detect`] makes an [`Avx2`], and every method takes one: so a caller has checked for the instructions.
#![expect(unsafe_code, reason = "calls of functions that need the instructions, which the token proves")]

#[allow(clippy::wildcard_imports, reason = "the intrinsics have a namespace of their own, `_mm`")]
use std::arch::x86_64::*;

use super::row_panel::{Columns, RowPanel};
use super::vector::{Kernel, Simd};
use super::wide::Wide;
use super::x86::{eight_lanes, operations};

/// Proof that the machine has AVX2, FMA and F16C.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Avx2(());

impl Avx2 {
    /// The proof, if the machine has them.
    pub fn detect() -> Option<Self> {
        let found = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c");
        found.then_some(Avx2(()))
    }
}

impl Simd for Avx2 {
    eight_lanes!("avx2,fma,f16c");
}

/// Two vectors: rows 0 to 7, rows 8 to 15.
type Two = [__m256i; 2];

/// 16 bytes of rows `r` and `r + 4`.
#[inline]
#[target_feature(enable = "avx2")]
fn pair(columns: Columns<'_, 16>, r: usize) -> __m256i {
    let (low, high) = (bytemuck::must_cast(*columns.row(r)), bytemuck::must_cast(*columns.row(r + 4)));
    _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high)
}

/// 16 bytes of eight rows from `first` on, by fours.
#[inline]
#[target_feature(enable = "avx2")]
fn quads_of_eight(columns: Columns<'_, 16>, first: usize) -> [__m256i; 4] {
    let (a, b) = (pair(columns, first), pair(columns, first + 1));
    let (c, d) = (pair(columns, first + 2), pair(columns, first + 3));
    let (ab, cd) = (_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d));
    let (ab_high, cd_high) = (_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d));
    [
        _mm256_unpacklo_epi64(ab, cd),
        _mm256_unpackhi_epi64(ab, cd),
        _mm256_unpacklo_epi64(ab_high, cd_high),
        _mm256_unpackhi_epi64(ab_high, cd_high),
    ]
}

/// Four bytes of eight rows from `first` on.
#[inline]
#[target_feature(enable = "avx2")]
fn words_of_eight(columns: Columns<'_, 4>, first: usize) -> __m256i {
    _mm256_setr_epi32(
        i32::from_le_bytes(*columns.row(first)),
        i32::from_le_bytes(*columns.row(first + 1)),
        i32::from_le_bytes(*columns.row(first + 2)),
        i32::from_le_bytes(*columns.row(first + 3)),
        i32::from_le_bytes(*columns.row(first + 4)),
        i32::from_le_bytes(*columns.row(first + 5)),
        i32::from_le_bytes(*columns.row(first + 6)),
        i32::from_le_bytes(*columns.row(first + 7)),
    )
}

/// Adds up neighbouring i16 and adds them to `sum`.
#[inline]
#[target_feature(enable = "avx2")]
fn add_pairs(sum: __m256i, pairs: __m256i) -> __m256i {
    _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))
}

/// Byte `i` is `value` where bit `4·quad + i` of its i32 is set.
#[inline]
#[target_feature(enable = "avx2")]
fn bits(x: __m256i, quad: u32, value: u8) -> __m256i {
    let own =
        _mm256_setr_epi32(0, 0x0404_0404, 0x0808_0808, 0x0c0c_0c0c, 0, 0x0404_0404, 0x0808_0808, 0x0c0c_0c0c);
    let which = _mm256_add_epi8(own, _mm256_set1_epi8((quad / 2).to_le_bytes()[0].cast_signed()));
    let one = _mm256_set1_epi32(0x0804_0201 << (4 * (quad % 2)));
    let set = _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_shuffle_epi8(x, which), one), one);
    _mm256_and_si256(set, _mm256_set1_epi8(value.cast_signed()))
}

/// The low half of each i32, an f16, as f32.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn low_halves(x: __m256i) -> __m256 {
    let low = _mm256_and_si256(x, _mm256_set1_epi32(0xffff));
    let packed = _mm256_permute4x64_epi64::<0b00_00_10_00>(_mm256_packus_epi32(low, low));
    _mm256_cvtph_ps(_mm256_castsi256_si128(packed))
}

/// A shift count, in the register form of the shift instructions.
#[inline]
#[target_feature(enable = "avx2")]
fn count(shift: u32) -> __m128i {
    _mm_cvtsi32_si128(shift.cast_signed())
}

impl Wide for Avx2 {
    type G = [__m256; 2];
    type W = Two;

    const MANY_REGISTERS: bool = false;
    const BIAS: i32 = 0;

    operations! { "avx2,fma,f16c";
        fn quads(self, rows: RowPanel<'_>, at: usize) -> [Two; 4] {
            let columns = rows.columns::<16>(at);
            let (low, high) = (quads_of_eight(columns, 0), quads_of_eight(columns, 8));
            [[low[0], high[0]], [low[1], high[1]], [low[2], high[2]], [low[3], high[3]]]
        }
        fn words(self, rows: RowPanel<'_>, at: usize) -> Two {
            let columns = rows.columns::<4>(at);
            [words_of_eight(columns, 0), words_of_eight(columns, 8)]
        }
        fn bytes16(self, x: &[u8; 64]) -> Two { bytemuck::must_cast(*x) }
        fn byte_array16(self, x: Two) -> [u8; 64] { bytemuck::must_cast(x) }
        fn ints16(self, x: &[i32; 16]) -> Two { bytemuck::must_cast(*x) }
        fn int_array16(self, x: Two) -> [i32; 16] { bytemuck::must_cast(x) }
        fn splat_int16(self, x: i32) -> Two { [_mm256_set1_epi32(x); 2] }
        fn field16(self, x: Two, shift: u32, mask: u8) -> Two {
            // Bits that come in from the neighbouring byte are masked off, for the mask has at most 8 − `shift` bits.
            let mask = _mm256_set1_epi8((mask & (0xff >> shift)).cast_signed());
            [
                _mm256_and_si256(_mm256_srl_epi16(x[0], count(shift)), mask),
                _mm256_and_si256(_mm256_srl_epi16(x[1], count(shift)), mask),
            ]
        }
        fn word_field16(self, x: Two, shift: u32, mask: u32) -> Two {
            let mask = _mm256_set1_epi32(mask.cast_signed());
            [
                _mm256_and_si256(_mm256_srl_epi32(x[0], count(shift)), mask),
                _mm256_and_si256(_mm256_srl_epi32(x[1], count(shift)), mask),
            ]
        }
        fn signed_byte16(self, x: Two, index: u32) -> Two {
            let up = count(24 - 8 * index);
            [
                _mm256_srai_epi32::<24>(_mm256_sll_epi32(x[0], up)),
                _mm256_srai_epi32::<24>(_mm256_sll_epi32(x[1], up)),
            ]
        }
        fn or_shifted16(self, a: Two, b: Two, shift: u32) -> Two {
            [
                _mm256_or_si256(a[0], _mm256_sll_epi16(b[0], count(shift))),
                _mm256_or_si256(a[1], _mm256_sll_epi16(b[1], count(shift))),
            ]
        }
        fn bits16(self, x: Two, quad: u32, value: u8) -> Two { [bits(x[0], quad, value), bits(x[1], quad, value)] }
        fn table_lookup16(self, table: &[i8; 16], x: Two) -> Two {
            let table = _mm256_broadcastsi128_si256(bytemuck::must_cast(*table));
            [_mm256_shuffle_epi8(table, x[0]), _mm256_shuffle_epi8(table, x[1])]
        }
        fn biased16(self, x: Two) -> Two { x }
        fn dot16(self, sum: Two, codes: Two, x: i32) -> Two {
            let x = _mm256_set1_epi32(x);
            [
                add_pairs(sum[0], _mm256_maddubs_epi16(codes[0], x)),
                add_pairs(sum[1], _mm256_maddubs_epi16(codes[1], x)),
            ]
        }
        fn dot_biased16(self, sum: Two, codes: Two, x: i32) -> Two {
            let x = _mm256_set1_epi32(x);
            let [a, b] = codes;
            [
                add_pairs(sum[0], _mm256_maddubs_epi16(_mm256_abs_epi8(a), _mm256_sign_epi8(x, a))),
                add_pairs(sum[1], _mm256_maddubs_epi16(_mm256_abs_epi8(b), _mm256_sign_epi8(x, b))),
            ]
        }
        fn add_ints16(self, a: Two, b: Two) -> Two {
            [_mm256_add_epi32(a[0], b[0]), _mm256_add_epi32(a[1], b[1])]
        }
        fn mul_ints16(self, a: Two, b: Two) -> Two {
            [_mm256_mullo_epi32(a[0], b[0]), _mm256_mullo_epi32(a[1], b[1])]
        }
        fn floats16(self, x: Two) -> [__m256; 2] { [_mm256_cvtepi32_ps(x[0]), _mm256_cvtepi32_ps(x[1])] }
        fn low_f16_to_f32_16(self, x: Two) -> [__m256; 2] { [low_halves(x[0]), low_halves(x[1])] }
        fn splat16(self, x: f32) -> [__m256; 2] { [_mm256_set1_ps(x); 2] }
        fn load16(self, x: &[f32; 16]) -> [__m256; 2] { bytemuck::must_cast(*x) }
        fn array16(self, x: [__m256; 2]) -> [f32; 16] { bytemuck::must_cast(x) }
        fn add16(self, a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
            [_mm256_add_ps(a[0], b[0]), _mm256_add_ps(a[1], b[1])]
        }
        fn mul16(self, a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
            [_mm256_mul_ps(a[0], b[0]), _mm256_mul_ps(a[1], b[1])]
        }
        fn mul_add16(self, a: [__m256; 2], b: [__m256; 2], c: [__m256; 2]) -> [__m256; 2] {
            [_mm256_fmadd_ps(a[0], b[0], c[0]), _mm256_fmadd_ps(a[1], b[1], c[1])]
        }
    }
}
