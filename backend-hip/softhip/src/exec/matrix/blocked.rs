//! Fused products by AVX-512: what [`super::fused`] computes, in fewer instructions.
//!
//! For f16 and bf16 in one block of 16 or 32 rows. After A and B have been taken apart, two passes over D:
//!
//! * The power of two that each result's products are cut off below is a minimum of sums of bytes. They are computed
//!   for a whole register of D at a time.
//! * Sixteen results at a time, products become integers, C becomes one too, and their sum is rounded once.
//!
//! Results with an addend that is not finite, or products that are all about zero, are left to [`super::fused`].
#![allow(unsafe_code, reason = "vector loads take pointers, and target features make calls unsafe")]

use std::arch::x86_64::{
    __m512, __m512i, _MM_FROUND_NO_EXC, _MM_FROUND_TO_NEG_INF, _mm_loadu_si128, _mm_storeu_si128,
    _mm256_loadu_si256, _mm512_add_epi32, _mm512_adds_epu8, _mm512_and_si512, _mm512_broadcast_i32x4,
    _mm512_broadcast_i64x4, _mm512_castsi128_si512, _mm512_castsi256_si512, _mm512_castsi512_ps,
    _mm512_cmpeq_epi8_mask, _mm512_cmpeq_epi32_mask, _mm512_cmpge_epu16_mask, _mm512_cmpge_epu32_mask,
    _mm512_cvt_roundps_epi32, _mm512_cvtepi32_epi8, _mm512_cvtepi32_epi16, _mm512_cvtepi32_ps,
    _mm512_cvtepu8_epi32, _mm512_cvtph_ps, _mm512_cvttps_epi32, _mm512_loadu_ps, _mm512_loadu_si512,
    _mm512_mask_min_epu16, _mm512_mask_sub_epi16, _mm512_max_epu16, _mm512_max_epu32, _mm512_min_epu8,
    _mm512_min_epu32, _mm512_mul_ps, _mm512_mul_round_ps, _mm512_permutexvar_epi32, _mm512_reduce_max_epu32,
    _mm512_reduce_min_epu32, _mm512_set1_epi8, _mm512_set1_epi16, _mm512_set1_epi32, _mm512_set1_ps,
    _mm512_setr_epi32, _mm512_setzero_ps, _mm512_setzero_si512, _mm512_shuffle_epi8, _mm512_slli_epi32,
    _mm512_srai_epi32, _mm512_srav_epi32, _mm512_srli_epi16, _mm512_srli_epi32, _mm512_storeu_ps,
    _mm512_storeu_si512, _mm512_sub_epi32, _mm512_subs_epu8, _mm512_ternarylogic_epi32,
    _mm512_test_epi16_mask,
};
use std::ops::RangeInclusive;

use super::Factors;
use super::format::Format;
use super::fused::{LARGEST, SMALLEST};
use super::shape::Input;
use super::tile::{Place, SIDE, Tile};
use crate::memory::{Lanes, WAVE};
use crate::wide::Avx512;

/// Products of a group, if there are so many.
const GROUP: usize = 8;
/// Registers of D, at most.
const RESULTS: usize = 16;
/// The exponent field of a scale that stands for all larger ones, which f32 does not have.
const NO_SCALE: u8 = 252;
const DOWN: i32 = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;

/// Elements of A, or of B, in one lane.
const PER: usize = 4;

/// Whether operations of `T` on `F` are computed here.
pub(super) const fn fits<F: Format, T: Tile>() -> bool {
    (T::ROWS == 16 || T::ROWS == 32) && T::BLOCKS == 1 && matches!(F::INPUT, Input::F16 | Input::Bf16)
}

