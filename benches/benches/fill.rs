//! `fill`: a buffer as large as the activations of a feed-forward layer.

use assay_benches::smollm2::FF;
use assay_benches::{elementwise, run};
use kernels::Stem;

fn main() {
    run(|criterion| elementwise(criterion, Stem::Fill, &[], FF, 1, |record| record.param("value", 0.5f32)));
}
