//! Cases that all conversions share: `[rows, n]` of one type in, the same shape of another type out, bit for bit.
//!
//! An op provides [`Conversion`]: between which types it converts. [`Converted`] makes the family of it.

use std::marker::PhantomData;

use kernels::{DType, Record, Size, Stem, quant};
use proptest::prelude::*;
use proptest::sample::select;
use serde::{Deserialize, Serialize};

use super::borders::{self, Border};
use super::{TAILS, columns};
use crate::data::{Operands, Packing, Random};
use crate::family::Family;
use crate::name::Kind;
use crate::trial::{Stop, Trial};
use crate::weights::{Style, weights};

/// An op that converts a tensor.
pub trait Conversion: 'static {
    /// The op.
    const STEM: Stem;

    /// Pairs of types between which it converts.
    fn pairs() -> Vec<(DType, DType)>;

    /// Whether its input may be transposed.
    fn transposes() -> bool {
        Self::STEM.facts().transposable.contains(&"x")
    }
}

/// What distinguishes the cases of a conversion. The format is the quantised side where there is one, else the output's.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Spec {
    format: DType,
    kind: Kind,
    from: DType,
    to: DType,
    content: Content,
    rows: usize,
    n: usize,
    /// Whether the input is column-major.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    columns: bool,
    packing: Packing,
    seed: u64,
}

/// What the input holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Content {
    /// Values as in a model.
    Model,
    /// Few distinct values: ties when rounding, equal magnitudes of either sign.
    Ties,
    /// Half-way between two codes of the block format that is written.
    HalfWay,
    /// So near to half-way that it matters how a value is scaled.
    NearHalfWay,
    /// Blocks of one value each, zeros of either sign among them: a step of zero.
    Constant,
    /// Any bits at all: NaN, infinities, denormals, scales of every size.
    Bits,
    /// Zeros of both signs, the smallest and the largest numbers, infinities and NaN.
    Extremes,
}

impl Content {
    /// What inputs of a conversion hold.
    fn of(from: DType, to: DType) -> Vec<Self> {
        let mut all = vec![Content::Model, Content::Ties, Content::Bits, Content::Extremes];
        if from == DType::F32 && to.is_quantised() {
            all.extend([Content::HalfWay, Content::NearHalfWay, Content::Constant]);
        }
        all
    }

    const fn kind(self) -> Kind {
        match self {
            Content::Bits | Content::Extremes => Kind::Hostile,
            _ => Kind::Exact,
        }
    }

    const fn border(self) -> Border {
        if matches!(self, Content::HalfWay) { Border::On } else { Border::Beside }
    }
}

impl Spec {
    /// The elements of the input, in row-major order.
    fn input(&self) -> Vec<u8> {
        let random = &mut Random::new(self.seed);
        let count = self.rows * self.n;
        let len = self.from.bytes_of(count).unwrap_or(0);
        let mut bytes = vec![0; len];
        match self.content {
            _ if self.from == DType::U32 => bytes.fill_with(|| random.bits().to_le_bytes()[0]),
            Content::Model => return weights(self.from, Style::Model, random, self.rows, self.n),
            Content::Bits => bytes.fill_with(|| random.bits().to_le_bytes()[0]),
            Content::Ties if self.from.is_quantised() => {
                return weights(self.from, Style::Integers, random, self.rows, self.n);
            }
            Content::Extremes if self.from.is_quantised() => {
                bytes.fill([0x00, 0xff, 0x80, 0x7f][self.rows % 4]);
            }
            Content::HalfWay | Content::NearHalfWay => {
                if let Some(values) = borders::values(self.to, self.content.border(), random, count) {
                    bytes = bytemuck::pod_collect_to_vec(&values);
                }
            }
            Content::Constant => {
                let block = |_| [[0.0f32, -0.0, 1.0, -2.0, 1e-45, -1e-40][random.below(6)]; 32];
                let values: Vec<[f32; 32]> = (0..count.div_ceil(32)).map(block).collect();
                bytes = bytemuck::pod_collect_to_vec(&values.as_flattened()[..count]);
            }
            Content::Ties | Content::Extremes => {
                let values: Vec<f32> = (0..count).map(|_| self.value(random)).collect();
                quant::encode_row(self.from, &values, &mut bytes).expect("plain formats have encoders");
            }
        }
        bytes
    }

    fn value(&self, random: &mut Random) -> f32 {
        if self.content == Content::Ties {
            // Odd multiples of half a unit in the last place of f16 and of bf16, and halves of small integers.
            let odd = [4097.0f32, 1.0, 257.0, 3.0, -4099.0, -1.5, 771.0, 0.5, -2.5][random.below(9)];
            return odd * [1.0, 0.5, 2.0, 0.25][random.below(4)];
        }
        let all = [0.0, -0.0, 1e-45, -1e-40, 6e-8, 65504.0, 65520.0, -3.4e38, 3.39e38, 1e-38, 1.0];
        let beyond = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
        let at = random.below(all.len() + beyond.len());
        all.get(at).copied().unwrap_or_else(|| beyond[at - all.len()])
    }
}

/// The family of a conversion.
#[derive(Debug)]
pub struct Converted<O>(PhantomData<O>);

