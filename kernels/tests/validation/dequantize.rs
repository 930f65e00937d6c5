//! Validation of `dequantize`.

use kernels::{Check, DType, Record, Role, Stem};

use crate::{assert_accepted, assert_refusal, dense, output, refusal, reshaped};

pub(crate) fn sample() -> Record {
    let record = dense(Record::new(Stem::Dequantize), "x", Role::Input, DType::Q4K, &[3, 256]);
    output(record, "out", &[3, 256])
}

#[test]
fn accepts_every_weight_format() {
    for dtype in DType::WEIGHTS {
        assert_accepted(&reshaped(&sample(), "x", dtype, &[3, 256]));
    }
}

#[test]
fn rejects_an_output_of_another_shape() {
    let error = refusal(&reshaped(&sample(), "out", DType::F32, &[3, 144]));
    assert_refusal(&error, Stem::Dequantize, "out", Check::Shape, "[3, 256]", "[3, 144]");
}
