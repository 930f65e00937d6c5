//! Validation of `layer_norm`.

use kernels::{Check, DType, Op, Record, Stem};

use crate::{assert_accepted, assert_refusal, input, output, refusal, refusal_after, reshaped, without};

pub(crate) fn sample() -> Record {
    let record = input(Record::new(Stem::LayerNorm).param("eps", 1e-5f32), "x", &[3, 256]);
    output(input(input(record, "weight", &[256]), "bias", &[256]), "out", &[3, 256])
}

#[test]
fn rejects_an_epsilon_that_is_nan_infinite_zero_or_negative() {
    for eps in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -1e-6] {
        let error = refusal_after(Stem::LayerNorm, |op| {
            let Op::LayerNorm(op) = op else { unreachable!() };
            op.eps = eps;
        });
        assert_refusal(&error, Stem::LayerNorm, "eps", Check::Parameter, "finite positive", eps);
    }
}

#[test]
fn accepts_rows_without_a_bias() {
    assert_accepted(&without(&sample(), "bias"));
}

#[test]
fn rejects_a_weight_or_bias_of_another_length_than_the_rows() {
    for name in ["weight", "bias"] {
        for n in [255, 257] {
            let error = refusal(&reshaped(&sample(), name, DType::F32, &[n]));
            assert_refusal(&error, Stem::LayerNorm, name, Check::Shape, 256, n);
        }
    }
}

#[test]
fn rejects_an_output_of_another_shape() {
    let error = refusal(&reshaped(&sample(), "out", DType::F32, &[2, 256]));
    assert_refusal(&error, Stem::LayerNorm, "out", Check::Shape, "[3, 256]", "[2, 256]");
}
