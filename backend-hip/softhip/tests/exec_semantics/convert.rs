//! Conversions.

use half::f16;

use crate::bench::{Lane, Out, Pool, h, no_memory, random_state, vector, words};

/// Truncates and saturates; NaN is 0.
fn to_int(x: f64, low: f64, high: f64) -> i64 {
    if x.is_nan() { 0 } else { x.trunc().max(low).min(high) as i64 }
}

const I32: (f64, f64) = (-2147483648.0, 2147483647.0);
const U32: (f64, f64) = (0.0, 4294967295.0);

#[test]
fn numbers_become_integers_by_truncation_and_saturation() {
    vector(
        Pool::F32,
        "v_cvt_i32_f32_e32 v6, v0",
        |l| Out::Bits32(to_int(l.af().into(), I32.0, I32.1) as u32),
    );
    vector(
        Pool::F32,
        "v_cvt_u32_f32_e32 v6, v0",
        |l| Out::Bits32(to_int(l.af().into(), U32.0, U32.1) as u32),
    );
    vector(Pool::F64, "v_cvt_i32_f64_e32 v6, v[0:1]", |l| Out::Bits32(to_int(l.ad(), I32.0, I32.1) as u32));
    vector(Pool::F64, "v_cvt_u32_f64_e32 v6, v[0:1]", |l| Out::Bits32(to_int(l.ad(), U32.0, U32.1) as u32));
    vector(Pool::F16, "v_cvt_i16_f16_e32 v6, v0", |l| {
        Out::Bits32(to_int(l.ah().to_f64(), -32768.0, 32767.0) as u32 & 0xffff)
    });
    vector(Pool::F16, "v_cvt_u16_f16_e32 v6, v0", |l| {
        Out::Bits32(to_int(l.ah().to_f64(), 0.0, 65535.0) as u32)
    });
    vector(Pool::F32, "v_cvt_rpi_i32_f32_e32 v6, v0", |l| {
        Out::Bits32(to_int((f64::from(l.af()) + 0.5).floor(), I32.0, I32.1) as u32)
    });
    vector(Pool::F32, "v_cvt_flr_i32_f32_e32 v6, v0", |l| {
        Out::Bits32(to_int(f64::from(l.af()).floor(), I32.0, I32.1) as u32)
    });
}

#[test]
fn integers_become_the_nearest_numbers() {
    let f32s = |text: &str, f: fn(&Lane) -> f64| vector(Pool::Bits, text, |l| Out::F32(f(l) as f32));
    f32s("v_cvt_f32_i32_e32 v6, v0", |l| l.ai().into());
    f32s("v_cvt_f32_u32_e32 v6, v0", |l| l.au().into());
    f32s("v_cvt_f32_ubyte0_e32 v6, v0", |l| (l.au() % 256).into());
    f32s("v_cvt_f32_ubyte1_e32 v6, v0", |l| (l.au() / 256 % 256).into());
    f32s("v_cvt_f32_ubyte2_e32 v6, v0", |l| (l.au() / 65536 % 256).into());
    f32s("v_cvt_f32_ubyte3_e32 v6, v0", |l| (l.au() / 16777216).into());
    f32s("v_cvt_off_f32_i4_e32 v6, v0", |l| {
        let four = f64::from(l.au() % 16);
        (if four >= 8.0 { four - 16.0 } else { four }) / 16.0
    });
    vector(Pool::Bits, "v_cvt_f64_i32_e32 v[6:7], v0", |l| Out::F64(l.ai().into()));
    vector(Pool::Bits, "v_cvt_f64_u32_e32 v[6:7], v0", |l| Out::F64(l.au().into()));
    vector(Pool::Bits, "v_cvt_f16_i16_e32 v6, v0", |l| h(f16::from_f64((l.a as i16).into())));
    vector(Pool::Bits, "v_cvt_f16_u16_e32 v6, v0", |l| h(f16::from_f64((l.a as u16).into())));
}

#[test]
fn numbers_change_their_format() {
    vector(Pool::F32, "v_cvt_f16_f32_e32 v6, v0", |l| h(f16::from_f64(l.af().into())));
    vector(Pool::F16, "v_cvt_f32_f16_e32 v6, v0", |l| Out::F32(l.ah().to_f32()));
    vector(Pool::F32, "v_cvt_f64_f32_e32 v[6:7], v0", |l| Out::F64(l.af().into()));
    vector(Pool::F64, "v_cvt_f32_f64_e32 v6, v[0:1]", |l| Out::F32(l.ad() as f32));
}

