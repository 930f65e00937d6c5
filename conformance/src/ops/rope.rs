//! Cases of `rope`.

use kernels::ops::rope::{MAX_POSITIONS, Pairing, Scaling};
use kernels::{Check, DType, Record, Size, Stem, quant};
use proptest::prelude::*;
use proptest::sample::select;
use serde::{Deserialize, Serialize};

use crate::covering::{Axes, Strength};
use crate::data::{Data, Operands, Packing, Random, index};
use crate::family::Family;
use crate::name::Kind;
use crate::trial::{Stop, Trial};

/// Cases of `rope`.
#[derive(Debug)]
pub struct Rope;

/// The family of this op.
pub type Cases = Rope;

/// What distinguishes the cases of `rope`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Spec {
    format: DType,
    kind: Kind,
    topic: Topic,
    pairing: Pairing,
    stretch: Stretch,
    /// Parameters of the stretch, where it has them.
    factor: f64,
    context: u32,
    beta_fast: f64,
    beta_slow: f64,
    extrapolation: f64,
    attention: f64,
    factors: bool,
    rows: usize,
    heads: usize,
    head_dim: usize,
    n_rot: usize,
    /// A position of the rows; the others are near it, and end at the last possible one.
    pos: u32,
    order: Order,
    base: f64,
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
    /// NaN and infinity stay in their pair.
    Containment,
    /// A row's result does not depend on the other rows.
    RowInvariance,
    /// Rotation to `a` and then by `b` is rotation to `a + b`.
    Composition,
    /// A rotation keeps the length of each pair.
    Norm,
    /// The product of two rotated vectors depends only on the distance of their positions.
    RelativePosition,
    /// Position 0 changes nothing.
    Origin,
    /// A position at the limit must be refused.
    PastTheEnd,
}

/// How the angles are stretched.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stretch {
    Plain,
    Linear,
    Yarn,
}

/// How the positions of rows follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Order {
    /// In steps of three, as far as positions go.
    Ascending,
    /// Downwards, in steps that differ.
    Descending,
    /// Every second row at the same position.
    Repeated,
}

impl Spec {
    /// A small case.
    fn plain() -> Self {
        Spec {
            format: DType::F32,
            kind: Kind::Bounded,
            topic: Topic::Values,
            pairing: Pairing::Interleaved,
            stretch: Stretch::Plain,
            factor: 8.0,
            context: 4096,
            beta_fast: 32.0,
            beta_slow: 1.0,
            extrapolation: 1.0,
            attention: 1.0,
            factors: false,
            rows: 3,
            heads: 3,
            head_dim: 64,
            n_rot: 64,
            pos: 5,
            order: Order::Ascending,
            base: 10_000.0,
            packing: Packing::Dense,
            in_place: false,
            seed: 1,
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "the parameters are f32")]
    fn scaling(&self) -> Scaling {
        let factor = self.factor as f32;
        match self.stretch {
            Stretch::Plain => Scaling::None,
            Stretch::Linear => Scaling::Linear { factor },
            Stretch::Yarn => Scaling::Yarn {
                factor,
                original_context: self.context,
                beta_fast: self.beta_fast as f32,
                beta_slow: self.beta_slow as f32,
                extrapolation: self.extrapolation as f32,
                attention: self.attention as f32,
            },
        }
    }

    fn positions(&self) -> Vec<u32> {
        let last = index(MAX_POSITIONS - 1);
        let position = |row: u32| match self.order {
            Order::Ascending => self.pos.saturating_add(row * 3).min(last),
            Order::Descending => self.pos.saturating_sub(row % 1000 * (row % 1000) % 1000),
            Order::Repeated => self.pos.saturating_sub(row % 2 * 7),
        };
        (0..index(self.rows)).map(position).collect()
    }

    fn x(&self) -> Vec<f32> {
        Data::Gauss.values(&mut Random::new(self.seed), self.rows * self.heads, self.head_dim)
    }

    fn record(&self, x: &[f32], positions: &[u32]) -> Record {
        #[expect(clippy::cast_possible_truncation, reason = "the parameter is an f32")]
        let base = self.base as f32;
        let mut record = Record::new(Stem::Rope)
            .param("pairing", self.pairing)
            .param("n_rot", self.n_rot)
            .param("base", base)
            .param("scaling", self.scaling())
            .param("max_positions", MAX_POSITIONS)
            .indices("positions", positions);
        if self.factors {
            // As Llama 3's: 1 for the high frequencies, 8 for the low ones, a ramp between.
            let half = self.n_rot / 2;
            let factors: Vec<f32> = (0..half).map(|i| 1.0 + 7.0 * i as f32 / half as f32).collect();
            record = record.floats("factors", &[half], &factors, Packing::Dense);
        }
        let shape = [positions.len(), self.heads, self.head_dim];
        if self.in_place {
            return record.out_holding("out", DType::F32, &shape, bytemuck::cast_slice(x), self.packing);
        }
        record.floats("x", &shape, x, self.packing).out("out", DType::F32, &shape, self.packing)
    }

