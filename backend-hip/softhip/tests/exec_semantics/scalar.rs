//! Scalar arithmetic: `s20`, `s22` (or pairs) to `s24`, with SCC.

use softhip::exec::WaveState;

use crate::bench::{Pool, no_memory, random_state, words};

/// What a scalar operation sees.
struct In {
    a: u64,
    b: u64,
    old: u64,
    scc: bool,
}

/// Its result: the low 32 bits or all, and SCC.
type Out = (u64, bool);

fn check(text: &str, bits: u32, f: impl Fn(&In) -> Out) {
    let words = words(text);
    let memory = no_memory();
    for seed in 0..200 {
        let mut state = random_state(Pool::Bits, seed);
        state.scc = seed % 2 == 0;
        if seed % 5 == 0 {
            state.set_pair(22, state.pair(20));
        }
        let before = state.clone();
        state.run(&words, &memory).unwrap();
        let input = In { a: before.pair(20), b: before.pair(22), old: before.pair(24), scc: before.scc };
        let (value, scc) = f(&input);
        let expected = if bits == 64 { value } else { before.pair(24) >> 32 << 32 | value & 0xffff_ffff };
        let at = format!("{text}: a {:#x} b {:#x} old {:#x} scc {}", input.a, input.b, input.old, input.scc);
        assert_eq!(state.pair(24), expected, "{at}");
        assert_eq!(state.scc, scc, "SCC of {at}");
        let mut rest: WaveState = before.clone();
        rest.set_pair(24, state.pair(24));
        rest.scc = state.scc;
        assert!(rest == state, "{text} changed another register");
    }
}

fn plain(text: &str, f: impl Fn(u32, u32) -> u32) {
    check(text, 32, |x| (f(x.a as u32, x.b as u32).into(), x.scc));
}

fn nonzero(text: &str, f: impl Fn(u32, u32) -> u32) {
    check(text, 32, |x| {
        let value = f(x.a as u32, x.b as u32);
        (value.into(), value != 0)
    });
}

fn nonzero64(text: &str, f: impl Fn(u64, u64) -> u64) {
    check(text, 64, |x| {
        let value = f(x.a, x.b);
        (value, value != 0)
    });
}

fn lo(x: u64) -> i128 {
    i128::from(x as u32)
}

fn sx(x: u64) -> i128 {
    i128::from(x as u32 as i32)
}

#[test]
fn sums_set_scc_on_carry_or_overflow() {
    let fits = |x: i128| i128::from(x as i32) == x;
    check("s_add_u32 s24, s20, s22", 32, |x| ((lo(x.a) + lo(x.b)) as u64, lo(x.a) + lo(x.b) > 0xffff_ffff));
    check("s_sub_u32 s24, s20, s22", 32, |x| ((lo(x.a) - lo(x.b)) as u64, lo(x.a) < lo(x.b)));
    check("s_add_i32 s24, s20, s22", 32, |x| ((sx(x.a) + sx(x.b)) as u64, !fits(sx(x.a) + sx(x.b))));
    check("s_sub_i32 s24, s20, s22", 32, |x| ((sx(x.a) - sx(x.b)) as u64, !fits(sx(x.a) - sx(x.b))));
    check("s_addc_u32 s24, s20, s22", 32, |x| {
        let sum = lo(x.a) + lo(x.b) + i128::from(x.scc);
        (sum as u64, sum > 0xffff_ffff)
    });
    check("s_subb_u32 s24, s20, s22", 32, |x| {
        let difference = lo(x.a) - lo(x.b) - i128::from(x.scc);
        (difference as u64, difference < 0)
    });
    check("s_addk_i32 s24, 0x8123", 32, |x| {
        let sum = sx(x.old) + i128::from(0x8123_u16 as i16);
        (sum as u64, !fits(sum))
    });
    check("s_mulk_i32 s24, 0x8123", 32, |x| ((sx(x.old) * i128::from(0x8123_u16 as i16)) as u64, x.scc));
    for (text, by) in [
        ("s_lshl1_add_u32 s24, s20, s22", 1),
        ("s_lshl2_add_u32 s24, s20, s22", 2),
        ("s_lshl3_add_u32 s24, s20, s22", 3),
        ("s_lshl4_add_u32 s24, s20, s22", 4),
    ] {
        check(text, 32, |x| {
            let sum = (lo(x.a) << by) + lo(x.b);
            (sum as u64, sum > 0xffff_ffff)
        });
    }
    check("s_absdiff_i32 s24, s20, s22", 32, |x| {
        let value = ((sx(x.a) - sx(x.b)) as i32).unsigned_abs();
        (value.into(), value != 0)
    });
    check("s_abs_i32 s24, s20", 32, |x| (sx(x.a).unsigned_abs() as u64, sx(x.a) != 0));
}

