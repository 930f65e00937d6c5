//! Bound of `silu_mul`.

use half::f16;
use kernels::{Float, Numerics, Record, Stem, Verdict};

use crate::{Numbers, input, judge, output};

fn judged(numerics: &Numerics, gate: &[f32], up: &[f32], activation: impl Fn(f32, f32) -> f32) -> Verdict {
    let shape = [1, gate.len()];
    let record = input(input(Record::new(Stem::SiluMul), "gate", &shape, gate), "up", &shape, up);
    let got: Vec<f32> = gate.iter().zip(up).map(|(&x, &v)| activation(x, v)).collect();
    judge(&output(record, "out", &shape), numerics, &got)
}

fn quotient(x: f32, v: f32) -> f32 {
    x / (1.0 + (-x).exp()) * v
}

fn reciprocal(x: f32, v: f32) -> f32 {
    x * (1.0 / (1.0 + (-x).exp()) * v)
}

fn product_first(x: f32, v: f32) -> f32 {
    x * v / (1.0 + (-x).exp())
}

fn by_sign(x: f32, v: f32) -> f32 {
    let e = (-x.abs()).exp();
    let sigmoid = if x < 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) };
    x * sigmoid * v
}

/// Exponential and quotient that are each a last place further off, in the same direction.
fn careless_functions(x: f32, v: f32) -> f32 {
    let e = (-x).exp().next_up();
    let silu = x / (1.0 + e);
    let nearer_zero = if silu == 0.0 { silu } else { f32::from_bits(silu.to_bits() - 1) };
    nearer_zero * v
}

const FORMS: [fn(f32, f32) -> f32; 5] = [quotient, reciprocal, product_first, by_sign, careless_functions];

#[test]
fn every_f32_formula_without_cancellation_stays_inside() {
    let mut numbers = Numbers::new(3);
    for magnitude in [1e-40, 1e-20, 1e-3, 1.0, 10.0, 85.0, 110.0, 1e6] {
        for factor in [1e-38, 1e-3, 1.0, 1e30] {
            let gate: Vec<f32> = numbers.take(2000).iter().map(|x| x * magnitude).collect();
            let up: Vec<f32> = numbers.take(2000).iter().map(|v| v * factor).collect();
            for (form, activation) in FORMS.into_iter().enumerate() {
                let verdict = judged(&Numerics::F32, &gate, &up, activation);
                assert!(verdict.passed(), "magnitude={magnitude} factor={factor} form={form}: {verdict:?}");
            }
        }
    }
}

#[test]
fn the_negative_tail_may_vanish_but_not_grow() {
    let (gate, up) = ([-86.0, -87.5, -88.5, -89.0, -95.0], [-1e3f32; 5]);
    // σ(x) is e^x here, and half of its exponent at a time stays clear of denormals.
    let tail = |x: f32, v: f32| (x * (0.5 * x).exp()) * ((0.5 * x).exp() * v);
    assert!(judged(&Numerics::F32, &gate, &up, tail).passed());
    let vanished = judged(&Numerics::F32, &gate, &up, |_, _| 0.0);
    assert_eq!((vanished.outside, vanished.worst.unwrap().index), (1, vec![0, 0]), "σ(−86) is no denormal");
    assert_eq!(judged(&Numerics::F32, &gate, &up, |x, v| 2.5 * tail(x, v)).outside, 5);
}

#[test]
fn cancellation_falls_outside() {
    let tanh = |x: f32, v: f32| 0.5 * x * (1.0 + (0.5 * x).tanh()) * v;
    assert!(judged(&Numerics::F32, &[0.5, 3.0, 20.0], &[1.0; 3], tanh).passed());
    assert_eq!(judged(&Numerics::F32, &[-9.0, -12.0, -20.0], &[1.0; 3], tanh).outside, 3);
}

#[test]
fn a_dropped_factor_or_swapped_operands_fall_outside() {
    let (gate, up) = ([-2.0, -0.5, 0.25, 1.0, 4.0], [3.0, 0.5, -2.0, 8.0, 0.75]);
    let outside = |wrong: fn(f32, f32) -> f32| judged(&Numerics::F32, &gate, &up, wrong).outside;
    assert_eq!(outside(quotient), 0);
    assert_eq!(outside(|x, _| quotient(x, 1.0)), 5);
    assert_eq!(outside(|x, v| quotient(x, v) / x), 4, "all but the gate of 1");
    assert_eq!(outside(|x, v| quotient(v, x)), 5);
    assert_eq!(outside(|x, v| x * v / (1.0 + x.exp())), 5);
}

#[test]
fn infinite_operands_have_no_room() {
    let (gate, up) = ([f32::NEG_INFINITY, f32::INFINITY, f32::NAN, 1.0], [2.0, -2.0, 1.0, f32::INFINITY]);
    let limit = |x: f32, v: f32| x.max(f32::MIN) / (1.0 + (-x).exp()) * v;
    assert!(judged(&Numerics::F32, &gate, &up, limit).passed());
    let naive = judged(&Numerics::F32, &gate, &up, quotient);
    assert_eq!((naive.outside, naive.worst.unwrap().index), (1, vec![0, 0]));
    assert_eq!(judged(&Numerics::F32, &gate, &up, |_, _| 1.0).outside, 4);
}

#[test]
fn a_narrow_accumulator_needs_its_own_declaration() {
    let round = |x: f32| f16::from_f32(x).to_f32();
    let narrow = |x: f32, v: f32| {
        let e = round((-x).exp());
        round(round(x / round(1.0 + e)) * v)
    };
    let mut numbers = Numbers::new(4);
    let gate: Vec<f32> = numbers.take(3000).iter().map(|x| round(x * 20.0)).collect();
    let up: Vec<f32> = numbers.take(3000).iter().map(|v| round(v * 4.0)).collect();
    let declared = Numerics { accumulator: Float::F16, ..Numerics::F32 };
    let verdict = judged(&declared, &gate, &up, narrow);
    assert!(verdict.passed(), "{verdict:?}");
    assert!(judged(&Numerics::F32, &gate, &up, narrow).outside > 2000);
}