/// The type after which a conversion's cases are named.
fn format(from: DType, to: DType) -> DType {
    if from.is_quantised() { from } else { to }
}

/// The longer of the two blocks decides which rows are possible.
fn coarser(from: DType, to: DType) -> DType {
    if from.block_len() > to.block_len() { from } else { to }
}

/// Cases of column-major inputs.
fn column_major<O: Conversion>() -> Vec<Spec> {
    let mut specs = Vec::new();
    let pairs = O::pairs().into_iter().filter(|(from, _)| O::transposes() && !from.is_quantised());
    for (from, to) in pairs {
        for (rows, n) in [(2, 33), (3, 1), (31, 33), (33, 31), (32, 64), (65, 96), (4097, 3)] {
            for packing in [Packing::Dense, Packing::Padded] {
                let (kind, content) = (Kind::Exact, Content::Model);
                let (format, seed) = (format(from, to), (n * 10 + rows) as u64);
                specs.push(Spec { format, kind, from, to, content, rows, n, columns: true, packing, seed });
            }
        }
    }
    specs
}

impl<O: Conversion> Family for Converted<O> {
    const STEM: Stem = O::STEM;
    type Spec = Spec;

    fn enumerate() -> Vec<Spec> {
        let mut specs = Vec::new();
        for (from, to) in O::pairs() {
            for n in columns(coarser(from, to)) {
                for rows in [1, 3, 32] {
                    for packing in [Packing::Dense, Packing::Padded] {
                        for content in Content::of(from, to) {
                            // What the values are does not matter to where a row ends.
                            if TAILS.contains(&n) && content != Content::Model {
                                continue;
                            }
                            let seed = (n * 10 + rows) as u64;
                            specs.push(Spec {
                                format: format(from, to),
                                kind: content.kind(),
                                from,
                                to,
                                content,
                                rows,
                                n,
                                columns: false,
                                packing,
                                seed,
                            });
                        }
                    }
                }
            }
        }
        // More rows than fit in 12 bits, of one block each, where a row past the last one is a way of its own; and than fit in 16.
        let long = |from: DType| matches!(from, DType::F16 | DType::BF16 | DType::Q4K | DType::Q5K);
        let first = specs.first().cloned();
        let of_pair =
            |(from, to)| first.clone().map(|first| Spec { format: format(from, to), from, to, ..first });
        let many = O::pairs().into_iter().enumerate().filter(|(at, (from, _))| *at == 0 || long(*from));
        let many: Vec<Spec> = many.filter_map(|(_, pair)| of_pair(pair)).collect();
        let rows = |spec: &Spec, rows| {
            let n = coarser(spec.from, spec.to).block_len();
            Spec { rows, n, packing: Packing::Padded, ..spec.clone() }
        };
        specs.extend(many.iter().map(|spec| rows(spec, 4_097)));
        specs.extend(many.first().map(|spec| rows(spec, 65_537)));
        specs.extend(column_major::<O>());
        specs
    }

    fn strategy() -> BoxedStrategy<Spec> {
        let pair_and_content = select(O::pairs())
            .prop_flat_map(|(from, to)| select(Content::of(from, to)).prop_map(move |c| (from, to, c)));
        (pair_and_content, 1usize..20, 1usize..600, (any::<bool>(), any::<bool>()), any::<u64>())
            .prop_map(|((from, to, content), rows, n, (padded, columns), seed)| {
                let n = n.next_multiple_of(coarser(from, to).block_len());
                let packing = if padded { Packing::Padded } else { Packing::Dense };
                Spec {
                    format: format(from, to),
                    kind: Kind::Exact,
                    from,
                    to,
                    content,
                    rows,
                    n,
                    columns: columns && O::transposes() && !from.is_quantised(),
                    packing,
                    seed,
                }
            })
            .boxed()
    }

    fn forms() -> Vec<Spec> {
        let of = |(from, to): (DType, DType)| {
            let n = coarser(from, to).block_len();
            [Packing::Dense, Packing::Padded].map(|packing| Spec {
                format: format(from, to),
                kind: Kind::Exact,
                from,
                to,
                content: Content::Model,
                rows: 2,
                n,
                columns: false,
                packing,
                seed: 1,
            })
        };
        O::pairs().into_iter().flat_map(of).chain(column_major::<O>().into_iter().take(1)).collect()
    }

    fn record(spec: &Spec) -> Record {
        let shape = [spec.rows, spec.n];
        let order = if spec.columns { &[1, 0] } else { &[0, 1] };
        Record::new(O::STEM).bytes_in("x", spec.from, &shape, &spec.input(), spec.packing, order).out(
            "out",
            spec.to,
            &shape,
            spec.packing,
        )
    }

    fn resize(spec: &mut Spec, size: Size, to: usize) -> bool {
        spec.n = to;
        matches!(size, Size::Dim(_, 1))
    }

    fn granule(spec: &Spec, _: Size) -> usize {
        coarser(spec.from, spec.to).block_len()
    }

    fn run(spec: &Spec, trial: &mut Trial<'_>) -> Result<(), Stop> {
        let record = Self::record(spec);
        if spec.content == Content::Model { trial.conform_visibly(&record) } else { trial.conform(&record) }
            .map(drop)
    }
}
