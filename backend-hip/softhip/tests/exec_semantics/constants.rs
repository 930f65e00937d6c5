//! Inline constants where operands mix sizes: every kind of operand, constant and modifier, against the rule.
//!
//! The rule: an integer is sign-extended to 32 bits. A number is an f16 in the low half, with 0 in the high half, where
//! the operand is f16; it is an f32 where the operand is f32, or an integer of 16 bits.

use half::f16;

use crate::bench::{Pool, no_memory, random_state, words};

/// What lane 0 of `v6` holds after a snippet.
fn result(text: &str) -> u32 {
    let mut state = random_state(Pool::F16, 11);
    // 1.5 in both halves of v0, 3.0 in v2, as f16; as f32 in v4 and v5.
    state.vgprs[0] = [0x3e00_3e00; 64];
    state.vgprs[2] = [0x4200_4200; 64];
    state.vgprs[4] = [1.5f32.to_bits(); 64];
    state.vgprs[6] = [0xdead_beef; 64];
    state.scalars[20] = 0x4400_4000; // 4.0 and 2.0
    state.run(&words(text), &no_memory()).unwrap_or_else(|problem| panic!("{text}: {problem:?}"));
    state.vgprs[6][0]
}

#[track_caller]
fn f32_is(text: &str, expected: f32) {
    let got = f32::from_bits(result(text));
    assert_eq!(got, expected, "{text}");
}

#[track_caller]
fn halves_are(text: &str, low: f32, high: f32) {
    let bits = |value: f32| u32::from(f16::from_f32(value).to_bits());
    assert_eq!(result(text), bits(low) | bits(high) << 16, "{text}");
}

#[test]
fn mixed_precision_takes_the_type_that_op_sel_hi_selects() {
    // As f32.
    f32_is("v_fma_mix_f32 v6, v0, 1.0, 0 op_sel_hi:[1,0,0]", 1.5);
    f32_is("v_fma_mix_f32 v6, v0, 4.0, 0.5 op_sel_hi:[1,0,0]", 6.5);
    f32_is("v_fma_mix_f32 v6, v4, -2.0, 1.0", -2.0);
    // As f16.
    f32_is("v_fma_mix_f32 v6, v0, 1.0, 0 op_sel_hi:[1,1,0]", 1.5);
    f32_is("v_fma_mix_f32 v6, v0, v2, 1.0 op_sel_hi:[1,1,1]", 5.5);
    f32_is("v_fma_mix_f32 v6, v0, v2, -4.0 op_sel_hi:[1,1,1]", 0.5);
    f32_is("v_fma_mix_f32 v6, 2.0, v2, 0.5 op_sel_hi:[1,1,1]", 6.5);
    f32_is("v_fma_mix_f32 v6, v4, 4.0, 1.0 op_sel_hi:[0,1,1]", 7.0);
    // The high half of a constant is 0.
    f32_is("v_fma_mix_f32 v6, v0, 1.0, 0.5 op_sel:[0,1,0] op_sel_hi:[1,1,0]", 0.5);
    // With signs.
    f32_is("v_fma_mix_f32 v6, v0, -v2, 1.0 op_sel_hi:[1,1,1]", -3.5);
    f32_is("v_fma_mix_f32 v6, |v0|, v2, 1.0 op_sel_hi:[1,1,0]", 5.5);
    // An integer is the bits of a denormal.
    f32_is("v_fma_mix_f32 v6, v0, v2, 1 op_sel_hi:[1,1,1]", 4.5 + 2f32.powi(-24));
    f32_is("v_fma_mix_f32 v6, v0, 0, 1 op_sel_hi:[1,1,0]", f32::from_bits(1));
    // Negative integers have ones in both halves: NaN.
    assert!(f32::from_bits(result("v_fma_mix_f32 v6, v0, v2, -1 op_sel:[0,0,1] op_sel_hi:[1,1,1]")).is_nan());
    // From scalar registers.
    f32_is("v_fma_mix_f32 v6, v0, s20, 1.0 op_sel:[0,1,0] op_sel_hi:[1,1,1]", 7.0);
    f32_is("v_fma_mix_f32 v6, v0, s20, 1.0 op_sel_hi:[1,1,0]", 4.0);
}

#[test]
fn mixed_precision_to_halves() {
    let low = |value: f32| 0xdead_0000 | u32::from(f16::from_f32(value).to_bits());
    let high = |value: f32| 0xbeef | u32::from(f16::from_f32(value).to_bits()) << 16;
    assert_eq!(result("v_fma_mixlo_f16 v6, v0, v2, 1.0 op_sel_hi:[1,1,1]"), low(5.5));
    assert_eq!(result("v_fma_mixlo_f16 v6, v0, v2, 1.0 op_sel_hi:[1,1,0]"), low(5.5));
    assert_eq!(result("v_fma_mixlo_f16 v6, v4, 2.0, 0"), low(3.0));
    assert_eq!(result("v_fma_mixhi_f16 v6, v0, 2.0, 0.5 op_sel_hi:[1,1,1]"), high(3.5));
    assert_eq!(result("v_fma_mixhi_f16 v6, v4, 2.0, 0.5 op_sel_hi:[0,1,0]"), high(3.5));
    assert_eq!(result("v_fma_mixhi_f16 v6, v0, v2, 1.0 op_sel_hi:[1,1,1] clamp"), high(1.0));
}

