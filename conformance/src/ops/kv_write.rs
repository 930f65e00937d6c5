//! Cases of `kv_write`.

use kernels::{Check, DType, Record, Stem};
use proptest::prelude::*;
use proptest::sample::select;
use serde::{Deserialize, Serialize};

use super::borders::{self, Border};
use super::cache::cache;
use crate::data::{Data, Operands, Packing, Random, index};
use crate::family::Family;
use crate::name::Kind;
use crate::trial::{Stop, Trial};

/// Cases of `kv_write`.
#[derive(Debug)]
pub struct KvWrite;

/// The family of this op.
pub type Cases = KvWrite;

/// What distinguishes the cases of `kv_write`. The format is the cache's.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Spec {
    format: DType,
    kind: Kind,
    topic: Topic,
    rows: usize,
    seqs: usize,
    slots: usize,
    kv_heads: usize,
    head_dim: usize,
    data: Data,
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
    /// Sequence and position of each row.
    fn places(&self) -> Vec<(usize, usize)> {
        let all = self.seqs * self.slots;
        (0..self.rows)
            .map(|row| match self.topic {
                Topic::Append | Topic::Spoiled | Topic::HalfWay | Topic::NearHalfWay => {
                    (self.seqs - 1, row % self.slots)
                }
                // 7919 is prime to every number of slots here, so that no place occurs twice.
                Topic::Scatter => ((row * 7919 + 5) % all / self.slots, (row * 7919 + 5) % all % self.slots),
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
        let mut values = || {
            let borders = self.topic.border().and_then(|border| {
                borders::values(self.format, border, random, self.rows * self.kv_heads * self.head_dim)
            });
            if let Some(rows) = borders {
                return rows;
            }
            let mut rows = self.data.values(random, self.rows * self.kv_heads, self.head_dim);
            if self.topic == Topic::Spoiled {
                let special = [f32::NAN, f32::INFINITY, 1e-41, -0.0, 1e30, f32::NEG_INFINITY, 70000.0];
                for (at, value) in special.into_iter().enumerate() {
                    let len = rows.len();
                    rows[(at * 37) % len] = value;
                }
            }
            rows
        };
        let (k, v) = (values(), values());
        let caches = &mut Random::new(self.seed ^ 0xcace);
        let (k_cache, v_cache) = (cache(self.format, caches, whole), cache(self.format, caches, whole));
        let (seqs, positions): (Vec<u32>, Vec<u32>) =
            self.places().into_iter().map(|(seq, position)| (index(seq), index(position))).unzip();
        Record::new(Stem::KvWrite)
            .floats("k", &shape, &k, self.packing)
            .floats("v", &shape, &v, self.packing)
            .indices("seqs", &seqs)
            .indices("positions", &positions)
            .out_holding("k_cache", self.format, &whole, &k_cache, self.packing)
            .out_holding("v_cache", self.format, &whole, &v_cache, self.packing)
    }
}

impl Family for KvWrite {
    const STEM: Stem = Stem::KvWrite;
    type Spec = Spec;

    fn enumerate() -> Vec<Spec> {
        let mut specs = Vec::new();
        for format in DType::CACHE {
            let mut turn = 0;
            for head_dim in [32, 64, 80, 96, 128, 256] {
                if head_dim % format.block_len() != 0 {
                    continue;
                }
                for kv_heads in [1, 2, 3, 9] {
                    for (rows, seqs, slots) in [(1, 1, 1), (1, 2, 33), (5, 3, 7), (32, 1, 64)] {
                        turn += 1;
                        let packing = if turn % 2 == 0 { Packing::Padded } else { Packing::Dense };
                        let data = Data::RANDOM[turn % 3];
                        let seed = turn as u64;
                        let base = Spec {
                            format,
                            kind: Kind::Exact,
                            topic: Topic::Append,
                            rows,
                            seqs,
                            slots,
                            kv_heads,
                            head_dim,
                            data,
                            packing,
                            seed,
                        };
                        for topic in [Topic::Append, Topic::Scatter, Topic::LastSlot] {
                            specs.push(Spec { topic, ..base.clone() });
                        }
                        if format.is_quantised() {
                            for topic in [Topic::HalfWay, Topic::NearHalfWay] {
                                specs.push(Spec { topic, ..base.clone() });
                            }
                        }
                        for topic in [Topic::Spoiled, Topic::PastTheEnd, Topic::NoSuchSequence] {
                            specs.push(Spec { kind: Kind::Hostile, topic, ..base.clone() });
                        }
                        if rows > 1 {
                            specs.push(Spec { kind: Kind::Hostile, topic: Topic::Duplicate, ..base });
                        }
                    }
                }
            }
        }
        specs
    }

    fn strategy() -> BoxedStrategy<Spec> {
        let shape = (1usize..20, 1usize..4, 1usize..40, 1usize..5, 1usize..9);
        (select(DType::CACHE.to_vec()), shape, select(Data::RANDOM.to_vec()), any::<bool>(), any::<u64>())
            .prop_map(|(format, (rows, seqs, more, kv_heads, blocks), data, padded, seed)| Spec {
                format,
                kind: Kind::Exact,
                topic: Topic::Append,
                rows,
                seqs,
                slots: rows + more,
                kv_heads,
                head_dim: blocks * format.block_len().max(4),
                data,
                packing: if padded { Packing::Padded } else { Packing::Dense },
                seed,
            })
            .boxed()
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
