//! The exact result of an op for one of its outputs.

use std::fmt;

use kernels::{Expected, Float, Judged, Numerics, ViewMut};
use ndarray::{Array, Dimension};

use super::array::{store_bytes, store_floats};
use crate::HostBuffer;

/// An output of an op, as the reference computes it.
pub(super) enum Answer {
    /// The bytes of its elements in row-major order.
    Bits(Vec<u8>),
    /// Values with what their errors scale with.
    Judged(Box<dyn Elements>),
}

/// What the function of an op returns: one answer per output.
pub(super) trait Answers {
    fn answers(self) -> Vec<Answer>;
}

/// One output, bit by bit.
impl Answers for Vec<u8> {
    fn answers(self) -> Vec<Answer> {
        vec![Answer::Bits(self)]
    }
}

/// Several outputs, bit by bit.
impl<const N: usize> Answers for [Vec<u8>; N] {
    fn answers(self) -> Vec<Answer> {
        self.map(Answer::Bits).into()
    }
}

/// One output of judged elements.
impl<J: Judged + 'static, D: Dimension + 'static> Answers for Array<J, D> {
    fn answers(self) -> Vec<Answer> {
        vec![Answer::Judged(Box::new(self))]
    }
}

impl Answer {
    /// What a backend that computes as `numerics` says must give in an output of type `out`.
    pub(super) fn expected(&self, numerics: &Numerics, out: Float) -> Expected {
        match self {
            Answer::Bits(bytes) => Expected::Bits(bytes.clone()),
            Answer::Judged(elements) => elements.expected(numerics, out),
        }
    }

    /// Writes the answer to its place.
    pub(super) fn store(&self, out: &mut ViewMut<'_, HostBuffer>) {
        match self {
            Answer::Bits(bytes) => store_bytes(out, bytes),
            Answer::Judged(elements) => store_floats(out, &elements.values()),
        }
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Bits(bytes) => write!(f, "Bits({} bytes)", bytes.len()),
            Answer::Judged(elements) => write!(f, "Judged({} elements)", elements.values().len()),
        }
    }
}

/// A tensor of [`Judged`] elements, whatever their type.
pub(super) trait Elements {
    /// Values in row-major order, rounded to f32.
    fn values(&self) -> Vec<f32>;

    /// The oracle's answer for an output of type `out`.
    fn expected(&self, numerics: &Numerics, out: Float) -> Expected;
}

impl<J: Judged, D: Dimension> Elements for Array<J, D> {
    #[expect(clippy::cast_possible_truncation, reason = "rounding to the output's type is what is meant")]
    fn values(&self) -> Vec<f32> {
        self.iter().map(|element| element.value() as f32).collect()
    }

    fn expected(&self, numerics: &Numerics, out: Float) -> Expected {
        Expected::within(self, numerics, out)
    }
}