#[test]
fn products_and_choices() {
    plain("s_mul_i32 s24, s20, s22", |a, b| (u64::from(a) * u64::from(b)) as u32);
    plain("s_mul_hi_u32 s24, s20, s22", |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32);
    plain("s_mul_hi_i32 s24, s20, s22", |a, b| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32);
    check("s_min_i32 s24, s20, s22", 32, |x| (sx(x.a).min(sx(x.b)) as u64, sx(x.a) < sx(x.b)));
    check("s_max_i32 s24, s20, s22", 32, |x| (sx(x.a).max(sx(x.b)) as u64, sx(x.a) > sx(x.b)));
    check("s_min_u32 s24, s20, s22", 32, |x| (lo(x.a).min(lo(x.b)) as u64, lo(x.a) < lo(x.b)));
    check("s_max_u32 s24, s20, s22", 32, |x| (lo(x.a).max(lo(x.b)) as u64, lo(x.a) > lo(x.b)));
    check("s_cselect_b32 s24, s20, s22", 32, |x| (if x.scc { x.a } else { x.b }, x.scc));
    check("s_cselect_b64 s[24:25], s[20:21], s[22:23]", 64, |x| (if x.scc { x.a } else { x.b }, x.scc));
    check("s_cmov_b32 s24, s20", 32, |x| (if x.scc { x.a } else { x.old }, x.scc));
    check("s_cmov_b64 s[24:25], s[20:21]", 64, |x| (if x.scc { x.a } else { x.old }, x.scc));
    check("s_cmovk_i32 s24, 0x8123", 32, |x| (if x.scc { 0xffff_8123 } else { x.old }, x.scc));
    check("s_movk_i32 s24, 0x8123", 32, |x| (0xffff_8123, x.scc));
    check("s_mov_b32 s24, s20", 32, |x| (x.a, x.scc));
    check("s_mov_b64 s[24:25], s[20:21]", 64, |x| (x.a, x.scc));
    check("s_mov_b64 s[24:25], 0x12345678", 64, |x| (0x12345678, x.scc));
    check("s_mov_b64 s[24:25], -5", 64, |x| (-5i64 as u64, x.scc));
}

#[test]
fn logic() {
    nonzero("s_and_b32 s24, s20, s22", |a, b| a & b);
    nonzero("s_or_b32 s24, s20, s22", |a, b| a | b);
    nonzero("s_xor_b32 s24, s20, s22", |a, b| a ^ b);
    nonzero("s_andn2_b32 s24, s20, s22", |a, b| a & !b);
    nonzero("s_orn2_b32 s24, s20, s22", |a, b| a | !b);
    nonzero("s_nand_b32 s24, s20, s22", |a, b| !(a & b));
    nonzero("s_nor_b32 s24, s20, s22", |a, b| !(a | b));
    nonzero("s_xnor_b32 s24, s20, s22", |a, b| !(a ^ b));
    nonzero("s_not_b32 s24, s20", |a, _| !a);
    nonzero64("s_and_b64 s[24:25], s[20:21], s[22:23]", |a, b| a & b);
    nonzero64("s_or_b64 s[24:25], s[20:21], s[22:23]", |a, b| a | b);
    nonzero64("s_xor_b64 s[24:25], s[20:21], s[22:23]", |a, b| a ^ b);
    nonzero64("s_andn2_b64 s[24:25], s[20:21], s[22:23]", |a, b| a & !b);
    nonzero64("s_orn2_b64 s[24:25], s[20:21], s[22:23]", |a, b| a | !b);
    nonzero64("s_nand_b64 s[24:25], s[20:21], s[22:23]", |a, b| !(a & b));
    nonzero64("s_nor_b64 s[24:25], s[20:21], s[22:23]", |a, b| !(a | b));
    nonzero64("s_xnor_b64 s[24:25], s[20:21], s[22:23]", |a, b| !(a ^ b));
    nonzero64("s_not_b64 s[24:25], s[20:21]", |a, _| !a);
}

