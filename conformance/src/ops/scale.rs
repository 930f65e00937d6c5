//! Cases of `scale`. The variant is the factor.

use std::ops::Range;

use kernels::{DType, Record, Stem};

use super::rowwise::{RowWise, Spec};
use crate::data::{Data, Operands};

/// Cases of `scale`.
#[derive(Debug)]
pub struct Scale;

/// The family of this op.
pub type Cases = super::rowwise::Rows<Scale>;

impl RowWise for Scale {
    const STEM: Stem = Stem::Scale;
    const VARIANTS: &'static [&'static str] = &["by-0.3", "by--7", "by-1e-38", "by-1e30"];
    const EXACT: Option<Data> = Some(Data::Integers);

    fn record(spec: &Spec, x: &[f32], rows: Range<usize>) -> Record {
        let factor: f32 = spec.number("by-");
        let shape = [rows.len(), spec.n];
        let part = spec.part(x, &rows);
        let record = Record::new(Stem::Scale).param("factor", factor);
        if spec.in_place {
            return record.out_holding("out", DType::F32, &shape, bytemuck::cast_slice(part), spec.packing);
        }
        record.floats("x", &shape, part, spec.packing).out("out", DType::F32, &shape, spec.packing.out())
    }
}
