//! Cases of `gelu_mul`. The variant is the formula.

use std::ops::Range;

use kernels::{DType, Record, Stem};

use super::rowwise::{RowWise, Spec};
use crate::data::Operands;

/// Cases of `gelu_mul`.
#[derive(Debug)]
pub struct GeluMul;

/// The family of this op.
pub type Cases = super::rowwise::Rows<GeluMul>;

impl RowWise for GeluMul {
    const STEM: Stem = Stem::GeluMul;
    const VARIANTS: &'static [&'static str] = &["erf", "tanh"];

    fn record(spec: &Spec, x: &[f32], rows: Range<usize>) -> Record {
        let shape = [rows.len(), spec.n];
        let gate = spec.part(x, &rows);
        let record = Record::new(Stem::GeluMul).param("form", &spec.variant).floats(
            "up",
            &shape,
            &spec.other(rows),
            spec.packing.second(),
        );
        if spec.in_place {
            return record.out_holding("out", DType::F32, &shape, bytemuck::cast_slice(gate), spec.packing);
        }
        record.floats("gate", &shape, gate, spec.packing).out("out", DType::F32, &shape, spec.packing.out())
    }
}
