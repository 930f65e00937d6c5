//! `cast`: activations of a feed-forward layer between float types.

use assay_benches::smollm2::FF;
use assay_benches::{Cost, Dense, op};
use criterion::Criterion;
use kernels::{DType, Record, Stem};

/// Rows to convert.
const ROWS: usize = 64;

pub fn bench(criterion: &mut Criterion) {
    let (wide, narrow) = (DType::F32, [DType::F16, DType::BF16]);
    for (from, to) in narrow.into_iter().flat_map(|other| [(wide, other), (other, wide)]) {
        let shape = [ROWS, FF];
        let record = Record::new(Stem::Cast).weights("x", from, shape).empty("out", to, &shape);
        op(criterion, &format!("{from} to {to}, {ROWS}x{FF}"), &record, Cost::pass(&record, ROWS * FF));
    }
}
