//! Floating-point arithmetic under the usual modes.

use half::f16;

use crate::bench::{Lane, Out, Pool, h, no_memory, random_state, vector, words};

fn f32s(text: &str, f: impl Fn(&Lane) -> f32) {
    vector(Pool::F32, text, |l| Out::F32(f(l)));
}

fn f64s(text: &str, f: impl Fn(&Lane) -> f64) {
    vector(Pool::F64, text, |l| Out::F64(f(l)));
}

fn f16s(text: &str, f: impl Fn(&Lane) -> f64) {
    vector(Pool::F16, text, |l| h(f16::from_f64(f(l))));
}

fn w(x: f16) -> f64 {
    x.to_f64()
}

#[test]
fn sums_and_products_are_rounded_once() {
    f32s("v_add_f32_e32 v6, v0, v2", |l| (f64::from(l.af()) + f64::from(l.bf())) as f32);
    f32s("v_sub_f32_e32 v6, v0, v2", |l| (f64::from(l.af()) - f64::from(l.bf())) as f32);
    f32s("v_subrev_f32_e32 v6, v0, v2", |l| (f64::from(l.bf()) - f64::from(l.af())) as f32);
    f32s("v_mul_f32_e32 v6, v0, v2", |l| (f64::from(l.af()) * f64::from(l.bf())) as f32);
    f32s("v_mul_f32_e32 v6, s20, v2", |l| (f64::from(l.sf()) * f64::from(l.bf())) as f32);
    f32s(
        "v_mul_legacy_f32 v6, v0, v2",
        |l| if l.af() == 0.0 || l.bf() == 0.0 { 0.0 } else { l.af() * l.bf() },
    );
    f32s("v_fma_f32 v6, v0, v2, v4", |l| libm::fmaf(l.af(), l.bf(), l.cf()));
    f32s("v_fmac_f32_e32 v6, v0, v2", |l| libm::fmaf(l.af(), l.bf(), l.of()));
    f32s("v_fmamk_f32 v6, v0, 0x40490fdb, v2", |l| libm::fmaf(l.af(), f32::from_bits(0x40490fdb), l.bf()));
    f32s("v_fmaak_f32 v6, v0, v2, 0xc0490fdb", |l| libm::fmaf(l.af(), l.bf(), f32::from_bits(0xc0490fdb)));
    f64s("v_add_f64 v[6:7], v[0:1], v[2:3]", |l| l.ad() + l.bd());
    f64s("v_mul_f64 v[6:7], v[0:1], v[2:3]", |l| l.ad() * l.bd());
    f64s("v_fma_f64 v[6:7], v[0:1], v[2:3], v[4:5]", |l| libm::fma(l.ad(), l.bd(), l.cd()));
    f64s("v_fmac_f64_e32 v[6:7], v[0:1], v[2:3]", |l| libm::fma(l.ad(), l.bd(), l.od()));
    f16s("v_add_f16_e32 v6, v0, v2", |l| w(l.ah()) + w(l.bh()));
    f16s("v_sub_f16_e32 v6, v0, v2", |l| w(l.ah()) - w(l.bh()));
    f16s("v_subrev_f16_e32 v6, v0, v2", |l| w(l.bh()) - w(l.ah()));
    f16s("v_mul_f16_e32 v6, v0, v2", |l| w(l.ah()) * w(l.bh()));
    f16s("v_mac_f16_e32 v6, v0, v2", |l| {
        w(f16::from_f64(w(l.ah()) * w(l.bh()))) + w(f16::from_bits(l.old as u16))
    });
    f16s("v_madmk_f16 v6, v0, 0x4248, v2", |l| {
        w(f16::from_f64(w(l.ah()) * w(f16::from_bits(0x4248)))) + w(l.bh())
    });
    f16s("v_madak_f16 v6, v0, v2, 0x4248", |l| {
        w(f16::from_f64(w(l.ah()) * w(l.bh()))) + w(f16::from_bits(0x4248))
    });
    f16s("v_mad_legacy_f16 v6, v0, v2, v4", |l| w(f16::from_f64(w(l.ah()) * w(l.bh()))) + w(l.ch()));
    f16s("v_fma_legacy_f16 v6, v0, v2, v4", |l| libm::fma(w(l.ah()), w(l.bh()), w(l.ch())));
    vector(Pool::F16, "v_fma_f16 v6, v0, v2, v4", |l| {
        Out::F16(f16::from_f64(libm::fma(w(l.ah()), w(l.bh()), w(l.ch()))), (l.old >> 16) as u16)
    });
    vector(Pool::F16, "v_mad_f16 v6, v0, v2, v4", |l| {
        Out::F16(f16::from_f64(w(f16::from_f64(w(l.ah()) * w(l.bh()))) + w(l.ch())), (l.old >> 16) as u16)
    });
}

