//! Cases of `attention`.

use kernels::{Check, DType, Record, Stem};
use proptest::prelude::*;
use proptest::sample::select;
use serde::{Deserialize, Serialize};

use super::cache::{cache, encoded};
use crate::data::{Data, Operands, Packing, Random, index};
use crate::family::Family;
use crate::name::Kind;
use crate::trial::{Stop, Trial};

/// Cases of `attention`.
#[derive(Debug)]
pub struct Attention;

/// The family of this op.
pub type Cases = Attention;

/// What distinguishes the cases of `attention`. The format is the cache's.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Spec {
    format: DType,
    kind: Kind,
    topic: Topic,
    rows: usize,
    heads: usize,
    kv_heads: usize,
    head_dim: usize,
    seqs: usize,
    /// Position of the last row; those before it precede it.
    pos: usize,
    /// Slots of the cache beyond the last position.
    spare: usize,
    window: Option<usize>,
    softcap: Option<f64>,
    packing: Packing,
    seed: u64,
}

/// What a case is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Topic {
    /// Comparison with the oracle.
    Values,
    /// Queries of zeros weigh all keys alike: the mean of integers.
    Uniform,
    /// Queries so large that one key is far ahead of the others.
    Sharp,
    /// NaN in every slot that no row sees.
    UnseenNan,
    /// NaN and infinity in one query row stay in that row.
    Containment,
    /// A row's result does not depend on the other rows: whole = chunked = one by one.
    RowInvariance,
    /// What comes after a row's position makes no difference to it.
    Causality,
    /// The result lies between the smallest and the largest value seen.
    Convexity,
    /// Shared heads are the same as each cached head repeated.
    ExpandedHeads,
    /// A position at the end of the cache must be refused.
    PastTheEnd,
    /// Heads that the cached ones do not divide must be refused.
    UnevenHeads,
}

/// The tensors of a case, before they become a record.
struct Tensors {
    q: Vec<f32>,
    k: Vec<u8>,
    v: Vec<u8>,
    kv_heads: usize,
}

impl Spec {
    fn slots(&self) -> usize {
        self.pos + 1 + self.spare
    }

    /// Sequence and position of each row.
    fn places(&self) -> Vec<(u32, u32)> {
        (0..self.rows)
            .map(|row| (index((row + 1) % self.seqs), index((self.pos + 1 + row).saturating_sub(self.rows))))
            .collect()
    }

    fn cache_shape(&self, kv_heads: usize) -> [usize; 4] {
        [self.seqs, self.slots(), kv_heads, self.head_dim]
    }

    fn tensors(&self) -> Tensors {
        let random = &mut Random::new(self.seed);
        let q = Data::Gauss.values(random, self.rows * self.heads, self.head_dim);
        let k = cache(self.format, random, self.cache_shape(self.kv_heads));
        let v = cache(self.format, random, self.cache_shape(self.kv_heads));
        Tensors { q, k, v, kv_heads: self.kv_heads }
    }

    fn record(&self, tensors: &Tensors, places: &[(u32, u32)]) -> Record {
        let (seqs, positions): (Vec<u32>, Vec<u32>) = places.iter().copied().unzip();
        let shape = [places.len(), self.heads, self.head_dim];
        let cache = self.cache_shape(tensors.kv_heads);
        #[expect(clippy::cast_possible_truncation, reason = "the parameters are f32")]
        let (scale, softcap) = ((self.head_dim as f64).sqrt().recip() as f32, self.softcap.map(|c| c as f32));
        Record::new(Stem::Attention)
            .param("scale", scale)
            .param("window", self.window)
            .param("softcap", softcap)
            .floats("q", &shape, &tensors.q, self.packing)
            .bytes("k_cache", self.format, &cache, &tensors.k, self.packing)
            .bytes("v_cache", self.format, &cache, &tensors.v, self.packing)
            .indices("seqs", &seqs)
            .indices("positions", &positions)
            .out("out", DType::F32, &shape, self.packing)
    }

