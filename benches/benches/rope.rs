//! `rope`: the queries of a layer. An angle, its sine and cosine and a rotation count as ten operations per pair.

use assay_benches::smollm2::{CONTEXT, HEAD_DIM, HEADS, ROWS, last_positions};
use assay_benches::{Cost, Dense, op};
use conformance::data::Operands;
use criterion::Criterion;
use kernels::ops::rope::{Pairing, Scaling};
use kernels::{DType, Record, Stem};

pub fn bench(criterion: &mut Criterion) {
    for (rows, pairing) in ROWS.into_iter().flat_map(|r| [(r, Pairing::Interleaved), (r, Pairing::Neox)]) {
        let shape = [rows, HEADS, HEAD_DIM];
        let record = Record::new(Stem::Rope)
            .param("pairing", pairing)
            .param("n_rot", HEAD_DIM)
            .param("base", 100_000.0f32)
            .param("scaling", Scaling::None)
            .param("max_positions", CONTEXT)
            .gauss("x", &shape)
            .indices("positions", &last_positions(rows))
            .empty("out", DType::F32, &shape);
        let cost = Cost::pass(&record, 5 * rows * HEADS * HEAD_DIM);
        op(criterion, &format!("{pairing:?}, {rows}x{HEADS}x{HEAD_DIM}"), &record, cost);
    }
}