    /// Elements `(first, second)` of each pair of a head.
    fn pairs(&self) -> Vec<(usize, usize)> {
        let half = self.n_rot / 2;
        match self.pairing {
            Pairing::Interleaved => (0..half).map(|i| (2 * i, 2 * i + 1)).collect(),
            Pairing::Neox => (0..half).map(|i| (i, i + half)).collect(),
        }
    }

    /// Runs the case at `positions` and returns its output.
    fn rotate(&self, trial: &mut Trial<'_>, x: &[f32], positions: &[u32]) -> Result<Vec<f32>, Stop> {
        let outputs = trial.outputs(&self.record(x, positions))?;
        let (_, layout, bytes) = &outputs[0];
        let mut rotated = vec![0.0; layout.elements().unwrap_or(0)];
        quant::decode_row(layout.dtype(), bytes, &mut rotated).expect("whole elements of a float");
        Ok(rotated)
    }
}

/// Positions at which implementations go wrong: the first ones, around a power of two, the end of a long context, the
/// last one possible.
const POSITIONS: [u32; 7] = [0, 1, 511, 512, 4095, 131_071, (1 << 20) - 1];

/// `head_dim`, and how much of it rotates.
const HEADS: [(usize, usize); 10] =
    [(2, 2), (32, 32), (64, 64), (64, 16), (80, 80), (80, 20), (96, 96), (128, 128), (128, 64), (256, 256)];

impl Family for Rope {
    const STEM: Stem = Stem::Rope;
    type Spec = Spec;

    fn enumerate() -> Vec<Spec> {
        let plain = Spec::plain();
        let shape = || {
            Axes::new()
                .axis([Pairing::Interleaved, Pairing::Neox], |s: &mut Spec, v| s.pairing = v)
                .axis(HEADS, |s: &mut Spec, v| (s.head_dim, s.n_rot) = v)
                .axis(POSITIONS, |s: &mut Spec, v| s.pos = v)
                .axis([10_000.0, 500_000.0, 1_000_000.0], |s: &mut Spec, v| s.base = v)
                .axis([Packing::Dense, Packing::Padded], |s: &mut Spec, v| s.packing = v)
                .axis([false, true], |s: &mut Spec, v| s.in_place = v)
        };
        let rows = |axes: Axes<Spec>| {
            axes.axis([1, 2, 3, 33], |s: &mut Spec, v| s.rows = v)
                .axis([1, 2, 3, 9], |s: &mut Spec, v| s.heads = v)
                .axis([Order::Ascending, Order::Descending, Order::Repeated], |s: &mut Spec, v| s.order = v)
                .axis([false, true], |s: &mut Spec, v| s.factors = v)
        };
        let any = |_: &Spec| true;
        let even = rows(shape())
            .axis([Stretch::Plain, Stretch::Linear], |s: &mut Spec, v| s.stretch = v)
            .axis([4.0, 1.5, 32.0], |s: &mut Spec, v| s.factor = v);
        let mut specs = even.array(&plain, Strength::Triples, any);
        let yarn = rows(shape())
            .axis([8.0, 40.0, 1.0], |s: &mut Spec, v| s.factor = v)
            .axis([4096, 8192, 32_768], |s: &mut Spec, v| s.context = v)
            .axis([32.0, 16.0, 64.0], |s: &mut Spec, v| s.beta_fast = v)
            .axis([1.0, 2.0, 0.5], |s: &mut Spec, v| s.beta_slow = v)
            .axis([1.0, 0.0, 0.4], |s: &mut Spec, v| s.extrapolation = v)
            .axis([1.0, 1.25, 0.7], |s: &mut Spec, v| s.attention = v);
        let stretched = Spec { stretch: Stretch::Yarn, ..plain.clone() };
        specs.extend(yarn.array(&stretched, Strength::Triples, any));
        let several = Spec { rows: 5, ..plain.clone() };
        for topic in [Topic::RowInvariance, Topic::Composition, Topic::Norm, Topic::RelativePosition] {
            let law = Spec { kind: Kind::Law, topic, ..several.clone() };
            specs.extend(shape().array(&law, Strength::Pairs, any));
        }
        let hostile = |topic| Spec { kind: Kind::Hostile, topic, ..several.clone() };
        specs.extend(shape().array(&hostile(Topic::Containment), Strength::Pairs, any));
        for (head_dim, n_rot) in HEADS {
            for pairing in [Pairing::Interleaved, Pairing::Neox] {
                let of = Spec { pairing, head_dim, n_rot, ..several.clone() };
                specs.push(Spec { kind: Kind::Law, topic: Topic::Origin, pos: 0, ..of.clone() });
                specs.push(Spec { kind: Kind::Hostile, topic: Topic::PastTheEnd, ..of });
            }
        }
        // More rows than fit in 16 bits.
        specs.push(Spec { rows: 65_537, heads: 1, head_dim: 2, n_rot: 2, order: Order::Descending, ..plain });
        for (at, spec) in specs.iter_mut().enumerate() {
            spec.seed = 1 + at as u64;
        }
        specs
    }

