//! `copy`: a copy of the residual stream.

use assay_benches::elementwise;
use assay_benches::smollm2::EMBD;
use criterion::Criterion;
use kernels::Stem;

pub fn bench(criterion: &mut Criterion) {
    elementwise(criterion, Stem::Copy, &["x"], EMBD, 1, |record| record);
}
