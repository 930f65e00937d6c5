//! Gated GELU: the activation of GEGLU.
//!
//! # Formula
//!
//! `out[r, i] = gate[r, i] · Φ(gate[r, i]) · up[r, i]`, where `Φ` is, by the parameter `form`:
//!
//! * [`Gelu::Erf`]: `Φ(x) = ½·(1 + erf(z))`, `z = x/√2`, the normal distribution;
//! * [`Gelu::Tanh`]: `Φ(x) = ½·(1 + tanh(z))`, `z = √(2/π)·(x + 0.044715·x³)`, its approximation.
//!
//! The two results differ by up to `4.7e-4` (at `|x| = 2.7`), hundreds of times their bound: the form is part of a model.
//! `0.044715` and `√(2/π)` are meant exactly; their rounding to f32 is part of the bound.
//!
//! # Operands
//!
//! | operand | type | shape | |
//! |---|---|---|---|
//! | `gate` | float | `[rows, n]` | or in place |
//! | `up` | float | `[rows, n]` | |
//! | `out` | float | `[rows, n]` | |
//! | `form` | | | `erf` or `tanh` |
//!
//! # Errors
//!
//! `out` or `up` not shaped as `gate`.
//!
//! # Bound
//!
//! Write `x` for the gate, `v` for `up`, `y` for the exact output, `f` for the declared relative error of a function, `η` for the
//! smallest number and `t` for the declared error of a function in last places.
//!
//! *The argument.* `z` has the relative error `γ(k)`. Erf: the constant and the product, `k = 2`. Tanh: two
//! products for the cube, one with the rounded `0.044715`, a sum of equal signs, a product with the rounded `√(2/π)`: `k = 7`. It shifts
//! `Φ` by `γ(k)·|z·dΦ/dz|` to first order; `γ(k + 1)` covers the curvature. The slope factors are
//! `|x|·e^(−x²/2)/√(2π)` for erf and `½·|z|/cosh²(z)` for tanh.
//!
//! *The function.* `1 + erf(z)` and `1 + tanh(z)` cancel on the negative side: there the error is not relative to `Φ` but to
//! the function's own value `E = 2Φ − 1`, and amounts to `½·f·|E|`. Equal formulas without cancellation have relative errors
//! instead: `½·erfc(−z)` one of `f`, `1/(1 + e^(−2z))` one of `(2 − Φ)·f` (see [`silu_mul`](super::silu_mul)). A
//! correct implementation may use either kind, so that `Φ` has the error
//!
//! `e = f·max((2 − Φ)·Φ, ½·|E|) + γ(k + 1)·|z·dΦ/dz|`
//!
//! *The rest.* The sum with 1 and the products with `x` and `v` round once each (a factor ½ does not):
//!
//! `|error| ≤ |x·v|·(e + (Φ + e)·γ(3)) + η·(2t + 4)·(|x·v| + |x| + |v|) + store(y)`
//!
//! The term in `η` is for underflow: in the function and in its argument, scaled by `|x·v|`, and in the product that comes first,
//! scaled by the factor that is still to come.
//!
//! *Bias.* Systematic ([`bias`](crate::bias)): the function, each kind with the last place of its result; the constants, `γ(1)` for erf
//! and `γ(2)` for tanh, by the slope; underflow. Its own: the other roundings of the argument, three by `Φ`, and the storing.
//!
//! The bound is absolute, not relative, below `x ≈ −3`: an f32 implementation of the formula as it is written above gives
//! zero from `x = −5.6` on, where the exact result is `−6e-8·v`. No intermediate result may overflow unless the output
//! does, save the cube, whose infinity has the right `tanh`.
//!
//! # Edge cases
//!
//! * Large gates are their own limits: `x·v` on the positive side, zero with the sign of `−v` on the negative.
//! * `gate = ∞` gives `∞·v`, NaN where `v = 0`. `gate = −∞` gives the limit, zero with the sign of `−v`, and not the NaN of
//!   `−∞·0`; NaN where `v` is infinite. (The factor `max(x, −MAX)` in place of `x` has this.)
//! * NaN in `gate` or `up` gives NaN, in that element only.
//! * An infinite `up` against a gate whose `Φ` vanishes is infinite exactly and NaN as computed. Cases leave it out.
//! * In place, `gate` is read before `out` is written, element by element.
//!
//! # References
//!
//! Hendrycks and Gimpel, *Gaussian Error Linear Units* (2016). Shazeer, *GLU Variants Improve Transformer* (2020). ggml's
//! `GGML_GLU_OP_GEGLU` is the tanh form, `GGML_GLU_OP_GEGLU_ERF` the other.

