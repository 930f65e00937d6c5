//! [`kernels::ops::silu_mul`] in f64.

use kernels::ops::SiluMul;
use kernels::ops::silu_mul::Element;
use ndarray::Array2;

use crate::HostBuffer;

pub(super) fn silu_mul(_op: &SiluMul<'_, HostBuffer>) -> Array2<Element> {
    Array2::from_elem([0; 2], Element { y: 0.0 })
}
