//! What AVX2 and AVX-512 have in common: the operations on eight lanes, by the same instructions.

#[allow(clippy::wildcard_imports, reason = "the intrinsics have a namespace of their own, `_mm`")]
use std::arch::x86_64::*;

/// Methods, each with a body that is compiled for the instructions of `$features`. A value of the type that they belong
/// to exists only if the machine has these.
macro_rules! operations {
    ($features:tt; $(fn $name:ident(self $(, $argument:ident: $type:ty)*) -> $result:ty $body:block)*) => {
        $(
            #[inline(always)]
            fn $name(self $(, $argument: $type)*) -> $result {
                #[inline]
                #[target_feature(enable = $features)]
                fn with_instructions($($argument: $type),*) -> $result $body
                // SAFETY: `self` was made by `detect`, so the machine has the instructions.
                unsafe { with_instructions($($argument),*) }
            }
        )*
    };
}

/// The methods of [`Simd`](super::Simd) for a type with the instructions of `$features`, AVX2, FMA and F16C among them.
macro_rules! eight_lanes {
    ($features:tt) => {
        type F = __m256;
        type I = __m256i;

        #[inline(always)]
        fn run<K: Kernel>(self, kernel: K) -> K::Output {
            #[target_feature(enable = $features)]
            fn with_instructions<S: Simd, K: Kernel>(s: S, kernel: K) -> K::Output {
                kernel.run(s)
            }
            // SAFETY: `self` was made by `detect`, so the machine has the instructions.
            unsafe { with_instructions(self, kernel) }
        }

        $crate::fast::simd::x86::operations! { $features;
            fn splat(self, x: f32) -> __m256 { _mm256_set1_ps(x) }
            fn load(self, x: &[f32; 8]) -> __m256 { bytemuck::must_cast(*x) }
            fn load_bytes(self, x: &[u8; 32]) -> __m256 { bytemuck::must_cast(*x) }
            fn f16_to_f32(self, x: [u16; 8]) -> __m256 { _mm256_cvtph_ps(bytemuck::must_cast(x)) }
            fn bf16_to_f32(self, x: [u16; 8]) -> __m256 {
                let wide = _mm256_cvtepu16_epi32(bytemuck::must_cast(x));
                _mm256_castsi256_ps(_mm256_slli_epi32::<16>(wide))
            }
            fn f32_to_f16(self, x: __m256) -> [u16; 8] {
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
            fn reduce_max(self, x: __m256) -> f32 {
                let two = _mm256_max_ps(x, _mm256_permute_ps::<0b00_00_11_10>(x));
                let one = _mm256_max_ps(two, _mm256_movehdup_ps(two));
                _mm_cvtss_f32(_mm_max_ss(_mm256_castps256_ps128(one), _mm256_extractf128_ps::<1>(one)))
            }
            fn reduce_add(self, x: __m256) -> f32 {
                let two = _mm256_add_ps(x, _mm256_permute_ps::<0b00_00_11_10>(x));
                let one = _mm256_add_ps(two, _mm256_movehdup_ps(two));
                _mm_cvtss_f32(_mm_add_ss(_mm256_castps256_ps128(one), _mm256_extractf128_ps::<1>(one)))
            }
            fn reduce_add_rows(self, x: [__m256; 8]) -> __m256 { $crate::fast::simd::x86::reduce_add_rows(x) }
            fn bytes(self, x: &[u8; 32]) -> __m256i { bytemuck::must_cast(*x) }
            fn splat_int(self, x: i32) -> __m256i { _mm256_set1_epi32(x) }
            fn int_array(self, x: __m256i) -> [i32; 8] { bytemuck::must_cast(x) }
            fn or(self, a: __m256i, b: __m256i) -> __m256i { _mm256_or_si256(a, b) }
            fn add_ints(self, a: __m256i, b: __m256i) -> __m256i { _mm256_add_epi32(a, b) }
            fn narrow(self, x: [__m256i; 4]) -> [u8; 32] { $crate::fast::simd::x86::narrow(x) }
        }
    };
}

pub(super) use {eight_lanes, operations};

/// Sums of four vectors by halves of 128 bits: `(0+2)+(1+3)` of each half.
#[inline]
#[target_feature(enable = "avx2")]
fn reduce_add_quad(a: __m256, b: __m256, c: __m256, d: __m256) -> __m256 {
    let ab = _mm256_castps_pd(_mm256_add_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b)));
    let cd = _mm256_castps_pd(_mm256_add_ps(_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d)));
    let (even, odd) = (_mm256_unpacklo_pd(ab, cd), _mm256_unpackhi_pd(ab, cd));
    _mm256_add_ps(_mm256_castpd_ps(even), _mm256_castpd_ps(odd))
}

/// Lane `r` is the sum of `x[r]`.
#[inline]
#[target_feature(enable = "avx2")]
pub fn reduce_add_rows(x: [__m256; 8]) -> __m256 {
    let (low, high) = (reduce_add_quad(x[0], x[1], x[2], x[3]), reduce_add_quad(x[4], x[5], x[6], x[7]));
    _mm256_add_ps(_mm256_permute2f128_ps::<0x20>(low, high), _mm256_permute2f128_ps::<0x31>(low, high))
}

/// 32 i32 as bytes. The packing goes by halves of 128 bits; the permutation puts their groups of four in order.
#[inline]
#[target_feature(enable = "avx2")]
pub fn narrow(x: [__m256i; 4]) -> [u8; 32] {
    let bytes = _mm256_packs_epi16(_mm256_packs_epi32(x[0], x[1]), _mm256_packs_epi32(x[2], x[3]));
    let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    bytemuck::must_cast(_mm256_permutevar8x32_epi32(bytes, order))
}
