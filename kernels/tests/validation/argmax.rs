//! Validation of `argmax`.

use kernels::ops::Argmax;
use kernels::{Check, DType, Layout, Record, Role, Stem, View, ViewMut};

use crate::{Memory, assert_refusal, dense, input, refusal, reshaped};

pub(crate) fn sample() -> Record {
    let record = input(Record::new(Stem::Argmax), "x", &[3, 256]);
    dense(record, "out", Role::Output, DType::U32, &[3])
}

#[test]
fn rejects_another_number_of_results_than_of_rows() {
    for n in [2, 256] {
        let error = refusal(&reshaped(&sample(), "out", DType::U32, &[n]));
        assert_refusal(&error, Stem::Argmax, "out", Check::Shape, 3, n);
    }
}

#[test]
fn rejects_more_columns_than_an_index_can_count() {
    let columns = u32::MAX as usize;
    let (x, mut out) = (Memory(1 << 40), Memory(4));
    let mut argmax = |columns| {
        let x = View::new(&x, Layout::contiguous(DType::F32, &[1, columns]));
        let out = ViewMut::new(&mut out, Layout::contiguous(DType::U32, &[1]));
        Argmax { x, out }.validate().map(drop)
    };
    assert_eq!(argmax(columns), Ok(()));
    let error = argmax(columns + 1).unwrap_err();
    assert_refusal(&error, Stem::Argmax, "x", Check::Shape, columns, columns + 1);
}
