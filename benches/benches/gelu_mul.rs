//! `gelu_mul`: the gate of a feed-forward layer, in the form with tanh. It counts as eight operations.

use assay_benches::elementwise;
use assay_benches::smollm2::FF;
use criterion::Criterion;
use kernels::Stem;
use kernels::ops::gelu_mul::Gelu;

pub fn bench(criterion: &mut Criterion) {
    let tanh = |record: kernels::Record| record.param("form", Gelu::Tanh);
    elementwise(criterion, Stem::GeluMul, &["gate", "up"], FF, 8, tanh);
}
