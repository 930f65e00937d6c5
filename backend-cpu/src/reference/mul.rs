//! [`kernels::ops::mul`] in f64.

use kernels::ops::Mul;
use kernels::ops::mul::Element;
use ndarray::Array2;

use crate::HostBuffer;

pub(super) fn mul(_op: &Mul<'_, HostBuffer>) -> Array2<Element> {
    Array2::from_elem([0; 2], Element { y: 0.0 })
}
