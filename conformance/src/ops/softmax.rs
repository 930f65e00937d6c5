//! Cases of `softmax`. The variant is the scale.

use std::ops::Range;

use kernels::{DType, Record, Stem};

use super::rowwise::{Law, RowWise, Spec};
use crate::data::Operands;
use crate::trial::{Stop, Trial};

/// Cases of `softmax`.
#[derive(Debug)]
pub struct Softmax;

/// The family of this op.
pub type Cases = super::rowwise::Rows<Softmax>;

impl RowWise for Softmax {
    const STEM: Stem = Stem::Softmax;
    const VARIANTS: &'static [&'static str] = &["scale-1", "scale-0.125", "scale-30", "scale--2"];
    const LONG: &'static [usize] = &[1025, 2048, 4097, 8192, 8193, 9001];
    const LAWS: &'static [Law] = &[
        ("shift", shift),
        ("sum", sum),
        ("large", large),
        ("minus_infinity", minus_infinity),
        ("all_masked", all_masked),
    ];

    fn record(spec: &Spec, x: &[f32], rows: Range<usize>) -> Record {
        let scale: f32 = spec.number("scale-");
        let shape = [rows.len(), spec.n];
        let part = spec.part(x, &rows);
        let record = Record::new(Stem::Softmax).param("scale", scale);
        if spec.in_place {
            return record.out_holding("out", DType::F32, &shape, bytemuck::cast_slice(part), spec.packing);
        }
        record.floats("x", &shape, part, spec.packing).out("out", DType::F32, &shape, spec.packing.out())
    }
}

fn integers(spec: &Spec) -> Vec<f32> {
    spec.x().iter().map(|v| v.round().clamp(-8.0, 8.0)).collect()
}

/// Adding a number to a row leaves its result. The logits are integers and the scale is 1, so that the shifted ones are
/// exact and the differences from the maximum the same.
fn shift(spec: &Spec, trial: &mut Trial<'_>) -> Result<(), Stop> {
    let spec = spec.with_variant("scale-1");
    let x = integers(&spec);
    let shifted: Vec<f32> = x.iter().map(|v| v + 64.0).collect();
    let left = trial.outputs(&Softmax::record(&spec, &x, 0..spec.rows))?;
    let right = trial.outputs(&Softmax::record(&spec, &shifted, 0..spec.rows))?;
    trial.same_rows("softmax shift", &left[0].2, &right[0].2);
    Ok(())
}

/// A row sums to 1, and no element leaves 0..=1.
fn sum(spec: &Spec, trial: &mut Trial<'_>) -> Result<(), Stop> {
    let record = Softmax::record(spec, &spec.x(), 0..spec.rows);
    let outputs = trial.outputs(&record)?;
    let bounds = trial.bounds(&record)?;
    let out: Vec<f32> = bytemuck::pod_collect_to_vec(&outputs[0].2);
    for (row, (values, bounds)) in out.chunks(spec.n).zip(bounds.chunks(spec.n)).enumerate() {
        let sum: f64 = values.iter().map(|v| f64::from(*v)).sum();
        // The exact elements sum to 1, each computed one is within its bound of it, and adding them up here rounds in f64.
        let room = bounds.iter().sum::<f64>() + spec.n as f64 * f64::EPSILON;
        trial.law("softmax sum", (sum - 1.0).abs() <= room, || {
            format!("row {row} sums to {sum}, room {room:e}")
        });
        let fits = |(v, bound): (&f32, &f64)| (0.0..=1.0 + bound).contains(&f64::from(*v));
        let outside = values.iter().zip(bounds).find(|(v, bound)| !fits((v, bound))).map(|(v, _)| v);
        trial.law("softmax range", outside.is_none(), || format!("row {row} has {outside:?}"));
    }
    Ok(())
}

/// Logits beyond the range of `exp`: only an implementation that subtracts the maximum survives.
fn large(spec: &Spec, trial: &mut Trial<'_>) -> Result<(), Stop> {
    let x: Vec<f32> = spec.x().iter().map(|v| v * 100.0 + 1000.0).collect();
    trial.conform(&Softmax::record(spec, &x, 0..spec.rows)).map(drop)
}

/// Masked logits, −∞, get 0.
fn minus_infinity(spec: &Spec, trial: &mut Trial<'_>) -> Result<(), Stop> {
    let mut x = spec.x();
    let masked = if spec.variant.starts_with("scale--") { f32::INFINITY } else { f32::NEG_INFINITY };
    for row in x.chunks_mut(spec.n) {
        row.iter_mut().skip(1).step_by(3).for_each(|v| *v = masked);
    }
    trial.conform(&Softmax::record(spec, &x, 0..spec.rows)).map(drop)
}

/// A row in which everything is masked is NaN, and the others are not.
fn all_masked(spec: &Spec, trial: &mut Trial<'_>) -> Result<(), Stop> {
    let mut x = spec.x();
    let masked = if spec.variant.starts_with("scale--") { f32::INFINITY } else { f32::NEG_INFINITY };
    x[spec.n..2 * spec.n].fill(masked);
    trial.conform(&Softmax::record(spec, &x, 0..spec.rows)).map(drop)
}
