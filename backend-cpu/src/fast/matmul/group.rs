//! The arithmetic of a run: 32 activations with 32 weights of each of sixteen rows.
//!
//! The products of integers are exact, however they come about. What follows is the one sequence of roundings that an output is
//! made by, run after run: [`add_run`].

use super::super::simd::Simd;
use super::format::{Codes, Factors, Offsets};
use super::quantized_activations::Block;

/// What is to be done with the codes and factors of a run.
pub trait Operation {
    /// What the codes are.
    const CODES: Codes;
    /// Whether the halves of a run have integer factors of their own.
    const PARTS: bool;
    /// What is added beside the codes.
    const OFFSETS: Offsets;
}

/// `scale·(code − BIAS)`.
pub struct Unsigned<const BIAS: i32>;

/// `scale·code`, signed.
pub struct Signed;

/// `scale·code + offset`.
pub struct Shifted;

/// `scale·part·(code − BIAS)`.
pub struct ByHalves<const BIAS: i32>;

/// `scale·part·code + offset·minimum`.
pub struct ShiftedByHalves;

macro_rules! operation {
    ($name:ty $(, $bias:ident)?: $codes:expr, $parts:literal, $offsets:expr) => {
        impl $(<const $bias: i32>)? Operation for $name {
            const CODES: Codes = $codes;
            const PARTS: bool = $parts;
            const OFFSETS: Offsets = $offsets;
        }
    };
}

operation!(Unsigned<BIAS>, BIAS: Codes::Unsigned(BIAS), false, Offsets::None);
operation!(Signed: Codes::Signed, false, Offsets::None);
operation!(Shifted: Codes::Unsigned(0), false, Offsets::Whole);
operation!(ByHalves<BIAS>, BIAS: Codes::Unsigned(BIAS), true, Offsets::None);
operation!(ShiftedByHalves: Codes::Unsigned(0), true, Offsets::Halves);

/// The codes of a run as [`dot`] takes them.
#[inline(always)]
pub fn prepared<S: Simd, O: Operation>(s: S, mut codes: [S::W; 8]) -> [S::W; 8] {
    if O::CODES == Codes::Signed {
        for code in &mut codes {
            *code = s.biased16(*code);
        }
    }
    codes
}

/// Adds to `sum` the products of four codes of each row with four activations.
#[inline(always)]
pub fn dot<S: Simd, O: Operation>(s: S, sum: S::W, codes: S::W, x: i32) -> S::W {
    match O::CODES {
        Codes::Signed => s.dot_biased16(sum, codes, x),
        Codes::Unsigned(_) => s.dot16(sum, codes, x),
    }
}

/// What the products of a run, or of its halves, begin with, given the sums of the activations: less what the bias adds.
pub fn starts<S: Simd, O: Operation>([low, high]: [i32; 2]) -> [i32; 2] {
    let bias = match O::CODES {
        Codes::Signed => S::BIAS,
        Codes::Unsigned(bias) => bias,
    };
    if O::PARTS { [-bias * low, -bias * high] } else { [-bias * (low + high), 0] }
}

/// Adds to `sum` a run: `products` is the sum of what belongs to the scale, integer factors included.
#[inline(always)]
pub fn add_run<S: Simd, O: Operation>(
    s: S,
    sum: S::G,
    products: S::W,
    x: &Block,
    factors: &Factors<S>,
) -> S::G {
    let x_scale = s.splat16(x.scale);
    let sum = s.mul_add16(s.floats16(products), s.mul16(factors.scale, x_scale), sum);
    match O::OFFSETS {
        Offsets::None => sum,
        Offsets::Whole => s.mul_add16(factors.offset, s.splat16(x.scaled_sum), sum),
        Offsets::Halves => {
            let [low, high] = factors.minimums;
            let low = s.mul_ints16(low, s.splat_int16(x.sums[0]));
            let minimums = s.add_ints16(low, s.mul_ints16(high, s.splat_int16(x.sums[1])));
            s.mul_add16(s.floats16(minimums), s.mul16(factors.offset, x_scale), sum)
        }
    }
}
