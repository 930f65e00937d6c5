//! Cases of `add`. The variant says whether the second operand is a tensor or one row for all.

use std::ops::Range;

use kernels::{DType, Record, Stem};

use super::rowwise::{RowWise, Spec};
use crate::data::{Data, Operands};

/// Cases of `add`.
#[derive(Debug)]
pub struct Add;

/// The family of this op.
pub type Cases = super::rowwise::Rows<Add>;

impl RowWise for Add {
    const STEM: Stem = Stem::Add;
    const VARIANTS: &'static [&'static str] = &["tensor", "row"];
    const EXACT: Option<Data> = Some(Data::Powers);

    fn record(spec: &Spec, x: &[f32], rows: Range<usize>) -> Record {
        let shape = [rows.len(), spec.n];
        let a = spec.part(x, &rows);
        let record = Record::new(Stem::Add);
        let record = match spec.variant.as_str() {
            "row" => record.floats("b", &[1, spec.n], &spec.row(), spec.packing.second()),
            _ => record.floats("b", &shape, &spec.other(rows), spec.packing.second()),
        };
        if spec.in_place {
            return record.out_holding("out", DType::F32, &shape, bytemuck::cast_slice(a), spec.packing);
        }
        record.floats("a", &shape, a, spec.packing).out("out", DType::F32, &shape, spec.packing.out())
    }
}
