//! Validation of `fill`.

use kernels::{Check, DType, Op, Record, Stem};

use crate::{assert_accepted, assert_refusal, output, refusal_after, reshaped};

pub(crate) fn sample() -> Record {
    output(Record::new(Stem::Fill).param("value", 1.0f32), "out", &[3, 256])
}

#[test]
fn accepts_every_float() {
    for dtype in DType::FLOATS {
        assert_accepted(&reshaped(&sample(), "out", dtype, &[3, 256]));
    }
}

#[test]
fn rejects_a_value_that_is_no_number() {
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let error = refusal_after(Stem::Fill, |op| {
            let Op::Fill(op) = op else { unreachable!() };
            op.value = value;
        });
        assert_refusal(&error, Stem::Fill, "value", Check::Parameter, "finite", value);
    }
}
