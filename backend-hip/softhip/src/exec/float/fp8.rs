//! 8-bit floating point as CDNA3 has it: the FNUZ formats.
//!
//! `fp8` is E4M3 with bias 8, `bf8` is E5M2 with bias 16. There are no infinities and no negative zero; 0x80
//! is the one NaN.

/// The only NaN.
const NAN: u8 = 0x80;

/// A format: bits of the fraction, bias of the exponent.
#[derive(Debug, Clone, Copy)]
pub(in crate::exec) struct Fp8 {
    fraction: u32,
    bias: i32,
}

/// E4M3.
pub(in crate::exec) const FP8: Fp8 = Fp8 { fraction: 3, bias: 8 };
/// E5M2.
pub(in crate::exec) const BF8: Fp8 = Fp8 { fraction: 2, bias: 16 };

impl Fp8 {
    /// Exactly.
    pub(in crate::exec) fn widen(self, bits: u8) -> f32 {
        if bits == NAN {
            return f32::from_bits(0x7fc0_0000);
        }
        let magnitude = u32::from(bits & 0x7f);
        let fraction = magnitude & ((1 << self.fraction) - 1);
        let field = (magnitude >> self.fraction) as i32;
        let (significand, field) =
            if field == 0 { (fraction, 1) } else { (fraction | 1 << self.fraction, field) };
        let scale = f32::from_bits(((field - self.bias - self.fraction as i32 + 127) as u32) << 23);
        let value = significand as f32 * scale;
        if bits & 0x80 != 0 { -value } else { value }
    }

    /// To nearest even. What is too large becomes NaN, or the largest number if `saturate`; infinities and NaNs
    /// become NaN.
    pub(in crate::exec) fn narrow(self, value: f32, saturate: bool) -> u8 {
        if !value.is_finite() {
            return NAN;
        }
        let bits = value.to_bits();
        let sign = (bits >> 24) as u8 & 0x80;
        let field = ((bits >> 23) & 0xff) as i32;
        let fraction = bits & 0x7f_ffff;
        let (significand, field) = if field == 0 { (fraction, 1) } else { (fraction | 0x80_0000, field) };
        // Exponent of the result's last place, not below that of the denormals.
        let lowest = 1 - self.bias - self.fraction as i32;
        let last = (field - 127 - self.fraction as i32).max(lowest);
        let drop = (last - (field - 150)) as u32;
        let (kept, up) = if drop > 25 {
            (0, 0)
        } else {
            let (kept, rest, half) = (significand >> drop, significand & ((1 << drop) - 1), 1 << (drop - 1));
            (kept, u32::from(rest > half || (rest == half && kept & 1 == 1)))
        };
        let magnitude = (((last - lowest) as u32) << self.fraction) + kept + up;
        match magnitude {
            0 => 0,
            1..=0x7f => sign | magnitude as u8,
            _ if saturate => sign | 0x7f,
            _ => NAN,
        }
    }

    /// With `random` added below the last place of the result first.
    pub(in crate::exec) fn narrow_stochastic(self, value: f32, random: u32, saturate: bool) -> u8 {
        if !value.is_finite() {
            return NAN;
        }
        let bits = value.to_bits();
        let noise = random >> (32 - 23 + self.fraction);
        let fraction = (bits & 0x7f_ffff) + noise;
        // A carry moves into the exponent. What is left below the last place is cut off.
        let noisy = (bits & 0xff80_0000).wrapping_add(fraction);
        let cut = f32::from_bits(noisy & !((1 << (23 - self.fraction)) - 1));
        self.narrow(cut, saturate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_values_survive_the_round_trip() {
        for format in [FP8, BF8] {
            for bits in 0..=u8::MAX {
                assert_eq!(format.narrow(format.widen(bits), false), bits, "{bits:#x}");
            }
        }
    }

    #[test]
    fn known_values() {
        assert_eq!(FP8.widen(0x7f), 240.0);
        assert_eq!(BF8.widen(0x7f), 57344.0);
        assert_eq!(FP8.widen(0x01), 2f32.powi(-10));
        assert_eq!(BF8.widen(0x01), 2f32.powi(-17));
        assert_eq!(FP8.widen(0x40), 1.0);
        assert_eq!(BF8.widen(0x40), 1.0);
        assert_eq!(FP8.narrow(1e9, false), NAN);
        assert_eq!(FP8.narrow(-1e9, true), 0xff);
        assert_eq!(FP8.narrow(-0.0, true), 0);
        assert_eq!(FP8.narrow(1.0625, false), FP8.narrow(1.0, false), "a tie goes to even");
        assert_eq!(FP8.narrow(1.1875, false), FP8.narrow(1.25, false), "a tie goes to even");
    }
}
