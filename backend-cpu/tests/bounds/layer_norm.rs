//! Bound of `layer_norm`.

use kernels::{Depth, Numerics, Record, Stem};

use crate::{Numbers, ORDERS, input, judge, output};

const EPS: f32 = 1e-6;

fn record(x: &[f32], weight: &[f32], bias: Option<&[f32]>) -> Record {
    let (rows, n) = (x.len() / weight.len(), weight.len());
    let record = Record::new(Stem::LayerNorm).param("eps", EPS);
    let record = input(input(record, "x", &[rows, n], x), "weight", &[n], weight);
    let record = match bias {
        Some(bias) => input(record, "bias", &[n], bias),
        None => record,
    };
    output(record, "out", &[rows, n])
}

type Sum = fn(&[f32]) -> f32;

/// The formula in f32, with given ways to take the sum of the row and that of the squares.
fn layer_norm(x: &[f32], weight: &[f32], bias: Option<&[f32]>, sums: [Sum; 2]) -> Vec<f32> {
    let n = weight.len();
    let row = |row: &[f32]| {
        let mean = sums[0](row) / n as f32;
        let centred: Vec<f32> = row.iter().map(|v| v - mean).collect();
        let squares: Vec<f32> = centred.iter().map(|c| c * c).collect();
        let inverse = 1.0 / (sums[1](&squares) / n as f32 + EPS).sqrt();
        let scaled = centred.iter().zip(weight).map(|(c, w)| c * inverse * w);
        scaled.enumerate().map(|(i, t)| bias.map_or(t, |bias| t + bias[i])).collect::<Vec<_>>()
    };
    x.chunks(n).flat_map(row).collect()
}

#[test]
fn f32_in_any_order_stays_inside() {
    let mut numbers = Numbers::new(1);
    for n in [1, 2, 31, 64, 576, 4097] {
        for (magnitude, mean) in [(1e-3, 0.0), (1.0, 0.0), (1.0, 100.0), (1e-3, 50.0), (1e6, -1e7)] {
            let mut x = numbers.take(3 * n);
            x.iter_mut().for_each(|v| *v = v.mul_add(magnitude, mean));
            x[n / 2] *= 100.0;
            let (weight, bias) = (numbers.take(n), numbers.take(n));
            for (order, sum) in ORDERS.into_iter().enumerate() {
                for bias in [None, Some(&*bias)] {
                    let got = layer_norm(&x, &weight, bias, [sum; 2]);
                    let verdict = judge(&record(&x, &weight, bias), &Numerics::F32, &got);
                    assert!(verdict.passed(), "n={n} {magnitude} {mean} order={order}: {verdict:?}");
                }
            }
        }
    }
}

/// Rows of small integers whose mean is 1 exactly.
fn exact(n: usize) -> Vec<f32> {
    (0..n).map(|i| 1.0 + if i % 2 == 0 { 2.0 } else { -2.0 }).collect()
}

#[test]
fn one_dropped_term_of_either_sum_falls_outside() {
    for n in [2usize, 32, 1024] {
        let (x, weight) = (exact(n), vec![0.5; n]);
        let outside = |sums| {
            let got = layer_norm(&x, &weight, None, sums);
            judge(&record(&x, &weight, None), &Numerics::F32, &got).outside
        };
        let dropped: Sum = |terms| terms[..terms.len() - 1].iter().sum();
        assert_eq!(outside([ORDERS[0]; 2]), 0, "n={n}");
        assert!(outside([dropped, ORDERS[0]]) > 0, "n={n}: the mean");
        assert!(outside([ORDERS[0], dropped]) > 0, "n={n}: the variance");
    }
}

#[test]
fn a_variance_of_n_minus_1_falls_outside() {
    let (x, weight) = (exact(64), vec![1.0; 64]);
    let unbiased: Sum = |squares| squares.iter().sum::<f32>() * 64.0 / 63.0;
    let got = layer_norm(&x, &weight, None, [ORDERS[0], unbiased]);
    assert_eq!(judge(&record(&x, &weight, None), &Numerics::F32, &got).outside, 64);
}

#[test]
fn a_variance_by_cancellation_falls_outside() {
    let mut numbers = Numbers::new(2);
    let x: Vec<f32> = numbers.take(512).iter().map(|v| v + 1000.0).collect();
    let n = x.len() as f32;
    let mean = x.iter().sum::<f32>() / n;
    let variance = x.iter().map(|v| v * v).sum::<f32>() / n - mean * mean;
    let got: Vec<f32> = x.iter().map(|v| (v - mean) / (variance.max(0.0) + EPS).sqrt()).collect();
    let numerics = Numerics { depth: Depth::Lanes(64), ..Numerics::F32 };
    assert!(!judge(&record(&x, &[1.0; 512], None), &numerics, &got).passed());
}

#[test]
fn a_forgotten_bias_falls_outside() {
    let (x, weight, bias) = (exact(8), vec![1.0; 8], vec![0.25; 8]);
    let got = layer_norm(&x, &weight, None, [ORDERS[0]; 2]);
    assert_eq!(judge(&record(&x, &weight, Some(&bias)), &Numerics::F32, &got).outside, 8);
}
