//! [`kernels::ops::rope`] in f64.

use kernels::ops::Rope;
use kernels::ops::rope::{Element, Pairing, Scaling, Turn, correction_range};
use ndarray::{Array3, Axis, Ix1, Ix3};

use super::array::array;
use crate::HostBuffer;

pub(super) fn rope(op: &Rope<'_, HostBuffer>) -> Array3<Element> {
    let x = op.x.view(&op.out);
    let x = array::<Ix3>(&x);
    let factors = op.factors.as_ref().map(array::<Ix1>);
    let pairs: Vec<Pair> =
        (0..op.n_rot / 2).map(|i| Pair::new(op, i, factors.as_ref().map(|f| f64::from(f[i])))).collect();
    let mut out = x.mapv(|x| Element { y: x.into(), turn: None });
    for (mut row, &position) in out.axis_iter_mut(Axis(0)).zip(op.positions.values()) {
        for pair in &pairs {
            let rotation = pair.at(position);
            let (first, second) = pair.elements;
            for mut head in row.rows_mut() {
                (head[first], head[second]) = rotation.apply(head[first].y, head[second].y);
            }
        }
    }
    out
}

/// What is the same for pair `i` of all rows.
struct Pair {
    /// Places of its elements in a head.
    elements: (usize, usize),
    /// Angle per position.
    frequency: f64,
    /// Magnitude of the angle's error, per position.
    error_frequency: f64,
    /// Factor on the rotated elements.
    magnitude: f64,
    magnification: f64,
    exponent: f64,
    steps: usize,
    /// Largest factor that a number which underflows meets on its way to the angle.
    amplification: f64,
}

impl Pair {
    fn new(op: &Rope<'_, HostBuffer>, i: usize, factor: Option<f64>) -> Self {
        let base = f64::from(op.base);
        let exponent = -2.0 * i as f64 / op.n_rot as f64;
        let plain = base.powf(exponent) / factor.unwrap_or(1.0);
        let stretch = Stretch::new(op, i);
        let power_steps = if i == 0 { 0 } else { i + 1 };
        Pair {
            elements: match op.pairing {
                Pairing::Interleaved => (2 * i, 2 * i + 1),
                Pairing::Neox => (i, i + op.n_rot / 2),
            },
            frequency: plain * stretch.factor,
            error_frequency: plain.abs() * (stretch.factor + stretch.slope),
            magnitude: stretch.magnitude,
            magnification: stretch.magnification,
            exponent: (exponent * base.ln()).abs(),
            steps: power_steps + usize::from(factor.is_some()) + stretch.steps,
            amplification: (i + 8) as f64
                * (1.0 + 1.0 / factor.unwrap_or(1.0).abs())
                * (1.0 + stretch.largest),
        }
    }

    fn at(&self, position: u32) -> Rotation {
        let position = f64::from(position);
        let (sin, cos) = (position * self.frequency).sin_cos();
        let turn = Turn {
            partner: 0.0,
            products: 0.0,
            reach: 0.0,
            magnification: self.magnification,
            angle: position * self.error_frequency,
            exponent: self.exponent,
            steps: self.steps,
            underflows: position * self.amplification,
        };
        Rotation { sin, cos, magnitude: self.magnitude, turn }
    }
}

/// What a scaling does to one pair.
struct Stretch {
    /// Factor on the angle.
    factor: f64,
    /// Magnitude of the factor's absolute error, where the ramp is between its ends.
    slope: f64,
    /// Largest number that the angle is multiplied by on the way.
    largest: f64,
    /// Factor on the rotated elements.
    magnitude: f64,
    magnification: f64,
    steps: usize,
}

impl Stretch {
    const NONE: Stretch =
        Stretch { factor: 1.0, slope: 0.0, largest: 1.0, magnitude: 1.0, magnification: 0.0, steps: 0 };

    fn new(op: &Rope<'_, HostBuffer>, i: usize) -> Self {
        match op.scaling {
            Scaling::None => Stretch::NONE,
            Scaling::Linear { factor } => {
                let factor = 1.0 / f64::from(factor);
                Stretch { factor, largest: factor, steps: 1, ..Stretch::NONE }
            }
            Scaling::Yarn { factor, original_context, beta_fast, beta_slow, extrapolation, attention } => {
                let [low, high] = correction_range(op.n_rot, op.base, original_context, beta_fast, beta_slow);
                let ramp = 1.0 - ((i as f64 - low) / (high - low).max(0.001)).clamp(0.0, 1.0);
                let kept = f64::from(extrapolation) * ramp;
                let factor = f64::from(factor);
                let on_slope = 0.0 < ramp && ramp < 1.0;
                let growth = if extrapolation == 0.0 { 0.0 } else { 0.1 * factor.ln() };
                Stretch {
                    factor: (1.0 - kept) / factor + kept,
                    slope: if on_slope { (1.0 - 1.0 / factor).abs() } else { 0.0 },
                    largest: 1.0 + 1.0 / factor,
                    magnitude: f64::from(attention) * (1.0 + growth),
                    magnification: (1.0 + growth.abs()) / (1.0 + growth).abs(),
                    steps: 6,
                }
            }
        }
    }
}

/// The rotation of one pair of one row.
struct Rotation {
    sin: f64,
    cos: f64,
    magnitude: f64,
    /// What does not depend on the elements.
    turn: Turn,
}

impl Rotation {
    fn apply(&self, x0: f64, x1: f64) -> (Element, Element) {
        let (sin, cos) = (self.sin * self.magnitude, self.cos * self.magnitude);
        let y0 = x0 * cos - x1 * sin;
        let y1 = x0 * sin + x1 * cos;
        let element = |y: f64, partner: f64, products: f64| {
            let reach = self.magnitude.abs() * (x0.abs() + x1.abs());
            Element { y, turn: Some(Turn { partner, products, reach, ..self.turn }) }
        };
        (
            element(y0, y1, (x0 * cos).abs() + (x1 * sin).abs()),
            element(y1, y0, (x0 * sin).abs() + (x1 * cos).abs()),
        )
    }
}
