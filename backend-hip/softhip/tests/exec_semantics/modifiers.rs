//! Modifiers of sources and results, on operations that are right without them.

use half::f16;

use crate::bench::{Lane, Out, Pool, no_memory, random_state, vector, vector_in_mode, words};

fn f32s(text: &str, f: impl Fn(&Lane) -> f32) {
    vector(Pool::F32, text, |l| Out::F32(f(l)));
}

#[test]
fn absolute_values_and_negations() {
    f32s("v_add_f32_e64 v6, -v0, |v2|", |l| -l.af() + l.bf().abs());
    f32s("v_add_f32_e64 v6, -|v0|, v2", |l| -l.af().abs() + l.bf());
    f32s("v_mul_f32_e64 v6, -s20, v2", |l| -l.sf() * l.bf());
    f32s("v_fma_f32 v6, -v0, |v2|, -|v4|", |l| libm::fmaf(-l.af(), l.bf().abs(), -l.cf().abs()));
    vector(Pool::F64, "v_add_f64 v[6:7], -v[0:1], |v[2:3]|", |l| Out::F64(-l.ad() + l.bd().abs()));
    vector(Pool::F16, "v_add_f16_e64 v6, -v0, |v2|", |l| {
        let b = f16::from_bits(l.b as u16 & 0x7fff);
        crate::bench::h(f16::from_f64(-l.ah().to_f64() + b.to_f64()))
    });
    vector(Pool::F32, "v_cndmask_b32_e64 v6, -v0, |v2|, vcc", |l| {
        Out::Bits32(if l.vcc { l.bu() & 0x7fff_ffff } else { l.au() ^ 0x8000_0000 })
    });
    crate::bench::mask(Pool::F32, "v_cmp_lt_f32_e64 s[30:31], -v0, |v2|", 30, |l| -l.af() < l.bf().abs());
}

/// Clamped to [0, 1]; NaN becomes 0 under `DX10_CLAMP`.
fn clamped(x: f32, dx10: bool) -> f32 {
    if x.is_nan() { if dx10 { 0.0 } else { x } } else { (x + 0.0).clamp(0.0, 1.0) }
}

#[test]
fn clamping_floats() {
    f32s("v_add_f32_e64 v6, v0, v2 clamp", |l| clamped(l.af() + l.bf(), true));
    vector_in_mode(Pool::F32, "v_add_f32_e64 v6, v0, v2 clamp", 0x2f0, |l| {
        Out::F32(clamped(l.af() + l.bf(), false))
    });
    vector(Pool::F64, "v_add_f64 v[6:7], v[0:1], v[2:3] clamp", |l| {
        let sum = l.ad() + l.bd();
        Out::F64(if sum.is_nan() { 0.0 } else { (sum + 0.0).clamp(0.0, 1.0) })
    });
}

/// MODE with f32 denormals and IEEE off.
const MODE_OFF: u32 = 0x1c0;

#[test]
fn the_output_multiplier_works_only_where_denormals_and_ieee_are_off() {
    let product = |l: &Lane| {
        let flush = |x: f32| if x.is_subnormal() { 0.0f32.copysign(x) } else { x };
        flush(l.af()) * flush(l.bf())
    };
    let scaled = |l: &Lane, by: f32| {
        let value = product(l) * by + 0.0;
        if value.is_subnormal() { 0.0f32.copysign(value) } else { value }
    };
    vector_in_mode(Pool::F32, "v_mul_f32_e64 v6, v0, v2 mul:2", MODE_OFF, |l| Out::F32(scaled(l, 2.0)));
    vector_in_mode(Pool::F32, "v_mul_f32_e64 v6, v0, v2 mul:4", MODE_OFF, |l| Out::F32(scaled(l, 4.0)));
    vector_in_mode(Pool::F32, "v_mul_f32_e64 v6, v0, v2 div:2", MODE_OFF, |l| Out::F32(scaled(l, 0.5)));
    vector(Pool::F32, "v_mul_f32_e64 v6, v0, v2 mul:2", |l| Out::F32(l.af() * l.bf()));
}