/// Adds the product to `d`. Answers false, and changes nothing, if A or B has infinities, NaNs, or numbers of which
/// [`super::fused`] says that f32 may not hold their products.
///
/// `rest` computes those sixteen results of the group of products beginning at its first argument that it is called with.
pub(super) fn add<F: Format, T: Tile>(
    avx512: Avx512,
    factors: &Factors<'_>,
    d: &mut [Lanes],
    rest: impl FnMut(usize, Place, &mut [u32; SIDE]),
) -> bool {
    assert!(fits::<F, T>() && d.len() == T::RESULTS && T::RESULTS <= RESULTS && T::K == PER * WAVE / T::ROWS);
    let _ = avx512;
    // SAFETY: `avx512` proves that the machine has the features. Nothing else is asked for.
    unsafe { add_all::<F, T>(factors, d, rest) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,popcnt,lzcnt")]
fn add_all<F: Format, T: Tile>(
    factors: &Factors<'_>,
    d: &mut [Lanes],
    mut rest: impl FnMut(usize, Place, &mut [u32; SIDE]),
) -> bool {
    let mut sides = [const { Side::ZERO }; 2];
    if !take_apart::<F>(factors, &mut sides) {
        return false;
    }
    let [a, b] = &sides;
    let group = GROUP.min(T::K);
    for first in (0..T::K).step_by(group) {
        let (scales, missing) = scales::<T>(&a.field, &b.field, first, group);
        let parts = T::ROWS / SIDE;
        // One bit for each sixteen results. What is left over comes later: no call is to interrupt the loop.
        let mut left = 0u64;
        for column in 0..parts {
            let mut columns = [_mm512_setzero_ps(); GROUP];
            for (k, column_of_b) in (first..first + group).zip(&mut columns) {
                *column_of_b = load(T::b_quarter(&b.value, column, k));
            }
            for (r, register) in d.iter_mut().enumerate() {
                for part in (column..WAVE / SIDE).step_by(parts) {
                    let lanes = &mut register.as_chunks_mut::<SIDE>().0[part];
                    let row = |k: usize| T::a_of_row(&a.value, r, part, k);
                    let fits = (missing[r] >> (SIDE * part)) as u16 == 0
                        && sixteen(lanes, &scales[r].as_chunks().0[part], &columns[..group], |k| {
                            row(first + k)
                        });
                    left |= u64::from(!fits) << (r * (WAVE / SIDE) + part);
                }
            }
        }
        while left != 0 {
            let at = left.trailing_zeros() as usize;
            left &= left - 1;
            let (r, part) = (at / (WAVE / SIDE), at % (WAVE / SIDE));
            rest(first, Place { r, part, i: 0 }, &mut d[r].as_chunks_mut::<SIDE>().0[part]);
        }
    }
    true
}

/// One operand, element by element.
#[repr(align(64))]
struct Side {
    value: [[f32; WAVE]; PER],
    /// Of A and B, these sum up to the exponent field of `2^(24 − exponent)` of the product; larger sums are 255.
    field: [[u8; WAVE]; PER],
}

/// Takes A and B apart. Answers false if there are infinities, NaNs, or numbers whose products f32 may not hold.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn take_apart<F: Format>(factors: &Factors<'_>, [a, b]: &mut [Side; 2]) -> bool {
    // That field is 151 − exponent.
    if !F::WIDE {
        let mut bits = _mm512_setzero_si512();
        side_of_f16(&factors.a, a, 75, &mut bits);
        side_of_f16(&factors.b, b, 76, &mut bits);
        return _mm512_cmpge_epu16_mask(bits, _mm512_set1_epi16(0x7c00)) == 0;
    }
    let (from_a, from_b) = (side_of_bf16(&factors.a, a), side_of_bf16(&factors.b, b));
    // Exponent fields: of infinities and NaNs 255, of all others 127 more than the exponent.
    let (smallest, largest) = (from_a.start() + from_b.start() - 254, from_a.end() + from_b.end() - 254);
    if from_a.end().max(from_b.end()) == &255 || smallest < SMALLEST || largest > LARGEST {
        return false;
    }
    subtract(&mut a.field, *from_a.end());
    subtract(&mut b.field, 151 + 254 - from_a.end());
    true
}

/// Elements of f16; the fields are `top` − exponent. Collects the magnitudes as the largest of each half word.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn side_of_f16(registers: &[&Lanes; 2], side: &mut Side, top: i16, largest: &mut __m512i) {
    for (r, register) in registers.iter().enumerate() {
        for (quarter, lanes) in register.as_chunks::<SIDE>().0.iter().enumerate() {
            // SAFETY: sixteen words.
            let pairs = unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) };
            let magnitude = _mm512_and_si512(pairs, _mm512_set1_epi16(0x7fff));
            *largest = _mm512_max_epu16(*largest, magnitude);
            // Denormal numbers have the exponent of the smallest normal ones; zero counts as 2^-126.
            let exponent = _mm512_max_epu16(_mm512_srli_epi16::<10>(magnitude), _mm512_set1_epi16(1));
            let not_zero = _mm512_test_epi16_mask(magnitude, magnitude);
            let fields = _mm512_mask_sub_epi16(
                _mm512_set1_epi16(top + 126),
                not_zero,
                _mm512_set1_epi16(top + 15),
                exponent,
            );
            side.put_fields(r, quarter, fields);
            let low = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(pairs));
            let high = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32::<16>(pairs)));
            side.put_values(r, quarter, [low, high]);
        }
    }
}