use serde::{Deserialize, Serialize};

use super::{Checker, operands};
use crate::{Buffer, DType, Float, Judged, Numerics, OpError, Source, Spread, View, ViewMut};

/// The two formulas that go by the name of GELU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gelu {
    /// `x/2 · (1 + erf(x/√2))`.
    Erf,
    /// `x/2 · (1 + tanh(√(2/π)·(x + 0.044715·x³)))`.
    Tanh,
}

/// `out = gelu(gate) · up`.
#[derive(Debug)]
pub struct GeluMul<'a, B> {
    /// Argument of the activation, float `[rows, n]`.
    pub gate: Source<'a, B>,
    /// Factor, float `[rows, n]`.
    pub up: View<'a, B>,
    /// Result, float `[rows, n]`.
    pub out: ViewMut<'a, B>,
    /// Which of the two formulas.
    pub form: Gelu,
}

operands! {
    GeluMul: Bounded { gate, up, out } { form }
    floats { gate, up, out }
    rows: Independent { gate 0, up 0, out 0 }
    columns: Independent { gate 1, up 1, out 1 }
}

impl<B: Buffer> GeluMul<'_, B> {
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
    /// Which formula.
    pub form: Gelu,
    /// Argument of the activation.
    pub gate: f64,
    /// `Φ` of the gate.
    pub phi: f64,
    /// `|z·dΦ/dz|` at the gate: what a relative error of the argument does to `Φ`.
    pub slope: f64,
    /// Factor.
    pub up: f64,
}

impl Element {
    /// Roundings of the argument of the function, and how many of them are of constants.
    const fn argument(&self) -> (usize, usize) {
        match self.form {
            Gelu::Erf => (2, 1),
            Gelu::Tanh => (7, 2),
        }
    }
}

impl Judged for Element {
    fn value(&self) -> f64 {
        self.y
    }

    fn bound(&self, numerics: &Numerics, out: Float) -> f64 {
        if !(self.gate.is_finite() && self.up.is_finite()) {
            return 0.0;
        }
        let (x, v, phi) = (self.gate.abs(), self.up.abs(), self.phi);
        let (argument_roundings, _) = self.argument();
        let error_of_phi = numerics.function() * ((2.0 - phi) * phi).max((phi - 0.5).abs())
            + numerics.gamma(argument_roundings + 1) * self.slope;
        let underflow = numerics.underflow(1) * (2.0 * numerics.function_ulps + 4.0) * (x * v + x + v);
        x * v * (error_of_phi + (phi + error_of_phi) * numerics.gamma(3))
            + underflow
            + numerics.store(out, self.y)
    }

    fn spread(&self, numerics: &Numerics, out: Float) -> Spread {
        let (x, v, phi) = (self.gate.abs(), self.up.abs(), self.phi);
        let (argument_roundings, constants) = self.argument();
        let value = (2.0 * phi - 1.0).abs();
        let cancelling = value / 2.0 * numerics.function_at(value);
        let relative = phi * (numerics.function() * (1.0 - phi) + numerics.function_at(phi));
        let underflow = numerics.underflow(1) * (2.0 * numerics.function_ulps + 4.0) * (x * v + x + v);
        Spread {
            systematic: x * v * (cancelling.max(relative) + numerics.gamma(constants) * self.slope)
                + underflow,
            shared: 0.0,
            own: x * v * (numerics.walk(argument_roundings) * self.slope + phi * numerics.walk(3))
                + numerics.store(out, self.y),
        }
    }
}