#[test]
fn halves_are_selected() {
    let high = |x: u64| f16::from_bits((x >> 16) as u16);
    vector(Pool::F16, "v_fma_f16 v6, v0, v2, v4 op_sel:[1,0,1,0]", |l| {
        let value = libm::fma(high(l.a).to_f64(), l.bh().to_f64(), high(l.c).to_f64());
        Out::F16(f16::from_f64(value), (l.old >> 16) as u16)
    });
    vector(Pool::Bits, "v_mad_u16 v6, v0, v2, v4 op_sel:[0,1,0,1]", |l| {
        let value = (l.a as u16).wrapping_mul((l.b >> 16) as u16).wrapping_add(l.c as u16);
        Out::Bits32((u32::from(value) << 16) | (l.old as u32 & 0xffff))
    });
    vector(Pool::Bits, "v_pack_b32_f16 v6, v0, v2 op_sel:[1,0,0]", |l| {
        Out::Bits32((l.au() >> 16) | (l.bu() << 16))
    });
}

#[test]
fn sdwa_selects_bytes_and_words() {
    let bits = |text: &str, f: fn(&Lane) -> u32| vector(Pool::Bits, text, |l| Out::Bits32(f(l)));
    bits(
        "v_add_u32_sdwa v6, v0, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_1",
        |l| ((l.au() >> 8) & 0xff) + (l.bu() >> 16),
    );
    bits(
        "v_add_u32_sdwa v6, sext(v0), v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_3 src1_sel:DWORD",
        |l| ((l.ai() >> 24) as u32).wrapping_add(l.bu()),
    );
    bits(
        "v_add_u32_sdwa v6, v0, v2 dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE src0_sel:DWORD src1_sel:DWORD",
        |l| {
            let sum = l.au().wrapping_add(l.bu()) & 0xff;
            (l.old as u32 & 0xff00_ffff) | (sum << 16)
        },
    );
    bits(
        "v_lshlrev_b32_sdwa v6, v0, v2 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:WORD_0",
        |l| ((u64::from(l.bu() & 0xffff) << (l.au() & 31)) as u32) << 16,
    );
    bits(
        "v_sub_u32_sdwa v6, v0, v2 dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:DWORD src1_sel:DWORD",
        |l| {
            let byte = l.au().wrapping_sub(l.bu()) as i8;
            (i32::from(byte) as u32) << 8
        },
    );
    vector(
        Pool::Bits,
        "v_cvt_f32_i32_sdwa v6, sext(v0) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_0",
        |l| Out::F32((l.a as i16).into()),
    );
    vector(
        Pool::F16,
        "v_add_f16_sdwa v6, -v0, |v2| dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:WORD_0",
        |l| {
            let a = -f16::from_bits((l.a >> 16) as u16).to_f64();
            let b = f16::from_bits(l.b as u16 & 0x7fff).to_f64();
            let sum = f16::from_f64(a + b);
            if sum.is_nan() {
                // Which NaN is settled elsewhere: here it must only be one, in its place.
                return nan_in_the_upper_half(l);
            }
            Out::Bits32((u32::from(sum.to_bits()) << 16) | (l.old as u32 & 0xffff))
        },
    );
    crate::bench::mask(
        Pool::Bits,
        "v_cmp_eq_u32_sdwa s[30:31], v0, v2 src0_sel:BYTE_0 src1_sel:BYTE_1",
        30,
        |l| l.au() & 0xff == (l.bu() >> 8) & 0xff,
    );
}

/// The first NaN source, quieted, or the default NaN.
fn nan_in_the_upper_half(l: &Lane) -> Out {
    let (a, b) = ((l.a >> 16) as u16 ^ 0x8000, l.b as u16 & 0x7fff);
    let nan = if f16::from_bits(a).is_nan() {
        a | 0x200
    } else if f16::from_bits(b).is_nan() {
        b | 0x200
    } else {
        0x7e00
    };
    Out::Bits32((u32::from(nan) << 16) | (l.old as u32 & 0xffff))
}

/// Runs `v_mov_b32_dpp v6, v0 <control>` and checks every lane against `source`: the lane read, or none.
fn dpp(
    text: &str,
    bound_ctrl: bool,
    writes: impl Fn(usize) -> bool,
    source: impl Fn(usize) -> Option<usize>,
) {
    let memory = no_memory();
    for exec in [u64::MAX, 0xaaaa_5555_ffff_0ff0] {
        let mut state = random_state(Pool::Bits, 9);
        state.set_pair(126, exec);
        let before = state.clone();
        state.run(&words(text), &memory).unwrap();
        for lane in 0..64 {
            let from = source(lane).filter(|from| (exec >> from) & 1 == 1);
            let written = (exec >> lane) & 1 == 1 && writes(lane) && (from.is_some() || bound_ctrl);
            let expected = match from {
                _ if !written => before.vgprs[6][lane],
                Some(from) => before.vgprs[0][from],
                None => 0,
            };
            assert_eq!(state.vgprs[6][lane], expected, "{text}, lane {lane}, EXEC {exec:#x}");
        }
    }
}

