//! Validation of `cast`.

use kernels::{Check, DType, Record, Stem};

use crate::{assert_accepted, assert_refusal, input, output, refusal, reshaped};

pub(crate) fn sample() -> Record {
    output(input(Record::new(Stem::Cast), "x", &[3, 256]), "out", &[3, 256])
}

#[test]
fn accepts_every_pair_of_floats() {
    for from in DType::FLOATS {
        for to in DType::FLOATS {
            let record = reshaped(&sample(), "x", from, &[3, 256]);
            assert_accepted(&reshaped(&record, "out", to, &[3, 256]));
        }
    }
}

#[test]
fn rejects_an_output_of_another_shape() {
    let error = refusal(&reshaped(&sample(), "out", DType::F16, &[3, 512]));
    assert_refusal(&error, Stem::Cast, "out", Check::Shape, "[3, 256]", "[3, 512]");
}