#[test]
fn shifts_and_fields() {
    nonzero("s_lshl_b32 s24, s20, s22", |a, b| (u64::from(a) << (b % 32)) as u32);
    nonzero("s_lshr_b32 s24, s20, s22", |a, b| (u64::from(a) >> (b % 32)) as u32);
    nonzero("s_ashr_i32 s24, s20, s22", |a, b| (i64::from(a as i32) >> (b % 32)) as u32);
    nonzero64("s_lshl_b64 s[24:25], s[20:21], s22", |a, b| (u128::from(a) << (b % 64)) as u64);
    nonzero64("s_lshr_b64 s[24:25], s[20:21], s22", |a, b| (u128::from(a) >> (b % 64)) as u64);
    nonzero64("s_ashr_i64 s[24:25], s[20:21], s22", |a, b| (i128::from(a as i64) >> (b % 64)) as u64);
    plain("s_bfm_b32 s24, s20, s22", |a, b| (((1u64 << (a % 32)) - 1) << (b % 32)) as u32);
    check("s_bfm_b64 s[24:25], s20, s22", 64, |x| {
        ((((1u128 << (x.a % 64)) - 1) << (x.b % 64)) as u64, x.scc)
    });
    let width = |b: u64| ((b >> 16) & 127) as u32;
    nonzero("s_bfe_u32 s24, s20, s22", |a, b| {
        ((u128::from(a) >> (b % 32)) & ((1 << width(b.into()).min(64)) - 1)) as u32
    });
    nonzero("s_bfe_i32 s24, s20, s22", |a, b| {
        let width = width(b.into()).min(32);
        let field = (i128::from(a as i32) >> (b % 32)) & ((1 << width) - 1);
        (if width > 0 && (field >> (width - 1)) & 1 == 1 { field - (1 << width) } else { field }) as u32
    });
    nonzero64("s_bfe_u64 s[24:25], s[20:21], s22", |a, b| {
        ((u128::from(a) >> (b % 64)) & ((1u128 << width(b).min(64)) - 1)) as u64
    });
    nonzero64("s_bfe_i64 s[24:25], s[20:21], s22", |a, b| {
        let width = width(b).min(64);
        let field = (i128::from(a as i64) >> (b % 64)) & ((1 << width) - 1);
        (if width > 0 && (field >> (width - 1)) & 1 == 1 { field - (1 << width) } else { field }) as u64
    });
    plain("s_pack_ll_b32_b16 s24, s20, s22", |a, b| a % 65536 + b % 65536 * 65536);
    plain("s_pack_lh_b32_b16 s24, s20, s22", |a, b| a % 65536 + b / 65536 * 65536);
    plain("s_pack_hh_b32_b16 s24, s20, s22", |a, b| a / 65536 + b / 65536 * 65536);
    plain("s_sext_i32_i8 s24, s20", |a, _| i32::from(a as u8 as i8) as u32);
    plain("s_sext_i32_i16 s24, s20", |a, _| i32::from(a as u16 as i16) as u32);
}

#[test]
fn bits_are_found_and_counted() {
    let bit = |x: u64, i: u32| (x >> i) & 1;
    let find = |x: u64, n: u32, value: u64| (0..n).find(|&i| bit(x, i) == value).map_or(u32::MAX, |i| i);
    plain("s_ff0_i32_b32 s24, s20", |a, _| find(a.into(), 32, 0));
    plain("s_ff1_i32_b32 s24, s20", |a, _| find(a.into(), 32, 1));
    check("s_ff0_i32_b64 s24, s[20:21]", 32, |x| (find(x.a, 64, 0).into(), x.scc));
    check("s_ff1_i32_b64 s24, s[20:21]", 32, |x| (find(x.a, 64, 1).into(), x.scc));
    let lead = |x: u64, n: u32| (0..n).find(|&i| bit(x, n - 1 - i) == 1).map_or(u32::MAX, |i| i);
    plain("s_flbit_i32_b32 s24, s20", |a, _| lead(a.into(), 32));
    check("s_flbit_i32_b64 s24, s[20:21]", 32, |x| (lead(x.a, 64).into(), x.scc));
    let sign = |x: u64, n: u32| (1..n).find(|&i| bit(x, n - 1 - i) != bit(x, n - 1)).map_or(u32::MAX, |i| i);
    plain("s_flbit_i32 s24, s20", |a, _| sign(a.into(), 32));
    check("s_flbit_i32_i64 s24, s[20:21]", 32, |x| (sign(x.a, 64).into(), x.scc));
    let count = |x: u64, n: u32, value: u64| (0..n).filter(|&i| bit(x, i) == value).count() as u32;
    nonzero("s_bcnt0_i32_b32 s24, s20", |a, _| count(a.into(), 32, 0));
    nonzero("s_bcnt1_i32_b32 s24, s20", |a, _| count(a.into(), 32, 1));
    check("s_bcnt0_i32_b64 s24, s[20:21]", 32, |x| (count(x.a, 64, 0).into(), count(x.a, 64, 0) != 0));
    check("s_bcnt1_i32_b64 s24, s[20:21]", 32, |x| (count(x.a, 64, 1).into(), count(x.a, 64, 1) != 0));
    plain("s_brev_b32 s24, s20", |a, _| (0..32).fold(0, |r, i| r | (bit(a.into(), i) as u32) << (31 - i)));
    check("s_brev_b64 s[24:25], s[20:21]", 64, |x| {
        ((0..64).fold(0, |r, i| r | bit(x.a, i) << (63 - i)), x.scc)
    });
    check("s_bitset0_b32 s24, s20", 32, |x| (x.old & !(1 << (x.a % 32)), x.scc));
    check("s_bitset1_b32 s24, s20", 32, |x| (x.old | 1 << (x.a % 32), x.scc));
    check("s_bitset0_b64 s[24:25], s20", 64, |x| (x.old & !(1 << (x.a % 64)), x.scc));
    check("s_bitset1_b64 s[24:25], s20", 64, |x| (x.old | 1 << (x.a % 64), x.scc));
    check("s_bitreplicate_b64_b32 s[24:25], s20", 64, |x| {
        ((0..64).fold(0, |r, i| r | bit(x.a, i / 2) << i), x.scc)
    });
    let quad = |x: u64, i: u32| u64::from((x >> (i / 4 * 4)) & 15 != 0);
    nonzero("s_wqm_b32 s24, s20", |a, _| (0..32).fold(0, |r, i| r | (quad(a.into(), i) as u32) << i));
    nonzero64("s_wqm_b64 s[24:25], s[20:21]", |a, _| (0..64).fold(0, |r, i| r | quad(a, i) << i));
    nonzero("s_quadmask_b32 s24, s20", |a, _| (0..8).fold(0, |r, i| r | (quad(a.into(), 4 * i) as u32) << i));
    nonzero64("s_quadmask_b64 s[24:25], s[20:21]", |a, _| (0..16).fold(0, |r, i| r | quad(a, 4 * i) << i));
}

