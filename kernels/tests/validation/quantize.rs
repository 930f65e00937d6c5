//! Validation of `quantize`.

use kernels::{Check, DType, Record, Role, Stem};

use crate::{assert_accepted, assert_refusal, dense, input, refusal, reshaped};

pub(crate) fn sample() -> Record {
    let record = input(Record::new(Stem::Quantize), "x", &[3, 256]);
    dense(record, "out", Role::Output, DType::Q8_0, &[3, 256])
}

#[test]
fn accepts_every_format_that_has_an_encoder() {
    for dtype in DType::QUANTIZABLE {
        assert_accepted(&reshaped(&sample(), "out", dtype, &[3, 256]));
    }
}

#[test]
fn rejects_an_output_of_another_shape() {
    let error = refusal(&reshaped(&sample(), "out", DType::Q8_0, &[3, 224]));
    assert_refusal(&error, Stem::Quantize, "out", Check::Shape, "[3, 256]", "[3, 224]");
}
