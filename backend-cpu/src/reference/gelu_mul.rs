//! [`kernels::ops::gelu_mul`] in f64.

use kernels::ops::GeluMul;
use kernels::ops::gelu_mul::Element;
use ndarray::Array2;

use crate::HostBuffer;

pub(super) fn gelu_mul(_op: &GeluMul<'_, HostBuffer>) -> Array2<Element> {
    Array2::from_elem([0; 2], Element { y: 0.0 })
}