/// Elements of bf16; the fields are those of their exponents, at least 1. Answers the least of those of numbers that are
/// not zero, and the largest.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn side_of_bf16(registers: &[&Lanes; 2], side: &mut Side) -> RangeInclusive<i32> {
    let mut least = _mm512_set1_epi16(0xff);
    let mut largest = _mm512_set1_epi16(1);
    for (r, register) in registers.iter().enumerate() {
        for (quarter, lanes) in register.as_chunks::<SIDE>().0.iter().enumerate() {
            // SAFETY: sixteen words.
            let pairs = unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) };
            let magnitude = _mm512_and_si512(pairs, _mm512_set1_epi16(0x7fff));
            let fields = _mm512_max_epu16(_mm512_srli_epi16::<7>(magnitude), _mm512_set1_epi16(1));
            let not_zero = _mm512_test_epi16_mask(magnitude, magnitude);
            least = _mm512_mask_min_epu16(least, not_zero, least, fields);
            largest = _mm512_max_epu16(largest, fields);
            side.put_fields(r, quarter, fields);
            let high = _mm512_and_si512(pairs, _mm512_set1_epi32(0xffff_0000_u32.cast_signed()));
            let values = [_mm512_slli_epi32::<16>(pairs), high].map(|bits| _mm512_castsi512_ps(bits));
            side.put_values(r, quarter, values);
        }
    }
    // The larger and the smaller of both halves.
    let halves = |x: __m512i| [_mm512_and_si512(x, _mm512_set1_epi32(0xffff)), _mm512_srli_epi32::<16>(x)];
    let ([a, b], [c, d]) = (halves(least), halves(largest));
    let least = _mm512_reduce_min_epu32(_mm512_min_epu32(a, b)).cast_signed();
    let largest = _mm512_reduce_max_epu32(_mm512_max_epu32(c, d)).cast_signed();
    least..=largest
}

/// `from` − field for each field; 255 if that is more.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn subtract(fields: &mut [[u8; WAVE]; PER], from: i32) {
    let (low, more) = (from.min(255) as u8, (from - 255).max(0) as u8);
    for fields in fields {
        // SAFETY: 64 bytes.
        let field = unsafe { _mm512_loadu_si512(fields.as_ptr().cast()) };
        let left = _mm512_subs_epu8(_mm512_set1_epi8(low.cast_signed()), field);
        let sum = _mm512_adds_epu8(left, _mm512_set1_epi8(more.cast_signed()));
        // SAFETY: 64 bytes.
        unsafe { _mm512_storeu_si512(fields.as_mut_ptr().cast(), sum) };
    }
}

impl Side {
    const ZERO: Self = Self { value: [[0.0; WAVE]; PER], field: [[0; WAVE]; PER] };

