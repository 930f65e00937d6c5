//! `silu_mul`: the gate of a feed-forward layer. A sigmoid and two products count as four operations.

use assay_benches::elementwise;
use assay_benches::smollm2::FF;
use criterion::Criterion;
use kernels::Stem;

pub fn bench(criterion: &mut Criterion) {
    elementwise(criterion, Stem::SiluMul, &["gate", "up"], FF, 4, |record| record);
}
