//! Cases of `kv_write`.

use kernels::{Check, DType, Record, Size, Stem};
use proptest::prelude::*;
use proptest::sample::select;
use serde::{Deserialize, Serialize};

use super::borders::{self, Border};
use super::cache::{Caches, cache};
use crate::covering::{Axes, Strength};
use crate::data::{Data, Operands, Packing, Random, index};
use crate::family::Family;
use crate::name::Kind;
use crate::trial::{Stop, Trial};

/// Cases of `kv_write`.
#[derive(Debug)]
pub struct KvWrite;

/// The family of this op.
pub type Cases = KvWrite;

/// What distinguishes the cases of `kv_write`. The format is that of the keys.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Spec {
    format: DType,
    kind: Kind,
    topic: Topic,
    /// Format of the values.
    values: DType,
    rows: usize,
    seqs: usize,
    slots: usize,
    kv_heads: usize,
    head_dim: usize,
    data: Data,
    #[serde(default, skip_serializing_if = "Caches::is_default")]
    caches: Caches,
    packing: Packing,
    seed: u64,
}

/// What a case is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Topic {
    /// Rows at the positions that follow the first ones of the last sequence.
    Append,
    /// Rows scattered over sequences and slots.
    Scatter,
    /// The last slot of the last sequence.
    LastSlot,
    /// One past it must be refused.
    PastTheEnd,
    /// A sequence that does not exist must be refused.
    NoSuchSequence,
    /// Two rows for one slot must be refused.
    Duplicate,
    /// The layout of the caches makes no difference: as in token-major ones.
    Layouts,
    /// Transposed values in blocks must be refused.
    TransposedBlocks,
    /// NaN, infinities, denormals in the new rows.
    Spoiled,
    /// New rows half-way between two codes of the cache's format.
    HalfWay,
    /// New rows so near to half-way that it matters how they are scaled.
    NearHalfWay,
}

impl Topic {
    const fn border(self) -> Option<Border> {
        match self {
            Topic::HalfWay => Some(Border::On),
            Topic::NearHalfWay => Some(Border::Beside),
            _ => None,
        }
    }
}

impl Spec {
    /// A small case.
    fn plain() -> Self {
        Spec {
            format: DType::F32,
            kind: Kind::Exact,
            topic: Topic::Append,
            values: DType::F32,
            rows: 1,
            seqs: 1,
            slots: 33,
            kv_heads: 2,
            head_dim: 64,
            data: Data::Gauss,
            caches: Caches::TokenMajor,
            packing: Packing::Dense,
            seed: 1,
        }
    }

    /// Sequence and position of each row.
    fn places(&self) -> Vec<(usize, usize)> {
        let all = self.seqs * self.slots;
        (0..self.rows)
            .map(|row| match self.topic {
                Topic::Append | Topic::Spoiled | Topic::HalfWay | Topic::NearHalfWay => {
                    (self.seqs - 1, row % self.slots)
                }
                // 7919 divides no number of slots here, so that no place occurs twice.
                Topic::Scatter | Topic::Layouts | Topic::TransposedBlocks => {
                    ((row * 7919 + 5) % all / self.slots, (row * 7919 + 5) % all % self.slots)
                }
                Topic::LastSlot => (self.seqs - 1, self.slots - 1 - row),
                Topic::PastTheEnd => (0, self.slots - self.rows + row + 1),
                Topic::NoSuchSequence => (self.seqs, row),
                Topic::Duplicate => (0, row / 2),
            })
            .collect()
    }

    fn record(&self) -> Record {
        let random = &mut Random::new(self.seed);
        let shape = [self.rows, self.kv_heads, self.head_dim];
        let whole = [self.seqs, self.slots, self.kv_heads, self.head_dim];
        let mut values = |cache: DType| {
            let borders = self.topic.border().and_then(|border| {
                borders::values(cache, border, random, self.rows * self.kv_heads * self.head_dim)
            });
            if let Some(rows) = borders {
                return rows;
            }
            let mut rows = self.data.values(random, self.rows * self.kv_heads, self.head_dim);
            if self.topic == Topic::Spoiled {
                // NaN at each place of four that are written together.
                let special = [f32::NAN, f32::INFINITY, 1e-41, -0.0, 1e30, f32::NEG_INFINITY, 70000.0];
                let special = special.into_iter().chain([f32::NAN; 4]);
                for (at, value) in special.enumerate() {
                    let len = rows.len();
                    rows[(at * 37) % len] = value;
                }
            }
            rows
        };
        let (k, v) = (values(self.format), values(self.values));
        let caches = &mut Random::new(self.seed ^ 0xcace);
        let (k_cache, v_cache) = (cache(self.format, caches, whole), cache(self.values, caches, whole));
        let (seqs, positions): (Vec<u32>, Vec<u32>) =
            self.places().into_iter().map(|(seq, position)| (index(seq), index(position))).unzip();
        let [keys, slots] = self.caches.orders();
        Record::new(Stem::KvWrite)
            .floats("k", &shape, &k, self.packing)
            .floats("v", &shape, &v, self.packing)
            .indices("seqs", &seqs)
            .indices("positions", &positions)
            .out_holding_in("k_cache", self.format, &whole, &k_cache, self.packing, keys)
            .out_holding_in("v_cache", self.values, &whole, &v_cache, self.packing, slots)
    }
}

