//! Integer arithmetic.

use crate::bench::{Lane, Out, Pool, vector};

fn bits(text: &str, f: impl Fn(&Lane) -> u32) {
    vector(Pool::Bits, text, |l| Out::Bits32(f(l)));
}

fn wide(text: &str, f: impl Fn(&Lane) -> u64) {
    vector(Pool::Bits, text, |l| Out::Bits64(f(l)));
}

fn low(x: u32) -> u32 {
    x & 0xffff
}

fn sext16(x: u32) -> i64 {
    i64::from(x as u16 as i16)
}

fn sext24(x: u32) -> i128 {
    i128::from((i64::from(x) << 40) >> 40)
}

#[test]
fn sums_and_products() {
    bits("v_add_u32_e32 v6, v0, v2", |l| (u64::from(l.au()) + u64::from(l.bu())) as u32);
    bits("v_add_u32_e32 v6, s20, v2", |l| (l.s + u64::from(l.bu())) as u32);
    bits("v_add_u32_e32 v6, 0x12345678, v2", |l| (0x12345678 + u64::from(l.bu())) as u32);
    bits("v_add_u32_e64 v6, v0, v2 clamp", |l| {
        (u64::from(l.au()) + u64::from(l.bu())).min(0xffff_ffff) as u32
    });
    bits("v_sub_u32_e32 v6, v0, v2", |l| (i64::from(l.au()) - i64::from(l.bu())) as u32);
    bits("v_sub_u32_e64 v6, v0, v2 clamp", |l| (i64::from(l.au()) - i64::from(l.bu())).max(0) as u32);
    bits("v_subrev_u32_e32 v6, v0, v2", |l| (i64::from(l.bu()) - i64::from(l.au())) as u32);
    bits("v_add_i32 v6, v0, v2 clamp", |l| {
        (i64::from(l.ai()) + i64::from(l.bi())).clamp(-0x8000_0000, 0x7fff_ffff) as u32
    });
    bits("v_sub_i32 v6, v0, v2 clamp", |l| {
        (i64::from(l.ai()) - i64::from(l.bi())).clamp(-0x8000_0000, 0x7fff_ffff) as u32
    });
    bits("v_add_i32 v6, v0, v2", |l| (i64::from(l.ai()) + i64::from(l.bi())) as u32);
    bits("v_sub_i32 v6, v0, v2", |l| (i64::from(l.ai()) - i64::from(l.bi())) as u32);
    bits("v_mul_lo_u32 v6, v0, v2", |l| (u128::from(l.au()) * u128::from(l.bu())) as u32);
    bits("v_mul_hi_u32 v6, v0, v2", |l| ((u128::from(l.au()) * u128::from(l.bu())) >> 32) as u32);
    bits("v_mul_hi_i32 v6, v0, v2", |l| ((i128::from(l.ai()) * i128::from(l.bi())) >> 32) as u32);
    bits("v_mul_u32_u24_e32 v6, v0, v2", |l| {
        (u128::from(l.au() % (1 << 24)) * u128::from(l.bu() % (1 << 24))) as u32
    });
    bits("v_mul_hi_u32_u24_e32 v6, v0, v2", |l| {
        ((u128::from(l.au() % (1 << 24)) * u128::from(l.bu() % (1 << 24))) >> 32) as u32
    });
    bits("v_mul_i32_i24_e32 v6, v0, v2", |l| (sext24(l.au()) * sext24(l.bu())) as u32);
    bits("v_mul_hi_i32_i24_e32 v6, v0, v2", |l| ((sext24(l.au()) * sext24(l.bu())) >> 32) as u32);
    bits("v_mad_u32_u24 v6, v0, v2, v4", |l| {
        (u128::from(l.au() % (1 << 24)) * u128::from(l.bu() % (1 << 24)) + u128::from(l.cu())) as u32
    });
    bits("v_mad_i32_i24 v6, v0, v2, v4", |l| (sext24(l.au()) * sext24(l.bu()) + i128::from(l.ci())) as u32);
    bits("v_add3_u32 v6, v0, v2, v4", |l| {
        (u128::from(l.au()) + u128::from(l.bu()) + u128::from(l.cu())) as u32
    });
    bits("v_xad_u32 v6, v0, v2, v4", |l| (u64::from(l.au() ^ l.bu()) + u64::from(l.cu())) as u32);
    bits("v_lshl_add_u32 v6, v0, v2, v4", |l| {
        ((u128::from(l.au()) << (l.bu() % 32)) + u128::from(l.cu())) as u32
    });
    bits("v_add_lshl_u32 v6, v0, v2, v4", |l| {
        ((u128::from(l.au()) + u128::from(l.bu())) << (l.cu() % 32)) as u32
    });
    wide("v_lshl_add_u64 v[6:7], v[0:1], v2, v[4:5]", |l| {
        ((u128::from(l.a) << (l.bu() % 8)) + u128::from(l.c)) as u64
    });
    wide("v_lshl_add_u64 v[6:7], v[0:1], 3, s[20:21]", |l| ((u128::from(l.a) << 3) + u128::from(l.s)) as u64);
    bits("v_mad_u32_u16 v6, v0, v2, v4", |l| {
        (u128::from(low(l.au())) * u128::from(low(l.bu())) + u128::from(l.cu())) as u32
    });
    bits("v_mad_i32_i16 v6, v0, v2, v4", |l| (sext16(l.au()) * sext16(l.bu()) + i64::from(l.ci())) as u32);
}

