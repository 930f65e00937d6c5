//! Cases of `attention`.

use kernels::{Check, DType, Record, Size, Stem};
use proptest::prelude::*;
use proptest::sample::select;
use serde::{Deserialize, Serialize};

use super::cache::{Caches, cache, encoded};
use crate::covering::{Axes, Strength};
use crate::data::{Data, Operands, Packing, Random, index};
use crate::family::Family;
use crate::name::Kind;
use crate::trial::{Stop, Trial};

/// Cases of `attention`.
#[derive(Debug)]
pub struct Attention;

/// The family of this op.
pub type Cases = Attention;

/// What distinguishes the cases of `attention`. The format is that of the keys.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Spec {
    format: DType,
    kind: Kind,
    topic: Topic,
    /// Format of the values.
    values: DType,
    rows: usize,
    heads: usize,
    kv_heads: usize,
    head_dim: usize,
    seqs: usize,
    /// The largest position of a row.
    pos: usize,
    order: Order,
    /// Slots of the cache beyond the last position.
    spare: usize,
    /// Factor on the scores; 1/√`head_dim` where there is none.
    scale: Option<f64>,
    window: Option<usize>,
    softcap: Option<f64>,
    #[serde(default, skip_serializing_if = "Caches::is_default")]
    caches: Caches,
    packing: Packing,
    seed: u64,
}

/// How the positions of rows follow each other. Rows take turns among the sequences.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Order {
    /// One by one, up to the largest.
    Ascending,
    /// The largest first, then in no order: the rows of a batch of sequences of unequal length.
    Scattered,
    /// Each position twice, from the largest downwards.
    Repeated,
    /// One by one, three rows of a sequence at a time: rows of several sequences side by side.
    Runs,
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
    /// NaN in the slot of the largest position, which the rows at smaller ones do not see.
    LaterNan,
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
    /// The layout of the caches makes no difference: as in token-major ones.
    Layouts,
    /// Transposed keys in blocks must be refused.
    TransposedBlocks,
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
    /// A small case.
    fn plain() -> Self {
        Spec {
            format: DType::F32,
            kind: Kind::Bounded,
            topic: Topic::Values,
            values: DType::F32,
            rows: 1,
            heads: 6,
            kv_heads: 2,
            head_dim: 64,
            seqs: 1,
            pos: 40,
            order: Order::Ascending,
            spare: 3,
            scale: None,
            window: None,
            softcap: None,
            caches: Caches::TokenMajor,
            packing: Packing::Dense,
            seed: 1,
        }
    }

    fn slots(&self) -> usize {
        self.pos + 1 + self.spare
    }

    /// Sequence and position of each row.
    fn places(&self) -> Vec<(u32, u32)> {
        let position = |row: usize| match self.order {
            Order::Ascending | Order::Runs => (self.pos + 1 + row).saturating_sub(self.rows),
            // 7919 is prime to every number of slots here, so that rows differ.
            Order::Scattered => (self.pos + row * 7919) % (self.pos + 1),
            Order::Repeated => self.pos.saturating_sub(row / 2),
        };
        let turn = |row: usize| if self.order == Order::Runs { row / 3 } else { row };
        (0..self.rows).map(|row| (index((turn(row) + 1) % self.seqs), index(position(row)))).collect()
    }

    fn cache_shape(&self, kv_heads: usize) -> [usize; 4] {
        [self.seqs, self.slots(), kv_heads, self.head_dim]
    }

    fn tensors(&self) -> Tensors {
        let random = &mut Random::new(self.seed);
        let q = Data::Gauss.values(random, self.rows * self.heads, self.head_dim);
        let k = cache(self.format, random, self.cache_shape(self.kv_heads));
        let v = cache(self.values, random, self.cache_shape(self.kv_heads));
        Tensors { q, k, v, kv_heads: self.kv_heads }
    }

    fn record(&self, tensors: &Tensors, places: &[(u32, u32)]) -> Record {
        let (seqs, positions): (Vec<u32>, Vec<u32>) = places.iter().copied().unzip();
        let shape = [places.len(), self.heads, self.head_dim];
        let cache = self.cache_shape(tensors.kv_heads);
        let [keys, values] = self.caches.orders();
        #[expect(clippy::cast_possible_truncation, reason = "the parameters are f32")]
        let (scale, softcap) = (
            self.scale.unwrap_or_else(|| (self.head_dim as f64).sqrt().recip()) as f32,
            self.softcap.map(|c| c as f32),
        );
        Record::new(Stem::Attention)
            .param("scale", scale)
            .param("window", self.window)
            .param("softcap", softcap)
            .floats("q", &shape, &tensors.q, self.packing)
            .bytes_in("k_cache", self.format, &cache, &tensors.k, self.packing, keys)
            .bytes_in("v_cache", self.values, &cache, &tensors.v, self.packing, values)
            .indices("seqs", &seqs)
            .indices("positions", &positions)
            .out("out", DType::F32, &shape, self.packing)
    }

    /// Bytes of slot `slot` of sequence `seq` in the cache of keys and in that of values.
    fn slot(&self, seq: usize, slot: usize) -> [std::ops::Range<usize>; 2] {
        let at = seq * self.slots() + slot;
        [self.format, self.values].map(|cache| {
            let len = cache.bytes_of(self.kv_heads * self.head_dim).unwrap_or(0);
            at * len..(at + 1) * len
        })
    }

    /// Whether any row sees slot `slot` of sequence `seq`.
    fn seen(&self, seq: usize, slot: usize) -> bool {
        self.places().into_iter().any(|(s, p)| {
            let first = self.window.map_or(0, |w| (p as usize + 1).saturating_sub(w));
            s as usize == seq && (first..=p as usize).contains(&slot)
        })
    }
}