#[test]
fn compares_set_scc_alone() {
    let compare = |text: &str, f: &dyn Fn(u64, u64) -> bool| check(text, 64, |x| (x.old, f(x.a, x.b)));
    compare("s_cmp_eq_i32 s20, s22", &|a, b| lo(a) == lo(b));
    compare("s_cmp_lg_i32 s20, s22", &|a, b| lo(a) != lo(b));
    compare("s_cmp_gt_i32 s20, s22", &|a, b| sx(a) > sx(b));
    compare("s_cmp_ge_i32 s20, s22", &|a, b| sx(a) >= sx(b));
    compare("s_cmp_lt_i32 s20, s22", &|a, b| sx(a) < sx(b));
    compare("s_cmp_le_i32 s20, s22", &|a, b| sx(a) <= sx(b));
    compare("s_cmp_eq_u32 s20, s22", &|a, b| lo(a) == lo(b));
    compare("s_cmp_lg_u32 s20, s22", &|a, b| lo(a) != lo(b));
    compare("s_cmp_gt_u32 s20, s22", &|a, b| lo(a) > lo(b));
    compare("s_cmp_ge_u32 s20, s22", &|a, b| lo(a) >= lo(b));
    compare("s_cmp_lt_u32 s20, s22", &|a, b| lo(a) < lo(b));
    compare("s_cmp_le_u32 s20, s22", &|a, b| lo(a) <= lo(b));
    compare("s_cmp_eq_u64 s[20:21], s[22:23]", &|a, b| a == b);
    compare("s_cmp_lg_u64 s[20:21], s[22:23]", &|a, b| a != b);
    compare("s_bitcmp0_b32 s20, s22", &|a, b| (a >> (b % 32)) & 1 == 0);
    compare("s_bitcmp1_b32 s20, s22", &|a, b| (a >> (b % 32)) & 1 == 1);
    compare("s_bitcmp0_b64 s[20:21], s22", &|a, b| (a >> (b % 64)) & 1 == 0);
    compare("s_bitcmp1_b64 s[20:21], s22", &|a, b| (a >> (b % 64)) & 1 == 1);
    compare("s_cmpk_eq_i32 s20, 0x8000", &|a, _| sx(a) == -32768);
    compare("s_cmpk_lg_i32 s20, 0x8000", &|a, _| sx(a) != -32768);
    compare("s_cmpk_gt_i32 s20, 0x8000", &|a, _| sx(a) > -32768);
    compare("s_cmpk_ge_i32 s20, 0x8000", &|a, _| sx(a) >= -32768);
    compare("s_cmpk_lt_i32 s20, 0x8000", &|a, _| sx(a) < -32768);
    compare("s_cmpk_le_i32 s20, 0x8000", &|a, _| sx(a) <= -32768);
    compare("s_cmpk_eq_u32 s20, 0x8000", &|a, _| lo(a) == 32768);
    compare("s_cmpk_lg_u32 s20, 0x8000", &|a, _| lo(a) != 32768);
    compare("s_cmpk_gt_u32 s20, 0x8000", &|a, _| lo(a) > 32768);
    compare("s_cmpk_ge_u32 s20, 0x8000", &|a, _| lo(a) >= 32768);
    compare("s_cmpk_lt_u32 s20, 0x8000", &|a, _| lo(a) < 32768);
    compare("s_cmpk_le_u32 s20, 0x8000", &|a, _| lo(a) <= 32768);
}