impl Spec {
    /// Whether there is such a case, and its topic has something to show in it.
    fn is_sensible(&self) -> bool {
        let caches = [self.format, self.values];
        let whole = caches.iter().all(|cache| self.head_dim.is_multiple_of(cache.block_len()));
        let topic = match self.topic {
            Topic::Append | Topic::LastSlot | Topic::Spoiled | Topic::PastTheEnd | Topic::NoSuchSequence => {
                self.rows <= self.slots
            }
            Topic::Scatter | Topic::Layouts | Topic::TransposedBlocks => self.rows <= self.seqs * self.slots,
            Topic::HalfWay | Topic::NearHalfWay => {
                self.rows <= self.slots && caches.iter().any(|c| c.is_quantised())
            }
            Topic::Duplicate => (2..=2 * self.slots).contains(&self.rows),
        };
        whole && topic && self.caches.suit(self.format, self.values)
    }
}

impl KvWrite {
    /// Cases of caches that are not token-major.
    fn in_other_layouts() -> Vec<Spec> {
        let axes = Axes::new()
            .axis(Caches::OTHERS, |s: &mut Spec, v| s.caches = v)
            .axis(DType::CACHE, |s: &mut Spec, v| s.format = v)
            .axis(DType::CACHE, |s: &mut Spec, v| s.values = v)
            .axis([1, 5, 32], |s: &mut Spec, v| s.rows = v)
            .axis([1, 3], |s: &mut Spec, v| s.seqs = v)
            .axis([7, 33, 64], |s: &mut Spec, v| s.slots = v)
            .axis([2, 9], |s: &mut Spec, v| s.kv_heads = v)
            .axis([64, 80, 128], |s: &mut Spec, v| s.head_dim = v)
            .axis([Packing::Dense, Packing::Padded], |s: &mut Spec, v| s.packing = v);
        let plain = Spec::plain();
        let scatter = Spec { topic: Topic::Scatter, ..plain.clone() };
        let mut specs = axes.array(&scatter, Strength::Triples, Spec::is_sensible);
        for (kind, topic) in
            [(Kind::Exact, Topic::LastSlot), (Kind::Hostile, Topic::Spoiled), (Kind::Law, Topic::Layouts)]
        {
            let about = Spec { kind, topic, ..plain.clone() };
            specs.extend(axes.array(&about, Strength::Pairs, Spec::is_sensible));
        }
        let blocks = Spec { kind: Kind::Hostile, topic: Topic::TransposedBlocks, ..plain.clone() };
        specs.push(Spec { values: DType::Q8_0, ..blocks });
        // Fewer elements than a block of threads has.
        for cache in DType::FLOATS {
            let small =
                Spec { format: cache, values: cache, kv_heads: 1, head_dim: 33, rows: 2, ..plain.clone() };
            specs.extend(
                [Caches::KTransposed, Caches::VTransposed].map(|caches| Spec { caches, ..small.clone() }),
            );
        }
        specs
    }
}

impl Family for KvWrite {
    const STEM: Stem = Stem::KvWrite;
    type Spec = Spec;