    /// Takes the low bytes of half words: elements `2 * r` and `2 * r + 1` of sixteen lanes.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn put_fields(&mut self, r: usize, quarter: usize, halves: __m512i) {
        for (element, halves) in (2 * r..).zip([halves, _mm512_srli_epi32::<16>(halves)]) {
            let to = &mut self.field[element].as_chunks_mut::<SIDE>().0[quarter];
            let bytes = _mm512_cvtepi32_epi8(halves);
            // SAFETY: sixteen bytes.
            unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), bytes) };
        }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn put_values(&mut self, r: usize, quarter: usize, values: [__m512; 2]) {
        for (element, values) in (2 * r..).zip(values) {
            let to = &mut self.value[element].as_chunks_mut::<SIDE>().0[quarter];
            // SAFETY: sixteen numbers.
            unsafe { _mm512_storeu_ps(to.as_mut_ptr(), values) };
        }
    }
}

/// For each register of D, each lane's exponent field of the scale of its products, and the lanes that have none.
#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
#[inline]
fn scales<T: Tile>(
    a: &[[u8; WAVE]; PER],
    b: &[[u8; WAVE]; PER],
    first: usize,
    group: usize,
) -> ([[u8; WAVE]; RESULTS], [u64; RESULTS]) {
    // By quarters of a vector: the rows that its lanes have in register 0, 1, 2, ...
    let mut rows = [_mm512_setzero_si512(); GROUP];
    let mut columns = [_mm512_setzero_si512(); GROUP];
    for n in 0..group {
        let k = first + n;
        let at = T::ROWS * (k / PER);
        (rows[n], columns[n]) = if T::ROWS == 32 {
            let order = _mm512_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6, 1, 3, 5, 7, 1, 3, 5, 7);
            let [a, b] = [a, b].map(|side| {
                let bytes: &[u8; 32] = &side[k % PER].as_chunks().0[at / 32];
                // SAFETY: 32 bytes.
                unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
            });
            (_mm512_permutexvar_epi32(order, _mm512_castsi256_si512(a)), _mm512_broadcast_i64x4(b))
        } else {
            let order = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
            let [a, b] = [a, b].map(|side| {
                let bytes: &[u8; 16] = &side[k % PER].as_chunks().0[at / 16];
                // SAFETY: 16 bytes.
                unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
            });
            (_mm512_permutexvar_epi32(order, _mm512_castsi128_si512(a)), _mm512_broadcast_i32x4(b))
        };
    }
    let none = _mm512_set1_epi8(NO_SCALE.cast_signed());
    let (mut scales, mut missing) = ([[0; WAVE]; RESULTS], [0; RESULTS]);
    for (r, scales, missing) in
        (0i8..).zip(&mut scales).zip(&mut missing).map(|((r, s), m)| (r, s, m)).take(T::RESULTS)
    {
        let mut least = none;
        for n in 0..group {
            let row = _mm512_shuffle_epi8(rows[n], _mm512_set1_epi8(r));
            least = _mm512_min_epu8(least, _mm512_adds_epu8(row, columns[n]));
        }
        *missing = _mm512_cmpeq_epi8_mask(least, none);
        // SAFETY: 64 bytes.
        unsafe { _mm512_storeu_si512(scales.as_mut_ptr().cast(), least) };
    }
    (scales, missing)
}

