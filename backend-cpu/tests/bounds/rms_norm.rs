//! Bound of `rms_norm`.

use kernels::{Depth, Numerics, Record, Stem};

use crate::{Numbers, ORDERS, input, judge, output};

fn record(x: &[f32], weight: &[f32], rows: usize, eps: f32) -> Record {
    let n = weight.len();
    let record = Record::new(Stem::RmsNorm).param("eps", eps);
    let record = input(input(record, "x", &[rows, n], x), "weight", &[n], weight);
    output(record, "out", &[rows, n])
}

/// The formula in f32, with a given order of summation.
fn rms_norm(x: &[f32], weight: &[f32], eps: f32, sum: fn(&[f32]) -> f32) -> Vec<f32> {
    let n = weight.len();
    let row = |row: &[f32]| {
        let squares: Vec<f32> = row.iter().map(|v| v * v).collect();
        let inverse = 1.0 / (sum(&squares) / n as f32 + eps).sqrt();
        row.iter().zip(weight).map(|(x, w)| x * inverse * w).collect::<Vec<_>>()
    };
    x.chunks(n).flat_map(row).collect()
}

#[test]
fn f32_in_any_order_stays_inside() {
    let mut numbers = Numbers::new(1);
    for n in [1, 2, 31, 64, 576, 4097] {
        for magnitude in [1e-18, 1e-3, 1.0, 1e6] {
            let mut x = numbers.take(3 * n);
            x.iter_mut().for_each(|v| *v *= magnitude);
            x[n / 2] *= 100.0;
            let weight = numbers.take(n);
            for (order, sum) in ORDERS.into_iter().enumerate() {
                let got = rms_norm(&x, &weight, 1e-6, sum);
                let verdict = judge(&record(&x, &weight, 3, 1e-6), &Numerics::F32, &got);
                assert!(verdict.passed(), "n={n} magnitude={magnitude} order={order}: {verdict:?}");
            }
        }
    }
}

#[test]
fn one_dropped_square_falls_outside() {
    for n in [2usize, 33, 1024] {
        let x: Vec<f32> = (0..n).map(|i| [1.0, -2.0, 4.0][i % 3]).collect();
        let weight = vec![0.5; n];
        let complete = rms_norm(&x, &weight, 0.0, ORDERS[0]);
        assert!(judge(&record(&x, &weight, 1, 0.0), &Numerics::F32, &complete).passed());
        let dropped = rms_norm(&x, &weight, 0.0, |squares| squares[..squares.len() - 1].iter().sum());
        let verdict = judge(&record(&x, &weight, 1, 0.0), &Numerics::F32, &dropped);
        assert_eq!(verdict.outside, n, "n={n}: {verdict:?}");
    }
}

#[test]
fn epsilon_outside_the_root_falls_outside() {
    let (x, weight) = (vec![1e-3, 2e-3, -3e-3, 4e-3], vec![1.0; 4]);
    let s: f32 = x.iter().map(|v| v * v).sum::<f32>() / 4.0;
    let got: Vec<f32> = x.iter().map(|v| v / (s.sqrt() + 1e-5)).collect();
    assert!(!judge(&record(&x, &weight, 1, 1e-5), &Numerics::F32, &got).passed());
}

#[test]
fn a_shallower_sum_has_a_tighter_bound() {
    let mut numbers = Numbers::new(2);
    let (x, weight) = (numbers.take(4096), vec![1.0; 4096]);
    let got = rms_norm(&x, &weight, 1e-6, ORDERS[3]);
    let share = |depth| {
        let numerics = Numerics { depth, ..Numerics::F32 };
        judge(&record(&x, &weight, 1, 1e-6), &numerics, &got).worst.unwrap().share
    };
    assert!(share(Depth::Lanes(64)) > 10.0 * share(Depth::Any));
}
