//! `argmax`: the greedy choice of a token. One comparison per element.

use assay_benches::smollm2::VOCAB;
use assay_benches::{Cost, Dense, op};
use criterion::Criterion;
use kernels::{DType, Record, Stem};

pub fn bench(criterion: &mut Criterion) {
    let record = Record::new(Stem::Argmax).gauss("x", &[1, VOCAB]).empty("out", DType::U32, &[1]);
    op(criterion, &format!("1x{VOCAB}"), &record, Cost::pass(&record, VOCAB));
}
