//! Validation of `matmul`.

use kernels::{Check, DType, Record, Stem};

use crate::{assert_accepted, assert_refusal, input, output, refusal, reshaped, without};

pub(crate) fn sample() -> Record {
    let record = input(input(Record::new(Stem::Matmul), "x", &[3, 256]), "weight", &[4, 256]);
    output(input(record, "bias", &[4]), "out", &[3, 4])
}

#[test]
fn accepts_weights_of_any_format_with_and_without_a_bias() {
    for dtype in DType::WEIGHTS {
        let record = reshaped(&sample(), "weight", dtype, &[4, 256]);
        assert_accepted(&record);
        assert_accepted(&without(&record, "bias"));
    }
}

#[test]
fn rejects_weights_with_rows_of_another_length_than_the_activations() {
    for k in [255, 512] {
        let error = refusal(&reshaped(&sample(), "weight", DType::F32, &[4, k]));
        assert_refusal(&error, Stem::Matmul, "weight", Check::Shape, 256, k);
    }
}

#[test]
fn rejects_an_output_that_is_not_rows_by_weights() {
    let error = refusal(&reshaped(&sample(), "out", DType::F32, &[2, 4]));
    assert_refusal(&error, Stem::Matmul, "out", Check::Shape, 3, 2);
    let error = refusal(&reshaped(&sample(), "out", DType::F32, &[3, 5]));
    assert_refusal(&error, Stem::Matmul, "out", Check::Shape, 4, 5);
    let error = refusal(&reshaped(&sample(), "out", DType::F32, &[4, 3]));
    assert_refusal(&error, Stem::Matmul, "out", Check::Shape, 3, 4);
}

#[test]
fn rejects_a_bias_of_another_length_than_the_outputs() {
    for n in [3, 256] {
        let error = refusal(&reshaped(&sample(), "bias", DType::F32, &[n]));
        assert_refusal(&error, Stem::Matmul, "bias", Check::Shape, 4, n);
    }
}
