//! `attention`: a token, and a piece of a prompt, over a full cache.

use assay_benches::smollm2::{CONTEXT, HEAD_DIM, HEADS, KV_HEADS, ROWS, last_positions};
use assay_benches::{Cost, Dense, op};
use conformance::data::Operands;
use criterion::Criterion;
use kernels::{DType, Record, Stem};

pub fn bench(criterion: &mut Criterion) {
    for (rows, format) in ROWS.into_iter().flat_map(|rows| DType::CACHE.map(|format| (rows, format))) {
        let (shape, whole) = ([rows, HEADS, HEAD_DIM], [1, CONTEXT, KV_HEADS, HEAD_DIM]);
        let positions = last_positions(rows);
        // Two products of a row with a matrix of what it sees, a product and a sum per term.
        let seen: usize = (CONTEXT + 1 - rows..=CONTEXT).sum();
        let record = Record::new(Stem::Attention)
            .param("scale", 0.125f32)
            .param("window", None::<usize>)
            .param("softcap", None::<f32>)
            .gauss("q", &shape)
            .cache("k_cache", format, whole)
            .cache("v_cache", format, whole)
            .indices("seqs", &vec![0; rows])
            .indices("positions", &positions)
            .empty("out", DType::F32, &shape);
        let cost = Cost::pass(&record, 4 * seen * HEADS * HEAD_DIM);
        op(criterion, &format!("{format}, rows={rows} slots={CONTEXT}"), &record, cost);
    }
}
