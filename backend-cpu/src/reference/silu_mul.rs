//! [`kernels::ops::silu_mul`] in f64.

use kernels::ops::SiluMul;
use kernels::ops::silu_mul::Element;
use ndarray::{Array2, Ix2, Zip};

use super::array::array;
use crate::HostBuffer;

pub(super) fn silu_mul(op: &SiluMul<'_, HostBuffer>) -> Array2<Element> {
    let gate = op.gate.view(&op.out);
    let (gate, up) = (array::<Ix2>(&gate), array::<Ix2>(&op.up));
    Zip::from(&gate).and(&up).map_collect(|&gate, &up| element(f64::from(gate), f64::from(up)))
}

fn element(gate: f64, up: f64) -> Element {
    let sigmoid = 1.0 / (1.0 + (-gate).exp());
    let silu = if gate == f64::NEG_INFINITY { -0.0 } else { gate * sigmoid };
    Element { y: silu * up, gate, sigmoid, up }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infinite_gates_are_limits() {
        assert_eq!(element(f64::INFINITY, 2.0).y.to_bits(), f64::INFINITY.to_bits());
        assert!(element(f64::INFINITY, 0.0).y.is_nan());
        for gate in [f64::NEG_INFINITY, f64::from(f32::MIN)] {
            assert_eq!(element(gate, 2.0).y.to_bits(), (-0.0f64).to_bits(), "{gate}");
            assert_eq!(element(gate, -2.0).y.to_bits(), 0.0f64.to_bits(), "{gate}");
        }
        assert!(element(f64::NEG_INFINITY, f64::INFINITY).y.is_nan());
        assert!(element(f64::NAN, 1.0).y.is_nan() && element(1.0, f64::NAN).y.is_nan());
    }
}
