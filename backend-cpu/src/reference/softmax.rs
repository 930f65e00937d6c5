//! [`kernels::ops::softmax`] in f64.

use kernels::ops::Softmax;
use kernels::ops::softmax::Element;
use ndarray::Array2;

use crate::HostBuffer;

pub(super) fn softmax(_op: &Softmax<'_, HostBuffer>) -> Array2<Element> {
    Array2::from_elem([0; 2], Element { y: 0.0 })
}
