//! `rms_norm`: a norm before attention or feed-forward. A square, a sum and two products per element.

use assay_benches::smollm2::EMBD;
use assay_benches::{Dense, elementwise};
use criterion::Criterion;
use kernels::{Record, Stem};

pub fn bench(criterion: &mut Criterion) {
    let weighted = |record: Record| record.param("eps", 1e-5f32).gauss("weight", &[EMBD]);
    elementwise(criterion, Stem::RmsNorm, &["x"], EMBD, 4, weighted);
}
