//! Sums and differences with a carry per lane.

use crate::exec::core::cx::{Cx, Handler, Step};
use crate::exec::core::lanes::map_flags;
use crate::exec::core::uop::Uop;
use crate::exec::core::vectorised::lanewise;
use crate::exec::salu::{add_carry, sub_borrow};
use crate::isa::Op;

/// Carry out to the scalar destination; carry in from the scalar source `src[2]` when `f` uses it.
#[inline(always)]
fn carried(c: &mut Cx<'_>, u: &Uop, f: impl Fn(u32, u32, bool) -> (u32, bool)) -> Step {
    let carry = c.read64(u.scalar[2]);
    let clamp = u.clamp;
    let flags = map_flags(c, u, carry, |a, b, _: u32, bit| {
        let (value, overflow) = f(a, b, bit);
        (if clamp && overflow { u32::MAX } else { value }, overflow)
    });
    c.write64(u, flags);
    Step::Next
}

/// Differences saturate at 0.
#[inline(always)]
fn borrowed(c: &mut Cx<'_>, u: &Uop, f: impl Fn(u32, u32, bool) -> (u32, bool)) -> Step {
    let borrow = c.read64(u.scalar[2]);
    let clamp = u.clamp;
    let flags = map_flags(c, u, borrow, |a, b, _: u32, bit| {
        let (value, overflow) = f(a, b, bit);
        (if clamp && overflow { 0 } else { value }, overflow)
    });
    c.write64(u, flags);
    Step::Next
}

pub(super) fn handler(op: Op) -> Option<Handler> {
    let handler: Handler = match op {
        Op::v_add_co_u32 => lanewise!(|c, u| carried(c, u, |a, b, _| a.overflowing_add(b))),
        Op::v_sub_co_u32 => lanewise!(|c, u| borrowed(c, u, |a, b, _| a.overflowing_sub(b))),
        Op::v_subrev_co_u32 => lanewise!(|c, u| borrowed(c, u, |a, b, _| b.overflowing_sub(a))),
        Op::v_addc_co_u32 => lanewise!(|c, u| carried(c, u, add_carry)),
        Op::v_subb_co_u32 => lanewise!(|c, u| borrowed(c, u, sub_borrow)),
        Op::v_subbrev_co_u32 => lanewise!(|c, u| borrowed(c, u, |a, b, bit| sub_borrow(b, a, bit))),
        Op::v_mad_u64_u32 => lanewise!(|c, u| {
            let flags = map_flags(c, u, 0, |a: u32, b: u32, d: u64, _| {
                (u64::from(a) * u64::from(b)).overflowing_add(d)
            });
            c.write64(u, flags);
            Step::Next
        }),
        Op::v_mad_i64_i32 => lanewise!(|c, u| {
            let flags = map_flags(c, u, 0, |a: i32, b: i32, d: i64, _| {
                // Bit 64 of the exact sum.
                let exact = i128::from(i64::from(a) * i64::from(b)) + i128::from(d);
                (exact as i64, (exact >> 64) & 1 != 0)
            });
            c.write64(u, flags);
            Step::Next
        }),
        _ => return None,
    };
    Some(handler)
}
