//! Validation of `gelu_mul`.

use kernels::ops::gelu_mul::Gelu;
use kernels::{Check, DType, Record, Stem};

use crate::silu_mul::gated;
use crate::{assert_accepted, assert_refusal, refusal, reshaped};

pub(crate) fn sample() -> Record {
    gated(Record::new(Stem::GeluMul).param("form", Gelu::Erf))
}

#[test]
fn accepts_both_forms_by_name() {
    for form in ["erf", "tanh"] {
        assert_accepted(&sample().param("form", form));
    }
}

#[test]
fn rejects_a_factor_or_an_output_of_another_shape_than_the_gate() {
    for operand in ["up", "out"] {
        for shape in [[1, 256], [3, 1], [256, 3]] {
            let error = refusal(&reshaped(&sample(), operand, DType::F32, &shape));
            let got = format!("{shape:?}");
            assert_refusal(&error, Stem::GeluMul, operand, Check::Shape, "[3, 256]", got);
        }
    }
}