#[test]
fn comparisons_that_select() {
    bits("v_min_i32_e32 v6, v0, v2", |l| if l.ai() < l.bi() { l.au() } else { l.bu() });
    bits("v_max_i32_e32 v6, v0, v2", |l| if l.ai() > l.bi() { l.au() } else { l.bu() });
    bits("v_min_u32_e32 v6, v0, v2", |l| if l.au() < l.bu() { l.au() } else { l.bu() });
    bits("v_max_u32_e32 v6, v0, v2", |l| if l.au() > l.bu() { l.au() } else { l.bu() });
    bits("v_min3_i32 v6, v0, v2, v4", |l| *[l.ai(), l.bi(), l.ci()].iter().min().unwrap() as u32);
    bits("v_max3_i32 v6, v0, v2, v4", |l| *[l.ai(), l.bi(), l.ci()].iter().max().unwrap() as u32);
    bits("v_min3_u32 v6, v0, v2, v4", |l| *[l.au(), l.bu(), l.cu()].iter().min().unwrap());
    bits("v_max3_u32 v6, v0, v2, v4", |l| *[l.au(), l.bu(), l.cu()].iter().max().unwrap());
    bits("v_med3_i32 v6, v0, v2, v4", |l| {
        let mut all = [l.ai(), l.bi(), l.ci()];
        all.sort_unstable();
        all[1] as u32
    });
    bits("v_med3_u32 v6, v0, v2, v4", |l| {
        let mut all = [l.au(), l.bu(), l.cu()];
        all.sort_unstable();
        all[1]
    });
    bits("v_cndmask_b32_e32 v6, v0, v2, vcc", |l| if l.vcc { l.bu() } else { l.au() });
    bits(
        "v_cndmask_b32_e64 v6, v0, v2, s[20:21]",
        |l| if (l.s >> l.index) & 1 == 1 { l.bu() } else { l.au() },
    );
}

