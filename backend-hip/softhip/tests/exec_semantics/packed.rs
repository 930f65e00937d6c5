//! Pairs, mixed precision and dot products.

use half::f16;

use crate::bench::{Lane, Out, Pool, no_memory, random_state, vector, words};

fn half(x: u64, i: u32) -> u32 {
    (x >> (16 * i)) as u32 & 0xffff
}

fn s16(x: u64, i: u32) -> i64 {
    i64::from(half(x, i) as u16 as i16)
}

fn pair(f: impl Fn(u32) -> i64) -> Out {
    Out::Bits32((f(0) as u32 & 0xffff) | (f(1) as u32) << 16)
}

#[test]
fn pairs_of_integers() {
    let check = |text: &str, f: fn(&Lane, u32) -> i64| vector(Pool::Bits, text, |l| pair(|i| f(l, i)));
    check("v_pk_add_u16 v6, v0, v2", |l, i| i64::from(half(l.a, i) + half(l.b, i)));
    check("v_pk_add_u16 v6, v0, v2 clamp", |l, i| i64::from(half(l.a, i) + half(l.b, i)).min(65535));
    check("v_pk_sub_u16 v6, v0, v2", |l, i| i64::from(half(l.a, i)) - i64::from(half(l.b, i)));
    check("v_pk_add_i16 v6, v0, v2 clamp", |l, i| (s16(l.a, i) + s16(l.b, i)).clamp(-32768, 32767));
    check("v_pk_add_i16 v6, v0, v2", |l, i| s16(l.a, i) + s16(l.b, i));
    check("v_pk_sub_i16 v6, v0, v2", |l, i| s16(l.a, i) - s16(l.b, i));
    check("v_pk_mul_lo_u16 v6, v0, v2", |l, i| i64::from(half(l.a, i)) * i64::from(half(l.b, i)));
    check("v_pk_mad_u16 v6, v0, v2, v4", |l, i| {
        i64::from(half(l.a, i)) * i64::from(half(l.b, i)) + i64::from(half(l.c, i))
    });
    check("v_pk_mad_i16 v6, v0, v2, v4", |l, i| s16(l.a, i) * s16(l.b, i) + s16(l.c, i));
    check("v_pk_lshlrev_b16 v6, v0, v2", |l, i| i64::from(half(l.b, i)) << (half(l.a, i) % 16));
    check("v_pk_lshrrev_b16 v6, v0, v2", |l, i| i64::from(half(l.b, i)) >> (half(l.a, i) % 16));
    check("v_pk_ashrrev_i16 v6, v0, v2", |l, i| s16(l.b, i) >> (half(l.a, i) % 16));
    check("v_pk_max_i16 v6, v0, v2", |l, i| s16(l.a, i).max(s16(l.b, i)));
    check("v_pk_min_i16 v6, v0, v2", |l, i| s16(l.a, i).min(s16(l.b, i)));
    check("v_pk_max_u16 v6, v0, v2", |l, i| half(l.a, i).max(half(l.b, i)).into());
    check("v_pk_min_u16 v6, v0, v2", |l, i| half(l.a, i).min(half(l.b, i)).into());
    check("v_pk_add_u16 v6, v0, v2 op_sel:[1,0] op_sel_hi:[0,1]", |l, i| {
        i64::from(half(l.a, 1 - i) + half(l.b, i))
    });
}

/// Finite f16 in all sources.
fn finite_halves(text: &str, f: impl Fn(&Lane, u32) -> f64) {
    let mut state = random_state(Pool::F16, 3);
    for register in [0, 2, 4, 6] {
        state.vgprs[register] = state.vgprs[register].map(|x| x & 0xbbff_bbff);
    }
    let before = state.clone();
    state.run(&words(text), &no_memory()).unwrap();
    for lane in 0..64 {
        let l = crate::bench::lane_of(&before, lane);
        for i in 0..2 {
            let expected = f16::from_f64(f(&l, i));
            assert_eq!(
                half(state.vgprs[6][lane].into(), i),
                u32::from(expected.to_bits()),
                "{text}, lane {lane}"
            );
        }
    }
}

fn value(x: u64, i: u32) -> f64 {
    f16::from_bits(half(x, i) as u16).to_f64()
}

