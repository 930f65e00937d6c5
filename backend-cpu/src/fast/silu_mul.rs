//! Gated SiLU, each element in f64.

use kernels::ops::SiluMul;

use super::rows::Rows;
use super::{Threads, round};
use crate::HostBuffer;

pub fn silu_mul(threads: &Threads, op: SiluMul<'_, HostBuffer>) {
    let up = Rows::of(op.up);
    threads.transform(&op.gate, op.out, |r, out| {
        for (value, &up) in out.iter_mut().zip(up.read(r, &mut Vec::new())) {
            *value = round(silu(f64::from(*value)) * f64::from(up));
        }
    });
}

/// `x / (1 + e^−x)`. Where the exponential overflows, the quotient is the zero that it should be; for `x = −∞` because the
/// numerator stays finite.
fn silu(x: f64) -> f64 {
    x.max(f64::MIN) / (1.0 + (-x).exp())
}
