//! `mul`: a product of two tensors as wide as the residual stream.

use assay_benches::elementwise;
use assay_benches::smollm2::EMBD;
use criterion::Criterion;
use kernels::Stem;

pub fn bench(criterion: &mut Criterion) {
    elementwise(criterion, Stem::Mul, &["a", "b"], EMBD, 1, |record| record);
}
