//! [`kernels::ops::layer_norm`] in f64.

use kernels::ops::LayerNorm;
use kernels::ops::layer_norm::Element;
use ndarray::{Array2, Axis, Ix1, Ix2};

use super::array::array;
use crate::HostBuffer;

pub(super) fn layer_norm(op: &LayerNorm<'_, HostBuffer>) -> Array2<Element> {
    let x = op.x.view(&op.out);
    let x = array::<Ix2>(&x);
    let weight = array::<Ix1>(&op.weight);
    let bias = op.bias.as_ref().map(array::<Ix1>);
    let n = x.len_of(Axis(1));
    let mean = |row: ndarray::ArrayView1<'_, f32>, of: &dyn Fn(f64) -> f64| {
        row.iter().map(|&v| of(f64::from(v))).sum::<f64>() / n as f64
    };
    let means = x.map_axis(Axis(1), |row| mean(row, &|v| v));
    let magnitudes = x.map_axis(Axis(1), |row| mean(row, &f64::abs));
    let s: Vec<f64> = (0..x.len_of(Axis(0)))
        .map(|r| mean(x.row(r), &|v| (v - means[r]).powi(2)) + f64::from(op.eps))
        .collect();
    Array2::from_shape_fn(x.dim(), |(r, i)| {
        let weight = f64::from(weight[i]);
        let scaled = (f64::from(x[[r, i]]) - means[r]) * weight / s[r].sqrt();
        let y = scaled + bias.as_ref().map_or(0.0, |bias| f64::from(bias[i]));
        Element { y, scaled, biased: bias.is_some(), n, mean_magnitude: magnitudes[r], s: s[r], weight }
    })
}
