//! Validation of `copy`.

use kernels::{Check, DType, Record, Stem};

use crate::{assert_accepted, assert_refusal, input, output, refusal, reshaped};

pub(crate) fn sample() -> Record {
    output(input(Record::new(Stem::Copy), "x", &[3, 256]), "out", &[3, 256])
}

#[test]
fn accepts_every_type_and_rejects_another_on_the_other_side() {
    for dtype in DType::WEIGHTS.into_iter().chain([DType::U32]) {
        let record = reshaped(&sample(), "x", dtype, &[3, 256]);
        assert_accepted(&reshaped(&record, "out", dtype, &[3, 256]));
        let other = if dtype == DType::F32 { DType::U32 } else { DType::F32 };
        let error = refusal(&reshaped(&record, "out", other, &[3, 256]));
        assert_refusal(&error, Stem::Copy, "out", Check::DType, dtype, other);
    }
}

#[test]
fn rejects_an_output_of_another_shape() {
    let error = refusal(&reshaped(&sample(), "out", DType::F32, &[256, 3]));
    assert_refusal(&error, Stem::Copy, "out", Check::Shape, "[3, 256]", "[256, 3]");
}
