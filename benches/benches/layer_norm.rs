//! `layer_norm`: a norm before attention or feed-forward. Two sums, a square, two products and two additions per element.

use assay_benches::smollm2::EMBD;
use assay_benches::{Dense, elementwise};
use criterion::Criterion;
use kernels::{Record, Stem};

pub fn bench(criterion: &mut Criterion) {
    let affine =
        |record: Record| record.param("eps", 1e-5f32).gauss("weight", &[EMBD]).gauss("bias", &[EMBD]);
    elementwise(criterion, Stem::LayerNorm, &["x"], EMBD, 7, affine);
}