/// The smaller of two numbers; NaNs lose, and −0 is below +0.
fn least(a: f64, b: f64) -> f64 {
    if b.is_nan() || (!a.is_nan() && a.total_cmp(&b).is_lt()) { a } else { b }
}

fn most(a: f64, b: f64) -> f64 {
    -least(-a, -b)
}

#[test]
fn minima_and_maxima() {
    // Signalling NaNs come out quiet in IEEE mode; they are left out here by taking any NaN for any other.
    let quiet = |x: f32| x.is_nan() && x.to_bits() & 0x40_0000 == 0;
    let pick = |l: &Lane, value: f64| if quiet(l.af()) || quiet(l.bf()) { f32::NAN } else { value as f32 };
    f32s("v_min_f32_e32 v6, v0, v2", |l| pick(l, least(l.af().into(), l.bf().into())));
    f32s("v_max_f32_e32 v6, v0, v2", |l| pick(l, most(l.af().into(), l.bf().into())));
    let quiet64 = |x: f64| x.is_nan() && x.to_bits() & (1 << 51) == 0;
    let pick64 = |l: &Lane, value: f64| if quiet64(l.ad()) || quiet64(l.bd()) { f64::NAN } else { value };
    f64s("v_min_f64 v[6:7], v[0:1], v[2:3]", |l| pick64(l, least(l.ad(), l.bd())));
    f64s("v_max_f64 v[6:7], v[0:1], v[2:3]", |l| pick64(l, most(l.ad(), l.bd())));
    let quiet16 = |x: f16| x.is_nan() && x.to_bits() & 0x200 == 0;
    let pick16 = |l: &Lane, value: f64| if quiet16(l.ah()) || quiet16(l.bh()) { f64::NAN } else { value };
    f16s("v_min_f16_e32 v6, v0, v2", |l| pick16(l, least(w(l.ah()), w(l.bh()))));
    f16s("v_max_f16_e32 v6, v0, v2", |l| pick16(l, most(w(l.ah()), w(l.bh()))));
}

#[test]
fn of_three_the_least_the_most_and_the_middle() {
    let numbers = |l: &Lane| [l.af(), l.bf(), l.cf()].map(|x| if x.is_nan() { 0.0 } else { x });
    let memory = no_memory();
    for (text, which) in
        [("v_min3_f32 v6, v0, v2, v4", 0), ("v_med3_f32 v6, v0, v2, v4", 1), ("v_max3_f32 v6, v0, v2, v4", 2)]
    {
        let mut state = random_state(Pool::F32, 11);
        for register in [0, 2, 4] {
            state.vgprs[register] =
                state.vgprs[register].map(|x| if f32::from_bits(x).is_nan() { 0 } else { x });
        }
        let before = state.clone();
        state.run(&words(text), &memory).unwrap();
        for lane in 0..64 {
            let mut sorted = numbers(&crate::bench::lane_of(&before, lane));
            sorted.sort_by(f32::total_cmp);
            assert_eq!(f32::from_bits(state.vgprs[6][lane]), sorted[which], "{text}");
        }
    }
    for (text, which) in
        [("v_min3_f16 v6, v0, v2, v4", 0), ("v_med3_f16 v6, v0, v2, v4", 1), ("v_max3_f16 v6, v0, v2, v4", 2)]
    {
        let mut state = random_state(Pool::F16, 12);
        for register in [0, 2, 4] {
            state.vgprs[register] = state.vgprs[register].map(|x| if x & 0x7c00 == 0x7c00 { 0 } else { x });
        }
        let before = state.clone();
        state.run(&words(text), &memory).unwrap();
        for lane in 0..64 {
            let l = crate::bench::lane_of(&before, lane);
            let mut sorted = [l.ah(), l.bh(), l.ch()];
            sorted.sort_by(f16::total_cmp);
            assert_eq!(f16::from_bits(state.vgprs[6][lane] as u16), sorted[which], "{text}");
            assert_eq!(
                state.vgprs[6][lane] >> 16,
                before.vgprs[6][lane] >> 16,
                "{text} keeps the upper half"
            );
        }
    }
}

