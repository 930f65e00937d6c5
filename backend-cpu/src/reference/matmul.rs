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
        let mut values = vec![0.0f32; k];
        decode_row(&op.weight, &[row], &mut values);
        let mut parts = vec![0.0f32; k];
        magnitude_row(op.weight.layout.dtype(), row_bytes(&op.weight, &[row]), &mut parts)
            .expect("whole blocks of a weight format");
        WeightRow {
            decoded: Magnitudes::new(values.iter().map(|v| v.abs().into())),
            factored: Magnitudes::new(parts.into_iter().map(f64::from)),
            values: values.into_iter().map(f64::from).collect(),
        }
    }

    fn dot(&self, x: &Activations, bias: f64) -> Element {
        let (mut y, mut decoded, mut factored) = (0.0, 0.0, 0.0);
        for ((w, parts), x) in self.values.iter().zip(&self.factored.values).zip(&x.values) {
            let product = w * x;
            y += product;
            decoded += product.abs();
            factored += parts * x.abs();
        }
        Element {
            y: y + bias,
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
