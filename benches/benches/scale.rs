//! `scale`: the residual stream times a number.

use assay_benches::elementwise;
use assay_benches::smollm2::EMBD;
use criterion::Criterion;
use kernels::Stem;

pub fn bench(criterion: &mut Criterion) {
    elementwise(criterion, Stem::Scale, &["x"], EMBD, 1, |record| record.param("factor", 0.125f32));
}
