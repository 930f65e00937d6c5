//! Validation of `softmax`.

use kernels::{Check, DType, Op, Record, Stem};

use crate::{assert_refusal, input, output, refusal, refusal_after, reshaped};

pub(crate) fn sample() -> Record {
    let record = Record::new(Stem::Softmax).param("scale", 0.5f32);
    output(input(record, "x", &[3, 256]), "out", &[3, 256])
}

#[test]
fn rejects_a_scale_that_is_no_number() {
    for scale in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let error = refusal_after(Stem::Softmax, |op| {
            let Op::Softmax(op) = op else { unreachable!() };
            op.scale = scale;
        });
        assert_refusal(&error, Stem::Softmax, "scale", Check::Parameter, "finite", scale);
    }
}

#[test]
fn rejects_an_output_of_another_shape() {
    let error = refusal(&reshaped(&sample(), "out", DType::F32, &[3, 255]));
    assert_refusal(&error, Stem::Softmax, "out", Check::Shape, "[3, 256]", "[3, 255]");
}