    fn strategy() -> BoxedStrategy<Spec> {
        let stretch = select(vec![Stretch::Plain, Stretch::Linear, Stretch::Yarn]);
        let ramp = (1.0f64..64.0, 256u32..65_536, 8.0f64..64.0, 0.25f64..4.0, 0.0f64..=1.0, 0.5f64..2.0);
        let how = (select(vec![Pairing::Interleaved, Pairing::Neox]), stretch, any::<bool>(), any::<bool>());
        let order = select(vec![Order::Ascending, Order::Descending, Order::Repeated]);
        let place = (0u32..1 << 20, order, 5_000.0f64..2_000_000.0, any::<bool>());
        let shape = (1usize..20, 1usize..10, 1usize..65, 0usize..64);
        (shape, how, ramp, place, any::<u64>())
            .prop_map(
                |(
                    (rows, heads, half, rest),
                    (pairing, stretch, factors, in_place),
                    (factor, context, beta_fast, beta_slow, extrapolation, attention),
                    (pos, order, base, padded),
                    seed,
                )| {
                    Spec {
                        format: DType::F32,
                        kind: Kind::Bounded,
                        topic: Topic::Values,
                        pairing,
                        stretch,
                        factor,
                        context,
                        beta_fast,
                        beta_slow,
                        extrapolation,
                        attention,
                        factors,
                        rows,
                        heads,
                        head_dim: 2 * half + rest,
                        n_rot: 2 * half,
                        pos,
                        order,
                        base,
                        packing: if padded { Packing::Padded } else { Packing::Dense },
                        in_place,
                        seed,
                    }
                },
            )
            .boxed()
    }

    fn forms() -> Vec<Spec> {
        let ways = |pairing| [false, true].map(|in_place| Spec { pairing, in_place, ..Spec::plain() });
        [Pairing::Interleaved, Pairing::Neox].into_iter().flat_map(ways).collect()
    }

    fn record(spec: &Spec) -> Record {
        spec.record(&spec.x(), &spec.positions())
    }

    fn resize(spec: &mut Spec, size: Size, to: usize) -> bool {
        (spec.head_dim, spec.n_rot) = (to, to);
        matches!(size, Size::Dim(_, 2))
    }

    fn granule(_: &Spec, _: Size) -> usize {
        2
    }

    fn run(spec: &Spec, trial: &mut Trial<'_>) -> Result<(), Stop> {
        let (x, positions) = (spec.x(), spec.positions());
        match spec.topic {
            Topic::Values => trial.conform_visibly(&spec.record(&x, &positions)).map(drop),
            Topic::Containment => {
                let mut x = x;
                super::rowwise::spoil(&mut x, spec.heads * spec.head_dim);
                trial.conform(&spec.record(&x, &positions)).map(drop)
            }
            Topic::RowInvariance => row_invariance(spec, trial, &x, &positions),
            Topic::Composition => composition(spec, trial, &x),
            Topic::Norm => norm(spec, trial, &x, &positions),
            Topic::RelativePosition => relative_position(spec, trial, &x),
            Topic::Origin => {
                let zeros = vec![0; spec.rows];
                let out = spec.rotate(trial, &x, &zeros)?;
                trial.same_bits("position 0", bytemuck::cast_slice(&x), bytemuck::cast_slice(&out));
                Ok(())
            }
            Topic::PastTheEnd => {
                let past = vec![index(MAX_POSITIONS); spec.rows];
                trial.refused(&spec.record(&x, &past), "positions", Check::Index);
                Ok(())
            }
        }
    }
}

