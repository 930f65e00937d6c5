//! Validation of `rms_norm`.

use kernels::{Check, DType, Op, Record, Stem};

use crate::{assert_accepted, assert_refusal, input, output, refusal, refusal_after, reshaped};

pub(crate) fn sample() -> Record {
    let record = Record::new(Stem::RmsNorm).param("eps", 1e-5f32);
    output(input(input(record, "x", &[3, 256]), "weight", &[256]), "out", &[3, 256])
}

#[test]
fn rejects_an_epsilon_that_is_nan_infinite_or_negative() {
    for eps in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1e-6] {
        let error = refusal_after(Stem::RmsNorm, |op| {
            let Op::RmsNorm(op) = op else { unreachable!() };
            op.eps = eps;
        });
        assert_refusal(&error, Stem::RmsNorm, "eps", Check::Parameter, "finite not negative", eps);
    }
}

#[test]
fn accepts_an_epsilon_of_zero() {
    assert_accepted(&sample().param("eps", 0.0f32));
}

#[test]
fn rejects_a_weight_of_another_length_than_the_rows() {
    for n in [255, 257] {
        let error = refusal(&reshaped(&sample(), "weight", DType::F32, &[n]));
        assert_refusal(&error, Stem::RmsNorm, "weight", Check::Shape, 256, n);
    }
}

#[test]
fn rejects_an_output_of_another_shape() {
    let error = refusal(&reshaped(&sample(), "out", DType::F32, &[2, 256]));
    assert_refusal(&error, Stem::RmsNorm, "out", Check::Shape, "[3, 256]", "[2, 256]");
}