fn snorm(x: f64) -> u32 {
    if x.is_nan() { 0 } else { (x.clamp(-1.0, 1.0) * 32767.0).round_ties_even() as i32 as u32 & 0xffff }
}

fn unorm(x: f64) -> u32 {
    if x.is_nan() { 0 } else { (x.clamp(0.0, 1.0) * 65535.0).round_ties_even() as u32 }
}

#[test]
fn pairs_are_packed() {
    let pack = |low: u32, high: u32| Out::Bits32(low | (high << 16));
    vector(Pool::F32, "v_cvt_pknorm_i16_f32 v6, v0, v2", |l| {
        pack(snorm(l.af().into()), snorm(l.bf().into()))
    });
    vector(Pool::F32, "v_cvt_pknorm_u16_f32 v6, v0, v2", |l| {
        pack(unorm(l.af().into()), unorm(l.bf().into()))
    });
    vector(Pool::F16, "v_cvt_pknorm_i16_f16 v6, v0, v2", |l| {
        pack(snorm(l.ah().to_f64()), snorm(l.bh().to_f64()))
    });
    vector(Pool::F16, "v_cvt_pknorm_u16_f16 v6, v0, v2", |l| {
        pack(unorm(l.ah().to_f64()), unorm(l.bh().to_f64()))
    });
    vector(Pool::F16, "v_cvt_norm_i16_f16_e32 v6, v0", |l| Out::Bits32(snorm(l.ah().to_f64())));
    vector(Pool::F16, "v_cvt_norm_u16_f16_e32 v6, v0", |l| Out::Bits32(unorm(l.ah().to_f64())));
    vector(Pool::Bits, "v_cvt_pk_u16_u32 v6, v0, v2", |l| pack(l.au().min(65535), l.bu().min(65535)));
    let clamp = |x: i32| x.clamp(-32768, 32767) as u32 & 0xffff;
    vector(Pool::Bits, "v_cvt_pk_i16_i32 v6, v0, v2", |l| pack(clamp(l.ai()), clamp(l.bi())));
    vector(Pool::F16, "v_pack_b32_f16 v6, v0, v2", |l| pack(l.au() & 0xffff, l.bu() & 0xffff));
    vector(Pool::Bits, "v_sat_pk_u8_i16_e32 v6, v0", |l| {
        let byte = |x: u32| i32::from(x as i16).clamp(0, 255) as u32;
        Out::Bits32(byte(l.au()) | (byte(l.au() >> 16) << 8))
    });
    vector(Pool::F32, "v_cvt_pkrtz_f16_f32 v6, v0, v2", |l| {
        let toward_zero = |x: f32| {
            let nearest = f16::from_f64(x.into());
            let beyond = nearest.to_f64().abs() > f64::from(x).abs();
            u32::from(if beyond { nearest.to_bits() - 1 } else { nearest.to_bits() })
        };
        let (low, high) = (toward_zero(l.af()), toward_zero(l.bf()));
        if l.af().is_nan() || l.bf().is_nan() {
            Out::Bits32(packed_nans(l, low, high))
        } else {
            pack(low, high)
        }
    });
    vector(Pool::F32, "v_cvt_pk_u8_f32 v6, v0, v2, v4", |l| {
        let shift = 8 * (l.bu() % 4);
        let byte = to_int(l.af().into(), 0.0, 255.0) as u32;
        Out::Bits32((l.cu() & !(0xff << shift)) | (byte << shift))
    });
}

/// NaNs keep the upper bits of their payload and become quiet.
fn packed_nans(l: &Lane, low: u32, high: u32) -> u32 {
    let half = |x: f32, otherwise: u32| {
        let bits = x.to_bits();
        if x.is_nan() { ((bits >> 16) & 0x8000) | 0x7e00 | ((bits >> 13) & 0x3ff) } else { otherwise }
    };
    half(l.af(), low) | (half(l.bf(), high) << 16)
}

/// An 8-bit number by the definition of the FNUZ formats.
fn widen8(bits: u32, fraction: u32, bias: i32) -> f64 {
    if bits == 0x80 {
        return f64::NAN;
    }
    let exponent = ((bits & 0x7f) >> fraction) as i32;
    let below = f64::from(bits & ((1 << fraction) - 1)) / f64::from(1 << fraction);
    let magnitude =
        if exponent == 0 { below * 2f64.powi(1 - bias) } else { (1.0 + below) * 2f64.powi(exponent - bias) };
    if bits & 0x80 == 0 { magnitude } else { -magnitude }
}

