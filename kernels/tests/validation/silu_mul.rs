//! Validation of `silu_mul`.

use kernels::{Check, DType, Record, Stem};

use crate::{assert_refusal, input, output, refusal, reshaped};

pub(crate) fn sample() -> Record {
    gated(Record::new(Stem::SiluMul))
}

/// The operands of a gated activation.
pub(crate) fn gated(record: Record) -> Record {
    output(input(input(record, "gate", &[3, 256]), "up", &[3, 256]), "out", &[3, 256])
}

#[test]
fn rejects_a_factor_or_an_output_of_another_shape_than_the_gate() {
    for operand in ["up", "out"] {
        for shape in [[1, 256], [3, 1], [256, 3]] {
            let error = refusal(&reshaped(&sample(), operand, DType::F32, &shape));
            let got = format!("{shape:?}");
            assert_refusal(&error, Stem::SiluMul, operand, Check::Shape, "[3, 256]", got);
        }
    }
}
