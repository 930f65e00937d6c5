//! Cases of `rms_norm`. The variant is epsilon.
//!
//! There is no exact kind: the root and the division by `n` round, in ways that implementations may choose.

use std::ops::Range;

use kernels::{Check, DType, Record, Stem};

use super::rowwise::{Law, RowWise, Spec};
use crate::data::{Operands, Packing};
use crate::trial::{Stop, Trial};

/// Cases of `rms_norm`.
#[derive(Debug)]
pub struct RmsNorm;

/// The family of this op.
pub type Cases = super::rowwise::Rows<RmsNorm>;

impl RowWise for RmsNorm {
    const STEM: Stem = Stem::RmsNorm;
    const VARIANTS: &'static [&'static str] = &["eps-1e-5", "eps-1e-6", "eps-0", "eps-0.5"];
    const LONG: &'static [usize] = &[1025, 2048, 4097, 8192, 8193, 9001];
    const LAWS: &'static [Law] = &[("scale_invariance", scale_invariance), ("bad_eps", bad_eps)];

    fn record(spec: &Spec, x: &[f32], rows: Range<usize>) -> Record {
        let eps: f32 = spec.number("eps-");
        let shape = [rows.len(), spec.n];
        let part = spec.part(x, &rows);
        let record = Record::new(Stem::RmsNorm).param("eps", eps);
        let record = record.floats("weight", &[spec.n], &spec.row(), Packing::Dense);
        if spec.in_place {
            return record.out_holding("out", DType::F32, &shape, bytemuck::cast_slice(part), spec.packing);
        }
        record.floats("x", &shape, part, spec.packing).out("out", DType::F32, &shape, spec.packing.out())
    }
}

/// Without epsilon, a factor of 4 on a row leaves its result.
fn scale_invariance(spec: &Spec, trial: &mut Trial<'_>) -> Result<(), Stop> {
    let spec = spec.with_variant("eps-0");
    let x = spec.x();
    let scaled: Vec<f32> = x.iter().map(|v| v * 4.0).collect();
    let left = trial.outputs(&RmsNorm::record(&spec, &x, 0..spec.rows))?;
    let right = trial.outputs(&RmsNorm::record(&spec, &scaled, 0..spec.rows))?;
    trial.same_rows("scale invariance", &left[0].2, &right[0].2);
    Ok(())
}

/// A negative epsilon is refused.
#[expect(clippy::unnecessary_wraps, reason = "the signature of a law")]
fn bad_eps(spec: &Spec, trial: &mut Trial<'_>) -> Result<(), Stop> {
    for eps in [-1.0f32, -1e-30] {
        let record = RmsNorm::record(spec, &spec.x(), 0..spec.rows).param("eps", eps);
        trial.refused(&record, "eps", Check::Parameter);
    }
    Ok(())
}
