//! [`kernels::ops::matmul`] in f64.

use kernels::ops::Matmul;
use kernels::ops::matmul::Element;
use ndarray::Array2;

use crate::HostBuffer;

pub(super) fn matmul(_op: &Matmul<'_, HostBuffer>) -> Array2<Element> {
    Array2::from_elem([0; 2], Element { y: 0.0 })
}
