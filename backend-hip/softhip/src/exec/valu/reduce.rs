//! Bits of `2/π`, by which large arguments of sine and cosine are reduced.

use crate::exec::core::cx::{Cx, Handler, Step};
use crate::exec::core::lanes::map2;
use crate::exec::core::mode::Round;
use crate::exec::core::uop::Uop;
use crate::exec::float::soft;
use crate::isa::Op;

/// `2/π` behind the point, the highest bits first: as many as the manual says, [`BITS`].
const TWO_OVER_PI: [u32; 38] = [
    0xa2f9_836e,
    0x4e44_1529,
    0xfc27_57d1,
    0xf534_ddc0,
    0xdb62_9599,
    0x3c43_9041,
    0xfe51_63ab,
    0xdebb_c561,
    0xb724_6e3a,
    0x424d_d2e0,
    0x0649_2eea,
    0x09d1_921c,
    0xfe1d_eb1c,
    0xb129_a73e,
    0xe882_35f5,
    0x2ebb_4484,
    0xe99c_7026,
    0xb45f_7e41,
    0x3991_d639,
    0x8353_39f4,
    0x9c84_5f8b,
    0xbdf9_283b,
    0x1ff8_97ff,
    0xde05_980f,
    0xef2f_118b,
    0x5a0a_6d1f,
    0x6d36_7ecf,
    0x27cb_09b7,
    0x4f46_3f66,
    0x9e5f_ea2d,
    0x7527_bac7,
    0xebe5_f17b,
    0x3d07_39f7,
    0x8a52_92ea,
    0x6bfb_5fb1,
    0x1f8d_5d08,
    0x5603_3046,
    0xfc7b_0000,
];
const BITS: usize = 1201;
/// Bits of a segment.
const SEGMENT: usize = 53;
const _: () = assert!(TWO_OVER_PI[37].trailing_zeros() as usize >= 32 * 38 - BITS);

/// The segment that the argument's exponent and a number select.
fn segment(argument: f64, number: u32) -> f64 {
    if argument.is_nan() {
        return argument + argument;
    }
    let exponent = (argument.to_bits() >> 52) as usize & 0x7ff;
    let shift = (number & 31) as usize * SEGMENT + exponent.saturating_sub(1077);
    let bit = |at: usize| TWO_OVER_PI.get(at / 32).map_or(0, |word| word >> (31 - at % 32) & 1);
    let digits = (shift..shift + SEGMENT).fold(0u64, |digits, at| digits << 1 | u64::from(bit(at)));
    let scale = if exponent >= 1968 { 128 } else { 0 } - (SEGMENT + shift) as i32;
    soft::ldexp(Round::Nearest, digits as f64, scale)
}

fn trig_preop(c: &mut Cx<'_>, u: &Uop) -> Step {
    map2(c, u, segment)
}

/// The handler of the operation.
pub(super) fn handler(op: Op) -> Option<Handler> {
    (op == Op::v_trig_preop_f64).then_some(trig_preop)
}
