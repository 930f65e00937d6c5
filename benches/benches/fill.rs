//! `fill`: a buffer as large as the activations of a feed-forward layer.

use assay_benches::elementwise;
use assay_benches::smollm2::FF;
use criterion::Criterion;
use kernels::Stem;

pub fn bench(criterion: &mut Criterion) {
    elementwise(criterion, Stem::Fill, &[], FF, 1, |record| record.param("value", 0.5f32));
}
