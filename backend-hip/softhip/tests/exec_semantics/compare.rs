//! Compares.

use std::cmp::Ordering;

use crate::bench::{Lane, Pool, mask, no_memory, random_state, words};

/// Whether a relation holds for an order; of floating-point numbers there may be none.
type Partial = fn(Option<Ordering>) -> bool;
/// See [`Partial`].
type Total = fn(Ordering) -> bool;

/// The relations of floating-point compares: name, and whether it holds for an order (none: unordered).
const FLOAT: [(&str, Partial); 16] = [
    ("f", |_| false),
    ("lt", |o| o == Some(Ordering::Less)),
    ("eq", |o| o == Some(Ordering::Equal)),
    ("le", |o| matches!(o, Some(Ordering::Less | Ordering::Equal))),
    ("gt", |o| o == Some(Ordering::Greater)),
    ("lg", |o| matches!(o, Some(Ordering::Less | Ordering::Greater))),
    ("ge", |o| matches!(o, Some(Ordering::Greater | Ordering::Equal))),
    ("o", |o| o.is_some()),
    ("u", |o| o.is_none()),
    ("nge", |o| !matches!(o, Some(Ordering::Greater | Ordering::Equal))),
    ("nlg", |o| !matches!(o, Some(Ordering::Less | Ordering::Greater))),
    ("ngt", |o| o != Some(Ordering::Greater)),
    ("nle", |o| !matches!(o, Some(Ordering::Less | Ordering::Equal))),
    ("neq", |o| o != Some(Ordering::Equal)),
    ("nlt", |o| o != Some(Ordering::Less)),
    ("tru", |_| true),
];

const INTEGER: [(&str, Total); 8] = [
    ("f", |_| false),
    ("lt", |o| o == Ordering::Less),
    ("eq", |o| o == Ordering::Equal),
    ("le", |o| o != Ordering::Greater),
    ("gt", |o| o == Ordering::Greater),
    ("ne", |o| o != Ordering::Equal),
    ("ge", |o| o != Ordering::Less),
    ("t", |_| true),
];

fn operands(ty: &str) -> (&'static str, &'static str) {
    if ty.ends_with("64") { ("v[0:1]", "v[2:3]") } else { ("v0", "v2") }
}

fn floats(ty: &str, pool: Pool, order: impl Fn(&Lane) -> Option<Ordering>) {
    let (a, b) = operands(ty);
    for (name, holds) in FLOAT {
        mask(pool, &format!("v_cmp_{name}_{ty}_e32 vcc, {a}, {b}"), 106, |l| holds(order(l)));
        writes_exec(&format!("v_cmpx_{name}_{ty}_e32 vcc, {a}, {b}"), pool, |l| holds(order(l)));
    }
}

fn integers(ty: &str, order: impl Fn(&Lane) -> Ordering) {
    let (a, b) = operands(ty);
    for (name, holds) in INTEGER {
        mask(Pool::Bits, &format!("v_cmp_{name}_{ty}_e64 s[30:31], {a}, {b}"), 30, |l| holds(order(l)));
        writes_exec(&format!("v_cmpx_{name}_{ty}_e32 vcc, {a}, {b}"), Pool::Bits, |l| holds(order(l)));
    }
}

fn writes_exec(text: &str, pool: Pool, f: impl Fn(&Lane) -> bool) {
    let mut state = random_state(pool, 4);
    state.set_pair(126, 0x0f0f_ffff_1234_5678);
    let before = state.clone();
    state.run(&words(text), &no_memory()).unwrap();
    let expected =
        (0..64).filter(|&lane| f(&crate::bench::lane_of(&before, lane))).fold(0, |m, lane| m | 1u64 << lane);
    assert_eq!(state.pair(126), expected & before.pair(126), "{text}");
    assert_eq!(state.pair(106), state.pair(126), "{text}");
}

#[test]
fn floats_compare_as_their_values_do() {
    floats("f32", Pool::F32, |l| l.af().partial_cmp(&l.bf()));
    floats("f64", Pool::F64, |l| l.ad().partial_cmp(&l.bd()));
    floats("f16", Pool::F16, |l| l.ah().to_f32().partial_cmp(&l.bh().to_f32()));
}

#[test]
fn integers_compare_as_their_values_do() {
    integers("i32", |l| l.ai().cmp(&l.bi()));
    integers("u32", |l| l.au().cmp(&l.bu()));
    integers("i64", |l| (l.a as i64).cmp(&(l.b as i64)));
    integers("u64", |l| l.a.cmp(&l.b));
    integers("i16", |l| (l.a as i16).cmp(&(l.b as i16)));
    integers("u16", |l| (l.a as u16).cmp(&(l.b as u16)));
}

/// The class bit of a number, by its bits.
fn class(bits: u64, exponent_bits: u32, fraction_bits: u32) -> u32 {
    let fraction = bits & ((1 << fraction_bits) - 1);
    let exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1);
    let negative = (bits >> (exponent_bits + fraction_bits)) & 1 == 1;
    let all = (1 << exponent_bits) - 1;
    match (exponent, fraction) {
        (e, f) if e == all && f != 0 => u32::from((f >> (fraction_bits - 1)) & 1 == 1),
        (e, _) if e == all => {
            if negative {
                2
            } else {
                9
            }
        }
        (0, 0) => {
            if negative {
                5
            } else {
                6
            }
        }
        (0, _) => {
            if negative {
                4
            } else {
                7
            }
        }
        _ => {
            if negative {
                3
            } else {
                8
            }
        }
    }
}

#[test]
fn classes_are_those_of_the_bits() {
    mask(Pool::F32, "v_cmp_class_f32_e32 vcc, v0, v2", 106, |l| {
        (l.bu() >> class(l.a & 0xffff_ffff, 8, 23)) & 1 == 1
    });
    mask(Pool::F64, "v_cmp_class_f64_e32 vcc, v[0:1], v2", 106, |l| (l.bu() >> class(l.a, 11, 52)) & 1 == 1);
    mask(Pool::F16, "v_cmp_class_f16_e32 vcc, v0, v2", 106, |l| {
        (l.bu() >> class(l.a & 0xffff, 5, 10)) & 1 == 1
    });
    writes_exec("v_cmpx_class_f64_e32 vcc, v[0:1], v2", Pool::F64, |l| {
        (l.bu() >> class(l.a, 11, 52)) & 1 == 1
    });
    writes_exec("v_cmpx_class_f16_e32 vcc, v0, v2", Pool::F16, |l| {
        (l.bu() >> class(l.a & 0xffff, 5, 10)) & 1 == 1
    });
    writes_exec("v_cmpx_class_f32_e32 vcc, v0, v2", Pool::F32, |l| {
        (l.bu() >> class(l.a & 0xffff_ffff, 8, 23)) & 1 == 1
    });
}
