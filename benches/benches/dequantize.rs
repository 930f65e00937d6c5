//! `dequantize`: the weights of a projection, from every format.

use assay_benches::smollm2::{EMBD, FF};
use assay_benches::{Cost, Dense, op};
use criterion::Criterion;
use kernels::{DType, Record, Stem};

pub fn bench(criterion: &mut Criterion) {
    for format in DType::WEIGHTS {
        let shape = [EMBD, FF];
        let record =
            Record::new(Stem::Dequantize).weights("x", format, shape).empty("out", DType::F32, &shape);
        op(criterion, &format!("{format}, {EMBD}x{FF}"), &record, Cost::pass(&record, EMBD * FF));
    }
}
