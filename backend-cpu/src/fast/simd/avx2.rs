//! The vector operations by AVX2, FMA and F16C.
//!
//! An [`Avx2`] can be had only from [`Avx2::detect`], and every method takes one: whoever calls it has the instructions.
#![expect(unsafe_code, reason = "calls of functions that need the instructions, which the token proves")]

#[allow(clippy::wildcard_imports, reason = "the intrinsics have a namespace of their own, `_mm`")]
use std::arch::x86_64::*;

use super::{Kernel, Simd};

/// Proof that the machine has AVX2, FMA and F16C.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Avx2(());

impl Avx2 {
    /// The proof, where there is one.
    pub fn detect() -> Option<Self> {
        let found = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c");
        found.then_some(Avx2(()))
    }
}

/// Methods of [`Simd`], each with a body that is compiled for the instructions.
macro_rules! operations {
    ($(fn $name:ident(self $(, $argument:ident: $type:ty)*) -> $result:ty $body:block)*) => {
        $(
            #[inline(always)]
            fn $name(self $(, $argument: $type)*) -> $result {
                #[inline]
                #[target_feature(enable = "avx2,fma,f16c")]
                fn with_instructions($($argument: $type),*) -> $result $body
                // SAFETY: `self` was made by `detect`, so the machine has the instructions.
                unsafe { with_instructions($($argument),*) }
            }
        )*
    };
}

/// The 32 bytes of `x`.
#[inline]
#[target_feature(enable = "avx2")]
fn vector(x: [u8; 32]) -> __m256i {
    bytemuck::must_cast(x)
}

/// The sums of both 128-bit halves of four vectors: those of the low halves first.
#[inline]
#[target_feature(enable = "avx2")]
fn sums_of_four(a: __m256i, b: __m256i, c: __m256i, d: __m256i) -> __m256i {
    let ab = _mm256_add_epi32(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    let cd = _mm256_add_epi32(_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
    _mm256_add_epi32(_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd))
}

/// The same of floats: `(0+2)+(1+3)` of each half.
#[inline]
#[target_feature(enable = "avx2")]
fn totals_of_four(a: __m256, b: __m256, c: __m256, d: __m256) -> __m256 {
    let ab = _mm256_castps_pd(_mm256_add_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b)));
    let cd = _mm256_castps_pd(_mm256_add_ps(_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d)));
    let (even, odd) = (_mm256_unpacklo_pd(ab, cd), _mm256_unpackhi_pd(ab, cd));
    _mm256_add_ps(_mm256_castpd_ps(even), _mm256_castpd_ps(odd))
}

/// The columns of four rows: columns 0 to 3 in the low halves, 4 to 7 in the high ones.
#[inline]
#[target_feature(enable = "avx2")]
fn columns_of_four(a: __m256i, b: __m256i, c: __m256i, d: __m256i) -> [__m256i; 4] {
    let (ab, cd) = (_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d));
    let (ab_high, cd_high) = (_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d));
    [
        _mm256_unpacklo_epi64(ab, cd),
        _mm256_unpackhi_epi64(ab, cd),
        _mm256_unpacklo_epi64(ab_high, cd_high),
        _mm256_unpackhi_epi64(ab_high, cd_high),
    ]
}

impl Simd for Avx2 {
    type F = __m256;
    type I = __m256i;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> K::Output {
        #[target_feature(enable = "avx2,fma,f16c")]
        fn with_instructions<K: Kernel>(s: Avx2, kernel: K) -> K::Output {
            kernel.run(s)
        }
        // SAFETY: `self` was made by `detect`, so the machine has the instructions.
        unsafe { with_instructions(self, kernel) }
    }

    #[inline(always)]
    fn prefetch(self, bytes: &[u8], ahead: usize) {
        let line = bytes.as_ptr().wrapping_add(ahead);
        // SAFETY: a hint; it neither reads nor faults, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) };
    }

