//! Rotary position embedding.

use serde::{Deserialize, Serialize};

use super::{Checker, operands};
use crate::{Buffer, Check, DType, Indices, OpError, Source, View, ViewMut};

/// Positions reach up to here: 2^20.
pub const MAX_POSITIONS: usize = 1 << 20;

/// Which two elements of a head rotate together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pairing {
    /// `(2i, 2i + 1)`: the original paper's, and GGUF's for `llama`.
    Interleaved,
    /// `(i, i + n_rot/2)`: GPT-NeoX's, and GGUF's for `qwen2`.
    Neox,
}

/// How the angles are stretched for contexts longer than those of training.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scaling {
    /// Not at all.
    None,
    /// Every angle is divided by `factor`.
    Linear {
        /// At least 1 in practice; positive.
        factor: f32,
    },
    /// Low frequencies are divided by `factor`, high ones kept, with a ramp between.
    Yarn {
        /// Ratio of the wanted context to that of training.
        factor: f32,
        /// Context of training.
        original_context: u32,
        /// Rotations over the original context above which a frequency is kept.
        beta_fast: f32,
        /// Rotations over the original context below which a frequency is divided.
        beta_slow: f32,
        /// Weight of the ramp, 1 for plain YaRN.
        extrapolation: f32,
        /// Factor on the magnitude, besides YaRN's own `1 + 0.1·ln(factor)`.
        attention: f32,
    },
}

/// Rotates pairs of elements of each head by an angle proportional to the row's position.
#[derive(Debug)]
pub struct Rope<'a, B> {
    /// Heads to rotate, f32 `[rows, heads, head_dim]`.
    pub x: Source<'a, B>,
    /// Position of each row, `u32[rows]`, each below `max_positions`.
    pub positions: Indices<'a, B>,
    /// Divisor of each frequency, f32 `[n_rot / 2]`; Llama 3's `rope_freqs`.
    pub factors: Option<View<'a, B>>,
    /// Rotated heads, f32 `[rows, heads, head_dim]`.
    pub out: ViewMut<'a, B>,
    /// Which elements pair up.
    pub pairing: Pairing,
    /// Leading elements of a head that rotate; the rest is copied.
    pub n_rot: usize,
    /// Base of the geometric series of frequencies.
    pub base: f32,
    /// Stretching of the angles.
    pub scaling: Scaling,
    /// Positions that the caller's cache can hold.
    pub max_positions: usize,
}

operands!(Rope { x, positions, factors, out } { pairing, n_rot, base, scaling, max_positions });

impl<B: Buffer> Rope<'_, B> {
    pub(crate) fn check(&self, checker: &Checker) -> Result<(), OpError> {
        checker.output("out", &self.out, &[DType::F32], 3)?;
        let x = self.x.view(&self.out);
        checker.input("x", &x, &[DType::F32], 3)?;
        checker.same_shape("out", &self.out.layout, "x", &x.layout)?;
        let head_dim = x.layout.dim(2);
        if self.n_rot == 0 || !self.n_rot.is_multiple_of(2) || self.n_rot > head_dim {
            let want = format!("even, from 2 to {head_dim} (head_dim)");
            return Err(checker.error("n_rot", Check::Parameter, want, self.n_rot));
        }
        let limit = MAX_POSITIONS;
        let in_range = (1..=limit).contains(&self.max_positions);
        checker.param("max_positions", in_range, &format!("from 1 to {limit}"), self.max_positions)?;
        checker.indices("positions", &self.positions, x.layout.dim(0), self.max_positions, "max_positions")?;
        if let Some(factors) = &self.factors {
            checker.input("factors", factors, &[DType::F32], 1)?;
            checker.dim("factors", &factors.layout, 0, self.n_rot / 2, "half of n_rot")?;
        }
        checker.param("base", self.base.is_finite() && self.base > 0.0, "finite and positive", self.base)?;
        self.check_scaling(checker)
    }

    fn check_scaling(&self, checker: &Checker) -> Result<(), OpError> {
        let positive = |name, value: f32| {
            checker.param(name, value.is_finite() && value > 0.0, "finite and positive", value)
        };
        match self.scaling {
            Scaling::None => Ok(()),
            Scaling::Linear { factor } => positive("scaling.factor", factor),
            Scaling::Yarn { factor, original_context, beta_fast, beta_slow, extrapolation, attention } => {
                positive("scaling.factor", factor)?;
                let holds = original_context > 0;
                checker.param("scaling.original_context", holds, "at least 1", original_context)?;
                positive("scaling.beta_fast", beta_fast)?;
                positive("scaling.beta_slow", beta_slow)?;
                let holds = (0.0..=1.0).contains(&extrapolation);
                checker.param("scaling.extrapolation", holds, "from 0 to 1", extrapolation)?;
                positive("scaling.attention", attention)
            }
        }
    }
}

/// An element of the exact result.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    /// Its value.
    pub y: f64,
}

impl crate::Judged for Element {
    fn value(&self) -> f64 {
        self.y
    }

    fn bound(&self, _numerics: &crate::Numerics) -> f64 {
        0.0
    }
}
