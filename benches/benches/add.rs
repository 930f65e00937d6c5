//! `add`: a residual connection.

use assay_benches::smollm2::EMBD;
use assay_benches::{elementwise, run};
use kernels::Stem;

fn main() {
    run(|criterion| elementwise(criterion, Stem::Add, &["a", "b"], EMBD, 1, |record| record));
}
