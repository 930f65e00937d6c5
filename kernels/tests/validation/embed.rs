//! Validation of `embed`.

use kernels::{Check, DType, Layout, Record, Role, Stem};

use crate::{
    Memory, assert_accepted, assert_refusal, indices, input, output, refusal, reindexed, reshaped, without,
};

/// Three rows of a table of five.
pub(crate) fn sample() -> Record {
    let record = input(Record::new(Stem::Embed), "table", &[5, 256]);
    output(indices(record, "ids", &[4, 0, 4]), "out", &[3, 256])
}

#[test]
fn accepts_a_table_of_any_weight_format() {
    for dtype in DType::WEIGHTS {
        assert_accepted(&reshaped(&sample(), "table", dtype, &[5, 256]));
    }
}

#[test]
fn rejects_an_id_equal_to_the_vocabulary() {
    for id in [5, u32::MAX] {
        let error = refusal(&reindexed(&sample(), "ids", &[4, id, 0]));
        assert_refusal(&error, Stem::Embed, "ids", Check::Index, "below 5", format!("{id} at index 1"));
    }
}

#[test]
fn rejects_another_number_of_ids_than_of_rows() {
    for ids in [&[0, 1][..], &[0, 1, 2, 3]] {
        let error = refusal(&reindexed(&sample(), "ids", ids));
        assert_refusal(&error, Stem::Embed, "ids", Check::Shape, 3, ids.len());
    }
}

#[test]
fn rejects_rows_of_another_length_than_the_tables() {
    let error = refusal(&reshaped(&sample(), "out", DType::F32, &[3, 255]));
    assert_refusal(&error, Stem::Embed, "out", Check::Shape, 256, 255);
}

#[test]
fn rejects_ids_that_the_host_does_not_know() {
    // The record holds fewer bytes than the device's buffer, so that one id would go unchecked.
    let layout = Layout::contiguous(DType::U32, &[3]);
    let record = without(&sample(), "ids").operand("ids", Role::Indices, layout, vec![0; 8]);
    let mut buffers = [Memory(5 * 256 * 4), Memory(3 * 256 * 4), Memory(12)];
    let error = record.bind(&mut buffers).unwrap().validate().unwrap_err();
    assert_refusal(&error, Stem::Embed, "ids", Check::Index, 3, 0);
}
