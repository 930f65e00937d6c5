//! `copy`: a copy of the residual stream.

use assay_benches::smollm2::EMBD;
use assay_benches::{elementwise, run};
use kernels::Stem;

fn main() {
    run(|criterion| elementwise(criterion, Stem::Copy, &["x"], EMBD, 1, |record| record));
}
