//! Bound of `softmax`.

use kernels::{Depth, Numerics, Record, Stem, Verdict};

use crate::{Numbers, ORDERS, input, judge, output};

fn verdict(x: &[f32], n: usize, scale: f32, numerics: &Numerics, got: &[f32]) -> Verdict {
    let shape = [x.len() / n, n];
    let record = input(Record::new(Stem::Softmax).param("scale", scale), "x", &shape, x);
    judge(&output(record, "out", &shape), numerics, got)
}

/// Maximum first, then the weights, then their sum in a given order.
fn two_pass(x: &[f32], scale: f32, sum: fn(&[f32]) -> f32) -> Vec<f32> {
    let t: Vec<f32> = x.iter().map(|x| scale * x).collect();
    let max = t.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let weights: Vec<f32> = t.iter().map(|t| (t - max).exp()).collect();
    let sum = sum(&weights);
    weights.iter().map(|w| w / sum).collect()
}

/// The sum is rescaled whenever the maximum grows, and a reciprocal takes the place of the division.
fn online(x: &[f32], scale: f32) -> Vec<f32> {
    let (mut max, mut sum) = (f32::NEG_INFINITY, 0.0f32);
    for x in x {
        let t = scale * x;
        let new = max.max(t);
        sum = sum * (max - new).exp() + (t - new).exp();
        max = new;
    }
    let inverse = 1.0 / sum;
    x.iter().map(|x| scale.mul_add(*x, -max).exp() * inverse).collect()
}

/// Powers of two, with the scale folded into the logarithm's base and nothing fused.
fn power_of_two(x: &[f32], scale: f32) -> Vec<f32> {
    let t: Vec<f32> = x.iter().map(|x| scale * x * std::f32::consts::LOG2_E).collect();
    let max = t.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let weights: Vec<f32> = t.iter().map(|t| (t - max).exp2()).collect();
    let sum: f32 = weights.iter().sum();
    weights.iter().map(|w| w / sum).collect()
}

/// Blocks of 32, each relative to its own maximum, joined at the end.
fn blocks(x: &[f32], scale: f32) -> Vec<f32> {
    let parts: Vec<(f32, Vec<f32>)> = x
        .chunks(32)
        .map(|part| {
            let max = part.iter().map(|x| scale * x).fold(f32::NEG_INFINITY, f32::max);
            (max, part.iter().map(|x| (scale * x - max).exp()).collect())
        })
        .collect();
    let max = parts.iter().map(|(max, _)| *max).fold(f32::NEG_INFINITY, f32::max);
    let sum: f32 = parts.iter().map(|(m, weights)| (m - max).exp() * weights.iter().sum::<f32>()).sum();
    parts.iter().flat_map(|(m, weights)| weights.iter().map(move |w| w * (m - max).exp() / sum)).collect()
}

/// Every way above of computing each row.
fn all_ways(x: &[f32], n: usize, scale: f32) -> Vec<Vec<f32>> {
    let rows = |way: &dyn Fn(&[f32]) -> Vec<f32>| x.chunks(n).flat_map(way).collect::<Vec<_>>();
    let mut results: Vec<_> = ORDERS.into_iter().map(|sum| rows(&|row| two_pass(row, scale, sum))).collect();
    results.push(rows(&|row| online(row, scale)));
    results.push(rows(&|row| power_of_two(row, scale)));
    results.push(rows(&|row| blocks(row, scale)));
    results
}

#[test]
fn f32_in_any_order_stays_inside() {
    let mut numbers = Numbers::new(7);
    for n in [1, 2, 31, 64, 577, 4097] {
        for (magnitude, scale) in [(1e-30, 1.0), (1.0, 1.0), (20.0, 0.7), (300.0, -0.3), (5000.0, 1.0)] {
            let x: Vec<f32> = numbers.take(3 * n).iter().map(|v| v * magnitude).collect();
            for (way, got) in all_ways(&x, n, scale).iter().enumerate() {
                let verdict = verdict(&x, n, scale, &Numerics::F32, got);
                assert!(verdict.passed(), "n={n} magnitude={magnitude} way={way}: {verdict:?}");
            }
        }
    }
}