    /// Bytes of slot `slot` of sequence `seq` in a cache of `kv_heads`.
    fn slot(&self, kv_heads: usize, seq: usize, slot: usize) -> std::ops::Range<usize> {
        let len = self.format.bytes_of(kv_heads * self.head_dim).unwrap_or(0);
        let at = seq * self.slots() + slot;
        at * len..(at + 1) * len
    }

    /// Whether any row sees slot `slot` of sequence `seq`.
    fn seen(&self, seq: usize, slot: usize) -> bool {
        self.places().into_iter().any(|(s, p)| {
            let first = self.window.map_or(0, |w| (p as usize + 1).saturating_sub(w));
            s as usize == seq && (first..=p as usize).contains(&slot)
        })
    }
}

impl Family for Attention {
    const STEM: Stem = Stem::Attention;
    type Spec = Spec;

    fn enumerate() -> Vec<Spec> {
        let mut specs = Vec::new();
        for format in DType::CACHE {
            let plain = Spec {
                format,
                kind: Kind::Bounded,
                topic: Topic::Values,
                rows: 1,
                heads: 6,
                kv_heads: 2,
                head_dim: 64,
                seqs: 1,
                pos: 40,
                spare: 3,
                window: None,
                softcap: None,
                packing: Packing::Dense,
                seed: 1,
            };
            let mut turn = 0;
            for head_dim in [32, 64, 80, 96, 128, 256] {
                if head_dim % format.block_len() != 0 {
                    continue;
                }
                for (heads, kv_heads) in [(1, 1), (4, 1), (6, 2), (9, 3), (5, 5)] {
                    for pos in [0, 1, 31, 32, 33, 63, 64, 127, 200] {
                        turn += 1;
                        let rows = [1, 2, 5, 33, 1, 8][turn % 6].min(pos + 1);
                        let window = [None, None, Some(1), Some(7), Some(64)][turn % 5];
                        let softcap = [None, Some(20.0), None, Some(0.5)][turn % 4];
                        let packing = if turn % 3 == 0 { Packing::Padded } else { Packing::Dense };
                        let seqs = [1, 1, 2, 3][turn % 4];
                        let shape = Spec { rows, heads, kv_heads, head_dim, seqs, pos, ..plain.clone() };
                        let spare = turn % 4;
                        let seed = turn as u64;
                        let base = Spec { spare, window, softcap, packing, seed, ..shape };
                        specs.push(base.clone());
                        specs.push(Spec { topic: Topic::Sharp, softcap: None, ..base.clone() });
                        specs.push(Spec {
                            kind: Kind::Hostile,
                            topic: Topic::UnseenNan,
                            spare: 2,
                            ..base.clone()
                        });
                        let law = |topic| Spec { kind: Kind::Law, topic, ..base.clone() };
                        specs.extend([Topic::Causality, Topic::Convexity, Topic::ExpandedHeads].map(law));
                        if rows > 1 {
                            specs.push(law(Topic::RowInvariance));
                            specs.push(Spec {
                                kind: Kind::Hostile,
                                topic: Topic::Containment,
                                ..base.clone()
                            });
                        }
                        if (pos + 1).is_power_of_two() && format != DType::Q8_0 {
                            let even = Spec { window: None, softcap: None, rows: 1, seqs: 1, ..base };
                            specs.push(Spec { kind: Kind::Exact, topic: Topic::Uniform, ..even });
                        }
                    }
                }
                let shape = Spec { head_dim, ..plain.clone() };
                for (pos, rows) in [(511, 1), (512, 33), (1023, 1)] {
                    specs.push(Spec { pos, rows, seed: 77, ..shape.clone() });
                }
                specs.push(Spec { kind: Kind::Hostile, topic: Topic::PastTheEnd, ..shape.clone() });
                specs.push(Spec { kind: Kind::Hostile, topic: Topic::UnevenHeads, ..shape });
            }
            specs.push(Spec { pos: 4095, seed: 78, ..plain });
        }
        specs
    }

