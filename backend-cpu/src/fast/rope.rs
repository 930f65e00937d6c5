//! Rotary position embedding. The angles are formed in f64 and reduced to sines and cosines once per row, for all heads.

use std::f64::consts::TAU;

use kernels::ops::Rope;
use kernels::ops::rope::{Pairing, Scaling};
use kernels::{Numerics, OpForm};

use super::F32;
use super::rope_table::{Key, Rotation};
use super::round::round;
use super::rows::Rows;
use super::threads::Threads;
use crate::HostBuffer;

pub fn rope(threads: &Threads, op: Rope<'_, HostBuffer>) {
    let [heads, pairs] = [op.out.layout.dim(1), op.n_rot / 2];
    let positions = op.positions.values();
    let table = threads.rope_table().get_or_build(key(&op), || {
        let spectrum = Spectrum::of(&op);
        let mut rotations = vec![Rotation { cos: 0.0, sin: 0.0 }; positions.len() * pairs];
        threads.parallel_for(
            rotations.chunks_mut(pairs.max(1)),
            64 * positions.len() * pairs,
            |row, rotations| {
                spectrum.fill(positions[row], rotations);
            },
        );
        rotations.into()
    });
    threads.map_rows(&op.x, op.out, |nth, head| {
        let rotations = &table[nth / heads * pairs..][..pairs];
        let rotating = &mut head[..2 * pairs];
        match op.pairing {
            Pairing::Interleaved => {
                for ([a, b], rotation) in rotating.as_chunks_mut().0.iter_mut().zip(rotations) {
                    (*a, *b) = rotation.apply(*a, *b);
                }
            }
            Pairing::Neox => {
                let (low, high) = rotating.split_at_mut(pairs);
                for ((a, b), rotation) in low.iter_mut().zip(high).zip(rotations) {
                    (*a, *b) = rotation.apply(*a, *b);
                }
            }
        }
    });
}

/// All that the rotations depend on.
fn key(op: &Rope<'_, HostBuffer>) -> Key {
    let scaling = match op.scaling {
        Scaling::None => [0, 0, 0, 0, 0, 0, 0],
        Scaling::Linear { factor } => [1, factor.to_bits(), 0, 0, 0, 0, 0],
        Scaling::Yarn { factor, original_context, extrapolation, attention, beta_fast, beta_slow } => [
            factor.to_bits(),
            original_context,
            extrapolation.to_bits(),
            attention.to_bits(),
            beta_fast.to_bits(),
            beta_slow.to_bits(),
            2,
        ],
    };
    let mut key = vec![word(op.n_rot), op.base.to_bits()];
    key.extend(scaling);
    if let Some(factors) = op.factors {
        key.extend(Rows::of(factors).read(0, &mut Vec::new()).iter().map(|factor| factor.to_bits()));
    }
    // The length separates factors from positions.
    key.push(word(key.len()));
    key.extend_from_slice(op.positions.values());
    key
}

/// A count of elements in a head, as a word of the key.
fn word(count: usize) -> u32 {
    u32::try_from(count).expect("a head has fewer than 2^32 elements")
}

/// The angles of all pairs from one position to the next.
struct Spectrum {
    /// Angles per position.
    steps: Vec<f64>,
    /// Factor on the rotated elements.
    magnitude: f64,
}

impl Spectrum {
    fn of(op: &Rope<'_, HostBuffer>) -> Self {
        let factors = op.factors.map(Rows::of);
        let mut scratch = Vec::new();
        let factors = factors.as_ref().map(|factors| factors.read(0, &mut scratch));
        let (n_rot, base) = (op.n_rot as f64, f64::from(op.base));
        let step = |pair: usize| {
            let plain = base.powf(-2.0 * pair as f64 / n_rot);
            let own = plain / factors.map_or(1.0, |factors| f64::from(factors[pair]));
            match op.scaling {
                Scaling::None => own,
                Scaling::Linear { factor } => own / f64::from(factor),
                Scaling::Yarn { factor, extrapolation, .. } => {
                    let kept = kept_share(op.scaling, n_rot, base, pair) * f64::from(extrapolation);
                    own / f64::from(factor) * (1.0 - kept) + own * kept
                }
            }
        };
        let magnitude = match op.scaling {
            Scaling::Yarn { factor, extrapolation, attention, .. } if extrapolation != 0.0 => {
                f64::from(attention) * (1.0 + 0.1 * f64::from(factor).ln())
            }
            Scaling::Yarn { attention, .. } => f64::from(attention),
            Scaling::None | Scaling::Linear { .. } => 1.0,
        };
        Spectrum { steps: (0..op.n_rot / 2).map(step).collect(), magnitude }
    }

    /// Stores the rotations of all pairs at `position` in `rotations`.
    fn fill(&self, position: u32, rotations: &mut [Rotation]) {
        for (rotation, step) in rotations.iter_mut().zip(&self.steps) {
            let (sin, cos) = (f64::from(position) * step).sin_cos();
            *rotation = Rotation { cos: round(cos * self.magnitude), sin: round(sin * self.magnitude) };
        }
    }
}

/// How much of a pair's frequency YaRN keeps: 1 for fast pairs, 0 for slow ones, a ramp between.
fn kept_share(scaling: Scaling, n_rot: f64, base: f64, pair: usize) -> f64 {
    let Scaling::Yarn { original_context, beta_fast, beta_slow, .. } = scaling else { return 1.0 };
    // The pair, as a fraction, that makes `turns` turns over the original context.
    let pair_of = |turns: f32| {
        n_rot * (f64::from(original_context) / (f64::from(turns) * TAU)).ln() / (2.0 * base.ln())
    };
    let first = pair_of(beta_fast).floor().max(0.0);
    let last = pair_of(beta_slow).ceil().min(n_rot - 1.0);
    let way = (pair as f64 - first) / (last - first).max(0.001);
    1.0 - way.clamp(0.0, 1.0)
}

/// How the op is computed.
pub(super) fn numerics(_: &Threads, _: &OpForm) -> Numerics {
    F32
}
