//! The arithmetic of a group: 32 activations with 32 weights of each row of a panel.
//!
//! Sums of integer products are exact, whatever their order. Then comes the one sequence of roundings that forms an output, group after
//! group: [`add_group`].

use super::super::int8_block::Int8Block;
use super::super::simd::Simd;
use super::format::Factors;
use super::operation::{Codes, Offsets, Operation};

/// The codes of a group in the form that [`dot`] takes.
#[inline(always)]
pub fn prepare_codes<S: Simd, O: Operation>(s: S, mut codes: [S::W; 8]) -> [S::W; 8] {
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

/// Initial values of the integer sums of a group, or of its halves, given the sums of the activations. They cancel what the bias of
/// the codes adds.
pub fn initial_sums<S: Simd, O: Operation>([low, high]: [i32; 2]) -> [i32; 2] {
    let bias = match O::CODES {
        Codes::Signed => S::BIAS,
        Codes::Unsigned(bias) => bias,
    };
    if O::PARTS { [-bias * low, -bias * high] } else { [-bias * (low + high), 0] }
}

/// Adds a group to `sum`. `products` is the integer sum that the scale multiplies, with the integer factors of the halves applied.
#[inline(always)]
pub fn add_group<S: Simd, O: Operation>(
    s: S,
    sum: S::G,
    products: S::W,
    x: &Int8Block,
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
