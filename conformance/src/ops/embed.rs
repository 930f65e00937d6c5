//! Cases of `embed`.

use kernels::{Check, DType, Record, Size, Stem};
use proptest::prelude::*;
use proptest::sample::select;
use serde::{Deserialize, Serialize};

use super::columns;
use crate::covering::{Axes, Strength};
use crate::data::{Operands, Packing, Random, index};
use crate::family::Family;
use crate::name::Kind;
use crate::trial::{Stop, Trial};
use crate::weights::{Style, weights};

/// Cases of `embed`.
#[derive(Debug)]
pub struct Embed;

/// The family of this op.
pub type Cases = Embed;

/// What distinguishes the cases of `embed`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Spec {
    format: DType,
    kind: Kind,
    ids: Ids,
    vocab: usize,
    rows: usize,
    n: usize,
    packing: Packing,
    seed: u64,
}

/// Which rows are looked up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Ids {
    /// Any.
    Random,
    /// Always the last one, where an address that is too large would first leave the table.
    Last,
    /// One more than the last: must be refused.
    PastTheEnd,
}

/// Rows of the table: few, and more than fit in 8 bits.
const VOCABULARIES: [usize; 4] = [1, 7, 33, 257];

impl Family for Embed {
    const STEM: Stem = Stem::Embed;
    type Spec = Spec;

    fn enumerate() -> Vec<Spec> {
        let mut specs = Vec::new();
        for format in DType::WEIGHTS {
            let n = columns(format);
            let plain = Spec {
                format,
                kind: Kind::Exact,
                ids: Ids::Random,
                vocab: 7,
                rows: 3,
                n: n[0],
                packing: Packing::Dense,
                seed: 1,
            };
            let axes = Axes::new()
                .axis(VOCABULARIES, |s: &mut Spec, v| s.vocab = v)
                .axis([1, 5, 33], |s: &mut Spec, v| s.rows = v)
                .axis(n, |s: &mut Spec, v| s.n = v)
                .axis([Packing::Dense, Packing::Padded], |s: &mut Spec, v| s.packing = v);
            let any = |_: &Spec| true;
            specs.extend(axes.array(&plain, Strength::Pairs, any));
            let last = Spec { kind: Kind::Hostile, ids: Ids::Last, ..plain.clone() };
            specs.extend(axes.array(&last, Strength::Pairs, any));
            // A row that 16 bits do not count, and a row as long as those of the largest models.
            specs.push(Spec { vocab: 65_540, ..last });
            specs.push(Spec { n: 16_384, ..plain.clone() });
            // Ids that 12 bits do not count, where a row past the last one is a way of its own.
            if matches!(format, DType::F16 | DType::BF16 | DType::Q4K | DType::Q5K) {
                specs.push(Spec { rows: 4_097, ..plain.clone() });
            }
            specs.push(Spec { kind: Kind::Hostile, ids: Ids::PastTheEnd, ..plain });
        }
        // More rows than fit in 12 and in 16 bits, of a table that 15 bits do not count.
        let plain = Spec { vocab: 32_770, n: 3, packing: Packing::Dense, ..specs[0].clone() };
        specs.extend([4_097, 65_537].map(|rows| Spec { rows, ..plain.clone() }));
        for (at, spec) in specs.iter_mut().enumerate() {
            spec.seed = 1 + at as u64;
        }
        specs
    }

    fn strategy() -> BoxedStrategy<Spec> {
        (select(DType::WEIGHTS.to_vec()), 1usize..200, 1usize..40, 1usize..600, any::<bool>(), any::<u64>())
            .prop_map(|(format, vocab, rows, n, padded, seed)| {
                let n = n.next_multiple_of(format.block_len());
                let packing = if padded { Packing::Padded } else { Packing::Dense };
                Spec { format, kind: Kind::Exact, ids: Ids::Random, vocab, rows, n, packing, seed }
            })
            .boxed()
    }

    fn forms() -> Vec<Spec> {
        let of = |format: DType| {
            [Packing::Dense, Packing::Padded].map(|packing| Spec {
                format,
                kind: Kind::Exact,
                ids: Ids::Random,
                vocab: 7,
                rows: 2,
                n: format.block_len(),
                packing,
                seed: 1,
            })
        };
        DType::WEIGHTS.into_iter().flat_map(of).collect()
    }

    fn record(spec: &Spec) -> Record {
        let random = &mut Random::new(spec.seed);
        let table = weights(spec.format, Style::Model, random, spec.vocab, spec.n);
        let mut id = || match spec.ids {
            Ids::Random => random.below(spec.vocab),
            Ids::Last => spec.vocab - 1,
            Ids::PastTheEnd => spec.vocab,
        };
        let ids: Vec<u32> = (0..spec.rows).map(|_| index(id())).collect();
        Record::new(Stem::Embed)
            .bytes("table", spec.format, &[spec.vocab, spec.n], &table, spec.packing)
            .indices("ids", &ids)
            .out("out", DType::F32, &[spec.rows, spec.n], spec.packing)
    }

    fn resize(spec: &mut Spec, size: Size, to: usize) -> bool {
        spec.n = to;
        matches!(size, Size::Dim(_, 1))
    }

    fn granule(spec: &Spec, _: Size) -> usize {
        spec.format.block_len()
    }

    fn run(spec: &Spec, trial: &mut Trial<'_>) -> Result<(), Stop> {
        let record = Self::record(spec);
        if spec.ids == Ids::PastTheEnd {
            trial.refused(&record, "ids", Check::Index);
            return Ok(());
        }
        trial.conform_visibly(&record).map(drop)
    }
}
