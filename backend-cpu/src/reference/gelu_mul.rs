//! [`kernels::ops::gelu_mul`] in f64.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI, TAU};

use kernels::ops::GeluMul;
use kernels::ops::gelu_mul::{Element, Gelu};
use ndarray::{Array2, Ix2, Zip};

use super::array::array;
use crate::HostBuffer;

pub(super) fn gelu_mul(op: &GeluMul<'_, HostBuffer>) -> Array2<Element> {
    let gate = op.gate.view(&op.out);
    let (gate, up) = (array::<Ix2>(&gate), array::<Ix2>(&op.up));
    Zip::from(&gate).and(&up).map_collect(|&gate, &up| element(op.form, f64::from(gate), f64::from(up)))
}

fn element(form: Gelu, gate: f64, up: f64) -> Element {
    let (phi, slope) = match form {
        Gelu::Erf => normal(gate),
        Gelu::Tanh => approximation(gate),
    };
    let gelu = if gate == f64::NEG_INFINITY { -0.0 } else { gate * phi };
    Element { y: gelu * up, form, gate, phi, slope, up }
}

/// The normal distribution at `x` without cancellation, and its slope times `|x|`.
fn normal(x: f64) -> (f64, f64) {
    let phi = 0.5 * libm::erfc(-x * FRAC_1_SQRT_2);
    (phi, x.abs() * (-0.5 * x * x).exp() / TAU.sqrt())
}

/// `½·(1 + tanh(z))` without cancellation, and its slope by `z` times `|z|`.
fn approximation(x: f64) -> (f64, f64) {
    let z = FRAC_2_PI.sqrt() * (x + 0.044_715 * x * x * x);
    let phi = 1.0 / (1.0 + (-2.0 * z).exp());
    // 1/(4·cosh²) is the product of both tails of the logistic function.
    let tails = phi / (1.0 + (2.0 * z).exp());
    (phi, 2.0 * z.abs() * tails)
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;

    #[test]
    fn infinite_gates_are_limits() {
        for form in [Gelu::Erf, Gelu::Tanh] {
            assert_eq!(element(form, f64::INFINITY, 2.0).y.to_bits(), f64::INFINITY.to_bits());
            assert!(element(form, f64::INFINITY, 0.0).y.is_nan());
            for gate in [f64::NEG_INFINITY, f64::from(f32::MIN)] {
                assert_eq!(element(form, gate, 2.0).y.to_bits(), (-0.0f64).to_bits(), "{form:?} {gate}");
                assert_eq!(element(form, gate, -2.0).y.to_bits(), 0.0f64.to_bits(), "{form:?} {gate}");
            }
            assert!(element(form, f64::NEG_INFINITY, f64::INFINITY).y.is_nan());
            assert!(element(form, f64::NAN, 1.0).y.is_nan() && element(form, 1.0, f64::NAN).y.is_nan());
        }
    }

    #[test]
    fn slopes_are_those_of_the_difference_quotient() {
        for x in [-4.0, -1.0, -0.1, 0.3, 2.0, 5.0] {
            for (form, at) in [(Gelu::Erf, normal as fn(f64) -> (f64, f64)), (Gelu::Tanh, approximation)] {
                // The argument z of tanh is not proportional to x: dz/z = (dx/x)·(1 + 3c·x²)/(1 + c·x²).
                let stretch = match form {
                    Gelu::Erf => 1.0,
                    Gelu::Tanh => (1.0 + 3.0 * 0.044_715 * x * x) / (1.0 + 0.044_715 * x * x),
                };
                let h = 1e-5;
                let quotient = (at(x * (1.0 + h)).0 - at(x * (1.0 - h)).0).abs() / (2.0 * h) / stretch;
                let slope = at(x).1;
                assert_relative_eq!(quotient, slope, epsilon = 1e-10, max_relative = 1e-6);
            }
        }
    }

    #[test]
    fn the_forms_differ_as_the_page_says() {
        let difference = |x: f64| (element(Gelu::Erf, x, 1.0).y - element(Gelu::Tanh, x, 1.0).y).abs();
        let grid = (0..600).map(|i| f64::from(i) * 0.01);
        let worst = grid.max_by(|&a, &b| difference(a).total_cmp(&difference(b))).unwrap();
        assert!((2.65..2.75).contains(&worst), "{worst}");
        assert!((4.65e-4..4.75e-4).contains(&difference(worst)), "{}", difference(worst));
    }
}