#[test]
fn dpp_reads_other_lanes() {
    let all = |_| true;
    let row = |lane: usize, at: isize| (0..16).contains(&at).then(|| lane / 16 * 16 + at as usize);
    let within = |lane: usize| (lane % 16) as isize;
    dpp("v_mov_b32_dpp v6, v0 quad_perm:[3,1,0,2] row_mask:0xf bank_mask:0xf", false, all, |l| {
        Some(l / 4 * 4 + [3, 1, 0, 2][l % 4])
    });
    dpp("v_mov_b32_dpp v6, v0 row_shl:3 row_mask:0xf bank_mask:0xf", false, all, |l| row(l, within(l) + 3));
    dpp("v_mov_b32_dpp v6, v0 row_shr:5 row_mask:0xf bank_mask:0xf bound_ctrl:0", true, all, |l| {
        row(l, within(l) - 5)
    });
    dpp("v_mov_b32_dpp v6, v0 row_ror:2 row_mask:0xf bank_mask:0xf", false, all, |l| {
        row(l, (within(l) + 14) % 16)
    });
    dpp("v_mov_b32_dpp v6, v0 wave_shl:1 row_mask:0xf bank_mask:0xf", false, all, |l| {
        (l < 63).then(|| l + 1)
    });
    dpp("v_mov_b32_dpp v6, v0 wave_rol:1 row_mask:0xf bank_mask:0xf", false, all, |l| Some((l + 1) % 64));
    dpp("v_mov_b32_dpp v6, v0 wave_shr:1 row_mask:0xf bank_mask:0xf", false, all, |l| l.checked_sub(1));
    dpp("v_mov_b32_dpp v6, v0 wave_ror:1 row_mask:0xf bank_mask:0xf", false, all, |l| Some((l + 63) % 64));
    dpp("v_mov_b32_dpp v6, v0 row_mirror row_mask:0xf bank_mask:0xf", false, all, |l| row(l, 15 - within(l)));
    dpp("v_mov_b32_dpp v6, v0 row_half_mirror row_mask:0xf bank_mask:0xf", false, all, |l| {
        Some(l / 8 * 8 + 7 - l % 8)
    });
    dpp("v_mov_b32_dpp v6, v0 row_bcast:15 row_mask:0xf bank_mask:0xf", false, all, |l| {
        (l >= 16).then(|| l / 16 * 16 - 1)
    });
    dpp("v_mov_b32_dpp v6, v0 row_bcast:31 row_mask:0xf bank_mask:0xf", false, all, |l| {
        (l >= 32).then_some(31)
    });
    dpp("v_mov_b32_dpp v6, v0 row_newbcast:6 row_mask:0xf bank_mask:0xf", false, all, |l| {
        Some(l / 16 * 16 + 6)
    });
    dpp(
        "v_mov_b32_dpp v6, v0 row_ror:1 row_mask:0x5 bank_mask:0x9",
        false,
        |l| matches!(l / 16, 0 | 2) && matches!(l % 16 / 4, 0 | 3),
        |l| row(l, (within(l) + 15) % 16),
    );
}

#[test]
fn dpp_goes_before_signs_and_the_operation() {
    let memory = no_memory();
    let mut state = random_state(Pool::F32, 2);
    let before = state.clone();
    state
        .run(&words("v_add_f32_dpp v6, -v0, |v2| quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf"), &memory)
        .unwrap();
    for lane in 0..64 {
        let (a, b) = (f32::from_bits(before.vgprs[0][lane ^ 1]), f32::from_bits(before.vgprs[2][lane]));
        let (expected, got) = (-a + b.abs(), f32::from_bits(state.vgprs[6][lane]));
        assert!(expected.to_bits() == got.to_bits() || (expected.is_nan() && got.is_nan()));
    }
}