    fn enumerate() -> Vec<Spec> {
        let plain = Spec::plain();
        let axes = Axes::new()
            .axis(DType::CACHE, |s: &mut Spec, v| s.format = v)
            .axis(DType::CACHE, |s: &mut Spec, v| s.values = v)
            .axis([1, 2, 5, 32], |s: &mut Spec, v| s.rows = v)
            .axis([1, 2, 3], |s: &mut Spec, v| s.seqs = v)
            .axis([1, 7, 33, 64, 300], |s: &mut Spec, v| s.slots = v)
            .axis([1, 2, 3, 9], |s: &mut Spec, v| s.kv_heads = v)
            .axis([32, 64, 80, 96, 128, 256], |s: &mut Spec, v| s.head_dim = v)
            .axis(Data::RANDOM, |s: &mut Spec, v| s.data = v)
            .axis([Packing::Dense, Packing::Padded], |s: &mut Spec, v| s.packing = v);
        let mut specs = Vec::new();
        for topic in [Topic::Append, Topic::Scatter, Topic::LastSlot] {
            let about = Spec { topic, ..plain.clone() };
            specs.extend(axes.array(&about, Strength::Triples, Spec::is_sensible));
        }
        for (kind, topic) in [
            (Kind::Exact, Topic::HalfWay),
            (Kind::Exact, Topic::NearHalfWay),
            (Kind::Hostile, Topic::Spoiled),
            (Kind::Hostile, Topic::PastTheEnd),
            (Kind::Hostile, Topic::NoSuchSequence),
            (Kind::Hostile, Topic::Duplicate),
        ] {
            let about = Spec { kind, topic, ..plain.clone() };
            specs.extend(axes.array(&about, Strength::Pairs, Spec::is_sensible));
        }
        // Slots that do not fit in 15 and 16 bits.
        for (format, values) in
            [(DType::F32, DType::F16), (DType::F16, DType::Q8_0), (DType::Q8_0, DType::F32)]
        {
            for (slots, topic) in [(33_000, Topic::Scatter), (66_000, Topic::LastSlot)] {
                let long = Spec { format, values, slots, topic, kv_heads: 1, head_dim: 32, ..plain.clone() };
                specs.push(Spec { rows: 5, ..long });
            }
        }
        // Rows as long as those of a model of 32 heads.
        for format in DType::CACHE {
            for values in DType::CACHE {
                for packing in [Packing::Dense, Packing::Padded] {
                    let long = Spec { format, values, kv_heads: 32, head_dim: 128, packing, ..plain.clone() };
                    specs.push(Spec { rows: 2, slots: 3, ..long });
                }
            }
        }
        // More rows than fit in 16 bits.
        specs.push(Spec { rows: 65_537, slots: 65_540, kv_heads: 1, head_dim: 32, ..plain });
        specs.extend(Self::in_other_layouts());
        for (at, spec) in specs.iter_mut().enumerate() {
            spec.seed = 1 + at as u64;
        }
        specs
    }

    fn strategy() -> BoxedStrategy<Spec> {
        let shape = (1usize..20, 1usize..4, 1usize..40, 1usize..5, 1usize..9);
        let cache = select(DType::CACHE.to_vec());
        let caches = prop_oneof![2 => Just(Caches::TokenMajor), 1 => select(Caches::OTHERS.to_vec())];
        ((cache.clone(), cache, caches), shape, select(Data::RANDOM.to_vec()), any::<bool>(), any::<u64>())
            .prop_map(
                |((format, values, caches), (rows, seqs, more, kv_heads, blocks), data, padded, seed)| Spec {
                    format,
                    kind: Kind::Exact,
                    topic: Topic::Append,
                    values,
                    rows,
                    seqs,
                    slots: rows + more,
                    kv_heads,
                    head_dim: blocks * format.block_len().max(values.block_len()).max(4),
                    data,
                    caches: if caches.suit(format, values) { caches } else { Caches::HeadMajor },
                    packing: if padded { Packing::Padded } else { Packing::Dense },
                    seed,
                },
            )
            .boxed()
    }

    fn forms() -> Vec<Spec> {
        let caches = |format| DType::CACHE.map(|values| Spec { format, values, rows: 2, ..Spec::plain() });
        let packed =
            |spec: Spec| [Packing::Dense, Packing::Padded].map(|packing| Spec { packing, ..spec.clone() });
        let transposed = Spec { caches: Caches::KTransposed, rows: 2, ..Spec::plain() };
        DType::CACHE.into_iter().flat_map(caches).flat_map(packed).chain([transposed]).collect()
    }

    fn record(spec: &Spec) -> Record {
        spec.record()
    }

    fn resize(spec: &mut Spec, size: Size, to: usize) -> bool {
        spec.head_dim = to;
        matches!(size, Size::Dim(_, 2)) && spec.is_sensible()
    }

    fn granule(spec: &Spec, _: Size) -> usize {
        spec.format.block_len().max(spec.values.block_len())
    }

    fn run(spec: &Spec, trial: &mut Trial<'_>) -> Result<(), Stop> {
        let record = spec.record();
        match spec.topic {
            Topic::Append
            | Topic::Scatter
            | Topic::LastSlot
            | Topic::Spoiled
            | Topic::HalfWay
            | Topic::NearHalfWay => trial.conform(&record).map(drop),
            Topic::Layouts => {
                let plain = Spec { caches: Caches::TokenMajor, ..spec.clone() }.record();
                let (token_major, other) = (trial.outputs(&plain)?, trial.outputs(&record)?);
                for ((name, _, plain), (_, _, other)) in token_major.iter().zip(&other) {
                    trial.same_bits(&format!("'{name}' token-major = in any other layout"), plain, other);
                }
                Ok(())
            }
            Topic::TransposedBlocks => {
                let shape = [spec.seqs, spec.slots, spec.kv_heads, spec.head_dim];
                trial.refused(&super::cache::transposed(&record, "v_cache", shape), "v_cache", Check::Stride);
                Ok(())
            }
            Topic::PastTheEnd => {
                trial.refused(&record, "positions", Check::Index);
                Ok(())
            }
            Topic::NoSuchSequence => {
                trial.refused(&record, "seqs", Check::Index);
                Ok(())
            }
            Topic::Duplicate => {
                trial.refused(&record, "positions", Check::Duplicate);
                Ok(())
            }
        }
    }
}