#[test]
fn pairs_of_f16() {
    finite_halves("v_pk_add_f16 v6, v0, v2", |l, i| value(l.a, i) + value(l.b, i));
    finite_halves("v_pk_mul_f16 v6, v0, v2", |l, i| value(l.a, i) * value(l.b, i));
    finite_halves("v_pk_fma_f16 v6, v0, v2, v4", |l, i| {
        libm::fma(value(l.a, i), value(l.b, i), value(l.c, i))
    });
    finite_halves("v_pk_fmac_f16 v6, v0, v2", |l, i| {
        libm::fma(value(l.a, i), value(l.b, i), value(l.old, i))
    });
    finite_halves("v_pk_mul_f16 v6, v0, v2 neg_lo:[1,0] neg_hi:[0,1]", |l, i| -value(l.a, i) * value(l.b, i));
    finite_halves("v_pk_mul_f16 v6, v0, v2 op_sel:[0,1] op_sel_hi:[0,0]", |l, i| {
        value(l.a, 0) * value(l.b, 1 - i)
    });
    finite_halves("v_pk_min_f16 v6, v0, v2", |l, i| {
        let (a, b) = (value(l.a, i), value(l.b, i));
        if a.total_cmp(&b).is_lt() { a } else { b }
    });
    finite_halves("v_pk_max_f16 v6, v0, v2", |l, i| {
        let (a, b) = (value(l.a, i), value(l.b, i));
        if a.total_cmp(&b).is_gt() { a } else { b }
    });
}

fn f32s(text: &str, f: impl Fn(&Lane, usize) -> f32) {
    let mut state = random_state(Pool::F32, 4);
    let before = state.clone();
    state.run(&words(text), &no_memory()).unwrap();
    for lane in 0..64 {
        let l = crate::bench::lane_of(&before, lane);
        for i in 0..2 {
            let (expected, got) = (f(&l, i), f32::from_bits(state.vgprs[6 + i][lane]));
            let same = expected.to_bits() == got.to_bits() || (expected.is_nan() && got.is_nan());
            assert!(same, "{text}, lane {lane}, {i}: {got:e} is not {expected:e}");
        }
    }
}

#[test]
fn pairs_of_f32() {
    let at = |x: u64, i: usize| f32::from_bits((x >> (32 * i)) as u32);
    f32s("v_pk_add_f32 v[6:7], v[0:1], v[2:3]", |l, i| at(l.a, i) + at(l.b, i));
    f32s("v_pk_mul_f32 v[6:7], v[0:1], v[2:3]", |l, i| at(l.a, i) * at(l.b, i));
    f32s("v_pk_fma_f32 v[6:7], v[0:1], v[2:3], v[4:5]", |l, i| {
        libm::fmaf(at(l.a, i), at(l.b, i), at(l.c, i))
    });
    f32s("v_pk_mul_f32 v[6:7], v[0:1], s[20:21] op_sel_hi:[1,0]", |l, i| at(l.a, i) * at(l.s, 0));
    f32s("v_pk_mul_f32 v[6:7], v[0:1], v[2:3] op_sel:[1,0] neg_lo:[0,1]", |l, i| {
        at(l.a, 1) * if i == 0 { -at(l.b, 0) } else { at(l.b, 1) }
    });
    vector(Pool::Bits, "v_pk_mov_b32 v[6:7], v[0:1], v[2:3] op_sel:[1,0]", |l| {
        Out::Bits64((l.a >> 32) | (l.b << 32))
    });
}

#[test]
fn mixed_precision() {
    let h = |x: u64, i: u32| f16::from_bits((x >> (16 * i)) as u16).to_f32();
    vector(Pool::F32, "v_fma_mix_f32 v6, v0, v2, v4", |l| Out::F32(libm::fmaf(l.af(), l.bf(), l.cf())));
    vector(Pool::F16, "v_fma_mix_f32 v6, v0, v2, v4 op_sel:[1,0,0] op_sel_hi:[1,1,0]", |l| {
        Out::F32(libm::fmaf(h(l.a, 1), h(l.b, 0), l.cf()))
    });
    vector(Pool::F16, "v_fma_mix_f32 v6, -v0, |v2|, v4 op_sel_hi:[1,1,1]", |l| {
        Out::F32(libm::fmaf(-h(l.a, 0), h(l.b, 0).abs(), h(l.c, 0)))
    });
    let mixed = |l: &Lane| f16::from_f32(libm::fmaf(h(l.a, 0), l.bf(), l.cf()));
    vector(Pool::F16, "v_fma_mixlo_f16 v6, v0, v2, v4 op_sel_hi:[1,0,0]", |l| {
        Out::F16(mixed(l), (l.old >> 16) as u16)
    });
    vector(Pool::F16, "v_fma_mixhi_f16 v6, v0, v2, v4 op_sel_hi:[1,0,0]", |l| {
        let value = mixed(l);
        if value.is_nan() {
            nan_high(l, h(l.a, 0))
        } else {
            Out::Bits32(u32::from(value.to_bits()) << 16 | l.old as u32 & 0xffff)
        }
    });
}

