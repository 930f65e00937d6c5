//! Validation of `add`, and of `mul`, which takes the same operands.

use kernels::{Check, DType, Record, Stem};

use crate::{assert_accepted, assert_refusal, input, output, refusal, reshaped};

pub(crate) fn sample() -> Record {
    binary(Stem::Add)
}

/// The operands of an element-wise op of two.
pub(crate) fn binary(stem: Stem) -> Record {
    output(input(input(Record::new(stem), "a", &[3, 256]), "b", &[3, 256]), "out", &[3, 256])
}

const BINARY: [Stem; 2] = [Stem::Add, Stem::Mul];

#[test]
fn accepts_one_row_for_all() {
    for stem in BINARY {
        assert_accepted(&reshaped(&binary(stem), "b", DType::F32, &[1, 256]));
    }
}

#[test]
fn rejects_rows_that_are_neither_one_nor_as_many() {
    for stem in BINARY {
        for rows in [2, 4] {
            let error = refusal(&reshaped(&binary(stem), "b", DType::F32, &[rows, 256]));
            assert_refusal(&error, stem, "b", Check::Shape, "3 or 1", rows);
        }
    }
}

#[test]
fn rejects_columns_that_are_not_as_many() {
    for stem in BINARY {
        for columns in [1, 255] {
            let error = refusal(&reshaped(&binary(stem), "b", DType::F32, &[1, columns]));
            assert_refusal(&error, stem, "b", Check::Shape, 256, columns);
        }
    }
}

#[test]
fn rejects_an_output_of_another_shape() {
    for stem in BINARY {
        let error = refusal(&reshaped(&binary(stem), "out", DType::F32, &[1, 256]));
        assert_refusal(&error, stem, "out", Check::Shape, "[3, 256]", "[1, 256]");
    }
}
