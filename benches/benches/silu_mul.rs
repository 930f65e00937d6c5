//! `silu_mul`: the gate of a feed-forward layer. A sigmoid and two products count as four operations.

use assay_benches::smollm2::FF;
use assay_benches::{elementwise, run};
use kernels::Stem;

fn main() {
    run(|criterion| elementwise(criterion, Stem::SiluMul, &["gate", "up"], FF, 4, |record| record));
}