    fn strategy() -> BoxedStrategy<Spec> {
        let shape = (1usize..12, 1usize..5, 1usize..4, 1usize..5, 1usize..4);
        let window = prop_oneof![Just(None), (1usize..80).prop_map(Some)];
        let softcap = prop_oneof![Just(None), (0.5f64..50.0).prop_map(Some)];
        let place = (0usize..150, 0usize..5, any::<bool>());
        (select(DType::CACHE.to_vec()), shape, place, window, softcap, any::<u64>())
            .prop_map(
                |(
                    format,
                    (rows, group, kv_heads, blocks, seqs),
                    (pos, spare, padded),
                    window,
                    softcap,
                    seed,
                )| {
                    Spec {
                        format,
                        kind: Kind::Bounded,
                        topic: Topic::Values,
                        rows: rows.min(pos + 1),
                        heads: group * kv_heads,
                        kv_heads,
                        head_dim: blocks * 32,
                        seqs,
                        pos,
                        spare,
                        window,
                        softcap,
                        packing: if padded { Packing::Padded } else { Packing::Dense },
                        seed,
                    }
                },
            )
            .boxed()
    }

    fn run(spec: &Spec, trial: &mut Trial<'_>) -> Result<(), Stop> {
        let (tensors, places) = (spec.tensors(), spec.places());
        match spec.topic {
            Topic::Values => trial.conform_visibly(&spec.record(&tensors, &places)).map(drop),
            Topic::Uniform => uniform(spec, trial, tensors),
            Topic::Sharp => sharp(spec, trial, tensors),
            Topic::UnseenNan => unseen_nan(spec, trial, tensors),
            Topic::Containment => {
                let mut spoiled = tensors;
                super::rowwise::spoil(&mut spoiled.q, spec.heads * spec.head_dim);
                trial.conform(&spec.record(&spoiled, &places)).map(drop)
            }
            Topic::RowInvariance => row_invariance(spec, trial, &tensors),
            Topic::Causality => causality(spec, trial, tensors),
            Topic::Convexity => convexity(spec, trial, &tensors),
            Topic::ExpandedHeads => expanded_heads(spec, trial, tensors),
            Topic::PastTheEnd => {
                let past = vec![(0, index(spec.slots())); spec.rows];
                trial.refused(&spec.record(&tensors, &past), "positions", Check::Index);
                Ok(())
            }
            Topic::UnevenHeads => {
                let uneven = Spec { heads: 7, kv_heads: 2, ..spec.clone() };
                trial.refused(&uneven.record(&uneven.tensors(), &places), "k_cache", Check::Shape);
                Ok(())
            }
        }
    }
}

/// With equal scores the result is the mean of the values; over a power of two of integers it is exact.
fn uniform(spec: &Spec, trial: &mut Trial<'_>, tensors: Tensors) -> Result<(), Stop> {
    let rows = spec.seqs * spec.slots() * spec.kv_heads;
    let values = Data::Integers.values(&mut Random::new(spec.seed), rows, spec.head_dim);
    let even = Tensors { q: vec![0.0; tensors.q.len()], v: encoded(spec.format, &values), ..tensors };
    trial.conform_exactly(&spec.record(&even, &spec.places())).map(drop)
}

fn sharp(spec: &Spec, trial: &mut Trial<'_>, tensors: Tensors) -> Result<(), Stop> {
    let mut q = tensors.q;
    q.iter_mut().for_each(|v| *v *= 12.0);
    trial.conform_visibly(&spec.record(&Tensors { q, ..tensors }, &spec.places())).map(drop)
}

fn unseen_nan(spec: &Spec, trial: &mut Trial<'_>, mut tensors: Tensors) -> Result<(), Stop> {
    for seq in 0..spec.seqs {
        for slot in (0..spec.slots()).filter(|slot| !spec.seen(seq, *slot)) {
            let range = spec.slot(spec.kv_heads, seq, slot);
            tensors.k[range.clone()].fill(0xff);
            tensors.v[range].fill(0xff);
        }
    }
    trial.conform(&spec.record(&tensors, &spec.places())).map(drop)
}

