//! Cases of `layer_norm`. The variant is epsilon, with or without a bias.
//!
//! There is no exact kind: the root and the divisions by `n` round, in ways that implementations may choose.

use std::ops::Range;

use kernels::{Check, DType, Record, Stem};

use super::rowwise::{Law, RowWise, Rows, Spec};
use crate::data::{Operands, Packing};
use crate::trial::{Stop, Trial};

/// Cases of `layer_norm`.
#[derive(Debug)]
pub struct LayerNorm;

/// The family of this op.
pub type Cases = Rows<LayerNorm>;

impl RowWise for LayerNorm {
    const STEM: Stem = Stem::LayerNorm;
    const VARIANTS: &'static [&'static str] = &["eps-1e-5", "eps-1e-12", "plain-eps-1e-5", "plain-eps-0.5"];
    // The only element of a row is its mean.
    const VISIBLE: bool = false;
    const LONG: &'static [usize] = &[1025, 2048, 4097, 8192, 8193, 9001];
    const LAWS: &'static [Law] = &[("shift_invariance", shift_invariance), ("bad_eps", bad_eps)];

    fn record(spec: &Spec, x: &[f32], rows: Range<usize>) -> Record {
        let plain = spec.variant.starts_with("plain-");
        let eps = spec.number(if plain { "plain-eps-" } else { "eps-" });
        let shape = [rows.len(), spec.n];
        let part = spec.part(x, &rows);
        let record = Record::new(Stem::LayerNorm).param("eps", eps);
        let mut record = record.floats("weight", &[spec.n], &spec.row(), Packing::Dense);
        if !plain {
            let values: Vec<f32> = spec.row().iter().rev().map(|v| 0.75 * v + 0.5).collect();
            record = record.floats("bias", &[spec.n], &values, Packing::Dense);
        }
        if spec.in_place {
            return record.out_holding("out", DType::F32, &shape, bytemuck::cast_slice(part), spec.packing);
        }
        record.floats("x", &shape, part, spec.packing).out("out", DType::F32, &shape, spec.packing.out())
    }
}

/// A row of whole numbers, of which there are a power of two, has an exact mean: adding 8 to each leaves its result.
fn shift_invariance(spec: &Spec, trial: &mut Trial<'_>) -> Result<(), Stop> {
    let n = spec.n.next_power_of_two();
    let mut spec = spec.with_variant("eps-1e-5");
    (spec.n, spec.rows) = (n, 1);
    let x: Vec<f32> = (0..n).map(|i| [3.0, -1.0, 4.0, 1.0, -5.0, 9.0, 2.0][i % 7]).collect();
    let shifted: Vec<f32> = x.iter().map(|v| v + 8.0).collect();
    let left = trial.outputs(&LayerNorm::record(&spec, &x, 0..1))?;
    let right = trial.outputs(&LayerNorm::record(&spec, &shifted, 0..1))?;
    trial.same_rows("shift invariance", &left[0].2, &right[0].2);
    Ok(())
}

/// An epsilon that is not positive is refused.
#[expect(clippy::unnecessary_wraps, reason = "the signature of a law")]
fn bad_eps(spec: &Spec, trial: &mut Trial<'_>) -> Result<(), Stop> {
    for eps in [0.0f32, -1.0, -1e-30] {
        let record = LayerNorm::record(spec, &spec.x(), 0..spec.rows).param("eps", eps);
        trial.refused(&record, "eps", Check::Parameter);
    }
    Ok(())
}
