//! `kv_write`: the keys and values of a layer into its cache. Only the slots that are written count as moved.

use assay_benches::smollm2::{CONTEXT, HEAD_DIM, KV_HEADS, ROWS, last_positions};
use assay_benches::{Cost, Dense, op};
use conformance::data::Operands;
use criterion::Criterion;
use kernels::{DType, Record, Stem};

pub fn bench(criterion: &mut Criterion) {
    for (rows, format) in ROWS.into_iter().flat_map(|rows| DType::CACHE.map(|format| (rows, format))) {
        let (shape, whole) = ([rows, KV_HEADS, HEAD_DIM], [1, CONTEXT, KV_HEADS, HEAD_DIM]);
        let record = Record::new(Stem::KvWrite)
            .gauss("k", &shape)
            .gauss("v", &shape)
            .indices("seqs", &vec![0; rows])
            .indices("positions", &last_positions(rows))
            .empty("k_cache", format, &whole)
            .empty("v_cache", format, &whole);
        let elements = 2 * rows * KV_HEADS * HEAD_DIM;
        let stored = elements / format.block_len() * format.block_bytes();
        let cost = Cost { bytes: 4 * elements + stored + 8 * rows, flops: elements };
        op(criterion, &format!("{format}, {rows}x{KV_HEADS}x{HEAD_DIM}"), &record, cost);
    }
}
