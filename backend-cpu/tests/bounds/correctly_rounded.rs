//! The bound of zero of `add`, `mul` and `scale`.

use kernels::{Numerics, Record, Stem, Verdict};

use crate::{Numbers, input, judge, output};

type Operation = fn(f32, f32) -> f32;

/// The three ops as functions of two numbers; `scale` takes its factor from the first `b`.
const OPS: [(Stem, Operation); 3] =
    [(Stem::Add, |a, b| a + b), (Stem::Mul, |a, b| a * b), (Stem::Scale, |a, b| a * b)];

fn judged(stem: Stem, a: &[f32], b: &[f32], rounding: impl Fn(f32, f32) -> f32) -> Verdict {
    let shape = [1, a.len()];
    let record = match stem {
        Stem::Scale => input(Record::new(stem).param("factor", b[0]), "x", &shape, a),
        _ => input(input(Record::new(stem), "a", &shape, a), "b", &shape, b),
    };
    let pairs = a.iter().zip(b);
    let got: Vec<f32> =
        pairs.map(|(&a, &b_i)| rounding(a, if stem == Stem::Scale { b[0] } else { b_i })).collect();
    judge(&output(record, "out", &shape), &Numerics::F32, &got)
}

/// Numbers of all magnitudes, denormals and overflowing ones among them.
fn spread(numbers: &mut Numbers, n: usize) -> Vec<f32> {
    (0..n).map(|_| numbers.next() * (numbers.next() * 88.0).exp()).collect()
}

#[test]
fn the_machines_own_operation_is_exact() {
    let mut numbers = Numbers::new(7);
    for (stem, operation) in OPS {
        for _ in 0..20 {
            let (a, b) = (spread(&mut numbers, 2000), spread(&mut numbers, 2000));
            let verdict = judged(stem, &a, &b, operation);
            assert!(verdict.passed(), "{stem}: {verdict:?}");
        }
    }
}

#[test]
fn the_neighbouring_number_falls_outside() {
    let mut numbers = Numbers::new(8);
    let (a, b) = (numbers.take(100), numbers.take(100));
    for (stem, operation) in OPS {
        assert_eq!(judged(stem, &a, &b, |a, b| operation(a, b).next_up()).outside, 100, "{stem}");
        assert_eq!(judged(stem, &a, &b, |a, b| operation(a, b).next_down()).outside, 100, "{stem}");
    }
}

#[test]
fn a_denormal_flushed_to_zero_falls_outside() {
    let flush = |y: f32| if y.is_subnormal() { 0.0 } else { y };
    for (stem, operation) in OPS {
        let (a, b) = if stem == Stem::Add { (1.5e-38, -1.4e-38) } else { (3e-38, 0.25) };
        assert!(operation(a, b).is_subnormal());
        assert!(judged(stem, &[a], &[b], operation).passed(), "{stem}");
        assert_eq!(judged(stem, &[a], &[b], |a, b| flush(operation(a, b))).outside, 1, "{stem}");
    }
}

#[test]
fn a_quotient_is_no_product() {
    let mut numbers = Numbers::new(9);
    let a = numbers.take(1000);
    assert!(judged(Stem::Scale, &a, &vec![0.3; 1000], |a, b| a / (1.0 / b)).outside > 100);
}
