//! [`kernels::ops::softmax`] in f64.

use kernels::ops::Softmax;
use kernels::ops::softmax::{Element, FAR};
use ndarray::{Array2, ArrayView1, Axis, Ix2};

use super::array::array;
use crate::HostBuffer;

pub(super) fn softmax(op: &Softmax<'_, HostBuffer>) -> Array2<Element> {
    let x = op.x.view(&op.out);
    let x = array::<Ix2>(&x);
    let elements = x.axis_iter(Axis(0)).flat_map(|row| softmax_row(&row, f64::from(op.scale))).collect();
    Array2::from_shape_vec(x.dim(), elements).expect("one element per logit")
}

fn softmax_row(x: &ArrayView1<'_, f32>, scale: f64) -> Vec<Element> {
    let logits: Vec<f64> = x.iter().map(|&x| scale * f64::from(x)).collect();
    let max = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logits.iter().map(|t| (t - max).exp()).collect();
    let sum: f64 = weights.iter().sum();
    let arguments: Vec<Option<f64>> = logits.iter().map(|&t| argument(t, t - max)).collect();
    let near = || weights.iter().zip(&arguments).filter_map(|(w, a)| Some((w, (*a)?)));
    let mean_argument = near().map(|(w, a)| w * a).sum::<f64>() / sum;
    let max_argument = near().map(|(_, a)| a).fold(0.0, f64::max);
    let unsteady: f64 =
        unsteady(&logits).iter().zip(&weights).map(|(u, w)| if *w > 0.0 { u * w } else { 0.0 }).sum();
    let (unsteady, largest) = (unsteady / sum, 1.0 / sum);
    let element = |(w, &argument): (&f64, &Option<f64>)| Element {
        y: w / sum,
        n: logits.len(),
        argument,
        mean_argument,
        max_argument,
        largest,
        unsteady,
    };
    weights.iter().zip(&arguments).map(element).collect()
}

/// Of each of `numbers` 1, how many are larger, and how far it is from the largest; 0 of the largest.
pub(super) fn unsteady(numbers: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_unstable_by(|&a, &b| numbers[b].total_cmp(&numbers[a]));
    let mut unsteady = vec![0.0; numbers.len()];
    let Some(&first) = order.first() else { return unsteady };
    for (larger, &at) in order.iter().enumerate() {
        let distance = numbers[first] - numbers[at];
        if distance > 0.0 {
            unsteady[at] = 1.0 + larger as f64 + distance;
        }
    }
    unsteady
}

/// `|t| + |gap|`, or `None` where the logit is far below the maximum.
fn argument(t: f64, gap: f64) -> Option<f64> {
    let far = gap < -FAR && t.abs() <= 3.0 * gap.abs();
    (!far).then_some(t.abs() + gap.abs())
}
