//! `argmax`: the greedy choice of a token. One comparison per element.

use assay_benches::smollm2::VOCAB;
use assay_benches::{Cost, Dense, op, run};
use kernels::{DType, Record, Stem};

fn main() {
    run(|criterion| {
        let record = Record::new(Stem::Argmax).gauss("x", &[1, VOCAB]).empty("out", DType::U32, &[1]);
        op(criterion, &format!("1x{VOCAB}"), &record, Cost::pass(&record, VOCAB));
    });
}
