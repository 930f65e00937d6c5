//! Bound of `gelu_mul`.

use std::f32::consts::FRAC_1_SQRT_2;

use half::f16;
use kernels::ops::gelu_mul::Gelu;
use kernels::{Float, Numerics, Record, Stem, Verdict};

use crate::{Numbers, input, judge, output};

fn judged(
    form: Gelu,
    numerics: &Numerics,
    gate: &[f32],
    up: &[f32],
    activation: impl Fn(f32, f32) -> f32,
) -> Verdict {
    let shape = [1, gate.len()];
    let record = Record::new(Stem::GeluMul).param("form", form);
    let record = input(input(record, "gate", &shape, gate), "up", &shape, up);
    let got: Vec<f32> = gate.iter().zip(up).map(|(&x, &v)| activation(x, v)).collect();
    judge(&output(record, "out", &shape), numerics, &got)
}

/// √(2/π) in f32.
const ROOT: f32 = 0.797_884_6;

fn erf(x: f32, v: f32) -> f32 {
    0.5 * x * (1.0 + libm::erff(x * FRAC_1_SQRT_2)) * v
}

fn erf_product_first(x: f32, v: f32) -> f32 {
    (1.0 + libm::erff(x / 2f32.sqrt())) * (v * (x * 0.5))
}

fn erfc(x: f32, v: f32) -> f32 {
    x * (v * 0.5 * libm::erfcf(-x * FRAC_1_SQRT_2))
}

fn tanh(x: f32, v: f32) -> f32 {
    0.5 * x * (1.0 + (ROOT * (x + 0.044_715 * x * x * x)).tanh()) * v
}

fn tanh_factored(x: f32, v: f32) -> f32 {
    (1.0 + (ROOT * x * (0.044_715f32 * x).mul_add(x, 1.0)).tanh()) * (v * (0.5 * x))
}

fn tanh_as_sigmoid(x: f32, v: f32) -> f32 {
    let z = ROOT * (x + 0.044_715 * (x * x * x));
    x / (1.0 + (-2.0 * z).exp()) * v
}

type Formula = fn(f32, f32) -> f32;

const FORMS: [(Gelu, Formula); 6] = [
    (Gelu::Erf, erf),
    (Gelu::Erf, erf_product_first),
    (Gelu::Erf, erfc),
    (Gelu::Tanh, tanh),
    (Gelu::Tanh, tanh_factored),
    (Gelu::Tanh, tanh_as_sigmoid),
];

#[test]
fn every_f32_formula_stays_inside() {
    let mut numbers = Numbers::new(5);
    for magnitude in [1e-44, 1e-20, 1e-3, 0.5, 2.0, 6.0, 15.0, 1e5, 1e15, 3e38] {
        for factor in [1e-38, 1.0, 300.0] {
            let gate: Vec<f32> = numbers.take(2000).iter().map(|x| x * magnitude).collect();
            let factor = if magnitude > 1e20 { 1e-3 } else { factor };
            let up: Vec<f32> = numbers.take(2000).iter().map(|v| v * factor).collect();
            for (at, (form, activation)) in FORMS.into_iter().enumerate() {
                let verdict = judged(form, &Numerics::F32, &gate, &up, activation);
                assert!(verdict.passed(), "magnitude={magnitude} factor={factor} formula={at}: {verdict:?}");
            }
        }
    }
}

#[test]
fn the_other_form_falls_outside() {
    let (gate, up) = ([-2.7, -1.0, -0.3, 0.7, 2.0, 3.0], [1.0, -2.0, 0.5, 1.0, 1.0, 4.0]);
    for (form, activation) in FORMS {
        for asked in [Gelu::Erf, Gelu::Tanh] {
            let outside = judged(asked, &Numerics::F32, &gate, &up, activation).outside;
            assert_eq!(outside, if asked == form { 0 } else { 6 }, "{form:?} for {asked:?}");
        }
    }
}

#[test]
fn a_dropped_term_or_factor_falls_outside() {
    let (gate, up) = ([-2.0, -0.5, 0.25, 1.0, 3.0], [3.0, 0.5, -2.0, 8.0, 0.75]);
    let outside = |form, wrong: Formula| judged(form, &Numerics::F32, &gate, &up, wrong).outside;
    for form in [Gelu::Erf, Gelu::Tanh] {
        assert_eq!(outside(form, |x, v| x * v / (1.0 + (-1.702 * x).exp())), 5, "the sigmoid approximation");
        assert_eq!(outside(form, |x, v| x * v / (1.0 + (-x).exp())), 5, "SiLU");
    }
    assert_eq!(outside(Gelu::Erf, |x, v| 0.5 * x * (1.0 + libm::erff(x)) * v), 5, "no √2");
    assert_eq!(outside(Gelu::Erf, |x, _| erf(x, 1.0)), 5, "no up");
    assert_eq!(outside(Gelu::Tanh, |x, v| 0.5 * x * (1.0 + (ROOT * x).tanh()) * v), 5, "no cube");
    assert_eq!(outside(Gelu::Tanh, |x, v| tanh(v, x)), 5, "operands swapped");
    let blunt = |x: f32, v: f32| 0.5 * x * (1.0 + (ROOT * (x + 0.0447 * x * x * x)).tanh()) * v;
    assert!(outside(Gelu::Tanh, blunt) >= 3, "0.0447 for 0.044715");
}

#[test]
fn infinite_operands_have_no_room() {
    let (gate, up) = ([f32::NEG_INFINITY, f32::INFINITY, f32::NAN, 1.0], [2.0, -2.0, 1.0, f32::INFINITY]);
    for (form, activation) in FORMS {
        let naive = judged(form, &Numerics::F32, &gate, &up, activation);
        assert_eq!((naive.outside, naive.worst.unwrap().index), (1, vec![0, 0]));
        let limit = |x: f32, v: f32| if x == f32::NEG_INFINITY { -0.0 } else { activation(x, v) };
        assert!(judged(form, &Numerics::F32, &gate, &up, limit).passed());
        assert_eq!(judged(form, &Numerics::F32, &gate, &up, |_, _| 1.0).outside, 4);
    }
}

#[test]
fn a_narrow_accumulator_needs_its_own_declaration() {
    let round = |x: f32| f16::from_f32(x).to_f32();
    let narrow = |x: f32, v: f32| {
        let cube = round(round(round(x * x) * x) * round(0.044_715));
        let z = round(round(ROOT) * round(x + cube));
        round(round(0.5 * x * round(1.0 + round(z.tanh()))) * v)
    };
    let mut numbers = Numbers::new(6);
    let gate: Vec<f32> = numbers.take(3000).iter().map(|x| round(x * 8.0)).collect();
    let up: Vec<f32> = numbers.take(3000).iter().map(|v| round(v * 4.0)).collect();
    let declared = Numerics { accumulator: Float::F16, ..Numerics::F32 };
    let verdict = judged(Gelu::Tanh, &declared, &gate, &up, narrow);
    assert!(verdict.passed(), "{verdict:?}");
    assert!(judged(Gelu::Tanh, &Numerics::F32, &gate, &up, narrow).outside > 1500);
}
