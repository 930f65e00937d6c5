//! [`kernels::ops::scale`] in f64, rounded to f32.

use kernels::ops::Scale;
use kernels::ops::scale::Element;
use ndarray::{Array2, Ix2};

use super::array::array;
use crate::HostBuffer;

pub(super) fn scale(op: &Scale<'_, HostBuffer>) -> Array2<Element> {
    let x = op.x.view(&op.out);
    array::<Ix2>(&x).map(|&x| Element::nearest(f64::from(op.factor) * f64::from(x)))
}
