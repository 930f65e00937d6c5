//! Gated GELU, each element in f64.

use kernels::ops::GeluMul;
use kernels::ops::gelu_mul::Gelu;
use kernels::{Numerics, OpForm};

use super::round::round;
use super::rows::Rows;
use super::threads::Threads;
use crate::HostBuffer;

pub fn gelu_mul(threads: &Threads, op: GeluMul<'_, HostBuffer>) {
    let gelu = match op.form {
        Gelu::Erf => by_erf,
        Gelu::Tanh => by_tanh,
    };
    let up = Rows::of(op.up);
    threads.map_rows(&op.gate, op.out, |r, out| {
        for (value, &up) in out.iter_mut().zip(up.read(r, &mut Vec::new())) {
            *value = round(gelu(f64::from(*value)) * f64::from(up));
        }
    });
}

/// `1 + erf(z) = erfc(−z)`, which does not cancel for negative `x`. The finite factor keeps `−∞` at its limit, zero.
fn by_erf(x: f64) -> f64 {
    0.5 * x.max(f64::MIN) * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// `(1 + tanh z)/2 = 1/(1 + e^−2z)`, which does not cancel for negative `x`. The finite numerator keeps `−∞` at its limit, zero.
fn by_tanh(x: f64) -> f64 {
    let z = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x * x * x);
    x.max(f64::MIN) / (1.0 + (-2.0 * z).exp())
}

/// How the op is computed.
pub(super) fn numerics(_: &Threads, _: &OpForm) -> Numerics {
    // One element at a time, in f64, rounded when stored.
    Numerics::F64
}
