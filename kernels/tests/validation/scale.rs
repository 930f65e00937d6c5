//! Validation of `scale`.

use kernels::{Check, DType, Op, Record, Stem};

use crate::{assert_accepted, assert_refusal, input, output, refusal, refusal_after, reshaped};

pub(crate) fn sample() -> Record {
    let record = Record::new(Stem::Scale).param("factor", 0.5f32);
    output(input(record, "x", &[3, 256]), "out", &[3, 256])
}

#[test]
fn rejects_a_factor_that_is_no_number() {
    for factor in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let error = refusal_after(Stem::Scale, |op| {
            let Op::Scale(op) = op else { unreachable!() };
            op.factor = factor;
        });
        assert_refusal(&error, Stem::Scale, "factor", Check::Parameter, "finite", factor);
    }
}

#[test]
fn accepts_zero_and_the_largest_factor() {
    for factor in [0.0, -0.0, f32::MAX, f32::MIN] {
        assert_accepted(&sample().param("factor", factor));
    }
}

#[test]
fn rejects_an_output_of_another_shape() {
    let error = refusal(&reshaped(&sample(), "out", DType::F32, &[1, 768]));
    assert_refusal(&error, Stem::Scale, "out", Check::Shape, "[3, 256]", "[1, 768]");
}
