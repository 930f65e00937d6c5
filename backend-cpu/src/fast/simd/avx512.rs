//! The vector operations by AVX-512 with VNNI: eight lanes as AVX2 has them, with twice the registers; sixteen lanes as one vector.
//!
//! Only [`Avx512::detect`] makes an [`Avx512`], and every method takes one: so a caller has checked for the instructions.
#![expect(unsafe_code, reason = "calls of functions that need the instructions, which the token proves")]

#[allow(clippy::wildcard_imports, reason = "the intrinsics have a namespace of their own, `_mm`")]
use std::arch::x86_64::*;

use super::row_panel::{Columns, RowPanel};
use super::vector::{Kernel, Simd};
use super::wide::Wide;
use super::x86::{eight_lanes, operations};

/// Proof that the machine has AVX-512 (F, BW, DQ, VL, VNNI), AVX2, FMA and F16C.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Avx512(());

impl Avx512 {
    /// The proof, if the machine has them.
    pub fn detect() -> Option<Self> {
        let found = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vnni")
            && is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c");
        found.then_some(Avx512(()))
    }
}

impl Simd for Avx512 {
    eight_lanes!("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c");
}

/// 16 bytes of rows `r`, `r + 4`, `r + 8` and `r + 12`.
#[inline]
#[target_feature(enable = "avx512f")]
fn four(columns: Columns<'_, 16>, r: usize) -> __m512i {
    let one = _mm512_castsi128_si512(bytemuck::must_cast(*columns.row(r)));
    let two = _mm512_inserti32x4::<1>(one, bytemuck::must_cast(*columns.row(r + 4)));
    let three = _mm512_inserti32x4::<2>(two, bytemuck::must_cast(*columns.row(r + 8)));
    _mm512_inserti32x4::<3>(three, bytemuck::must_cast(*columns.row(r + 12)))
}

/// Four bytes of row `r`.
#[inline]
fn word(columns: Columns<'_, 4>, r: usize) -> i32 {
    i32::from_le_bytes(*columns.row(r))
}

/// A shift count, in the register form of the shift instructions.
#[inline]
#[target_feature(enable = "avx512f")]
fn count(shift: u32) -> __m128i {
    _mm_cvtsi32_si128(shift.cast_signed())
}

impl Wide for Avx512 {
    type G = __m512;
    type W = __m512i;

    const MANY_REGISTERS: bool = true;
    const BIAS: i32 = 128;

