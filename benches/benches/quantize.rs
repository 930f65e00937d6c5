//! `quantize`: the activations of a feed-forward layer, to every format that has an encoder.

use assay_benches::smollm2::FF;
use assay_benches::{Cost, Dense, op};
use criterion::Criterion;
use kernels::{DType, Record, Stem};

/// Rows to convert.
const ROWS: usize = 64;

pub fn bench(criterion: &mut Criterion) {
    for format in DType::QUANTIZABLE {
        let shape = [ROWS, FF];
        let record = Record::new(Stem::Quantize).gauss("x", &shape).empty("out", format, &shape);
        op(criterion, &format!("{format}, {ROWS}x{FF}"), &record, Cost::pass(&record, ROWS * FF));
    }
}