/// The NaN that an operation on these sources passes on, in the upper half.
fn nan_high(l: &Lane, a: f32) -> Out {
    let nan = [a, l.bf(), l.cf()].into_iter().find(|x| x.is_nan()).map_or(0x7fc0_0000, f32::to_bits);
    let bits = (nan >> 16) & 0x8000 | 0x7e00 | (nan >> 13) & 0x3ff;
    Out::Bits32(bits << 16 | l.old as u32 & 0xffff)
}

fn signed(word: u32, i: u32, bits: u32) -> i64 {
    let element = i64::from((word >> (bits * i)) & ((1 << bits) - 1));
    if element >> (bits - 1) == 1 { element - (1 << bits) } else { element }
}

#[test]
fn dot_products() {
    let dot = |l: &Lane, bits: u32, f: fn(u32, u32, u32) -> i64| -> i64 {
        (0..32 / bits).map(|i| f(l.au(), i, bits) * f(l.bu(), i, bits)).sum()
    };
    let plain: fn(u32, u32, u32) -> i64 = |word, i, bits| i64::from((word >> (bits * i)) & ((1 << bits) - 1));
    let check = |text: &str, f: &dyn Fn(&Lane) -> i64| vector(Pool::Bits, text, |l| Out::Bits32(f(l) as u32));
    check("v_dot4_i32_i8 v6, v0, v2, v4", &|l| dot(l, 8, signed) + i64::from(l.ci()));
    check("v_dot4_i32_i8 v6, v0, v2, v4 clamp", &|l| {
        (dot(l, 8, signed) + i64::from(l.ci())).clamp(-0x8000_0000, 0x7fff_ffff)
    });
    check("v_dot4c_i32_i8_e32 v6, v0, v2", &|l| dot(l, 8, signed) + i64::from(l.old as i32));
    check("v_dot4_u32_u8 v6, v0, v2, v4", &|l| dot(l, 8, plain) + i64::from(l.cu()));
    check("v_dot8_i32_i4 v6, v0, v2, v4", &|l| dot(l, 4, signed) + i64::from(l.ci()));
    check("v_dot8c_i32_i4_e32 v6, v0, v2", &|l| dot(l, 4, signed) + i64::from(l.old as i32));
    check("v_dot8_u32_u4 v6, v0, v2, v4", &|l| dot(l, 4, plain) + i64::from(l.cu()));
    check("v_dot2_i32_i16 v6, v0, v2, v4", &|l| dot(l, 16, signed) + i64::from(l.ci()));
    check("v_dot2c_i32_i16_e32 v6, v0, v2", &|l| dot(l, 16, signed) + i64::from(l.old as i32));
    check("v_dot2_u32_u16 v6, v0, v2, v4", &|l| dot(l, 16, plain) + i64::from(l.cu()));
    let h = |x: u64, i: u32| f16::from_bits((x >> (16 * i)) as u16).to_f32();
    vector(Pool::F16, "v_dot2_f32_f16 v6, v0, v2, v4", |l| {
        Out::F32(libm::fmaf(h(l.a, 1), h(l.b, 1), libm::fmaf(h(l.a, 0), h(l.b, 0), l.cf())))
    });
    vector(Pool::F16, "v_dot2c_f32_f16_e32 v6, v0, v2", |l| {
        Out::F32(libm::fmaf(h(l.a, 1), h(l.b, 1), libm::fmaf(h(l.a, 0), h(l.b, 0), l.of())))
    });
}