#[test]
fn pairs_of_f16_have_a_number_in_the_low_half() {
    halves_are("v_pk_add_f16 v6, v0, 1.0", 2.5, 1.5);
    halves_are("v_pk_add_f16 v6, v0, 1.0 op_sel_hi:[1,0]", 2.5, 2.5);
    halves_are("v_pk_add_f16 v6, v0, 1.0 op_sel:[0,1]", 1.5, 1.5);
    halves_are("v_pk_add_f16 v6, v0, 1.0 op_sel:[0,1] op_sel_hi:[1,0]", 1.5, 2.5);
    halves_are("v_pk_mul_f16 v6, 4.0, v2 op_sel_hi:[0,1]", 12.0, 12.0);
    halves_are("v_pk_mul_f16 v6, v0, -2.0 op_sel_hi:[1,0] neg_lo:[1,0]", 3.0, -3.0);
    halves_are("v_pk_fma_f16 v6, v0, v2, 0.5 op_sel_hi:[1,1,0]", 5.0, 5.0);
    halves_are("v_pk_fma_f16 v6, v0, 2.0, 0.5 op_sel_hi:[1,0,0] neg_lo:[0,0,1]", 2.5, 3.5);
    halves_are("v_pk_min_f16 v6, v0, 1.0 op_sel_hi:[1,0]", 1.0, 1.0);
    halves_are("v_pk_max_f16 v6, v0, 4.0 op_sel_hi:[1,0] clamp", 1.0, 1.0);
    // 0x3e00 + the bits of an f16 denormal: too small to change 1.5.
    halves_are("v_pk_add_f16 v6, v0, 1", 1.5, 1.5);
}

#[test]
fn pairs_of_integers_have_the_bits_of_an_f32_or_a_sign_extended_integer() {
    let pair = |low: u32, high: u32| low & 0xffff | high << 16;
    assert_eq!(result("v_pk_add_u16 v6, v0, 1"), pair(0x3e01, 0x3e00));
    assert_eq!(result("v_pk_add_u16 v6, v0, 1 op_sel_hi:[1,0]"), pair(0x3e01, 0x3e01));
    assert_eq!(result("v_pk_add_u16 v6, v0, -1"), pair(0x3dff, 0x3dff));
    assert_eq!(result("v_pk_sub_i16 v6, v0, -16"), pair(0x3e10, 0x3e01));
    assert_eq!(result("v_pk_max_i16 v6, v0, 64 op_sel:[0,1]"), pair(0x3e00, 0x3e00));
    assert_eq!(result("v_pk_lshrrev_b16 v6, 4, v0 op_sel_hi:[0,1]"), pair(0x3e0, 0x3e0));
    assert_eq!(result("v_pk_lshlrev_b16 v6, 1, v2"), pair(0x8400, 0x4200));
    assert_eq!(result("v_pk_mad_u16 v6, v0, 2, 1 op_sel_hi:[1,0,0]"), pair(0x7c01, 0x7c01));
}

#[test]
fn pairs_of_f32_have_a_number_in_both_registers() {
    let mut state = random_state(Pool::F32, 4);
    for (register, value) in [(0, 1.5f32), (1, 2.5), (2, 3.0), (3, -1.0)] {
        state.vgprs[register] = [value.to_bits(); 64];
    }
    let pair = |text: &str| {
        let mut state = state.clone();
        state.run(&words(text), &no_memory()).unwrap();
        [6, 7].map(|at| f32::from_bits(state.vgprs[at][0]))
    };
    assert_eq!(pair("v_pk_add_f32 v[6:7], v[0:1], 1.0"), [2.5, 3.5]);
    assert_eq!(pair("v_pk_mul_f32 v[6:7], v[0:1], 2.0 op_sel_hi:[1,0]"), [3.0, 5.0]);
    assert_eq!(pair("v_pk_mul_f32 v[6:7], v[0:1], -4.0 neg_lo:[0,1] neg_hi:[1,0]"), [6.0, 10.0]);
    assert_eq!(pair("v_pk_fma_f32 v[6:7], v[0:1], v[2:3], 0.5 op_sel_hi:[1,1,0]"), [5.0, -2.0]);
}

#[test]
fn single_f16_operands() {
    let half = |text: &str| f16::from_bits(result(text) as u16).to_f32();
    assert_eq!(half("v_add_f16_e32 v6, 1.0, v0"), 2.5);
    assert_eq!(half("v_add_f16_e64 v6, v0, -4.0"), -2.5);
    assert_eq!(half("v_mul_f16_e64 v6, v0, 0.5 clamp"), 0.75);
    assert_eq!(half("v_fma_f16 v6, v0, 2.0, 1.0"), 4.0);
    assert_eq!(half("v_fma_f16 v6, -v0, 2.0, |v2|"), 0.0);
    // The high half of a constant, and of a negative integer.
    assert_eq!(half("v_fma_f16 v6, v0, 2.0, 1.0 op_sel:[0,0,1,0]"), 3.0);
    assert!(half("v_fma_f16 v6, v0, 2.0, -1 op_sel:[0,0,1,0]").is_nan());
    assert_eq!(result("v_mad_u16 v6, v0, 2, 1") & 0xffff, 0x7c01);
    assert_eq!(result("v_add_u16_e32 v6, -1, v0") & 0xffff, 0x3dff);
    f32_is("v_cvt_f32_f16_e32 v6, 1.0", 1.0);
    f32_is("v_cvt_f32_f16_e32 v6, 1", 2f32.powi(-24));
}

#[test]
fn dot_products() {
    f32_is("v_dot2_f32_f16 v6, v0, v2, 1.0", 10.0);
    f32_is("v_dot2_f32_f16 v6, v0, 2.0, 1.0", 4.0);
    assert_eq!(result("v_dot2_i32_i16 v6, v0, -1, 5") as i32, -2 * 0x3e00 + 5);
    assert_eq!(result("v_dot4_i32_i8 v6, v0, -1, 5") as i32, -2 * 0x3e + 5);
    assert_eq!(result("v_dot4_u32_u8 v6, v0, 2, 1.0"), 1.0f32.to_bits());
}
