//! [`kernels::ops::add`] in f64.

use kernels::ops::Add;
use kernels::ops::add::Element;
use ndarray::Array2;

use crate::HostBuffer;

pub(super) fn add(_op: &Add<'_, HostBuffer>) -> Array2<Element> {
    Array2::from_elem([0; 2], Element { y: 0.0 })
}
