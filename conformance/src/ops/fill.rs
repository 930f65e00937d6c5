//! Cases of `fill`.

use kernels::{DType, Record, Size, Stem};
use proptest::prelude::*;
use proptest::sample::select;
use serde::{Deserialize, Serialize};

use super::EDGES;
use crate::data::{Operands, Packing};
use crate::family::Family;
use crate::name::Kind;
use crate::trial::{Stop, Trial};

/// Cases of `fill`.
#[derive(Debug)]
pub struct Fill;

/// The family of this op.
pub type Cases = Fill;

/// What distinguishes the cases of `fill`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Spec {
    format: DType,
    kind: Kind,
    rows: usize,
    n: usize,
    value: f64,
    packing: Packing,
}

/// Numbers that are exact in every type, that round, that overflow f16, that underflow.
const VALUES: [f64; 8] = [0.0, -1.0, 0.1, 65504.0, 65520.0, 1e-8, -3.4e38, 1e-42];

impl Family for Fill {
    const STEM: Stem = Stem::Fill;
    type Spec = Spec;

    fn enumerate() -> Vec<Spec> {
        let mut specs = Vec::new();
        for format in DType::FLOATS {
            for n in EDGES {
                for (turn, rows) in [1, 5, 33].into_iter().enumerate() {
                    for packing in [Packing::Dense, Packing::Padded] {
                        let value = VALUES[(n + turn) % VALUES.len()];
                        specs.push(Spec { format, kind: Kind::Exact, rows, n, value, packing });
                    }
                }
            }
            specs.extend(VALUES.map(|value| Spec {
                format,
                kind: Kind::Hostile,
                rows: 2,
                n: 37,
                value,
                packing: Packing::Dense,
            }));
        }
        // More rows than fit in 12 and in 16 bits.
        let plain = specs[0].clone();
        specs.extend([4_097, 65_537].map(|rows| Spec {
            rows,
            n: 3,
            packing: Packing::Padded,
            ..plain.clone()
        }));
        specs
    }

    fn strategy() -> BoxedStrategy<Spec> {
        let value = prop_oneof![select(VALUES.to_vec()), -1e5f64..1e5];
        (select(DType::FLOATS.to_vec()), 1usize..40, 1usize..600, value, any::<bool>())
            .prop_map(|(format, rows, n, value, padded)| {
                let packing = if padded { Packing::Padded } else { Packing::Dense };
                Spec { format, kind: Kind::Exact, rows, n, value, packing }
            })
            .boxed()
    }

    fn forms() -> Vec<Spec> {
        let of = |format| {
            [Packing::Dense, Packing::Padded].map(|packing| Spec {
                format,
                kind: Kind::Exact,
                rows: 2,
                n: 64,
                value: 0.1,
                packing,
            })
        };
        DType::FLOATS.into_iter().flat_map(of).collect()
    }

    fn record(spec: &Spec) -> Record {
        #[expect(clippy::cast_possible_truncation, reason = "the parameter is an f32")]
        let value = spec.value as f32;
        let record = Record::new(Stem::Fill).param("value", value);
        record.out("out", spec.format, &[spec.rows, spec.n], spec.packing)
    }

    fn resize(spec: &mut Spec, size: Size, to: usize) -> bool {
        spec.n = to;
        matches!(size, Size::Dim(_, 1))
    }

    fn run(spec: &Spec, trial: &mut Trial<'_>) -> Result<(), Stop> {
        trial.conform(&Self::record(spec)).map(drop)
    }
}