/// Largest positions: the first ones, around the sizes of tiles and of the parts into which long caches are cut.
const POSITIONS: [usize; 12] = [0, 1, 31, 32, 33, 63, 64, 127, 200, 255, 256, 520];

/// Windows: of one slot, smaller and larger than a tile, than a row of tiles, than a part of a cache.
const WINDOWS: [Option<usize>; 7] = [None, Some(1), Some(7), Some(64), Some(129), Some(256), Some(300)];

/// Products of a case that it may take to compute its scores.
const MOST_WORK: usize = 2 << 20;

impl Spec {
    /// Whether there is such a case, and its topic has something to show in it.
    fn is_sensible(&self) -> bool {
        let whole =
            [self.format, self.values].iter().all(|cache| self.head_dim.is_multiple_of(cache.block_len()));
        let rows = match self.order {
            Order::Ascending => self.rows <= self.pos + 1,
            Order::Scattered | Order::Repeated => self.rows > 1,
            Order::Runs => self.rows > 3 && self.rows <= self.pos + 1,
        };
        let small = self.rows * self.heads * (self.pos + 1) * self.head_dim <= MOST_WORK;
        let topic = match self.topic {
            Topic::Containment | Topic::RowInvariance => self.rows > 1,
            Topic::LaterNan => self.rows > 1 && self.pos > 0,
            // A cap bends sharp scores over.
            Topic::Sharp => self.softcap.is_none(),
            Topic::Uniform => {
                let alone =
                    self.rows == 1 && self.seqs == 1 && self.window.is_none() && self.softcap.is_none();
                alone && (self.pos + 1).is_power_of_two() && self.values != DType::Q8_0
            }
            _ => true,
        };
        whole && rows && small && topic && self.caches.suit(self.format, self.values)
    }
}

impl Attention {
    /// Cases of caches that are not token-major.
    fn in_other_layouts() -> Vec<Spec> {
        let axes = Axes::new()
            .axis(Caches::OTHERS, |s: &mut Spec, v| s.caches = v)
            .axis(DType::CACHE, |s: &mut Spec, v| s.format = v)
            .axis(DType::CACHE, |s: &mut Spec, v| s.values = v)
            .axis([1, 5, 33], |s: &mut Spec, v| s.rows = v)
            .axis([(6, 2), (4, 1), (5, 5)], |s: &mut Spec, v| (s.heads, s.kv_heads) = v)
            .axis([64, 96, 128, 65], |s: &mut Spec, v| s.head_dim = v)
            .axis([1, 3], |s: &mut Spec, v| s.seqs = v)
            .axis([0, 33, 127, 256], |s: &mut Spec, v| s.pos = v)
            .axis([Order::Ascending, Order::Scattered, Order::Runs], |s: &mut Spec, v| s.order = v)
            .axis([0, 3], |s: &mut Spec, v| s.spare = v)
            .axis([None, Some(64)], |s: &mut Spec, v| s.window = v)
            .axis([Packing::Dense, Packing::Padded], |s: &mut Spec, v| s.packing = v);
        let plain = Spec::plain();
        let mut specs = axes.array(&plain, Strength::Triples, Spec::is_sensible);
        for (kind, topic) in [(Kind::Hostile, Topic::UnseenNan), (Kind::Law, Topic::Layouts)] {
            let about = Spec { kind, topic, ..plain.clone() };
            specs.extend(axes.array(&about, Strength::Pairs, Spec::is_sensible));
        }
        let blocks =
            Spec { format: DType::Q8_0, kind: Kind::Hostile, topic: Topic::TransposedBlocks, ..plain };
        specs.push(blocks);
        specs
    }
}