/// The nearest 8-bit number, by trying all of them; beyond the largest, NaN.
fn nearest8(x: f64, fraction: u32, bias: i32) -> u32 {
    let largest = widen8(0x7f, fraction, bias);
    let step = largest - widen8(0x7e, fraction, bias);
    if !x.is_finite() || x.abs() >= largest + step / 2.0 {
        return 0x80;
    }
    let sign = if x < 0.0 { 0x80 } else { 0 };
    let error = |bits: &u32| (widen8(*bits, fraction, bias) - x.abs()).abs();
    let best = (0..0x80u32).min_by(|a, b| error(a).total_cmp(&error(b)).then((a & 1).cmp(&(b & 1)))).unwrap();
    if best == 0 { 0 } else { best | sign }
}

#[test]
fn eight_bit_floats() {
    for (name, fraction, bias) in [("fp8", 3, 8), ("bf8", 2, 16)] {
        vector(Pool::Bits, &format!("v_cvt_f32_{name}_e32 v6, v0"), |l| {
            Out::F32(widen8(l.au() % 256, fraction, bias) as f32)
        });
        vector(Pool::F32, &format!("v_cvt_pk_{name}_f32 v6, v0, v2"), |l| {
            let pair =
                nearest8(l.af().into(), fraction, bias) | (nearest8(l.bf().into(), fraction, bias) << 8);
            Out::Bits32((l.old as u32 & 0xffff_0000) | pair)
        });
        vector(Pool::F32, &format!("v_cvt_pk_{name}_f32 v6, v0, v2 op_sel:[0,0,1]"), |l| {
            let pair =
                nearest8(l.af().into(), fraction, bias) | (nearest8(l.bf().into(), fraction, bias) << 8);
            Out::Bits32((l.old as u32 & 0xffff) | (pair << 16))
        });
        vector(Pool::Bits, &format!("v_cvt_pk_f32_{name}_e32 v[6:7], v0"), |l| {
            let part =
                |i: u32| u64::from((widen8((l.au() >> (8 * i)) % 256, fraction, bias) as f32).to_bits());
            let nan = |i: u32| (l.au() >> (8 * i)) % 256 == 0x80;
            if nan(0) || nan(1) {
                let quiet = |i: u32| if nan(i) { 0x7fc0_0000 } else { part(i) };
                return Out::Bits64(quiet(0) | (quiet(1) << 32));
            }
            Out::Bits64(part(0) | (part(1) << 32))
        });
    }
}

#[test]
fn bytes_are_inserted_where_the_second_operand_says() {
    vector(Pool::F32, "v_cvt_pkaccum_u8_f32 v6, v0, v2", |l| {
        let shift = 8 * (l.bu() & 3);
        let byte = to_int(l.af().into(), 0.0, 255.0) as u32;
        Out::Bits32((l.old as u32 & !(0xff << shift)) | (byte << shift))
    });
}

#[test]
fn stochastic_rounding_takes_a_neighbour() {
    for (name, fraction, bias) in [("fp8", 3, 8), ("bf8", 2, 16)] {
        let magnitude = |bits: u32| widen8(bits, fraction, bias);
        let mut ups = 0;
        for seed in 0..20 {
            let mut state = random_state(Pool::Bits, seed);
            for lane in 0..64 {
                let x = (lane as f32 - 31.5) * 1.37 + seed as f32 / 7.0;
                state.vgprs[0][lane] = x.to_bits();
                if lane % 4 == 0 {
                    // Without chance the magnitude is cut off.
                    state.vgprs[2][lane] = 0;
                }
            }
            let before = state.clone();
            state.run(&words(&format!("v_cvt_sr_{name}_f32 v6, v0, v2")), &no_memory()).unwrap();
            for lane in 0..64 {
                let x = f64::from(f32::from_bits(before.vgprs[0][lane]));
                let found = magnitude(state.vgprs[6][lane] & 0xff);
                let below = (0..128).map(magnitude).filter(|m| *m <= x.abs()).fold(0.0, f64::max);
                let above = (0..128).map(magnitude).filter(|m| *m >= x.abs()).fold(f64::INFINITY, f64::min);
                assert!(found.abs() == below || found.abs() == above, "{name}: {x} becomes {found}");
                assert!(lane % 4 != 0 || found.abs() == below, "{name}: {x} becomes {found} without chance");
                assert!(found == 0.0 || found.is_sign_negative() == x.is_sign_negative());
                assert_eq!(state.vgprs[6][lane] >> 8, before.vgprs[6][lane] >> 8, "only one byte changes");
                ups += usize::from(found.abs() > x.abs());
            }
        }
        assert!(ups > 100, "{name}: {ups} of 1280 rounded up");
    }
}