    operations! {
        fn splat(self, x: f32) -> __m256 { _mm256_set1_ps(x) }
        fn load(self, x: &[f32; 8]) -> __m256 { bytemuck::must_cast(*x) }
        fn load_bytes(self, x: &[u8; 32]) -> __m256 { bytemuck::must_cast(*x) }
        fn halves(self, x: [u16; 8]) -> __m256 { _mm256_cvtph_ps(bytemuck::must_cast(x)) }
        fn brain_halves(self, x: [u16; 8]) -> __m256 {
            let wide = _mm256_cvtepu16_epi32(bytemuck::must_cast(x));
            _mm256_castsi256_ps(_mm256_slli_epi32::<16>(wide))
        }
        fn to_halves(self, x: __m256) -> [u16; 8] {
            bytemuck::must_cast(_mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(x))
        }
        fn array(self, x: __m256) -> [f32; 8] { bytemuck::must_cast(x) }
        fn add(self, a: __m256, b: __m256) -> __m256 { _mm256_add_ps(a, b) }
        fn sub(self, a: __m256, b: __m256) -> __m256 { _mm256_sub_ps(a, b) }
        fn mul(self, a: __m256, b: __m256) -> __m256 { _mm256_mul_ps(a, b) }
        fn div(self, a: __m256, b: __m256) -> __m256 { _mm256_div_ps(a, b) }
        fn mul_add(self, a: __m256, b: __m256, c: __m256) -> __m256 { _mm256_fmadd_ps(a, b, c) }
        fn max(self, a: __m256, b: __m256) -> __m256 { _mm256_max_ps(a, b) }
        fn min(self, a: __m256, b: __m256) -> __m256 { _mm256_min_ps(a, b) }
        fn abs(self, a: __m256) -> __m256 {
            _mm256_and_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fff_ffff)))
        }
        fn scale_by_power(self, x: __m256, n: __m256i) -> __m256 {
            let exponent = _mm256_slli_epi32::<23>(n);
            _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(x), exponent))
        }
        fn zero_where_below(self, x: __m256, a: __m256, b: __m256) -> __m256 {
            _mm256_andnot_ps(_mm256_cmp_ps::<_CMP_LT_OQ>(a, b), x)
        }
        fn nearest(self, x: __m256) -> __m256i { _mm256_cvtps_epi32(x) }
        fn floats(self, x: __m256i) -> __m256 { _mm256_cvtepi32_ps(x) }
        fn total(self, x: __m256) -> f32 {
            let two = _mm256_add_ps(x, _mm256_permute_ps::<0b00_00_11_10>(x));
            let one = _mm256_add_ps(two, _mm256_movehdup_ps(two));
            _mm_cvtss_f32(_mm_add_ss(_mm256_castps256_ps128(one), _mm256_extractf128_ps::<1>(one)))
        }
        fn totals(self, x: [__m256; 8]) -> __m256 {
            let (low, high) = (totals_of_four(x[0], x[1], x[2], x[3]), totals_of_four(x[4], x[5], x[6], x[7]));
            _mm256_add_ps(
                _mm256_permute2f128_ps::<0x20>(low, high),
                _mm256_permute2f128_ps::<0x31>(low, high),
            )
        }

        fn bytes(self, x: &[u8; 32]) -> __m256i { vector(*x) }
        fn shorts(self, x: &[i16; 16]) -> __m256i { bytemuck::must_cast(*x) }
        fn splat_int(self, x: i32) -> __m256i { _mm256_set1_epi32(x) }
        fn splat_halves(self, low: i16, high: i16) -> __m256i {
            _mm256_setr_m128i(_mm_set1_epi16(low), _mm_set1_epi16(high))
        }
        fn short_array(self, x: __m256i) -> [i16; 16] { bytemuck::must_cast(x) }
        fn int_array(self, x: __m256i) -> [i32; 8] { bytemuck::must_cast(x) }
        fn or(self, a: __m256i, b: __m256i) -> __m256i { _mm256_or_si256(a, b) }
        fn field(self, x: __m256i, shift: i32, mask: u8) -> __m256i {
            // Bits that come in from the neighbouring byte are masked off, for `mask` has at most 8 − `shift` bits.
            let mask = _mm256_set1_epi8((mask & (0xff >> shift)).cast_signed());
            _mm256_and_si256(_mm256_srl_epi16(x, _mm_cvtsi32_si128(shift)), mask)
        }
        fn nibbles(self, x: &[u8; 16]) -> __m256i {
            let both = _mm256_broadcastsi128_si256(bytemuck::must_cast(*x));
            let shifted = _mm256_srlv_epi64(both, _mm256_setr_epi64x(0, 0, 4, 4));
            _mm256_and_si256(shifted, _mm256_set1_epi8(15))
        }
        fn bits(self, bits: u32, value: u8) -> __m256i {
            let which = _mm256_setr_epi64x(
                0, 0x0101_0101_0101_0101, 0x0202_0202_0202_0202, 0x0303_0303_0303_0303,
            );
            let spread = _mm256_shuffle_epi8(_mm256_set1_epi32(bits.cast_signed()), which);
            let one = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64.cast_signed());
            let set = _mm256_cmpeq_epi8(_mm256_and_si256(spread, one), one);
            _mm256_and_si256(set, _mm256_set1_epi8(value.cast_signed()))
        }
        fn look_up(self, table: &[i8; 16], x: __m256i) -> __m256i {
            _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(bytemuck::must_cast(*table)), x)
        }
        fn dot_unsigned(self, a: __m256i, b: __m256i) -> __m256i { _mm256_maddubs_epi16(a, b) }
        fn dot_signed(self, a: __m256i, b: __m256i) -> __m256i {
            _mm256_maddubs_epi16(_mm256_abs_epi8(a), _mm256_sign_epi8(b, a))
        }
        fn dot_shorts(self, a: __m256i, b: __m256i) -> __m256i { _mm256_madd_epi16(a, b) }
        fn add_ints(self, a: __m256i, b: __m256i) -> __m256i { _mm256_add_epi32(a, b) }
        fn sub_ints(self, a: __m256i, b: __m256i) -> __m256i { _mm256_sub_epi32(a, b) }
        fn sub_shorts(self, a: __m256i, b: __m256i) -> __m256i { _mm256_sub_epi16(a, b) }
        fn mul_shorts(self, a: __m256i, b: __m256i) -> __m256i { _mm256_mullo_epi16(a, b) }
        fn shift_ints(self, a: __m256i, shift: i32) -> __m256i {
            _mm256_sll_epi32(a, _mm_cvtsi32_si128(shift))
        }
        fn widen_unsigned(self, x: __m256i) -> [__m256i; 2] {
            [
                _mm256_cvtepu8_epi16(_mm256_castsi256_si128(x)),
                _mm256_cvtepu8_epi16(_mm256_extracti128_si256::<1>(x)),
            ]
        }
        fn widen_signed(self, x: __m256i) -> [__m256i; 2] {
            [
                _mm256_cvtepi8_epi16(_mm256_castsi256_si128(x)),
                _mm256_cvtepi8_epi16(_mm256_extracti128_si256::<1>(x)),
            ]
        }
        fn sums(self, x: [__m256i; 8]) -> __m256i {
            let (low, high) = (sums_of_four(x[0], x[1], x[2], x[3]), sums_of_four(x[4], x[5], x[6], x[7]));
            _mm256_add_epi32(
                _mm256_permute2x128_si256::<0x20>(low, high),
                _mm256_permute2x128_si256::<0x31>(low, high),
            )
        }
        fn transpose(self, x: [__m256i; 8]) -> [__m256i; 8] {
            let low = columns_of_four(x[0], x[1], x[2], x[3]);
            let high = columns_of_four(x[4], x[5], x[6], x[7]);
            [
                _mm256_permute2x128_si256::<0x20>(low[0], high[0]),
                _mm256_permute2x128_si256::<0x20>(low[1], high[1]),
                _mm256_permute2x128_si256::<0x20>(low[2], high[2]),
                _mm256_permute2x128_si256::<0x20>(low[3], high[3]),
                _mm256_permute2x128_si256::<0x31>(low[0], high[0]),
                _mm256_permute2x128_si256::<0x31>(low[1], high[1]),
                _mm256_permute2x128_si256::<0x31>(low[2], high[2]),
                _mm256_permute2x128_si256::<0x31>(low[3], high[3]),
            ]
        }
    }
}