#[test]
fn rounding_to_integers() {
    f32s("v_trunc_f32_e32 v6, v0", |l| libm::truncf(l.af()));
    f32s("v_ceil_f32_e32 v6, v0", |l| libm::ceilf(l.af()));
    f32s("v_floor_f32_e32 v6, v0", |l| libm::floorf(l.af()));
    f32s("v_rndne_f32_e32 v6, v0", |l| libm::rintf(l.af()));
    f64s("v_trunc_f64_e32 v[6:7], v[0:1]", |l| libm::trunc(l.ad()));
    f64s("v_ceil_f64_e32 v[6:7], v[0:1]", |l| libm::ceil(l.ad()));
    f64s("v_floor_f64_e32 v[6:7], v[0:1]", |l| libm::floor(l.ad()));
    f64s("v_rndne_f64_e32 v[6:7], v[0:1]", |l| libm::rint(l.ad()));
    f16s("v_trunc_f16_e32 v6, v0", |l| libm::trunc(w(l.ah())));
    f16s("v_ceil_f16_e32 v6, v0", |l| libm::ceil(w(l.ah())));
    f16s("v_floor_f16_e32 v6, v0", |l| libm::floor(w(l.ah())));
    f16s("v_rndne_f16_e32 v6, v0", |l| libm::rint(w(l.ah())));
    f32s("v_fract_f32_e32 v6, v0", |l| {
        let x = f64::from(l.af());
        if x.is_finite() { ((x - x.floor()) as f32).min(1.0f32.next_down()) } else { f32::NAN }
    });
    f64s("v_fract_f64_e32 v[6:7], v[0:1]", |l| {
        if l.ad().is_finite() { (l.ad() - l.ad().floor()).min(1.0f64.next_down()) } else { f64::NAN }
    });
    f16s("v_fract_f16_e32 v6, v0", |l| {
        let x = w(l.ah());
        if x.is_finite() { w(f16::from_f64(x - x.floor())).min(w(f16::from_bits(0x3bff))) } else { f64::NAN }
    });
}

#[test]
fn taking_numbers_apart_and_scaling() {
    let whole = |x: f64| x.is_finite() && x != 0.0;
    let exponent = move |x: f64| if whole(x) { libm::frexp(x).1 } else { 0 };
    let mantissa = move |x: f64| if whole(x) { libm::frexp(x).0 } else { x };
    vector(Pool::F32, "v_frexp_exp_i32_f32_e32 v6, v0", |l| Out::Bits32(exponent(l.af().into()) as u32));
    vector(Pool::F64, "v_frexp_exp_i32_f64_e32 v6, v[0:1]", |l| Out::Bits32(exponent(l.ad()) as u32));
    vector(Pool::F16, "v_frexp_exp_i16_f16_e32 v6, v0", |l| Out::Bits32(exponent(w(l.ah())) as u32 & 0xffff));
    f32s("v_frexp_mant_f32_e32 v6, v0", |l| mantissa(l.af().into()) as f32);
    f64s("v_frexp_mant_f64_e32 v[6:7], v[0:1]", |l| mantissa(l.ad()));
    f16s("v_frexp_mant_f16_e32 v6, v0", |l| mantissa(w(l.ah())));
    // Scaling in two steps through f64 is exact until the last one.
    f32s("v_ldexp_f32 v6, v0, v2", |l| libm::ldexp(f64::from(l.af()), l.bi().clamp(-600, 600)) as f32);
    f32s("v_ldexp_f32 v6, v0, -3", |l| (f64::from(l.af()) / 8.0) as f32);
    f16s("v_ldexp_f16_e32 v6, v0, v2", |l| libm::ldexp(w(l.ah()), i32::from(l.b as i16).clamp(-600, 600)));
    vector(Pool::F64, "v_ldexp_f64 v[6:7], v[0:1], 5", |l| Out::F64(l.ad() * 32.0));
}

