//! [`kernels::ops::attention`] in f64.

use kernels::ops::Attention;
use kernels::ops::attention::Element;
use ndarray::Array3;

use crate::HostBuffer;

pub(super) fn attention(_op: &Attention<'_, HostBuffer>) -> Array3<Element> {
    Array3::from_elem([0; 3], Element { y: 0.0 })
}
