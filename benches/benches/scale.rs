//! `scale`: the residual stream times a number.

use assay_benches::smollm2::EMBD;
use assay_benches::{elementwise, run};
use kernels::Stem;

fn main() {
    run(|criterion| {
        elementwise(criterion, Stem::Scale, &["x"], EMBD, 1, |record| record.param("factor", 0.125f32));
    });
}
