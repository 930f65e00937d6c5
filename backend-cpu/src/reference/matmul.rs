//! [`kernels::ops::matmul`] in f64.

use kernels::ops::Matmul;
use kernels::ops::matmul::{BLOCKS, Element, Extent, Terms};
use kernels::quant::magnitude_row;
use ndarray::{Array2, Ix1, Ix2};
use rayon::prelude::*;

use super::array::{array, decode_row, row_bytes};
use crate::HostBuffer;

pub(super) fn matmul(op: &Matmul<'_, HostBuffer>) -> Array2<Element> {
    let x = array::<Ix2>(&op.x);
    let x: Vec<_> = x.rows().into_iter().map(|row| Activations::new(row.iter().map(|&v| v.into()))).collect();
    let bias = op.bias.as_ref().map(array::<Ix1>);
    let (n, k) = (op.weight.layout.dim(0), op.weight.layout.dim(1));
    let columns = (0..n).into_par_iter().flat_map_iter(|c| {
        let weights = WeightRow::new(op, c, k);
        let bias = bias.as_ref().map_or(0.0, |bias| bias[c].into());
        x.iter().map(move |x| weights.dot(x, bias)).collect::<Vec<_>>()
    });
    let transposed =
        Array2::from_shape_vec((n, x.len()), columns.collect()).expect("one element per pair of rows");
    transposed.reversed_axes()
}

/// The values of [`matmul`] alone, rounded to f32, in row-major order.
#[expect(clippy::cast_possible_truncation, reason = "rounding to the output's type is what is meant")]
pub(super) fn values(op: &Matmul<'_, HostBuffer>) -> Vec<f32> {
    let x = array::<Ix2>(&op.x).mapv(f64::from);
    let x: Vec<_> = x.rows().into_iter().map(|row| row.to_vec()).collect();
    let bias = op.bias.as_ref().map(array::<Ix1>);
    let (n, k) = (op.weight.layout.dim(0), op.weight.layout.dim(1));
    let columns = (0..n).into_par_iter().map(|c| {
        let weights = decoded(op, c, k);
        let bias = bias.as_ref().map_or(0.0, |bias| bias[c].into());
        x.iter().map(|x| (dot(&weights, x) + bias) as f32).collect::<Vec<_>>()
    });
    let columns: Vec<_> = columns.collect();
    (0..x.len()).flat_map(|r| columns.iter().map(move |column| column[r])).collect()
}

/// Row `row` of the weights.
fn decoded(op: &Matmul<'_, HostBuffer>, row: usize, k: usize) -> Vec<f64> {
    let mut values = vec![0.0f32; k];
    decode_row(&op.weight, &[row], &mut values);
    values.into_iter().map(f64::from).collect()
}

/// `Σ w·x`, in eight sums side by side.
fn dot(w: &[f64], x: &[f64]) -> f64 {
    let (w, w_rest) = w.as_chunks::<8>();
    let (x, x_rest) = x.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (w, x) in w.iter().zip(x) {
        for i in 0..8 {
            sums[i] += w[i] * x[i];
        }
    }
    let rest: f64 = w_rest.iter().zip(x_rest).map(|(w, x)| w * x).sum();
    sums.into_iter().sum::<f64>() + rest
}

/// A row of `x`.
struct Activations {
    values: Vec<f64>,
    extent: Extent,
    /// Largest magnitude of each block, for each of [`BLOCKS`].
    peaks: [Vec<f64>; 2],
}

impl Activations {
    fn new(values: impl Iterator<Item = f64>) -> Self {
        let values: Vec<_> = values.collect();
        let peaks = BLOCKS.map(|block| values.chunks(block).map(|chunk| extent(chunk).peak).collect());
        Activations { extent: extent(&values), peaks, values }
    }
}

/// A row of the weights.
struct WeightRow {
    values: Vec<f64>,
    decoded: Magnitudes,
    factored: Magnitudes,
}

impl WeightRow {
    fn new(op: &Matmul<'_, HostBuffer>, row: usize, k: usize) -> Self {
        let values = decoded(op, row, k);
        let mut parts = vec![0.0f32; k];
        magnitude_row(op.weight.layout.dtype(), &row_bytes(&op.weight, &[row]), &mut parts)
            .expect("whole blocks of a weight format");
        WeightRow {
            decoded: Magnitudes::new(values.iter().map(|v| v.abs())),
            factored: Magnitudes::new(parts.into_iter().map(f64::from)),
            values,
        }
    }

    fn dot(&self, x: &Activations, bias: f64) -> Element {
        let (mut decoded, mut factored) = (0.0, 0.0);
        for ((w, parts), x) in self.values.iter().zip(&self.factored.values).zip(&x.values) {
            decoded += (w * x).abs();
            factored += parts * x.abs();
        }
        Element {
            y: dot(&self.values, &x.values) + bias,
            k: x.values.len(),
            bias,
            x: x.extent,
            decoded: self.decoded.terms(decoded, x),
            factored: self.factored.terms(factored, x),
        }
    }
}

/// The magnitudes of a row of weights.
struct Magnitudes {
    values: Vec<f64>,
    extent: Extent,
    /// Their sum over each block of activations, for each of [`BLOCKS`].
    sums: [Vec<f64>; 2],
}

impl Magnitudes {
    fn new(values: impl Iterator<Item = f64>) -> Self {
        let values: Vec<_> = values.collect();
        let sums = BLOCKS.map(|block| values.chunks(block).map(|chunk| extent(chunk).sum).collect());
        Magnitudes { extent: extent(&values), sums, values }
    }

    fn terms(&self, products: f64, x: &Activations) -> Terms {
        let peaks = [0, 1].map(|i| self.sums[i].iter().zip(&x.peaks[i]).map(|(sum, peak)| sum * peak).sum());
        Terms { products, weight: self.extent, peaks }
    }
}

fn extent(values: &[f64]) -> Extent {
    let magnitudes = values.iter().map(|v| v.abs());
    Extent { sum: magnitudes.clone().sum(), peak: magnitudes.fold(0.0, f64::max) }
}
