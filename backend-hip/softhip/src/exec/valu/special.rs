//! Reciprocals, roots, exponentials, logarithms and trigonometry.
//!
//! The hardware is within 1 ulp of the true value; here the value is computed in f64 by `libm` and rounded.
//! So results of the two can be compared by a bound and never bit by bit. The f32 operations replace denormals by
//! zeros on both sides, as the hardware does in every mode.

use std::cell::Cell;

use half::f16;

use crate::exec::core::cx::{Cx, Handler, Step};
use crate::exec::core::lanes::map1;
use crate::exec::core::uop::Uop;
use crate::exec::core::vectorised::lanewise;
use crate::exec::float::{Float, flush, settle};
use crate::isa::Op;

/// Computes in f64; `F` keeps its denormals unless it is f32.
#[inline(always)]
fn through_f64<F: Float>(c: &mut Cx<'_>, u: &Uop, f: impl Fn(f64) -> f64) -> Step {
    map1(c, u, move |a: F| {
        let flushes = F::SIZE == 32;
        let a = if flushes { flush(a) } else { a };
        let result = settle(F::from_f64(f(a.to_f64())), [a]);
        if flushes { flush(result) } else { result }
    })
}

/// As [`through_f64`], by functions that no vectors have. Neighbouring lanes often have one value, which is computed once.
fn by_libm<F: Float>(c: &mut Cx<'_>, u: &Uop, f: fn(f64) -> f64) -> Step {
    let latest = Cell::new((0, f(f64::from_bits(0))));
    through_f64::<F>(c, u, |x| {
        if latest.get().0 != x.to_bits() {
            latest.set((x.to_bits(), f(x)));
        }
        latest.get().1
    })
}

fn rsq(x: f64) -> f64 {
    1.0 / x.sqrt()
}

/// `sin(2πx)`; beyond 256 turns, 0.
fn sin_turns(x: f64) -> f64 {
    if x.abs() > 256.0 {
        return if x.is_finite() { 0.0 } else { f64::NAN };
    }
    let turn = x - x.trunc();
    libm::sin(turn * std::f64::consts::TAU)
}

/// `cos(2πx)`; beyond 256 turns, 1.
fn cos_turns(x: f64) -> f64 {
    if x.abs() > 256.0 {
        return if x.is_finite() { 1.0 } else { f64::NAN };
    }
    let turn = x - x.trunc();
    libm::cos(turn * std::f64::consts::TAU)
}

pub(super) fn handler(op: Op) -> Option<Handler> {
    let handler: Handler = match op {
        Op::v_exp_f32 | Op::v_exp_legacy_f32 => |c, u| by_libm::<f32>(c, u, libm::exp2),
        Op::v_exp_f16 => |c, u| by_libm::<f16>(c, u, libm::exp2),
        Op::v_log_f32 | Op::v_log_legacy_f32 => |c, u| by_libm::<f32>(c, u, libm::log2),
        Op::v_log_f16 => |c, u| by_libm::<f16>(c, u, libm::log2),
        Op::v_rcp_f32 | Op::v_rcp_iflag_f32 => lanewise!(|c, u| through_f64::<f32>(c, u, |x| 1.0 / x)),
        Op::v_rcp_f64 => lanewise!(|c, u| through_f64::<f64>(c, u, |x| 1.0 / x)),
        Op::v_rcp_f16 => lanewise!(|c, u| through_f64::<f16>(c, u, |x| 1.0 / x)),
        Op::v_rsq_f32 => lanewise!(|c, u| through_f64::<f32>(c, u, rsq)),
        Op::v_rsq_f64 => lanewise!(|c, u| through_f64::<f64>(c, u, rsq)),
        Op::v_rsq_f16 => lanewise!(|c, u| through_f64::<f16>(c, u, rsq)),
        Op::v_sqrt_f32 => lanewise!(|c, u| through_f64::<f32>(c, u, f64::sqrt)),
        Op::v_sqrt_f64 => lanewise!(|c, u| through_f64::<f64>(c, u, f64::sqrt)),
        Op::v_sqrt_f16 => lanewise!(|c, u| through_f64::<f16>(c, u, f64::sqrt)),
        Op::v_sin_f32 => |c, u| by_libm::<f32>(c, u, sin_turns),
        Op::v_sin_f16 => |c, u| by_libm::<f16>(c, u, sin_turns),
        Op::v_cos_f32 => |c, u| by_libm::<f32>(c, u, cos_turns),
        Op::v_cos_f16 => |c, u| by_libm::<f16>(c, u, cos_turns),
        _ => return None,
    };
    Some(handler)
}
