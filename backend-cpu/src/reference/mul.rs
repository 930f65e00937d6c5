//! [`kernels::ops::mul`] in f64, rounded to f32.

use kernels::ops::Mul;
use kernels::ops::mul::Element;
use ndarray::{Array2, Ix2, Zip};

use super::array::array;
use crate::HostBuffer;

pub(super) fn mul(op: &Mul<'_, HostBuffer>) -> Array2<Element> {
    let a = op.a.view(&op.out);
    let (a, b) = (array::<Ix2>(&a), array::<Ix2>(&op.b));
    Zip::from(&a).and_broadcast(&b).map_collect(|&a, &b| Element::nearest(f64::from(a) * f64::from(b)))
}
