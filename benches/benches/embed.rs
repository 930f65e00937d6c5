//! `embed`: rows of the token table. Only the rows that are looked up count as moved.

use assay_benches::smollm2::{EMBD, ROWS, VOCAB};
use assay_benches::{Cost, Dense, op};
use conformance::data::Operands;
use criterion::Criterion;
use kernels::{DType, Record, Stem};

pub fn bench(criterion: &mut Criterion) {
    let table = Record::new(Stem::Embed).weights("table", DType::Q8_0, [VOCAB, EMBD]);
    for rows in ROWS {
        let ids: Vec<u32> = (0..).step_by(769).take(rows).collect();
        let record = table.clone().indices("ids", &ids).empty("out", DType::F32, &[rows, EMBD]);
        let row = EMBD / DType::Q8_0.block_len() * DType::Q8_0.block_bytes();
        let cost = Cost { bytes: rows * (row + 4 * EMBD + 4), flops: rows * EMBD };
        op(criterion, &format!("q8_0, {rows}x{EMBD}"), &record, cost);
    }
}