#[test]
fn increasing_logits_rescale_an_online_sum_at_each_step() {
    for n in [100u16, 3000] {
        let x: Vec<f32> = (0..n).map(|i| f32::from(i) * 0.003_7).collect();
        let verdict = verdict(&x, n.into(), 1.0, &Numerics::F32, &online(&x, 1.0));
        assert!(verdict.passed(), "n={n}: {verdict:?}");
    }
}

#[test]
fn one_dropped_term_falls_outside() {
    for n in [2usize, 33, 1024] {
        let x = vec![3.0; n];
        let complete = two_pass(&x, 1.0, ORDERS[0]);
        assert!(verdict(&x, n, 1.0, &Numerics::F32, &complete).passed());
        let dropped = two_pass(&x, 1.0, |weights| weights[1..].iter().sum());
        assert_eq!(verdict(&x, n, 1.0, &Numerics::F32, &dropped).outside, n, "n={n}");
    }
}

#[test]
fn a_scale_left_out_or_applied_twice_falls_outside() {
    let x = Numbers::new(8).take(64);
    for wrong in [1.0, 0.25 * 0.25] {
        let got = two_pass(&x, wrong, ORDERS[0]);
        assert!(verdict(&x, 64, 0.25, &Numerics::F32, &got).outside > 32);
    }
}

#[test]
fn weights_rounded_to_half_precision_fall_outside() {
    let x = Numbers::new(9).take(256);
    let max = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let half = |x: f32| half::f16::from_f32(x).to_f32();
    let weights: Vec<f32> = x.iter().map(|x| half((x - max).exp())).collect();
    let sum: f32 = weights.iter().sum();
    let got: Vec<f32> = weights.iter().map(|w| w / sum).collect();
    let numerics = Numerics { depth: Depth::Lanes(32), ..Numerics::F32 };
    assert!(!verdict(&x, 256, 1.0, &numerics, &got).passed());
}

#[test]
fn masked_logits_leave_the_bound_of_the_others_tight() {
    let mut x = Numbers::new(10).take(64);
    x[32..].fill(-1e9);
    x[60] = f32::NEG_INFINITY;
    x[61] = f32::MIN;
    let got = two_pass(&x, 1.0, ORDERS[0]);
    assert!(verdict(&x, 64, 1.0, &Numerics::F32, &got).passed());
    let mut leak = got.clone();
    leak[40] = f32::from_bits(1);
    assert_eq!(verdict(&x, 64, 1.0, &Numerics::F32, &leak).outside, 1);
    let mut off = got;
    off[3] *= 1.001;
    assert_eq!(verdict(&x, 64, 1.0, &Numerics::F32, &off).outside, 1);
}

#[test]
fn nothing_but_minus_infinity_or_a_plus_infinity_is_nan_in_its_row_only() {
    let mut x = vec![0.5; 12];
    x[0..4].fill(f32::NEG_INFINITY);
    x[5] = f32::INFINITY;
    let mut want = vec![f32::NAN; 8];
    want.extend([0.25; 4]);
    assert!(verdict(&x, 4, 1.0, &Numerics::F32, &want).passed());
    let zeros: Vec<f32> = want.iter().map(|v| if v.is_nan() { 0.0 } else { *v }).collect();
    assert_eq!(verdict(&x, 4, 1.0, &Numerics::F32, &zeros).outside, 8);
}

#[test]
fn a_shallower_sum_has_a_tighter_bound() {
    let x = Numbers::new(11).take(4096);
    let got = two_pass(&x, 1.0, ORDERS[3]);
    let share = |depth| {
        let numerics = Numerics { depth, ..Numerics::F32 };
        verdict(&x, 4096, 1.0, &numerics, &got).worst.unwrap().share
    };
    assert!(share(Depth::Lanes(64)) > 10.0 * share(Depth::Any));
}
