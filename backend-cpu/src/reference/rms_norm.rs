//! [`kernels::ops::rms_norm`] in f64.

use kernels::ops::RmsNorm;
use kernels::ops::rms_norm::Element;
use ndarray::{Array2, Axis, Ix1, Ix2};

use super::array::array;
use crate::HostBuffer;

pub(super) fn rms_norm(op: &RmsNorm<'_, HostBuffer>) -> Array2<Element> {
    let x = op.x.view(&op.out);
    let x = array::<Ix2>(&x);
    let weight = array::<Ix1>(&op.weight);
    let n = x.len_of(Axis(1));
    let s = x.map_axis(Axis(1), |row| {
        let squares: f64 = row.iter().map(|&v| f64::from(v) * f64::from(v)).sum();
        squares / n as f64 + f64::from(op.eps)
    });
    Array2::from_shape_fn(x.dim(), |(r, i)| {
        let (x, weight) = (f64::from(x[[r, i]]), f64::from(weight[i]));
        Element { y: x * weight / s[r].sqrt(), n, s: s[r], weight }
    })
}
