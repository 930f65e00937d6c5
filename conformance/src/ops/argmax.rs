//! Cases of `argmax`.

use std::ops::Range;

use kernels::{DType, Record, Stem};

use super::rowwise::{Law, RowWise, Spec};
use crate::data::{Data, Operands, Packing};
use crate::trial::{Stop, Trial};

/// Cases of `argmax`.
#[derive(Debug)]
pub struct Argmax;

/// The family of this op.
pub type Cases = super::rowwise::Rows<Argmax>;

impl RowWise for Argmax {
    const STEM: Stem = Stem::Argmax;
    const VARIANTS: &'static [&'static str] = &["plain"];
    const EXACT: Option<Data> = Some(Data::Integers);
    // The largest element may well be the first.
    const VISIBLE: bool = false;
    const LAWS: &'static [Law] = &[
        ("every_place", every_place),
        ("ties", ties),
        ("nan", nan),
        ("only_nan", only_nan),
        ("infinities", infinities),
        ("signed_zeros", signed_zeros),
        ("negative", negative),
    ];

    fn record(spec: &Spec, x: &[f32], rows: Range<usize>) -> Record {
        Record::new(Stem::Argmax).floats("x", &[rows.len(), spec.n], spec.part(x, &rows), spec.packing).out(
            "out",
            DType::U32,
            &[rows.len()],
            Packing::Dense,
        )
    }
}

fn conform(spec: &Spec, trial: &mut Trial<'_>, x: &[f32]) -> Result<(), Stop> {
    trial.conform(&Argmax::record(spec, x, 0..spec.rows)).map(drop)
}

/// The largest element at the first, the last and the middle place of its row.
fn every_place(spec: &Spec, trial: &mut Trial<'_>) -> Result<(), Stop> {
    let mut x = spec.x();
    let places = [0, spec.n - 1, spec.n / 2, spec.n / 3, (spec.n - 1).min(63)];
    for (row, place) in x.chunks_mut(spec.n).zip(places) {
        row[place] = 1e6;
    }
    conform(spec, trial, &x)
}

/// Of several largest elements the first counts, however far apart they are.
fn ties(spec: &Spec, trial: &mut Trial<'_>) -> Result<(), Stop> {
    let mut x = spec.x();
    for (at, row) in x.chunks_mut(spec.n).enumerate() {
        let first = (at * 17) % spec.n;
        for place in [first, spec.n - 1, spec.n / 2, (first + 1) % spec.n] {
            row[place] = 1e6;
        }
    }
    conform(spec, trial, &x)
}

/// NaN is below every number.
fn nan(spec: &Spec, trial: &mut Trial<'_>) -> Result<(), Stop> {
    let mut x = spec.x();
    for (at, row) in x.chunks_mut(spec.n).enumerate() {
        row.iter_mut().skip(at % 2).step_by(2).for_each(|v| *v = f32::NAN);
        row[0] = if at % 2 == 0 { f32::NAN } else { -1e30 };
    }
    conform(spec, trial, &x)
}

/// A row of nothing but NaN gives 0.
fn only_nan(spec: &Spec, trial: &mut Trial<'_>) -> Result<(), Stop> {
    let mut x = spec.x();
    x[spec.n..2 * spec.n].fill(f32::NAN);
    conform(spec, trial, &x)
}

/// Infinities are ordinary numbers here.
fn infinities(spec: &Spec, trial: &mut Trial<'_>) -> Result<(), Stop> {
    let mut x = spec.x();
    x[spec.n - 1] = f32::INFINITY;
    x[spec.n..2 * spec.n].fill(f32::NEG_INFINITY);
    conform(spec, trial, &x)
}

/// +0 and −0 are equal, so the first of them counts.
fn signed_zeros(spec: &Spec, trial: &mut Trial<'_>) -> Result<(), Stop> {
    let x: Vec<f32> = (0..spec.rows * spec.n).map(|i| if i % 3 == 0 { -0.0 } else { 0.0 }).collect();
    conform(spec, trial, &x)
}

/// Rows of nothing but negative numbers: a maximum that starts at 0 finds none.
fn negative(spec: &Spec, trial: &mut Trial<'_>) -> Result<(), Stop> {
    let x: Vec<f32> = spec.x().iter().map(|v| -v.abs() - 1.0).collect();
    conform(spec, trial, &x)
}