impl Family for Attention {
    const STEM: Stem = Stem::Attention;
    type Spec = Spec;

    fn enumerate() -> Vec<Spec> {
        let plain = Spec::plain();
        let axes = Axes::new()
            .axis(DType::CACHE, |s: &mut Spec, v| s.format = v)
            .axis(DType::CACHE, |s: &mut Spec, v| s.values = v)
            .axis([1, 2, 5, 8, 33], |s: &mut Spec, v| s.rows = v)
            .axis([(1, 1), (4, 1), (6, 2), (9, 3), (5, 5)], |s: &mut Spec, v| (s.heads, s.kv_heads) = v)
            .axis([32, 64, 65, 80, 96, 128, 130, 256], |s: &mut Spec, v| s.head_dim = v)
            .axis([1, 2, 3], |s: &mut Spec, v| s.seqs = v)
            .axis(POSITIONS, |s: &mut Spec, v| s.pos = v)
            .axis([Order::Ascending, Order::Scattered, Order::Repeated, Order::Runs], |s: &mut Spec, v| {
                s.order = v;
            })
            .axis([0, 1, 3], |s: &mut Spec, v| s.spare = v)
            .axis([None, Some(0.3), Some(0.01)], |s: &mut Spec, v| s.scale = v)
            .axis(WINDOWS, |s: &mut Spec, v| s.window = v)
            .axis([None, Some(20.0), Some(0.5)], |s: &mut Spec, v| s.softcap = v)
            .axis([Packing::Dense, Packing::Padded], |s: &mut Spec, v| s.packing = v);
        let mut specs = axes.array(&plain, Strength::Triples, Spec::is_sensible);
        let about = |kind, topic| Spec { kind, topic, ..plain.clone() };
        for (kind, topic) in [
            (Kind::Bounded, Topic::Sharp),
            (Kind::Exact, Topic::Uniform),
            (Kind::Hostile, Topic::UnseenNan),
            (Kind::Hostile, Topic::LaterNan),
            (Kind::Hostile, Topic::Containment),
            (Kind::Law, Topic::Causality),
            (Kind::Law, Topic::Convexity),
            (Kind::Law, Topic::ExpandedHeads),
            (Kind::Law, Topic::RowInvariance),
        ] {
            specs.extend(axes.array(&about(kind, topic), Strength::Pairs, Spec::is_sensible));
        }
        for format in DType::CACHE {
            let of = Spec { format, values: format, ..plain.clone() };
            for head_dim in [32, 64, 96, 128, 256] {
                let shape = Spec { head_dim, ..of.clone() };
                for (pos, rows) in [(1023, 1), (1024, 2), (1030, 33)] {
                    specs.push(Spec { pos, rows, window: Some(513), ..shape.clone() });
                }
                specs.push(Spec { kind: Kind::Hostile, topic: Topic::PastTheEnd, ..shape.clone() });
                specs.push(Spec { kind: Kind::Hostile, topic: Topic::UnevenHeads, ..shape });
            }
            specs.push(Spec { pos: 4095, ..of });
        }
        let one = Spec { heads: 1, kv_heads: 1, ..plain };
        // More rows than fit in 16 bits, and a position as in the longest contexts.
        specs.push(Spec { rows: 65_537, head_dim: 4, pos: 1, order: Order::Scattered, ..one.clone() });
        specs.push(Spec { format: DType::F16, values: DType::F16, pos: 131_071, ..one });
        specs.extend(Self::in_other_layouts());
        for (at, spec) in specs.iter_mut().enumerate() {
            spec.seed = 1 + at as u64;
        }
        specs
    }