#[test]
fn shifts_and_bits() {
    bits("v_lshlrev_b32_e32 v6, v0, v2", |l| (u64::from(l.bu()) << (l.au() % 32)) as u32);
    bits("v_lshrrev_b32_e32 v6, v0, v2", |l| (u64::from(l.bu()) >> (l.au() % 32)) as u32);
    bits("v_ashrrev_i32_e32 v6, v0, v2", |l| (i64::from(l.bi()) >> (l.au() % 32)) as u32);
    wide("v_lshlrev_b64 v[6:7], v0, v[2:3]", |l| (u128::from(l.b) << (l.au() % 64)) as u64);
    wide("v_lshrrev_b64 v[6:7], v0, v[2:3]", |l| (u128::from(l.b) >> (l.au() % 64)) as u64);
    wide("v_ashrrev_i64 v[6:7], v0, v[2:3]", |l| (i128::from(l.b as i64) >> (l.au() % 64)) as u64);
    bits("v_and_b32_e32 v6, v0, v2", |l| l.au() & l.bu());
    bits("v_or_b32_e32 v6, v0, v2", |l| l.au() | l.bu());
    bits("v_xor_b32_e32 v6, v0, v2", |l| (l.au() | l.bu()) - (l.au() & l.bu()));
    bits("v_xnor_b32_e32 v6, v0, v2", |l| !((l.au() | l.bu()) - (l.au() & l.bu())));
    bits("v_not_b32_e32 v6, v0", |l| u32::MAX - l.au());
    bits("v_bfrev_b32_e32 v6, v0", |l| (0..32).fold(0, |r, i| r | (((l.au() >> i) & 1) << (31 - i))));
    bits("v_ffbh_u32_e32 v6, v0", |l| (0..32).find(|i| (l.au() >> (31 - i)) & 1 == 1).unwrap_or(u32::MAX));
    bits("v_ffbl_b32_e32 v6, v0", |l| (0..32).find(|i| (l.au() >> i) & 1 == 1).unwrap_or(u32::MAX));
    bits("v_ffbh_i32_e32 v6, v0", |l| {
        (1..32).find(|i| (l.au() >> (31 - i)) & 1 != l.au() >> 31).unwrap_or(u32::MAX)
    });
    bits("v_bcnt_u32_b32 v6, v0, v2", |l| {
        ((0..32).map(|i| u64::from((l.au() >> i) & 1)).sum::<u64>() + u64::from(l.bu())) as u32
    });
    bits("v_bfm_b32 v6, v0, v2", |l| (((1u64 << (l.au() % 32)) - 1) << (l.bu() % 32)) as u32);
    bits("v_bfe_u32 v6, v0, v2, v4", |l| {
        ((u64::from(l.au()) >> (l.bu() % 32)) % (1 << (l.cu() % 32))) as u32
    });
    bits("v_bfe_i32 v6, v0, v2, v4", |l| {
        let width = l.cu() % 32;
        let field = (i64::from(l.ai()) >> (l.bu() % 32)) & ((1 << width) - 1);
        let sign = width > 0 && (field >> (width - 1)) & 1 == 1;
        (if sign { field - (1 << width) } else { field }) as u32
    });
    bits("v_bfi_b32 v6, v0, v2, v4", |l| {
        (0..32).fold(0, |r, i| r | if (l.au() >> i) & 1 == 1 { l.bu() & (1 << i) } else { l.cu() & (1 << i) })
    });
    bits("v_alignbit_b32 v6, v0, v2, v4", |l| {
        ((u64::from(l.au()) * (1 << 32) + u64::from(l.bu())) >> (l.cu() % 32)) as u32
    });
    bits("v_alignbyte_b32 v6, v0, v2, v4", |l| {
        ((u64::from(l.au()) * (1 << 32) + u64::from(l.bu())) >> (8 * (l.cu() % 4))) as u32
    });
    bits("v_lshl_or_b32 v6, v0, v2, v4", |l| (u64::from(l.au()) << (l.bu() % 32)) as u32 | l.cu());
    bits("v_and_or_b32 v6, v0, v2, v4", |l| (l.au() & l.bu()) | l.cu());
    bits("v_or3_b32 v6, v0, v2, v4", |l| l.au() | l.bu() | l.cu());
    bits("v_mov_b32_e32 v6, v0", Lane::au);
    bits("v_mov_b32_e32 v6, -16", |_| 0xffff_fff0);
    bits("v_mov_b32_e32 v6, 0.5", |_| 0x3f00_0000);
    bits("v_mov_b32_e32 v6, s20", |l| l.s as u32);
    wide("v_mov_b64_e32 v[6:7], v[0:1]", |l| l.a);
    wide("v_mov_b64_e32 v[6:7], -1", |_| u64::MAX);
}

