//! Rotary position embedding. The angles are formed in f64 and reduced to sines and cosines once per row, for all heads.

use std::f64::consts::TAU;

use kernels::ops::Rope;
use kernels::ops::rope::{Pairing, Scaling};
use kernels::{Numerics, OpForm};

use super::rope_table::{Key, Turn};
use super::rows::Rows;
use super::{F32, Threads, round};
use crate::HostBuffer;

pub fn rope(threads: &Threads, op: Rope<'_, HostBuffer>) {
    let [heads, pairs] = [op.out.layout.dim(1), op.n_rot / 2];
    let positions = op.positions.values();
    let table = threads.turns().of(key(&op), || {
        let spectrum = Spectrum::of(&op);
        let mut turns = vec![Turn { cos: 0.0, sin: 0.0 }; positions.len() * pairs];
        threads.each(turns.chunks_mut(pairs.max(1)), 64 * positions.len() * pairs, |row, turns| {
            spectrum.fill(positions[row], turns);
        });
        turns.into()
    });
    threads.transform(&op.x, op.out, |nth, head| {
        let turns = &table[nth / heads * pairs..][..pairs];
        let rotating = &mut head[..2 * pairs];
        match op.pairing {
            Pairing::Interleaved => {
                for ([a, b], turn) in rotating.as_chunks_mut().0.iter_mut().zip(turns) {
                    (*a, *b) = turn.apply(*a, *b);
                }
            }
            Pairing::Neox => {
                let (low, high) = rotating.split_at_mut(pairs);
                for ((a, b), turn) in low.iter_mut().zip(high).zip(turns) {
                    (*a, *b) = turn.apply(*a, *b);
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
    let mut key = vec![u32::try_from(op.n_rot).unwrap_or(u32::MAX), op.base.to_bits()];
    key.extend(scaling);
    if let Some(factors) = op.factors {
        key.extend(Rows::of(factors).read(0, &mut Vec::new()).iter().map(|factor| factor.to_bits()));
    }
    // Without its length, a factor could pass for a position.
    key.push(u32::try_from(key.len()).unwrap_or(u32::MAX));
    key.extend_from_slice(op.positions.values());
    key
}

/// By how much each pair turns from one position to the next.
struct Spectrum {
    /// Angles per position.
    steps: Vec<f64>,
    /// Factor on the length.
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

    /// Puts the rotations of all pairs at `position` in `turns`.
    fn fill(&self, position: u32, turns: &mut [Turn]) {
        for (turn, step) in turns.iter_mut().zip(&self.steps) {
            let (sin, cos) = (f64::from(position) * step).sin_cos();
            *turn = Turn { cos: round(cos * self.magnitude), sin: round(sin * self.magnitude) };
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
