//! Cases of `rms_norm`.
//!
//! There is no exact kind: the root and the division by `n` round, in ways that implementations may choose.

use kernels::{Check, DType, Record, Stem};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::EDGES;
use crate::data::{Data, Operands, Packing, Random};
use crate::family::Family;
use crate::name::Kind;
use crate::trial::{Stop, Trial};

/// Cases of `rms_norm`.
#[derive(Debug)]
pub struct RmsNorm;

/// What distinguishes the cases of `rms_norm`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Spec {
    format: DType,
    kind: Kind,
    topic: Topic,
    rows: usize,
    n: usize,
    eps: f64,
    data: Data,
    packing: Packing,
    in_place: bool,
    seed: u64,
}

/// What a case is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Topic {
    /// Comparison with the oracle.
    Values,
    /// A NaN and an infinity stay in their rows.
    Containment,
    /// Rows of zeros, of denormals, of large numbers.
    Extremes,
    /// A row's result does not depend on the other rows.
    RowInvariance,
    /// Scaling a row by a power of two leaves its result, without epsilon.
    ScaleInvariance,
    /// Epsilon must be finite and not negative.
    BadEps,
}

impl Spec {
    fn x(&self) -> Vec<f32> {
        self.data.values(&mut Random::new(self.seed), self.rows, self.n)
    }

    fn weight(&self) -> Vec<f32> {
        Data::Gauss.values(&mut Random::new(self.seed ^ 0x5eed), 1, self.n)
    }

    fn record(&self, rows: usize, x: &[f32]) -> Record {
        let shape = [rows, self.n];
        #[expect(clippy::cast_possible_truncation, reason = "the parameter is an f32")]
        let eps = self.eps as f32;
        let record = Record::new(Stem::RmsNorm).param("eps", eps);
        if self.in_place {
            let record = record.floats("weight", &[self.n], &self.weight(), Packing::Dense);
            return record.out_holding("out", DType::F32, &shape, bytemuck::cast_slice(x), self.packing);
        }
        let record = record.floats("x", &shape, x, self.packing);
        let record = record.floats("weight", &[self.n], &self.weight(), self.packing);
        record.out("out", DType::F32, &shape, self.packing)
    }
}

impl Family for RmsNorm {
    const STEM: Stem = Stem::RmsNorm;
    type Spec = Spec;

    fn enumerate() -> Vec<Spec> {
        let plain = Spec {
            format: DType::F32,
            kind: Kind::Bounded,
            topic: Topic::Values,
            rows: 3,
            n: 64,
            eps: 1e-5,
            data: Data::Gauss,
            packing: Packing::Dense,
            in_place: false,
            seed: 1,
        };
        let mut specs = Vec::new();
        for n in EDGES.into_iter().chain([255, 257, 1024, 2048, 4097]) {
            for rows in [1, 2, 5, 33] {
                for packing in [Packing::Dense, Packing::Padded] {
                    for in_place in [false, true] {
                        let seed = (n * 100 + rows) as u64;
                        let base = Spec { n, rows, packing, in_place, seed, ..plain.clone() };
                        for data in Data::RANDOM {
                            specs.push(Spec { data, ..base.clone() });
                        }
                        specs.push(Spec { data: Data::Powers, eps: 0.0, ..base });
                    }
                }
            }
            for eps in [0.0, 1e-6, 0.5] {
                specs.push(Spec { n, eps, ..plain.clone() });
            }
            let many = Spec { n, rows: 5, ..plain.clone() };
            for topic in [Topic::Containment, Topic::Extremes] {
                specs.push(Spec { kind: Kind::Hostile, topic, ..many.clone() });
            }
            specs.push(Spec { kind: Kind::Law, topic: Topic::RowInvariance, ..many.clone() });
            specs.push(Spec { kind: Kind::Law, topic: Topic::ScaleInvariance, eps: 0.0, ..many.clone() });
        }
        specs.push(Spec { kind: Kind::Hostile, topic: Topic::BadEps, ..plain });
        specs
    }

    fn strategy() -> BoxedStrategy<Spec> {
        let data = prop_oneof![Just(Data::Gauss), Just(Data::Heavy), Just(Data::Outliers)];
        let packing = prop_oneof![Just(Packing::Dense), Just(Packing::Padded)];
        let eps = prop_oneof![Just(1e-5f64), Just(1e-6), Just(0.0), Just(0.1)];
        (1usize..40, 1usize..1500, eps, data, packing, any::<bool>(), any::<u64>())
            .prop_map(|(rows, n, eps, data, packing, in_place, seed)| Spec {
                format: DType::F32,
                kind: Kind::Bounded,
                topic: Topic::Values,
                rows,
                n,
                eps,
                data,
                packing,
                in_place,
                seed,
            })
            .boxed()
    }

    fn run(spec: &Spec, trial: &mut Trial<'_>) -> Result<(), Stop> {
        match spec.topic {
            Topic::Values => trial.conform_visibly(&spec.record(spec.rows, &spec.x())).map(drop),
            Topic::Containment => containment(spec, trial),
            Topic::Extremes => extremes(spec, trial),
            Topic::RowInvariance => row_invariance(spec, trial),
            Topic::ScaleInvariance => scale_invariance(spec, trial),
            Topic::BadEps => {
                for eps in [-1.0, -1e-30] {
                    let record = Spec { eps, ..spec.clone() }.record(spec.rows, &spec.x());
                    trial.refused(&record, "eps", Check::Parameter);
                }
                Ok(())
            }
        }
    }
}

fn containment(spec: &Spec, trial: &mut Trial<'_>) -> Result<(), Stop> {
    let mut x = spec.x();
    x[spec.n + spec.n / 2] = f32::NAN;
    x[3 * spec.n] = f32::INFINITY;
    trial.conform(&spec.record(spec.rows, &x)).map(drop)
}

fn extremes(spec: &Spec, trial: &mut Trial<'_>) -> Result<(), Stop> {
    let mut x = spec.x();
    let factors = [0.0f32, 1e-30, 1e-41, 1e15, 1.0];
    for (values, factor) in x.chunks_mut(spec.n).zip(factors) {
        values.iter_mut().for_each(|v| *v *= factor);
    }
    trial.conform(&spec.record(spec.rows, &x)).map(drop)
}

fn row_invariance(spec: &Spec, trial: &mut Trial<'_>) -> Result<(), Stop> {
    let x = spec.x();
    let whole = trial.outputs(&spec.record(spec.rows, &x))?;
    for (row, (values, together)) in x.chunks(spec.n).zip(whole[0].2.chunks(4 * spec.n)).enumerate() {
        let alone = trial.outputs(&spec.record(1, values))?;
        trial.same_bits(&format!("row invariance, row {row}"), together, &alone[0].2);
    }
    Ok(())
}

fn scale_invariance(spec: &Spec, trial: &mut Trial<'_>) -> Result<(), Stop> {
    let x = spec.x();
    let scaled: Vec<f32> = x.iter().map(|v| v * 4.0).collect();
    let left = trial.outputs(&spec.record(spec.rows, &x))?;
    let right = trial.outputs(&spec.record(spec.rows, &scaled))?;
    trial.same_bits("scale invariance", &left[0].2, &right[0].2);
    Ok(())
}