#[test]
fn bytes() {
    bits("v_perm_b32 v6, v0, v2, v4", |l| {
        let source = (u64::from(l.au()) << 32) | u64::from(l.bu());
        (0..4).fold(0, |r, i| {
            let byte = match (l.cu() >> (8 * i)) & 0xff {
                which @ 0..8 => (source >> (8 * which)) & 0xff,
                which @ 8..12 => {
                    if (source >> (16 * (which - 8) + 15)) & 1 == 1 {
                        0xff
                    } else {
                        0
                    }
                }
                12 => 0,
                _ => 0xff,
            };
            r | ((byte as u32) << (8 * i))
        })
    });
    let byte = |x: u32, i: u32| i64::from((x >> (8 * i)) & 0xff);
    let sad = move |a: u32, b: u32| (0..4).map(|i| (byte(a, i) - byte(b, i)).abs()).sum::<i64>();
    let masked = move |a: u32, b: u32| {
        (0..4).filter(|&i| byte(b, i) != 0).map(|i| (byte(a, i) - byte(b, i)).abs()).sum::<i64>()
    };
    bits("v_sad_u8 v6, v0, v2, v4", |l| (sad(l.au(), l.bu()) + i64::from(l.cu())) as u32);
    bits("v_sad_hi_u8 v6, v0, v2, v4", |l| ((sad(l.au(), l.bu()) << 16) + i64::from(l.cu())) as u32);
    bits("v_sad_u16 v6, v0, v2, v4", |l| {
        let part = |x: u32, i: u32| i64::from((x >> (16 * i)) & 0xffff);
        ((0..2).map(|i| (part(l.au(), i) - part(l.bu(), i)).abs()).sum::<i64>() + i64::from(l.cu())) as u32
    });
    bits("v_sad_u32 v6, v0, v2, v4", |l| {
        ((i64::from(l.au()) - i64::from(l.bu())).abs() + i64::from(l.cu())) as u32
    });
    bits("v_msad_u8 v6, v0, v2, v4", |l| (masked(l.au(), l.bu()) + i64::from(l.cu())) as u32);
    bits("v_lerp_u8 v6, v0, v2, v4", |l| {
        (0..4).fold(0, |r, i| {
            r | (((byte(l.au(), i) + byte(l.bu(), i) + (byte(l.cu(), i) & 1)) / 2) as u32) << (8 * i)
        })
    });
    wide("v_qsad_pk_u16_u8 v[6:7], v[0:1], v2, v[4:5]", |l| {
        (0..4).fold(0, |r, i| {
            let sum = sad((l.a >> (8 * i)) as u32, l.bu()) as u64 + ((l.c >> (16 * i)) & 0xffff);
            r | ((sum & 0xffff) << (16 * i))
        })
    });
    wide("v_mqsad_pk_u16_u8 v[6:7], v[0:1], v2, v[4:5]", |l| {
        (0..4).fold(0, |r, i| {
            let sum = masked((l.a >> (8 * i)) as u32, l.bu()) as u64 + ((l.c >> (16 * i)) & 0xffff);
            r | ((sum & 0xffff) << (16 * i))
        })
    });
}

#[test]
fn four_masked_sums_of_32_bits() {
    let byte = |x: u32, i: u32| i64::from((x >> (8 * i)) & 255);
    let masked = |a: u32, b: u32| {
        (0..4).filter(|&i| byte(b, i) != 0).map(|i| (byte(a, i) - byte(b, i)).abs()).sum::<i64>()
    };
    for (text, saturates) in [
        ("v_mqsad_u32_u8 v[8:11], v[0:1], v2, v[4:7]", false),
        ("v_mqsad_u32_u8 v[8:11], v[0:1], v2, v[4:7] clamp", true),
    ] {
        let mut state = crate::bench::random_state(Pool::Bits, 3);
        state.set_pair(126, 0x0fff_0000_ffff_f0f3);
        let before = state.clone();
        state.run(&crate::bench::words(text), &crate::bench::no_memory()).unwrap();
        for lane in 0..64 {
            let l = crate::bench::lane_of(&before, lane);
            for i in 0..4 {
                let sum =
                    masked((l.a >> (8 * i)) as u32, l.bu()) as u64 + u64::from(before.vgprs[4 + i][lane]);
                let sum = if saturates { sum.min(0xffff_ffff) } else { sum & 0xffff_ffff };
                let active = 0x0fff_0000_ffff_f0f3u64 >> lane & 1 == 1;
                let expected = if active { sum as u32 } else { before.vgprs[8 + i][lane] };
                assert_eq!(state.vgprs[8 + i][lane], expected, "{text}, lane {lane}, {i}");
            }
        }
    }
}

