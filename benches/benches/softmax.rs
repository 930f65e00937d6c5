//! `softmax`: the scores of one token's heads over a full cache, and the logits. Five operations per element.

use assay_benches::smollm2::{CONTEXT, HEADS, VOCAB};
use assay_benches::{Cost, Dense, op};
use criterion::Criterion;
use kernels::{DType, Record, Stem};

pub fn bench(criterion: &mut Criterion) {
    for [rows, columns] in [[HEADS, CONTEXT], [1, VOCAB]] {
        let record = Record::new(Stem::Softmax).param("scale", 1.0f32).gauss("x", &[rows, columns]).empty(
            "out",
            DType::F32,
            &[rows, columns],
        );
        op(criterion, &format!("{rows}x{columns}"), &record, Cost::pass(&record, 5 * rows * columns));
    }
}