/// The bits of `2/π` behind the point, by Machin's formula and long division.
fn two_over_pi(bits: usize) -> Vec<bool> {
    const WORDS: usize = 48;
    type Fixed = [u32; WORDS];
    // The highest word is the whole part.
    fn divide(x: &mut Fixed, by: u32) {
        let mut rest = 0u64;
        for word in x {
            rest = rest << 32 | u64::from(*word);
            (*word, rest) = ((rest / u64::from(by)) as u32, rest % u64::from(by));
        }
    }
    fn add(x: &mut Fixed, y: &Fixed, negative: bool) {
        let mut carry = u64::from(negative);
        for (word, more) in x.iter_mut().zip(y).rev() {
            carry += u64::from(*word) + u64::from(if negative { !more } else { *more });
            (*word, carry) = (carry as u32, carry >> 32);
        }
    }
    fn arctangent(of_one_over: u32, times: u32) -> Fixed {
        let mut power = [0; WORDS];
        power[0] = times;
        divide(&mut power, of_one_over);
        let mut sum = power;
        for (n, negative) in (3..1200).step_by(2).zip([true, false].into_iter().cycle()) {
            divide(&mut power, of_one_over * of_one_over);
            let mut term = power;
            divide(&mut term, n);
            add(&mut sum, &term, negative);
        }
        sum
    }
    let mut pi = arctangent(5, 16);
    add(&mut pi, &arctangent(239, 4), true);
    let mut rest = [0; WORDS];
    rest[0] = 2;
    (0..bits)
        .map(|_| {
            let twice = rest;
            add(&mut rest, &twice, false);
            let bit = rest >= pi;
            if bit {
                add(&mut rest, &pi, true);
            }
            bit
        })
        .collect()
}

#[test]
fn segments_of_two_over_pi() {
    let table = two_over_pi(1201);
    for exponent in [0u64, 1, 1023, 1077, 1078, 1100, 1500, 1967, 1968, 2000, 2046, 2047] {
        let mut state = random_state(Pool::F64, 4);
        for lane in 0..64 {
            state.vgprs[1][lane] = (exponent as u32) << 20 | if lane < 32 { 0 } else { 1 << 31 };
            state.vgprs[2][lane] = (lane as u32 % 32) | (lane as u32 * 64);
            state.vgprs[0][lane] = 0;
        }
        state.run(&words("v_trig_preop_f64 v[6:7], v[0:1], v2"), &no_memory()).unwrap();
        for lane in 0..64 {
            let shift = lane % 32 * 53 + (exponent as usize).saturating_sub(1077);
            let digits =
                (0..53).fold(0u64, |digits, i| digits << 1 | u64::from(table.get(shift + i) == Some(&true)));
            let scale = if exponent >= 1968 { 75 } else { -53 };
            let expected = libm::ldexp(digits as f64, scale - shift as i32);
            let got = u64::from(state.vgprs[6][lane]) | u64::from(state.vgprs[7][lane]) << 32;
            assert_eq!(got, expected.to_bits(), "exponent {exponent}, segment {}", lane % 32);
        }
    }
    let sum: f64 = (1..).zip(&table).filter(|(_, bit)| **bit).map(|(i, _)| 0.5f64.powi(i)).sum();
    assert!((sum - std::f64::consts::FRAC_2_PI).abs() < 1e-15);
}