#[test]
fn halves_zero_the_upper_half_or_keep_it() {
    bits("v_add_u16_e32 v6, v0, v2", |l| low(low(l.au()) + low(l.bu())));
    bits("v_sub_u16_e32 v6, v0, v2", |l| low(l.au().wrapping_sub(l.bu())));
    bits("v_subrev_u16_e32 v6, v0, v2", |l| low(l.bu().wrapping_sub(l.au())));
    bits("v_add_u16_e64 v6, v0, v2 clamp", |l| (low(l.au()) + low(l.bu())).min(0xffff));
    bits("v_mul_lo_u16_e32 v6, v0, v2", |l| low(low(l.au()).wrapping_mul(low(l.bu()))));
    bits("v_lshlrev_b16_e32 v6, v0, v2", |l| low(low(l.bu()) << (l.au() % 16)));
    bits("v_lshrrev_b16_e32 v6, v0, v2", |l| low(l.bu()) >> (l.au() % 16));
    bits("v_ashrrev_i16_e32 v6, v0, v2", |l| low((sext16(l.bu()) >> (l.au() % 16)) as u32));
    bits("v_max_u16_e32 v6, v0, v2", |l| low(l.au()).max(low(l.bu())));
    bits("v_min_u16_e32 v6, v0, v2", |l| low(l.au()).min(low(l.bu())));
    bits("v_max_i16_e32 v6, v0, v2", |l| low(sext16(l.au()).max(sext16(l.bu())) as u32));
    bits("v_min_i16_e32 v6, v0, v2", |l| low(sext16(l.au()).min(sext16(l.bu())) as u32));
    let keep = |l: &Lane, value: i64| (l.old as u32 & 0xffff_0000) | low(value as u32);
    bits("v_add_i16 v6, v0, v2 clamp", |l| keep(l, (sext16(l.au()) + sext16(l.bu())).clamp(-32768, 32767)));
    bits("v_sub_i16 v6, v0, v2", |l| keep(l, sext16(l.au()) - sext16(l.bu())));
    bits("v_mad_i16 v6, v0, v2, v4", |l| keep(l, sext16(l.au()) * sext16(l.bu()) + sext16(l.cu())));
    bits("v_mad_u16 v6, v0, v2, v4 clamp", |l| {
        let exact = u64::from(low(l.au())) * u64::from(low(l.bu())) + u64::from(low(l.cu()));
        keep(l, exact.min(65535) as i64)
    });
    bits("v_mad_legacy_u16 v6, v0, v2, v4", |l| {
        low((u64::from(low(l.au())) * u64::from(low(l.bu())) + u64::from(low(l.cu()))) as u32)
    });
    bits("v_mad_legacy_i16 v6, v0, v2, v4", |l| {
        low((sext16(l.au()) * sext16(l.bu()) + sext16(l.cu())) as u32)
    });
    bits("v_min3_i16 v6, v0, v2, v4", |l| keep(l, sext16(l.au()).min(sext16(l.bu())).min(sext16(l.cu()))));
    bits("v_max3_i16 v6, v0, v2, v4", |l| keep(l, sext16(l.au()).max(sext16(l.bu())).max(sext16(l.cu()))));
    bits("v_min3_u16 v6, v0, v2, v4", |l| keep(l, low(l.au()).min(low(l.bu())).min(low(l.cu())).into()));
    bits("v_max3_u16 v6, v0, v2, v4", |l| keep(l, low(l.au()).max(low(l.bu())).max(low(l.cu())).into()));
    bits("v_med3_i16 v6, v0, v2, v4", |l| {
        let mut all = [l.au(), l.bu(), l.cu()].map(sext16);
        all.sort_unstable();
        keep(l, all[1])
    });
    bits("v_med3_u16 v6, v0, v2, v4", |l| {
        let mut all = [l.au(), l.bu(), l.cu()].map(low);
        all.sort_unstable();
        keep(l, all[1].into())
    });
}
