//! `mul`: a product of two tensors as wide as the residual stream.

use assay_benches::smollm2::EMBD;
use assay_benches::{elementwise, run};
use kernels::Stem;

fn main() {
    run(|criterion| elementwise(criterion, Stem::Mul, &["a", "b"], EMBD, 1, |record| record));
}
