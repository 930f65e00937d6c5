//! How values of a lane stand in registers.

use half::f16;

/// A value that occupies one or two registers of a lane.
pub(in crate::exec) trait Word: Copy {
    /// Registers: 1 or 2.
    const REGISTERS: usize;
    /// From the low and the high register; the high one is 0 for values of one register.
    fn from_registers(low: u32, high: u32) -> Self;
    /// To the low and the high register.
    fn to_registers(self) -> (u32, u32);
}

macro_rules! word {
    ($($ty:ty, $registers:literal, |$low:ident, $high:ident| $from:expr, |$value:ident| $to:expr;)*) => {$(
        impl Word for $ty {
            const REGISTERS: usize = $registers;
            #[inline(always)]
            fn from_registers($low: u32, $high: u32) -> Self {
                $from
            }
            #[inline(always)]
            fn to_registers(self) -> (u32, u32) {
                let $value = self;
                $to
            }
        }
    )*};
}

word! {
    u32, 1, |low, _high| low, |x| (x, 0);
    i32, 1, |low, _high| low as i32, |x| (x as u32, 0);
    f32, 1, |low, _high| f32::from_bits(low), |x| (x.to_bits(), 0);
    u16, 1, |low, _high| low as u16, |x| (u32::from(x), 0);
    i16, 1, |low, _high| low as i16, |x| (u32::from(x as u16), 0);
    f16, 1, |low, _high| Self::from_bits(low as u16), |x| (u32::from(x.to_bits()), 0);
    u64, 2, |low, high| u64::from(low) | (u64::from(high) << 32), |x| (x as u32, (x >> 32) as u32);
    i64, 2, |low, high| (u64::from(low) | (u64::from(high) << 32)) as i64, |x| (x as u32, (x >> 32) as u32);
    f64, 2, |low, high| Self::from_bits(u64::from(low) | (u64::from(high) << 32)),
        |x| (x.to_bits() as u32, (x.to_bits() >> 32) as u32);
    [f32; 2], 2, |low, high| [f32::from_bits(low), f32::from_bits(high)], |x| (x[0].to_bits(), x[1].to_bits());
    [u32; 2], 2, |low, high| [low, high], |x| (x[0], x[1]);
    [u16; 2], 1, |low, _high| [low as u16, (low >> 16) as u16], |x| (u32::from(x[0]) | (u32::from(x[1]) << 16), 0);
    [i16; 2], 1, |low, _high| [low as i16, (low >> 16) as i16],
        |x| (u32::from(x[0] as u16) | (u32::from(x[1] as u16) << 16), 0);
    [f16; 2], 1, |low, _high| [f16::from_bits(low as u16), f16::from_bits((low >> 16) as u16)],
        |x| (u32::from(x[0].to_bits()) | (u32::from(x[1].to_bits()) << 16), 0);
    [u8; 4], 1, |low, _high| low.to_le_bytes(), |x| (u32::from_le_bytes(x), 0);
    [i8; 4], 1, |low, _high| low.to_le_bytes().map(|byte| byte as i8),
        |x| (u32::from_le_bytes(x.map(|byte| byte as u8)), 0);
}