fn row_invariance(spec: &Spec, trial: &mut Trial<'_>, x: &[f32], positions: &[u32]) -> Result<(), Stop> {
    let width = spec.heads * spec.head_dim;
    let whole = spec.rotate(trial, x, positions)?;
    for (row, position) in positions.iter().enumerate() {
        let range = row * width..(row + 1) * width;
        let alone = spec.rotate(trial, &x[range.clone()], &[*position])?;
        let together = bytemuck::cast_slice(&whole[range]);
        trial.same_rows(&format!("row invariance, row {row}"), together, bytemuck::cast_slice(&alone));
    }
    Ok(())
}

/// Length of what two elements of `v` make up.
fn length(v: &[f64], (i, j): (usize, usize)) -> f64 {
    v[i].hypot(v[j])
}

/// Rotating by `a` and then by `b` is rotating by `a + b`. Each of the three results is within its bound, and the second rotation
/// keeps the length of the first one's error.
fn composition(spec: &Spec, trial: &mut Trial<'_>, x: &[f32]) -> Result<(), Stop> {
    let (a, b) = (spec.pos / 2, spec.pos - spec.pos / 2);
    let [a, b, both] = [a, b, a + b].map(|position| vec![position; spec.rows]);
    let half_way = spec.rotate(trial, x, &a)?;
    let twice = spec.rotate(trial, &half_way, &b)?;
    let once = spec.rotate(trial, x, &both)?;
    let first = trial.bounds(&spec.record(x, &a))?;
    let second = trial.bounds(&spec.record(&half_way, &b))?;
    let direct = trial.bounds(&spec.record(x, &both))?;
    for start in (0..once.len()).step_by(spec.head_dim) {
        let head = |v: &[f64]| v[start..start + spec.head_dim].to_vec();
        for pair in spec.pairs() {
            let carried = length(&head(&first), pair);
            for i in [start + pair.0, start + pair.1] {
                let (room, apart) = (carried + second[i] + direct[i], f64::from((twice[i] - once[i]).abs()));
                trial.law("composition", apart <= room, || {
                    format!("element {i} differs by {apart:e}, room {room:e}")
                });
            }
        }
    }
    Ok(())
}

/// A rotation keeps the length of each pair, but for the error of its elements.
fn norm(spec: &Spec, trial: &mut Trial<'_>, x: &[f32], positions: &[u32]) -> Result<(), Stop> {
    let out = spec.rotate(trial, x, positions)?;
    let bounds = trial.bounds(&spec.record(x, positions))?;
    let wide = |v: &[f32]| v.iter().copied().map(f64::from).collect::<Vec<f64>>();
    let heads = x.chunks(spec.head_dim).zip(out.chunks(spec.head_dim)).zip(bounds.chunks(spec.head_dim));
    for (at, ((before, after), bounds)) in heads.enumerate() {
        let (before, after) = (wide(before), wide(after));
        for pair in spec.pairs() {
            let (before, after, room) = (length(&before, pair), length(&after, pair), length(bounds, pair));
            trial.law("norm", (before - after).abs() <= room, || {
                format!("head {at}, pair {pair:?}: {before} becomes {after}, room {room:e}")
            });
        }
    }
    Ok(())
}

/// The product of two rotated vectors depends on the distance of their positions alone. Each factor is within its bound of the exact
/// one, here and there.
fn relative_position(spec: &Spec, trial: &mut Trial<'_>, x: &[f32]) -> Result<(), Stop> {
    let width = spec.heads * spec.head_dim;
    let (q, k) = (&x[..width], &x[width..2 * width]);
    let last = index(MAX_POSITIONS - 1);
    let distance = 3;
    let mut product = |at: u32| -> Result<(f64, f64), Stop> {
        let far = trial.bounds(&spec.record(q, &[at + distance]))?;
        let near = trial.bounds(&spec.record(k, &[at]))?;
        let q = spec.rotate(trial, q, &[at + distance])?;
        let k = spec.rotate(trial, k, &[at])?;
        let terms = (0..width).filter(|i| i % spec.head_dim < spec.n_rot).map(|i| {
            let (q, k) = (f64::from(q[i]), f64::from(k[i]));
            // |q·k − q'·k'| for |q − q'| ≤ far and |k − k'| ≤ near, and the roundings of this sum.
            let error = q.abs() * near[i] + k.abs() * far[i] + far[i] * near[i];
            (q * k, error + (q * k).abs() * width as f64 * f64::EPSILON)
        });
        Ok(terms.fold((0.0, 0.0), |(sum, room), (term, error)| (sum + term, room + error)))
    };
    let ((here, room_here), (there, room_there)) = (product(0)?, product(spec.pos.min(last - distance))?);
    let room = room_here + room_there;
    trial.law("relative position", (here - there).abs() <= room, || {
        format!("{here} at 0, {there} at {}, room {room:e}", spec.pos)
    });
    Ok(())
}
