//! Cases of `silu_mul`.

use std::ops::Range;

use kernels::{DType, Record, Stem};

use super::rowwise::{RowWise, Spec};
use crate::data::Operands;

/// Cases of `silu_mul`.
#[derive(Debug)]
pub struct SiluMul;

/// The family of this op.
pub type Cases = super::rowwise::Rows<SiluMul>;

impl RowWise for SiluMul {
    const STEM: Stem = Stem::SiluMul;
    const VARIANTS: &'static [&'static str] = &["plain"];

    fn record(spec: &Spec, x: &[f32], rows: Range<usize>) -> Record {
        let shape = [rows.len(), spec.n];
        let gate = spec.part(x, &rows);
        let record =
            Record::new(Stem::SiluMul).floats("up", &shape, &spec.other(rows), spec.packing.second());
        if spec.in_place {
            return record.out_holding("out", DType::F32, &shape, bytemuck::cast_slice(gate), spec.packing);
        }
        record.floats("gate", &shape, gate, spec.packing).out("out", DType::F32, &shape, spec.packing.out())
    }
}