/// Adds the products of one row by sixteen columns to `lanes`. Answers false, and changes nothing, if an addend is an
/// infinity or a NaN.
///
/// An addend of up to `2^5` times the largest product's power of two is brought to the unit of the sum, as
/// [`super::fused`] has it in words.
#[target_feature(enable = "avx512f,avx512dq")]
#[inline]
fn sixteen(
    lanes: &mut [u32; SIDE],
    fields: &[u8; SIDE],
    columns: &[__m512],
    row: impl Fn(usize) -> f32,
) -> bool {
    // SAFETY: sixteen words.
    let addend = unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) };
    // SAFETY: 16 bytes.
    let fields = unsafe { _mm_loadu_si128(fields.as_ptr().cast()) };
    let scale_bits = _mm512_slli_epi32::<23>(_mm512_cvtepu8_epi32(fields));
    let scale = _mm512_castsi512_ps(scale_bits);
    let mut sums = [_mm512_setzero_si512(); 2];
    for (k, &column) in columns.iter().enumerate() {
        let product = _mm512_mul_ps(_mm512_set1_ps(row(k)), column);
        let integer: __m512i = _mm512_cvttps_epi32(_mm512_mul_ps(product, scale));
        sums[k % 2] = _mm512_add_epi32(sums[k % 2], integer);
    }
    // Below 8 * 2^26.
    let sum = _mm512_add_epi32(sums[0], sums[1]);
    // Rounded down, so that what underflows below zero counts as -1, too.
    let scaled = _mm512_mul_round_ps::<DOWN>(_mm512_castsi512_ps(addend), scale);
    // What is no number, or none of 32 bits, becomes -2^31.
    let kept = _mm512_cvt_roundps_epi32::<DOWN>(scaled);
    let half = _mm512_set1_epi32(1 << 30);
    let is_large = _mm512_cmpge_epu32_mask(_mm512_add_epi32(kept, half), _mm512_set1_epi32(i32::MIN));
    let (total, total_scale_bits) = if is_large == 0 {
        (_mm512_add_epi32(sum, kept), scale_bits)
    } else {
        let Some(total) = with_large_addend(sum, scale_bits, addend) else { return false };
        total
    };
    // The scale's reciprocal.
    let unit = _mm512_castsi512_ps(_mm512_sub_epi32(_mm512_set1_epi32(254 << 23), total_scale_bits));
    let result = _mm512_mul_ps(_mm512_cvtepi32_ps(total), unit);
    // SAFETY: sixteen words.
    unsafe { _mm512_storeu_ps(lanes.as_mut_ptr().cast(), result) };
    true
}

/// Sums of products and their addends, with the exponent bits of the scale that the totals have; `None` if an addend is an
/// infinity or a NaN.
///
/// An addend of more than `2^5` times the largest product's power of two has a unit of its own, 29 bits below it, to which
/// the sum is brought. Of the bits that the sum loses, the first two matter, as far as not to be zero. They may stand in
/// any of the last four bits, because results have at most 26.
#[target_feature(enable = "avx512f,avx512dq")]
#[inline]
fn with_large_addend(sum: __m512i, scale_bits: __m512i, addend: __m512i) -> Option<(__m512i, __m512i)> {
    let field = _mm512_set1_epi32(0xff << 23);
    let addend_field = _mm512_and_si512(addend, field);
    if _mm512_cmpeq_epi32_mask(addend_field, field) != 0 {
        return None;
    }
    // That of the addend to below 2^30; larger than all others if there is none.
    let limit = _mm512_sub_epi32(_mm512_set1_epi32((283u32 << 23).cast_signed()), addend_field);
    let total_scale_bits = _mm512_min_epu32(scale_bits, limit);
    let lost = _mm512_srli_epi32::<23>(_mm512_sub_epi32(scale_bits, total_scale_bits));
    // Two more bits do not overflow.
    let cut = _mm512_srav_epi32(_mm512_slli_epi32::<2>(sum), lost);
    // (cut >> 2) | (cut & 3)
    let short = _mm512_ternarylogic_epi32::<0xf8>(_mm512_srai_epi32::<2>(cut), cut, _mm512_set1_epi32(3));
    let scaled =
        _mm512_mul_round_ps::<DOWN>(_mm512_castsi512_ps(addend), _mm512_castsi512_ps(total_scale_bits));
    Some((_mm512_add_epi32(short, _mm512_cvt_roundps_epi32::<DOWN>(scaled)), total_scale_bits))
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load(numbers: &[f32; SIDE]) -> __m512 {
    // SAFETY: sixteen numbers.
    unsafe { _mm512_loadu_ps(numbers.as_ptr()) }
}
