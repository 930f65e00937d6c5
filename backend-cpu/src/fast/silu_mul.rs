//! Gated SiLU, eight elements at a time.

use kernels::ops::SiluMul;
use kernels::{Numerics, OpForm};

use super::F32;
use super::exp::exp_of_negative;
use super::round::round;
use super::rows::Rows;
use super::simd::{Kernel, Simd, WIDTH};
use super::threads::Threads;
use crate::HostBuffer;

/// Gates below this are computed in f64, one by one: their logistic function comes near the end of the f32 range.
const FAR: f32 = -80.0;

pub fn silu_mul(threads: &Threads, op: SiluMul<'_, HostBuffer>) {
    let up = Rows::of(op.up);
    threads.map_rows(&op.gate, op.out, |r, out| {
        threads.compute(Gate { gate: out, up: up.read(r, &mut Vec::new()) });
    });
}

/// Replaces each gate `x` by `x·σ(x)·up`.
struct Gate<'a> {
    gate: &'a mut [f32],
    up: &'a [f32],
}

impl Kernel for Gate<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let far = any_far(s, self.gate);
        let (gates, gate_tail) = self.gate.as_chunks_mut::<WIDTH>();
        let (ups, up_tail) = self.up.as_chunks::<WIDTH>();
        for (gate, up) in gates.iter_mut().zip(ups) {
            *gate = eight(s, *gate, up, far);
        }
        let (mut gate, mut up) = ([0.0; WIDTH], [0.0; WIDTH]);
        gate[..gate_tail.len()].copy_from_slice(gate_tail);
        up[..up_tail.len()].copy_from_slice(up_tail);
        gate_tail.copy_from_slice(&eight(s, gate, &up, far)[..up_tail.len()]);
    }
}

/// True if a gate is below [`FAR`].
#[inline(always)]
fn any_far<S: Simd>(s: S, gates: &[f32]) -> bool {
    let (eights, tail) = gates.as_chunks::<WIDTH>();
    let mut lowest = s.splat(0.0);
    for eight in eights {
        lowest = s.min(s.load(eight), lowest);
    }
    s.array(lowest).iter().chain(tail).any(|&gate| gate < FAR)
}

/// `x·σ(x)·up`, with `e = exp(−|x|)`: `σ` is `1/(1 + e)` from 0 on and `e/(1 + e)` below. `far` is true if any gate may be below
/// [`FAR`].
#[inline(always)]
fn eight<S: Simd>(s: S, gate: [f32; WIDTH], up: &[f32; WIDTH], far: bool) -> [f32; WIDTH] {
    let x = s.load(&gate);
    let e = exp_of_negative(s, s.sub(s.splat(0.0), s.abs(x)));
    let one = s.splat(1.0);
    let above = s.zero_where_below(one, x, s.splat(0.0));
    let below = s.sub(one, above);
    let sigma = s.div(s.mul_add(below, e, above), s.add(one, e));
    let mut y = s.array(s.mul(s.mul(x, sigma), s.load(up)));
    if far {
        for ((y, gate), up) in y.iter_mut().zip(gate).zip(up) {
            if gate < FAR {
                *y = round(silu(f64::from(gate)) * f64::from(*up));
            }
        }
    }
    y
}

/// `x / (1 + e^−x)`. Where the exponential overflows, the quotient is the zero that it should be; for `x = −∞` because the
/// numerator stays finite.
fn silu(x: f64) -> f64 {
    x.max(f64::MIN) / (1.0 + (-x).exp())
}

/// How the op is computed.
pub(super) fn numerics(_: &Threads, _: &OpForm) -> Numerics {
    Numerics { function_ulps: super::exp::ULPS, ..F32 }
}
