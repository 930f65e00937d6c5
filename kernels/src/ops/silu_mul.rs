//! Gated SiLU: the activation of SwiGLU.
//!
//! # Formula
//!
//! `out[r, i] = gate[r, i] · σ(gate[r, i]) · up[r, i]`, with the logistic function `σ(x) = 1 / (1 + e^−x)`.
//!
//! # Operands
//!
//! | operand | type | shape | |
//! |---|---|---|---|
//! | `gate` | float | `[rows, n]` | or in place |
//! | `up` | float | `[rows, n]` | |
//! | `out` | float | `[rows, n]` | |
//!
//! # Errors
//!
//! `out` or `up` not shaped as `gate`.
//!
//! # Bound
//!
//! Write `x` for the gate, `v` for `up`, `y` for the exact output, `f` for the declared relative error of `exp` and of
//! division, `η` for the smallest number and `t` for the declared error of a function in last places.
//!
//! The exponential has the relative error `f`. It is the share `1 − σ` of the sum `1 + e^−x`, which inherits that share of `f` and adds
//! one rounding; the division adds another `f`; the product with `v` and, where the reciprocal is
//! taken, the one with `x` round once each. Three roundings and two functions, in any association:
//! `(1 + γ(3))·(1 + f)/(1 − (1 − σ)·f) − 1`, which `γ(4) + (2 − σ)·f` exceeds while `f ≤ 2^-14`. The same holds for `e^x / (1 + e^x)`,
//! common on the negative side, where the errors of one `e^x` above and below leave `1 − σ` of it. The bound is relative to `|y|`: there
//! is no cancellation.
//!
//! Underflow: the function values lose up to `t·η` each, scaled by `|x·v|`; the product that comes first loses
//! `η`, scaled by the factor that is still to come, `|x|` or `|v|`. Together less than `η·(2t + 1)·(|x·v| + |x| + |v|)`.
//!
//! Where `σ(x)` is denormal in the accumulator's format (`x < −87.3` for f32), `e^−x` overflows or is about to, and the quotient is
//! zero although the exact result is not. There every value between zero and `y` is right, and `|y|` comes on top.
//!
//! `|error| ≤ |y|·(γ(4) + (2 − σ)·f) + η·(2t + 1)·(|x·v| + |x| + |v|) + [σ(x) denormal]·|y| + store(y)`
//!
//! *Bias.* Systematic ([`bias`](crate::bias)): `(1 − σ)·f`, the division with its result `σ`, `x·σ` or `y`, underflow. Its own: four
//! roundings and the storing.
//!
//! Two formulas are *not* inside. `x/2·(1 + tanh(x/2))` cancels on the negative side, where it has the absolute error of a
//! number near 1 instead of the relative one of a small number. `(x·v)·σ(x)` is inside only as long as `x·v` does not
//! overflow: no intermediate result may, unless the output does.
//!
//! # Edge cases
//!
//! * Large gates are their own limits: from `x = 18` on the result is `x·v` to f32's precision, and towards `−∞` it is
//!   zero with the sign of `−v`.
//! * `gate = ∞` gives `∞·v`, NaN where `v = 0`. `gate = −∞` gives the limit, zero with the sign of `−v`, and not the NaN
//!   of `−∞/∞`; NaN where `v` is infinite. (`max(x, −MAX) / (1 + e^−x)` has this, and still gives NaN for NaN.)
//! * NaN in `gate` or `up` gives NaN, in that element only.
//! * An infinite `up` against a gate whose `σ` underflows is infinite exactly and NaN as computed. Cases leave it out.
//! * In place, `gate` is read before `out` is written, element by element.
//!
//! # References
//!
//! Shazeer, *GLU Variants Improve Transformer* (2020). Elfwing, Uchibe and Doya, *Sigmoid-weighted linear units* (2017). ggml's
//! `GGML_GLU_OP_SWIGLU`.

use super::{Checker, operands};
use crate::{Buffer, DType, Float, Judged, Numerics, OpError, Source, Spread, View, ViewMut};

/// `out = gate · σ(gate) · up`.
#[derive(Debug)]
pub struct SiluMul<'a, B> {
    /// Argument of the activation, float `[rows, n]`.
    pub gate: Source<'a, B>,
    /// Factor, float `[rows, n]`.
    pub up: View<'a, B>,
    /// Result, float `[rows, n]`.
    pub out: ViewMut<'a, B>,
}

operands! {
    SiluMul: Bounded { gate, up, out } {}
    floats { gate, up, out }
    rows: Independent { gate 0, up 0, out 0 }
    columns: Independent { gate 1, up 1, out 1 }
}

impl<B: Buffer> SiluMul<'_, B> {
    pub(crate) fn check(&self, checker: &Checker) -> Result<(), OpError> {
        checker.output("out", &self.out, &DType::FLOATS, 2)?;
        let gate = self.gate.view(&self.out);
        checker.input("gate", &gate, &DType::FLOATS, 2)?;
        checker.input("up", &self.up, &DType::FLOATS, 2)?;
        checker.same_shape("out", &self.out.layout, "gate", &gate.layout)?;
        checker.same_shape("up", &self.up.layout, "gate", &gate.layout)
    }
}

/// An element of the exact result.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    /// Its value.
    pub y: f64,
    /// Argument of the activation.
    pub gate: f64,
    /// Logistic function of the gate.
    pub sigmoid: f64,
    /// Factor.
    pub up: f64,
}

impl Judged for Element {
    fn value(&self) -> f64 {
        self.y
    }

    fn bound(&self, numerics: &Numerics, out: Float) -> f64 {
        if !(self.gate.is_finite() && self.up.is_finite()) {
            return 0.0;
        }
        let (x, v, y) = (self.gate.abs(), self.up.abs(), self.y.abs());
        let relative = numerics.gamma(4) + (2.0 - self.sigmoid) * numerics.function();
        let underflow = numerics.underflow(1) * (2.0 * numerics.function_ulps + 1.0) * (x * v + x + v);
        let vanished = if self.sigmoid < numerics.smallest_normal() { y } else { 0.0 };
        y * relative + underflow + vanished + numerics.store(out, self.y)
    }

    fn spread(&self, numerics: &Numerics, out: Float) -> Spread {
        let (x, v, y) = (self.gate.abs(), self.up.abs(), self.y.abs());
        let quotients = [self.sigmoid, self.gate * self.sigmoid, self.y];
        let quotient = quotients.map(|result| numerics.function_at(result)).into_iter().fold(0.0, f64::max);
        let underflow = numerics.underflow(1) * (2.0 * numerics.function_ulps + 1.0) * (x * v + x + v);
        let vanished = if self.sigmoid < numerics.smallest_normal() { y } else { 0.0 };
        Spread {
            systematic: y * (numerics.function() * (1.0 - self.sigmoid) + quotient) + underflow + vanished,
            shared: 0.0,
            own: y * numerics.walk(4) + numerics.store(out, self.y),
        }
    }
}
