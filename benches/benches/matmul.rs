//! `matmul`: the last projection of a feed-forward layer, one token at a time and a piece of a prompt, and the logits.

use assay_benches::smollm2::{EMBD, FF, ROWS, VOCAB};
use assay_benches::{Cost, Dense, op};
use criterion::Criterion;
use kernels::{DType, Record, Stem};

const FORMATS: [DType; 9] = [
    DType::F32,
    DType::F16,
    DType::Q8_0,
    DType::Q4_0,
    DType::Q4_1,
    DType::Q5_0,
    DType::Q5_1,
    DType::Q4K,
    DType::Q6K,
];

/// `[m, k]` times the transpose of `[n, k]`: a product and a sum per term.
fn matmul(criterion: &mut Criterion, format: DType, m: usize, n: usize, k: usize) {
    let record = Record::new(Stem::Matmul).gauss("x", &[m, k]).weights("weight", format, [n, k]).empty(
        "out",
        DType::F32,
        &[m, n],
    );
    op(criterion, &format!("{format}, m={m} n={n} k={k}"), &record, Cost::pass(&record, 2 * m * n * k));
}

pub fn bench(criterion: &mut Criterion) {
    for (m, format) in ROWS.into_iter().flat_map(|m| FORMATS.map(|format| (m, format))) {
        matmul(criterion, format, m, EMBD, FF);
    }
    matmul(criterion, DType::Q8_0, 1, VOCAB, EMBD);
}