#[test]
fn approximations_are_within_one_ulp() {
    let near = |text: &str, f: fn(f64) -> f64| {
        vector(Pool::F32, text, |l| {
            // Denormal sources count as zero.
            let x = if l.af().is_subnormal() { 0.0f32.copysign(l.af()) } else { l.af() };
            Out::Near32(f(x.into()), 1.0)
        });
    };
    near("v_exp_f32_e32 v6, v0", f64::exp2);
    near("v_log_f32_e32 v6, v0", f64::log2);
    near("v_rcp_f32_e32 v6, v0", |x| 1.0 / x);
    near("v_rcp_iflag_f32_e32 v6, v0", |x| 1.0 / x);
    near("v_rsq_f32_e32 v6, v0", |x| 1.0 / x.sqrt());
    near("v_sqrt_f32_e32 v6, v0", f64::sqrt);
    f64s("v_rcp_f64_e32 v[6:7], v[0:1]", |l| 1.0 / l.ad());
    f64s("v_rsq_f64_e32 v[6:7], v[0:1]", |l| 1.0 / l.ad().sqrt());
    f64s("v_sqrt_f64_e32 v[6:7], v[0:1]", |l| l.ad().sqrt());
    f16s("v_rcp_f16_e32 v6, v0", |l| 1.0 / w(l.ah()));
    f16s("v_sqrt_f16_e32 v6, v0", |l| w(l.ah()).sqrt());
    f16s("v_rsq_f16_e32 v6, v0", |l| 1.0 / w(l.ah()).sqrt());
    f16s("v_exp_f16_e32 v6, v0", |l| w(l.ah()).exp2());
    f16s("v_log_f16_e32 v6, v0", |l| w(l.ah()).log2());
    let turns = |text: &str, far: f32, f: fn(f64) -> f64| {
        vector(Pool::F32, text, |l| {
            let x = l.af();
            if !x.is_finite() {
                Out::F32(f32::NAN)
            } else if x.abs() > 256.0 {
                Out::F32(far)
            } else if x.is_subnormal() {
                Out::F32(f(0.0) as f32 + 0.0f32.copysign(x) * (1.0 - far))
            } else {
                let turn = f64::from(x) - f64::from(x).trunc();
                Out::Near32(f(turn * std::f64::consts::TAU), 2.0)
            }
        });
    };
    turns("v_sin_f32_e32 v6, v0", 0.0, f64::sin);
    turns("v_cos_f32_e32 v6, v0", 1.0, f64::cos);
    near("v_exp_legacy_f32_e32 v6, v0", f64::exp2);
    near("v_log_legacy_f32_e32 v6, v0", f64::log2);
    // In turns; beyond 256 of them the result is that of none.
    let half_turns = |text: &str, f: fn(f64) -> f64| {
        f16s(text, |l| match w(l.ah()) {
            x if !x.is_finite() => f64::NAN,
            x if x.abs() > 256.0 => f(0.0),
            x => f((x - x.trunc()) * std::f64::consts::TAU),
        });
    };
    half_turns("v_sin_f16_e32 v6, v0", f64::sin);
    half_turns("v_cos_f16_e32 v6, v0", f64::cos);
}

/// The sequence that compilers emit for `v0 / v2`.
const DIVISION: &str = "v_div_scale_f32 v8, s[30:31], v2, v2, v0; v_div_scale_f32 v9, vcc, v0, v2, v0; v_rcp_f32_e32 v10, v8; v_fma_f32 v11, -v8, v10, 1.0; v_fma_f32 v10, v11, v10, v10; v_mul_f32_e32 v11, v9, v10; v_fma_f32 v12, -v8, v11, v9; v_fma_f32 v11, v12, v10, v11; v_fma_f32 v12, -v8, v11, v9; v_div_fmas_f32 v12, v12, v10, v11; v_div_fixup_f32 v6, v12, v2, v0";

#[test]
fn the_division_sequence_is_correctly_rounded() {
    let memory = no_memory();
    let words = words(DIVISION);
    for seed in 0..40 {
        let mut state = random_state(Pool::F32, seed);
        let before = state.clone();
        state.run(&words, &memory).unwrap();
        for lane in 0..64 {
            let l = crate::bench::lane_of(&before, lane);
            let (expected, got) = (l.af() / l.bf(), f32::from_bits(state.vgprs[6][lane]));
            let same = expected.to_bits() == got.to_bits() || (expected.is_nan() && got.is_nan());
            // The last step rounds a denormal quotient a second time.
            let denormal = expected.is_subnormal() && expected.to_bits().abs_diff(got.to_bits()) <= 1;
            assert!(same || denormal, "{:e} / {:e} gave {got:e}, not {expected:e}", l.af(), l.bf());
        }
    }
}