    fn strategy() -> BoxedStrategy<Spec> {
        let shape = (1usize..12, 1usize..5, 1usize..4, 1usize..5, 1usize..4);
        let window = prop_oneof![Just(None), (1usize..80).prop_map(Some), (80usize..600).prop_map(Some)];
        let softcap = prop_oneof![Just(None), (0.5f64..50.0).prop_map(Some)];
        let scale = prop_oneof![Just(None), (0.001f64..0.6).prop_map(Some)];
        let pos = prop_oneof![3 => 0usize..150, 1 => 150usize..700];
        let order = select(vec![Order::Ascending, Order::Scattered, Order::Repeated]);
        let place = (pos, order, 0usize..5, any::<bool>());
        let cache = select(DType::CACHE.to_vec());
        let caches = prop_oneof![2 => Just(Caches::TokenMajor), 1 => select(Caches::OTHERS.to_vec())];
        ((cache.clone(), cache, caches), shape, place, (scale, window, softcap), any::<u64>())
            .prop_map(
                |(
                    (format, values, caches),
                    (rows, group, kv_heads, blocks, seqs),
                    (pos, order, spare, padded),
                    (scale, window, softcap),
                    seed,
                )| {
                    Spec {
                        format,
                        kind: Kind::Bounded,
                        topic: Topic::Values,
                        values,
                        rows: rows.min(pos + 1),
                        heads: group * kv_heads,
                        kv_heads,
                        head_dim: blocks * 32,
                        seqs,
                        pos,
                        order,
                        spare,
                        scale,
                        window,
                        softcap,
                        caches: if caches.suit(format, values) { caches } else { Caches::HeadMajor },
                        packing: if padded { Packing::Padded } else { Packing::Dense },
                        seed,
                    }
                },
            )
            .boxed()
    }

    fn forms() -> Vec<Spec> {
        let of = |(format, values)| {
            let spec = Spec { format, values, ..Spec::plain() };
            let window =
                Spec { window: Some(40), rows: 2, seqs: 2, packing: Packing::Padded, ..spec.clone() };
            let wide = Spec { head_dim: 128, heads: 4, kv_heads: 1, ..spec.clone() };
            let any = Spec { head_dim: 96, rows: 9, ..spec.clone() };
            [spec, window, wide, any]
        };
        DType::CACHE
            .into_iter()
            .zip([DType::Q8_0, DType::F32, DType::F16, DType::BF16])
            .flat_map(of)
            .chain([Spec { caches: Caches::KTransposed, ..Spec::plain() }])
            .collect()
    }

    fn record(spec: &Spec) -> Record {
        spec.record(&spec.tensors(), &spec.places())
    }

    fn resize(spec: &mut Spec, size: Size, to: usize) -> bool {
        match size {
            Size::Dim("q", 0) => spec.rows = to,
            Size::Dim("q", 2) => spec.head_dim = to,
            Size::Position => spec.pos = to,
            Size::Dim(..) => return false,
        }
        spec.is_sensible()
    }

    fn granule(spec: &Spec, size: Size) -> usize {
        if size == Size::Dim("q", 2) { spec.format.block_len().max(spec.values.block_len()) } else { 1 }
    }

    fn run(spec: &Spec, trial: &mut Trial<'_>) -> Result<(), Stop> {
        let (tensors, places) = (spec.tensors(), spec.places());
        match spec.topic {
            Topic::Values => trial.conform_visibly(&spec.record(&tensors, &places)).map(drop),
            Topic::Uniform => uniform(spec, trial, tensors),
            Topic::Sharp => sharp(spec, trial, tensors),
            Topic::UnseenNan => unseen_nan(spec, trial, tensors),
            Topic::LaterNan => later_nan(spec, trial, tensors),
            Topic::Containment => {
                let mut spoiled = tensors;
                super::rowwise::spoil(&mut spoiled.q, spec.heads * spec.head_dim);
                trial.conform(&spec.record(&spoiled, &places)).map(drop)
            }
            Topic::RowInvariance => row_invariance(spec, trial, &tensors),
            Topic::Layouts => layouts(spec, trial, &tensors),
            Topic::TransposedBlocks => {
                let (place, shape) = (&places[..1], spec.cache_shape(spec.kv_heads));
                let record = spec.record(&tensors, place);
                trial.refused(&super::cache::transposed(&record, "k_cache", shape), "k_cache", Check::Stride);
                Ok(())
            }
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
    let even = Tensors { q: vec![0.0; tensors.q.len()], v: encoded(spec.values, &values), ..tensors };
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
            let [k, v] = spec.slot(seq, slot);
            tensors.k[k].fill(0xff);
            tensors.v[v].fill(0xff);
        }
    }
    trial.conform(&spec.record(&tensors, &spec.places())).map(drop)
}