fn row_invariance(spec: &Spec, trial: &mut Trial<'_>, tensors: &Tensors) -> Result<(), Stop> {
    let places = spec.places();
    let width = spec.heads * spec.head_dim;
    let whole = trial.outputs(&spec.record(tensors, &places))?;
    let mut compare = |name: &str, rows: std::ops::Range<usize>| -> Result<(), Stop> {
        let q = tensors.q[rows.start * width..rows.end * width].to_vec();
        let part = Tensors { q, k: tensors.k.clone(), v: tensors.v.clone(), kv_heads: tensors.kv_heads };
        let alone = trial.outputs(&spec.record(&part, &places[rows.clone()]))?;
        trial.same_bits(name, &whole[0].2[rows.start * width * 4..rows.end * width * 4], &alone[0].2);
        Ok(())
    };
    for row in [0, spec.rows / 2, spec.rows - 1] {
        compare(&format!("prefill = decode, row {row}"), row..row + 1)?;
    }
    compare("chunked = whole", spec.rows / 2..spec.rows)
}

fn causality(spec: &Spec, trial: &mut Trial<'_>, mut tensors: Tensors) -> Result<(), Stop> {
    let before = trial.outputs(&spec.record(&tensors, &spec.places()))?;
    let other = Spec { seed: spec.seed ^ 0xffff, ..spec.clone() }.tensors();
    for seq in 0..spec.seqs {
        for slot in (0..spec.slots()).filter(|slot| !spec.seen(seq, *slot)) {
            let range = spec.slot(spec.kv_heads, seq, slot);
            tensors.k[range.clone()].copy_from_slice(&other.k[range.clone()]);
            tensors.v[range.clone()].copy_from_slice(&other.v[range]);
        }
    }
    let after = trial.outputs(&spec.record(&tensors, &spec.places()))?;
    trial.same_bits("causality", &before[0].2, &after[0].2);
    Ok(())
}

fn convexity(spec: &Spec, trial: &mut Trial<'_>, tensors: &Tensors) -> Result<(), Stop> {
    let outputs = trial.outputs(&spec.record(tensors, &spec.places()))?;
    let out: Vec<f32> = bytemuck::pod_collect_to_vec(&outputs[0].2);
    let mut values = vec![0.0f32; spec.seqs * spec.slots() * spec.kv_heads * spec.head_dim];
    // The cache was encoded from as many values, so that decoding cannot fail; if it did, the law would show it.
    let _ = kernels::quant::decode_row(spec.format, &tensors.v, &mut values);
    let group = spec.heads / spec.kv_heads;
    for (row, (seq, position)) in spec.places().into_iter().enumerate() {
        let (seq, position) = (seq as usize, position as usize);
        let first = spec.window.map_or(0, |w| (position + 1).saturating_sub(w));
        for head in 0..spec.heads {
            for d in 0..spec.head_dim {
                let at = |slot: usize| {
                    values[((seq * spec.slots() + slot) * spec.kv_heads + head / group) * spec.head_dim + d]
                };
                let (low, high) = (first..=position)
                    .map(at)
                    .fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
                let got = out[(row * spec.heads + head) * spec.head_dim + d];
                let room = 1e-4 * low.abs().max(high.abs()).max(1e-3);
                trial.law("convexity", (low - room..=high + room).contains(&got), || {
                    format!("[{row}, {head}, {d}] is {got}, values seen are from {low} to {high}")
                });
            }
        }
    }
    Ok(())
}

fn expanded_heads(spec: &Spec, trial: &mut Trial<'_>, tensors: Tensors) -> Result<(), Stop> {
    let shared = trial.outputs(&spec.record(&tensors, &spec.places()))?;
    let group = spec.heads / spec.kv_heads;
    let head = spec.format.bytes_of(spec.head_dim).unwrap_or(1);
    let expand = |bytes: &[u8]| bytes.chunks(head).flat_map(|h| h.repeat(group)).collect::<Vec<u8>>();
    let wide = Tensors { k: expand(&tensors.k), v: expand(&tensors.v), kv_heads: spec.heads, q: tensors.q };
    let expanded = trial.outputs(&spec.record(&wide, &spec.places()))?;
    trial.same_bits("shared heads = repeated heads", &shared[0].2, &expanded[0].2);
    Ok(())
}
