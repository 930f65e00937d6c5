//! Cases that all row-wise ops share: `[rows, n]` in, one result per row out.
//!
//! An op provides [`RowWise`]: its variants, and its record for given rows. [`Rows`] makes the family of it: sizes on the
//! edges, packings, in place or not, distributions, containment of NaN, extremes, row invariance, and the op's own laws.

use std::marker::PhantomData;
use std::ops::Range;

use kernels::{DType, Record, Size, Stem};
use proptest::prelude::*;
use proptest::sample::select;
use serde::{Deserialize, Serialize};

use super::EDGES;
use crate::covering::{Axes, Strength};
use crate::data::{Data, Packing, Random};
use crate::family::Family;
use crate::name::Kind;
use crate::trial::{Stop, Trial};

/// A relation between runs, by name.
pub type Law = (&'static str, fn(&Spec, &mut Trial<'_>) -> Result<(), Stop>);

/// An op that works row by row.
pub trait RowWise: 'static {
    /// The op.
    const STEM: Stem;

    /// Variants of the op, the usual one first; at least one.
    const VARIANTS: &'static [&'static str];

    /// Data for which the result is exact in any implementation.
    const EXACT: Option<Data> = None;

    /// Whether a result of zeros is always wrong.
    const VISIBLE: bool = true;

    /// Lengths of rows besides the edges, long ones, at which implementations change from one way to another.
    const LONG: &'static [usize] = &[];

    /// Laws besides row invariance.
    const LAWS: &'static [Law] = &[];

    /// Whether the op can work in place.
    fn in_place() -> bool {
        Self::STEM.facts().in_place().is_some()
    }

    /// The op on rows `rows` of `x`, which holds all rows of the case.
    fn record(spec: &Spec, x: &[f32], rows: Range<usize>) -> Record;
}

/// What distinguishes the cases of a row-wise op.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Spec {
    format: DType,
    kind: Kind,
    topic: String,
    /// One of the op's variants.
    pub variant: String,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub n: usize,
    data: Data,
    /// Where the tensors lie in their buffers.
    pub packing: Packing,
    /// Whether the first operand is the output.
    pub in_place: bool,
    /// Seed of the data.
    pub seed: u64,
}

impl Spec {
    /// A small case of the op's usual variant.
    fn plain<O: RowWise>() -> Self {
        Spec {
            format: DType::F32,
            kind: Kind::Bounded,
            topic: "values".into(),
            variant: O::VARIANTS[0].into(),
            rows: 3,
            n: 64,
            data: Data::Gauss,
            packing: Packing::Dense,
            in_place: false,
            seed: 1,
        }
    }

    /// The first operand.
    pub fn x(&self) -> Vec<f32> {
        self.data.values(&mut Random::new(self.seed), self.rows, self.n)
    }

    /// Rows `rows` of a further operand of the same shape as the first, with its own data.
    pub fn other(&self, rows: Range<usize>) -> Vec<f32> {
        let all = self.data.values(&mut Random::new(self.seed ^ 0x07e5), self.rows, self.n);
        all[rows.start * self.n..rows.end * self.n].to_vec()
    }

    /// A single row of `n`, with its own data.
    pub fn row(&self) -> Vec<f32> {
        self.data.values(&mut Random::new(self.seed ^ 0x5eed), 1, self.n)
    }

    /// The same case with another variant.
    #[must_use]
    pub fn with_variant(&self, variant: &str) -> Self {
        Spec { variant: variant.into(), ..self.clone() }
    }

    /// The number in the variant `{prefix}{number}`; NaN, which every op refuses, where there is none.
    pub fn number(&self, prefix: &str) -> f32 {
        self.variant.strip_prefix(prefix).and_then(|number| number.parse().ok()).unwrap_or(f32::NAN)
    }

    /// The part of `x` that belongs to `rows`.
    pub fn part<'x>(&self, x: &'x [f32], rows: &Range<usize>) -> &'x [f32] {
        &x[rows.start * self.n..rows.end * self.n]
    }
}

/// Puts a NaN into the second row, an infinity into the fourth and the other into the fifth, where there are such rows.
pub fn spoil(x: &mut [f32], n: usize) {
    let places = [(n + n / 2, f32::NAN), (3 * n, f32::INFINITY), (4 * n + n - 1, f32::NEG_INFINITY)];
    for (at, value) in places {
        if let Some(element) = x.get_mut(at) {
            *element = value;
        }
    }
}

/// The family of a row-wise op.
#[derive(Debug)]
pub struct Rows<O>(PhantomData<O>);

impl<O: RowWise> Family for Rows<O> {
    const STEM: Stem = O::STEM;
    type Spec = Spec;