fn later_nan(spec: &Spec, trial: &mut Trial<'_>, mut tensors: Tensors) -> Result<(), Stop> {
    for seq in 0..spec.seqs {
        let [k, v] = spec.slot(seq, spec.pos);
        tensors.k[k].fill(0xff);
        tensors.v[v].fill(0xff);
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
        let row = whole[0].2.len() / spec.rows;
        trial.same_rows(name, &whole[0].2[rows.start * row..rows.end * row], &alone[0].2);
        Ok(())
    };
    for row in [0, spec.rows / 2, spec.rows - 1] {
        compare(&format!("prefill = decode, row {row}"), row..row + 1)?;
    }
    compare("chunked = whole", spec.rows / 2..spec.rows)
}

fn layouts(spec: &Spec, trial: &mut Trial<'_>, tensors: &Tensors) -> Result<(), Stop> {
    let plain = Spec { caches: Caches::TokenMajor, ..spec.clone() };
    let [token_major, other] = [&plain, spec].map(|s| trial.outputs(&s.record(tensors, &s.places())));
    trial.same_rows("token-major = any other layout", &token_major?[0].2, &other?[0].2);
    Ok(())
}

fn causality(spec: &Spec, trial: &mut Trial<'_>, mut tensors: Tensors) -> Result<(), Stop> {
    let before = trial.outputs(&spec.record(&tensors, &spec.places()))?;
    let other = Spec { seed: spec.seed ^ 0xffff, ..spec.clone() }.tensors();
    for seq in 0..spec.seqs {
        for slot in (0..spec.slots()).filter(|slot| !spec.seen(seq, *slot)) {
            let [k, v] = spec.slot(seq, slot);
            tensors.k[k.clone()].copy_from_slice(&other.k[k]);
            tensors.v[v.clone()].copy_from_slice(&other.v[v]);
        }
    }
    let after = trial.outputs(&spec.record(&tensors, &spec.places()))?;
    trial.same_bits("causality", &before[0].2, &after[0].2);
    Ok(())
}

fn convexity(spec: &Spec, trial: &mut Trial<'_>, tensors: &Tensors) -> Result<(), Stop> {
    let record = spec.record(tensors, &spec.places());
    let outputs = trial.outputs(&record)?;
    let bounds = trial.bounds(&record)?;
    let out: Vec<f32> = bytemuck::pod_collect_to_vec(&outputs[0].2);
    let mut values = vec![0.0f32; spec.seqs * spec.slots() * spec.kv_heads * spec.head_dim];
    // The cache was encoded from as many values, so that decoding cannot fail; if it did, the law would show it.
    let _ = kernels::quant::decode_row(spec.values, &tensors.v, &mut values);
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
                let element = (row * spec.heads + head) * spec.head_dim + d;
                // The exact result lies between the values; the computed one is no further from it than its bound.
                let (got, room) = (out[element], bounds[element]);
                let inside = (f64::from(low) - room..=f64::from(high) + room).contains(&f64::from(got));
                trial.law("convexity", inside, || {
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
    let expand = |cache: DType, bytes: &[u8]| {
        let head = cache.bytes_of(spec.head_dim).unwrap_or(1);
        bytes.chunks(head).flat_map(|h| h.repeat(group)).collect::<Vec<u8>>()
    };
    let (k, v) = (expand(spec.format, &tensors.k), expand(spec.values, &tensors.v));
    let wide = Tensors { k, v, kv_heads: spec.heads, q: tensors.q };
    let expanded = trial.outputs(&spec.record(&wide, &spec.places()))?;
    trial.same_rows("shared heads = repeated heads", &shared[0].2, &expanded[0].2);
    Ok(())
}
