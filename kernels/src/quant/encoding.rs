//! The steps that ggml's reference quantizers share.
//!
//! A quantizer takes a measure of the block (its peak or its extent), makes the step `d` of it, multiplies
//! by the reciprocal of `d` rather than dividing, and truncates to a code. The order of comparisons decides
//! which of two equal peaks counts and what becomes of NaN, so it is ggml's.

/// The value of largest magnitude, with its sign: the first of equals, and `+0` where all are zero or NaN.
pub(super) fn signed_peak(values: &[f32]) -> f32 {
    let (mut peak, mut magnitude) = (0.0, 0.0);
    for &value in values {
        if magnitude < value.abs() {
            (peak, magnitude) = (value, value.abs());
        }
    }
    peak
}

/// Least and greatest value, NaN apart, the first of equal zeros; `(f32::MAX, f32::MIN)` where all are NaN.
pub(super) fn extent(values: &[f32]) -> (f32, f32) {
    let (mut min, mut max) = (f32::MAX, f32::MIN);
    for &value in values {
        if value < min {
            min = value;
        }
        if value > max {
            max = value;
        }
    }
    (min, max)
}

/// `1/d`, or 0 for the step of a constant block.
pub(super) fn reciprocal(d: f32) -> f32 {
    if d == 0.0 { 0.0 } else { 1.0 / d }
}

/// `x` without its fraction, at most `top`. NaN and what is below 1 become 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the fraction is to go, and the conversion saturates"
)]
pub(super) fn code(x: f32, top: u8) -> u8 {
    (x as u8).min(top)
}

/// Packs 32 codes of up to 5 bits: the low four of codes `j` and `j + 16` share byte `j` of the first
/// array, and bit `i` of the integer is the fifth bit of code `i`.
pub(super) fn pack(codes: &[u8; 32]) -> ([u8; 16], u32) {
    let nibbles = std::array::from_fn(|j| (codes[j] & 15) | ((codes[j + 16] & 15) << 4));
    let fifths = codes.iter().rev().fold(0, |bits, code| (bits << 1) | u32::from((code >> 4) & 1));
    (nibbles, fifths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_two_equal_peaks_gives_the_sign() {
        assert_eq!(signed_peak(&[1.0, -3.0, 3.0]).to_bits(), (-3.0_f32).to_bits());
        assert_eq!(signed_peak(&[1.0, 3.0, -3.0]).to_bits(), 3.0_f32.to_bits());
        assert_eq!(signed_peak(&[-0.0, f32::NAN]).to_bits(), 0);
    }

    #[test]
    fn extent_ignores_nan() {
        assert_eq!(extent(&[2.0, f32::NAN, -1.0]), (-1.0, 2.0));
        assert_eq!(extent(&[f32::NAN]), (f32::MAX, f32::MIN));
    }

    #[test]
    fn codes_truncate_and_saturate() {
        assert_eq!([0.99, 1.0, 14.99, 15.5, 300.0].map(|x| code(x, 15)), [0, 1, 14, 15, 15]);
        assert_eq!([-4.0, f32::NAN, f32::INFINITY].map(|x| code(x, 31)), [0, 0, 31]);
    }

    #[test]
    fn packs_low_bits_in_pairs_and_fifth_bits_in_order() {
        let mut codes = [0; 32];
        (codes[0], codes[16], codes[31]) = (0x1a, 0x05, 0x1f);
        let (nibbles, fifths) = pack(&codes);
        assert_eq!((nibbles[0], nibbles[15], fifths), (0x5a, 0xf0, 0x8000_0001));
    }
}