/// The same for `v[0:1] / v[2:3]`.
const DIVISION64: &str = "v_div_scale_f64 v[8:9], s[30:31], v[2:3], v[2:3], v[0:1]; v_rcp_f64_e32 v[10:11], v[8:9]; v_fma_f64 v[12:13], -v[8:9], v[10:11], 1.0; v_fma_f64 v[10:11], v[10:11], v[12:13], v[10:11]; v_fma_f64 v[12:13], -v[8:9], v[10:11], 1.0; v_fma_f64 v[10:11], v[10:11], v[12:13], v[10:11]; v_div_scale_f64 v[12:13], vcc, v[0:1], v[2:3], v[0:1]; v_mul_f64 v[14:15], v[12:13], v[10:11]; v_fma_f64 v[8:9], -v[8:9], v[14:15], v[12:13]; v_div_fmas_f64 v[8:9], v[8:9], v[10:11], v[14:15]; v_div_fixup_f64 v[6:7], v[8:9], v[2:3], v[0:1]";

#[test]
fn the_f64_division_sequence_is_correctly_rounded() {
    let memory = no_memory();
    let words = words(DIVISION64);
    for seed in 0..40 {
        let mut state = random_state(Pool::F64, seed);
        let before = state.clone();
        state.run(&words, &memory).unwrap();
        for lane in 0..64 {
            let l = crate::bench::lane_of(&before, lane);
            let (expected, got) = (l.ad() / l.bd(), f64::from_bits(crate::bench::lane_of(&state, lane).old));
            let same = expected.to_bits() == got.to_bits() || (expected.is_nan() && got.is_nan());
            let denormal = expected.is_subnormal() && expected.to_bits().abs_diff(got.to_bits()) <= 1;
            assert!(same || denormal, "{:e} / {:e} gave {got:e}, not {expected:e}", l.ad(), l.bd());
        }
    }
}

#[test]
fn f16_division_is_fixed_up() {
    let fixed = |l: &Lane| {
        let (value, den, num) = (l.ah(), l.bh(), l.ch());
        let sign = den.is_sign_negative() != num.is_sign_negative();
        let signed = |x: f64| if sign { -x } else { x };
        match () {
            () if num.is_nan() || den.is_nan() => f64::NAN,
            () if (w(den) == 0.0 && w(num) == 0.0) || (den.is_infinite() && num.is_infinite()) => f64::NAN,
            () if w(den) == 0.0 || num.is_infinite() => signed(f64::INFINITY),
            () if den.is_infinite() || w(num) == 0.0 => signed(0.0),
            () if value.is_nan() => signed(f64::INFINITY),
            () => signed(w(value).abs()),
        }
    };
    f16s("v_div_fixup_legacy_f16 v6, v0, v2, v4", fixed);
    vector(Pool::F16, "v_div_fixup_f16 v6, v0, v2, v4", |l| {
        Out::F16(f16::from_f64(fixed(l)), (l.old >> 16) as u16)
    });
}

#[test]
fn directions_meet_the_faces_of_a_cube() {
    // The face by the axis of the largest coordinate, and by the sign.
    let axis = |l: &Lane| {
        let size = [l.af().abs(), l.bf().abs(), l.cf().abs()];
        if size[2] >= size[0] && size[2] >= size[1] { 2 } else { usize::from(size[1] >= size[0]) }
    };
    let value = |l: &Lane| [l.af(), l.bf(), l.cf()][axis(l)];
    f32s("v_cubeid_f32 v6, v0, v2, v4", |l| 2.0 * axis(l) as f32 + f32::from(u8::from(value(l) < 0.0)));
    f32s("v_cubema_f32 v6, v0, v2, v4", |l| 2.0 * value(l));
    f32s("v_cubesc_f32 v6, v0, v2, v4", |l| match (axis(l), value(l) < 0.0) {
        (0, true) => l.cf(),
        (0, false) => -l.cf(),
        (2, true) => -l.af(),
        _ => l.af(),
    });
    f32s("v_cubetc_f32 v6, v0, v2, v4", |l| match (axis(l), value(l) < 0.0) {
        (1, true) => -l.cf(),
        (1, false) => l.cf(),
        _ => -l.bf(),
    });
}