    fn enumerate() -> Vec<Spec> {
        let plain = Spec::plain::<O>();
        let lengths: Vec<usize> = EDGES.into_iter().chain([255, 257, 1024, 2049]).collect();
        let ways: &[bool] = if O::in_place() { &[false, true] } else { &[false] };
        let axes = |rows: &'static [usize], n: &[usize], data: &'static [Data]| {
            Axes::new()
                .axis(O::VARIANTS.iter().copied(), |s: &mut Spec, v| s.variant = v.into())
                .axis(rows.iter().copied(), |s: &mut Spec, v| s.rows = v)
                .axis(n.to_vec(), |s: &mut Spec, v| s.n = v)
                .axis(data.iter().copied(), |s: &mut Spec, v| s.data = v)
                .axis([Packing::Dense, Packing::Padded], |s: &mut Spec, v| s.packing = v)
                .axis(ways.iter().copied(), |s: &mut Spec, v| s.in_place = v)
        };
        let any = |_: &Spec| true;
        let mut specs = axes(&[1, 2, 5, 33], &lengths, &Data::RANDOM).array(&plain, Strength::Triples, any);
        if let Some(data) = O::EXACT {
            let exact = Spec { kind: Kind::Exact, data, ..plain.clone() };
            let axes = axes(&[1, 2, 5, 33], &lengths, &[]);
            specs.extend(axes.array(&exact, Strength::Triples, any));
        }
        let hostile = ["containment", "extremes"].map(|topic| (Kind::Hostile, topic));
        let laws = std::iter::once("row_invariance").chain(O::LAWS.iter().map(|(name, _)| *name));
        let topics: Vec<_> = hostile.into_iter().chain(laws.map(|law| (Kind::Law, law))).collect();
        let about = |(kind, topic): (Kind, &str)| Spec { kind, topic: topic.into(), ..plain.clone() };
        for topic in &topics {
            specs.extend(axes(&[5], &lengths, &[]).array(&about(*topic), Strength::Pairs, any));
        }
        if !O::LONG.is_empty() {
            specs.extend(axes(&[1, 2], O::LONG, &Data::RANDOM).array(&plain, Strength::Pairs, any));
            for topic in &topics[..3] {
                specs.extend(axes(&[5], O::LONG, &[]).array(&about(*topic), Strength::Pairs, any));
            }
        }
        // Rows of real models: hidden sizes, and a vocabulary.
        specs.extend([4096, 16_384, 49_152].map(|n| Spec { rows: 1, n, ..plain.clone() }));
        // Operands of unlike alignment, in rows of whole vectors and others.
        let two = matches!(O::STEM, Stem::Add | Stem::Mul | Stem::SiluMul | Stem::GeluMul);
        for packing in [Packing::OutShifted, Packing::SecondShifted].into_iter().take(1 + usize::from(two)) {
            specs.extend([64, 1030].map(|n| Spec { rows: 2, n, packing, ..plain.clone() }));
        }
        // More rows than fit in 12 and in 16 bits, apart: rows side by side may be taken for one.
        specs.extend([4_100, 65_540].map(|rows| Spec {
            rows,
            n: 5,
            packing: Packing::Padded,
            ..plain.clone()
        }));
        for (at, spec) in specs.iter_mut().enumerate() {
            spec.seed = 1 + at as u64;
        }
        specs
    }

    fn strategy() -> BoxedStrategy<Spec> {
        let choices =
            (select(O::VARIANTS.to_vec()), select(Data::RANDOM.to_vec()), any::<bool>(), any::<bool>());
        (1usize..40, 1usize..1500, choices, any::<u64>())
            .prop_map(|(rows, n, (variant, data, padded, in_place), seed)| Spec {
                format: DType::F32,
                kind: Kind::Bounded,
                topic: "values".into(),
                variant: variant.into(),
                rows,
                n,
                data,
                packing: if padded { Packing::Padded } else { Packing::Dense },
                in_place: in_place && O::in_place(),
                seed,
            })
            .boxed()
    }

    fn forms() -> Vec<Spec> {
        // Rows that begin at any element, and rows that do not.
        let variant = |variant: &&str| Spec { variant: (*variant).into(), rows: 2, ..Spec::plain::<O>() };
        let packed =
            |spec: Spec| [Packing::Dense, Packing::Padded].map(|packing| Spec { packing, ..spec.clone() });
        O::VARIANTS.iter().map(variant).flat_map(packed).collect()
    }

    fn record(spec: &Spec) -> Record {
        O::record(spec, &spec.x(), 0..spec.rows)
    }

    fn resize(spec: &mut Spec, size: Size, to: usize) -> bool {
        spec.n = to;
        matches!(size, Size::Dim(_, 1))
    }

    fn run(spec: &Spec, trial: &mut Trial<'_>) -> Result<(), Stop> {
        let record = |x: &[f32]| O::record(spec, x, 0..spec.rows);
        let mut x = spec.x();
        match spec.topic.as_str() {
            "values" if spec.kind == Kind::Exact => trial.conform_exactly(&record(&x)).map(drop),
            "values" if O::VISIBLE => trial.conform_visibly(&record(&x)).map(drop),
            "values" => trial.conform(&record(&x)).map(drop),
            "containment" => {
                spoil(&mut x, spec.n);
                trial.conform(&record(&x)).map(drop)
            }
            "extremes" => {
                for (values, factor) in x.chunks_mut(spec.n).zip([0.0f32, 1e-30, 1e-41, 1e15, 1.0]) {
                    values.iter_mut().for_each(|v| *v *= factor);
                }
                trial.conform(&record(&x)).map(drop)
            }
            "row_invariance" => {
                let whole = trial.outputs(&record(&x))?;
                let per_row = whole[0].2.len() / spec.rows;
                for (row, together) in whole[0].2.chunks(per_row).enumerate() {
                    let alone = trial.outputs(&O::record(spec, &x, row..row + 1))?;
                    trial.same_rows(&format!("row invariance, row {row}"), together, &alone[0].2);
                }
                Ok(())
            }
            topic => match O::LAWS.iter().find(|(name, _)| *name == topic) {
                Some((_, law)) => law(spec, trial),
                None => Err(Stop::Unsupported(format!("{} has no topic '{topic}'", O::STEM))),
            },
        }
    }
}
