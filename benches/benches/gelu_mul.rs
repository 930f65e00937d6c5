//! `gelu_mul`: the gate of a feed-forward layer, in the form with tanh. It counts as eight operations.

use assay_benches::smollm2::FF;
use assay_benches::{elementwise, run};
use kernels::Stem;
use kernels::ops::gelu_mul::Gelu;

fn main() {
    run(|criterion| {
        let tanh = |record: kernels::Record| record.param("form", Gelu::Tanh);
        elementwise(criterion, Stem::GeluMul, &["gate", "up"], FF, 8, tanh);
    });
}