    operations! { "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c";
        fn quads(self, rows: RowPanel<'_>, at: usize) -> [__m512i; 4] {
            let columns = rows.columns::<16>(at);
            let (a, b, c, d) = (four(columns, 0), four(columns, 1), four(columns, 2), four(columns, 3));
            let (ab, cd) = (_mm512_unpacklo_epi32(a, b), _mm512_unpacklo_epi32(c, d));
            let (ab_high, cd_high) = (_mm512_unpackhi_epi32(a, b), _mm512_unpackhi_epi32(c, d));
            [
                _mm512_unpacklo_epi64(ab, cd),
                _mm512_unpackhi_epi64(ab, cd),
                _mm512_unpacklo_epi64(ab_high, cd_high),
                _mm512_unpackhi_epi64(ab_high, cd_high),
            ]
        }
        fn words(self, rows: RowPanel<'_>, at: usize) -> __m512i {
            let columns = rows.columns::<4>(at);
            _mm512_setr_epi32(
                word(columns, 0), word(columns, 1), word(columns, 2), word(columns, 3),
                word(columns, 4), word(columns, 5), word(columns, 6), word(columns, 7),
                word(columns, 8), word(columns, 9), word(columns, 10), word(columns, 11),
                word(columns, 12), word(columns, 13), word(columns, 14), word(columns, 15),
            )
        }
        fn bytes16(self, x: &[u8; 64]) -> __m512i { bytemuck::must_cast(*x) }
        fn byte_array16(self, x: __m512i) -> [u8; 64] { bytemuck::must_cast(x) }
        fn ints16(self, x: &[i32; 16]) -> __m512i { bytemuck::must_cast(*x) }
        fn int_array16(self, x: __m512i) -> [i32; 16] { bytemuck::must_cast(x) }
        fn splat_int16(self, x: i32) -> __m512i { _mm512_set1_epi32(x) }
        fn field16(self, x: __m512i, shift: u32, mask: u8) -> __m512i {
            // Bits that come in from the neighbouring byte are masked off, for the mask has at most 8 − `shift` bits.
            let mask = _mm512_set1_epi8((mask & (0xff >> shift)).cast_signed());
            _mm512_and_si512(_mm512_srl_epi16(x, count(shift)), mask)
        }
        fn word_field16(self, x: __m512i, shift: u32, mask: u32) -> __m512i {
            _mm512_and_si512(_mm512_srl_epi32(x, count(shift)), _mm512_set1_epi32(mask.cast_signed()))
        }
        fn signed_byte16(self, x: __m512i, index: u32) -> __m512i {
            _mm512_srai_epi32::<24>(_mm512_sll_epi32(x, count(24 - 8 * index)))
        }
        fn or_shifted16(self, a: __m512i, b: __m512i, shift: u32) -> __m512i {
            _mm512_or_si512(a, _mm512_sll_epi16(b, count(shift)))
        }
        fn bits16(self, x: __m512i, quad: u32, value: u8) -> __m512i {
            let own = _mm512_set4_epi32(0x0c0c_0c0c, 0x0808_0808, 0x0404_0404, 0);
            let which = _mm512_add_epi8(own, _mm512_set1_epi8((quad / 2).to_le_bytes()[0].cast_signed()));
            let one = _mm512_set1_epi32(0x0804_0201 << (4 * (quad % 2)));
            let set = _mm512_test_epi8_mask(_mm512_shuffle_epi8(x, which), one);
            _mm512_maskz_mov_epi8(set, _mm512_set1_epi8(value.cast_signed()))
        }
        fn table_lookup16(self, table: &[i8; 16], x: __m512i) -> __m512i {
            _mm512_shuffle_epi8(_mm512_broadcast_i32x4(bytemuck::must_cast(*table)), x)
        }
        fn biased16(self, x: __m512i) -> __m512i { _mm512_xor_si512(x, _mm512_set1_epi8(i8::MIN)) }
        fn dot16(self, sum: __m512i, codes: __m512i, x: i32) -> __m512i {
            _mm512_dpbusd_epi32(sum, codes, _mm512_set1_epi32(x))
        }
        fn dot_biased16(self, sum: __m512i, codes: __m512i, x: i32) -> __m512i {
            _mm512_dpbusd_epi32(sum, codes, _mm512_set1_epi32(x))
        }
        fn add_ints16(self, a: __m512i, b: __m512i) -> __m512i { _mm512_add_epi32(a, b) }
        fn mul_ints16(self, a: __m512i, b: __m512i) -> __m512i { _mm512_mullo_epi32(a, b) }
        fn floats16(self, x: __m512i) -> __m512 { _mm512_cvtepi32_ps(x) }
        fn low_f16_to_f32_16(self, x: __m512i) -> __m512 { _mm512_cvtph_ps(_mm512_cvtepi32_epi16(x)) }
        fn splat16(self, x: f32) -> __m512 { _mm512_set1_ps(x) }
        fn load16(self, x: &[f32; 16]) -> __m512 { bytemuck::must_cast(*x) }
        fn array16(self, x: __m512) -> [f32; 16] { bytemuck::must_cast(x) }
        fn add16(self, a: __m512, b: __m512) -> __m512 { _mm512_add_ps(a, b) }
        fn mul16(self, a: __m512, b: __m512) -> __m512 { _mm512_mul_ps(a, b) }
        fn mul_add16(self, a: __m512, b: __m512, c: __m512) -> __m512 { _mm512_fmadd_ps(a, b, c) }
    }
}
