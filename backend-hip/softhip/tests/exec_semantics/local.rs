//! LDS, and moves between lanes through it.

use softhip::exec::WaveState;
use softhip::report::{LdsProblem, Problem};

use crate::bench::{Pool, no_memory, random_state, words};

const SIZE: usize = 4096;

/// Which lane a lane reads.
type Pattern = fn(usize) -> usize;

/// v0: distinct addresses, multiples of 16 below 2048 in disorder. LDS is filled with noise.
fn state(seed: u64) -> WaveState {
    let mut state = random_state(Pool::Bits, seed);
    state.vgprs[0] = std::array::from_fn(|lane| (lane as u32 * 37 % 64) * 16);
    state.lds = (0..SIZE).map(|i| (i * 131 % 251) as u8).collect();
    state
}

fn bytes(state: &WaveState, at: usize, count: usize) -> u64 {
    (0..count).fold(0, |value, i| value | u64::from(state.lds[at + i]) << (8 * i))
}

/// Checks a load of `count` bytes at `v0 + offset` into v6: `place(loaded, old)`.
fn read(text: &str, offset: usize, count: usize, place: impl Fn(u64, u64) -> u64) {
    for exec in [u64::MAX, 0x00ff_f0f0_1234_8001] {
        let mut s = state(1);
        s.set_pair(126, exec);
        let before = s.clone();
        s.run(&words(text), &no_memory()).unwrap();
        for lane in 0..64 {
            let (old, new) = (before.vgprs[6][lane], s.vgprs[6][lane]);
            let (old, new) = (
                u64::from(old) | u64::from(before.vgprs[7][lane]) << 32,
                u64::from(new) | u64::from(s.vgprs[7][lane]) << 32,
            );
            let active = (exec >> lane) & 1 == 1;
            let loaded = bytes(&before, before.vgprs[0][lane] as usize + offset, count.min(8));
            let mut expected = if active { place(loaded, old) } else { old };
            if count <= 4 {
                expected = old >> 32 << 32 | expected & 0xffff_ffff;
            }
            assert_eq!(new, expected, "{text}, lane {lane}");
            for i in 2..count / 4 {
                let word = bytes(&before, before.vgprs[0][lane] as usize + offset + 4 * i, 4) as u32;
                let expected = if active { word } else { before.vgprs[6 + i][lane] };
                assert_eq!(s.vgprs[6 + i][lane], expected, "{text}, lane {lane}, register {i}");
            }
        }
    }
}

#[test]
fn loads() {
    read("ds_read_b32 v6, v0 offset:8", 8, 4, |x, _| x);
    read("ds_read_b64 v[6:7], v0", 0, 8, |x, _| x);
    read("ds_read_b96 v[6:8], v0", 0, 12, |x, _| x);
    read("ds_read_b128 v[6:9], v0 offset:512", 512, 16, |x, _| x);
    read("ds_read_u8 v6, v0 offset:3", 3, 1, |x, _| x);
    read("ds_read_i8 v6, v0 offset:3", 3, 1, |x, _| x as i8 as u64);
    read("ds_read_u16 v6, v0 offset:2", 2, 2, |x, _| x);
    read("ds_read_i16 v6, v0 offset:2", 2, 2, |x, _| x as i16 as u64);
    let keep_high = |x: u64, old: u64| old & 0xffff_0000 | x & 0xffff;
    let keep_low = |x: u64, old: u64| old & 0xffff | (x & 0xffff) << 16;
    read("ds_read_u8_d16 v6, v0", 0, 1, keep_high);
    read("ds_read_u8_d16_hi v6, v0", 0, 1, keep_low);
    read("ds_read_i8_d16 v6, v0", 0, 1, move |x, old| keep_high(x as i8 as u64, old));
    read("ds_read_i8_d16_hi v6, v0", 0, 1, move |x, old| keep_low(x as i8 as u64, old));
    read("ds_read_u16_d16 v6, v0", 0, 2, keep_high);
    read("ds_read_u16_d16_hi v6, v0", 0, 2, keep_low);
}

#[test]
fn loads_of_two() {
    for (text, first, second) in [
        ("ds_read2_b32 v[6:7], v0 offset0:1 offset1:3", 4, 12),
        ("ds_read2st64_b32 v[6:7], v0 offset0:1 offset1:3", 256, 768),
    ] {
        let mut s = state(2);
        let before = s.clone();
        s.run(&words(text), &no_memory()).unwrap();
        for lane in 0..64 {
            let at = before.vgprs[0][lane] as usize;
            let expected = [bytes(&before, at + first, 4) as u32, bytes(&before, at + second, 4) as u32];
            assert_eq!([s.vgprs[6][lane], s.vgprs[7][lane]], expected, "{text}");
        }
    }
    for (text, first, second) in [
        ("ds_read2_b64 v[6:9], v0 offset0:1 offset1:3", 8, 24),
        ("ds_read2st64_b64 v[6:9], v0 offset0:1 offset1:3", 512, 1536),
    ] {
        let mut s = state(3);
        let before = s.clone();
        s.run(&words(text), &no_memory()).unwrap();
        for lane in 0..64 {
            let at = before.vgprs[0][lane] as usize;
            for (i, offset) in [first, first + 4, second, second + 4].into_iter().enumerate() {
                assert_eq!(s.vgprs[6 + i][lane], bytes(&before, at + offset, 4) as u32, "{text}");
            }
        }
    }
}

/// Checks stores: pairs of (offset, register, shift) of `count` bytes each.
fn write(text: &str, count: usize, parts: &[(usize, usize, u32)]) {
    for exec in [u64::MAX, 0x8000_0000_0f0f_3333] {
        let mut s = state(4);
        s.set_pair(126, exec);
        if text.contains("st64") {
            // Close together, so that the two stores do not overlap.
            s.vgprs[0] = s.vgprs[0].map(|address| address / 2);
        }
        let mut expected = s.clone();
        for lane in (0..64).filter(|lane| (exec >> lane) & 1 == 1) {
            for &(offset, register, shift) in parts {
                let value = s.vgprs[register][lane] >> shift;
                let at = s.vgprs[0][lane] as usize + offset;
                expected.lds[at..at + count].copy_from_slice(&value.to_le_bytes()[..count]);
            }
        }
        s.run(&words(text), &no_memory()).unwrap();
        assert!(s == expected, "{text}, EXEC {exec:#x}");
    }
}

#[test]
fn stores() {
    write("ds_write_b32 v0, v2 offset:4", 4, &[(4, 2, 0)]);
    write("ds_write_b64 v0, v[2:3]", 4, &[(0, 2, 0), (4, 3, 0)]);
    write("ds_write_b96 v0, v[2:4]", 4, &[(0, 2, 0), (4, 3, 0), (8, 4, 0)]);
    write("ds_write_b128 v0, v[2:5]", 4, &[(0, 2, 0), (4, 3, 0), (8, 4, 0), (12, 5, 0)]);
    write("ds_write_b8 v0, v2 offset:5", 1, &[(5, 2, 0)]);
    write("ds_write_b16 v0, v2 offset:6", 2, &[(6, 2, 0)]);
    write("ds_write_b8_d16_hi v0, v2", 1, &[(0, 2, 16)]);
    write("ds_write_b16_d16_hi v0, v2", 2, &[(0, 2, 16)]);
    write("ds_write2_b32 v0, v2, v4 offset0:1 offset1:2", 4, &[(4, 2, 0), (8, 4, 0)]);
    write("ds_write2st64_b32 v0, v2, v4 offset0:1 offset1:4", 4, &[(256, 2, 0), (1024, 4, 0)]);
    write("ds_write2_b64 v0, v[2:3], v[4:5] offset0:1", 4, &[(8, 2, 0), (12, 3, 0), (0, 4, 0), (4, 5, 0)]);
    write(
        "ds_write2st64_b64 v0, v[2:3], v[4:5] offset1:2",
        4,
        &[(0, 2, 0), (4, 3, 0), (1024, 4, 0), (1028, 5, 0)],
    );
}

/// Checks an atomic on every lane's own word: `f(old, data0, data1)`.
fn atomic(text: &str, wide: bool, f: impl Fn(u64, u64, u64) -> u64) {
    let size = if wide { 8 } else { 4 };
    let mut s = state(5);
    s.set_pair(126, 0x5555_ffff_0000_1111);
    // Some lanes find their data in memory, so that compares and bounds are met.
    for lane in 0..64 {
        let at = s.vgprs[0][lane] as usize;
        let other = if lane % 3 == 0 { 2 } else { 4 };
        let word = |i: usize| s.vgprs[other + i][lane].to_le_bytes();
        let (low, high) = (word(0), word(1));
        if lane % 4 == 0 {
            s.lds[at..at + 4].copy_from_slice(&low);
            s.lds[at + 4..at + 8].copy_from_slice(&high);
        }
    }
    let before = s.clone();
    s.run(&words(text), &no_memory()).unwrap();
    let returns = text.contains("_rtn_");
    for lane in 0..64 {
        let at = before.vgprs[0][lane] as usize;
        let pair = |r: usize| {
            let high = if wide { u64::from(before.vgprs[r + 1][lane]) << 32 } else { 0 };
            u64::from(before.vgprs[r][lane]) | high
        };
        let old = bytes(&before, at, size);
        let active = (before.pair(126) >> lane) & 1 == 1;
        let mask = if wide { u64::MAX } else { 0xffff_ffff };
        let expected = if active { f(old, pair(2), pair(4)) & mask } else { old };
        assert_eq!(bytes(&s, at, size), expected, "{text}: {old:#x} {:#x} {:#x}", pair(2), pair(4));
        if returns && active {
            assert_eq!(u64::from(s.vgprs[6][lane]), old & 0xffff_ffff, "{text}");
            assert!(!wide || u64::from(s.vgprs[7][lane]) == old >> 32, "{text}");
        } else {
            assert_eq!(s.vgprs[6][lane], before.vgprs[6][lane], "{text}");
        }
    }
}

fn s32(x: u64) -> i64 {
    i64::from(x as i32)
}

fn f32_of(x: u64) -> f32 {
    f32::from_bits(x as u32)
}

#[test]
fn atomics_of_words() {
    atomic("ds_add_u32 v0, v2", false, |m, x, _| m.wrapping_add(x));
    atomic("ds_add_rtn_u32 v6, v0, v2", false, |m, x, _| m.wrapping_add(x));
    atomic("ds_sub_u32 v0, v2", false, |m, x, _| m.wrapping_sub(x));
    atomic("ds_sub_rtn_u32 v6, v0, v2", false, |m, x, _| m.wrapping_sub(x));
    atomic("ds_rsub_u32 v0, v2", false, |m, x, _| x.wrapping_sub(m));
    atomic("ds_rsub_rtn_u32 v6, v0, v2", false, |m, x, _| x.wrapping_sub(m));
    atomic("ds_inc_u32 v0, v2", false, |m, x, _| if m >= x { 0 } else { m + 1 });
    atomic("ds_inc_rtn_u32 v6, v0, v2", false, |m, x, _| if m >= x { 0 } else { m + 1 });
    atomic("ds_dec_u32 v0, v2", false, |m, x, _| if m == 0 || m > x { x } else { m - 1 });
    atomic("ds_dec_rtn_u32 v6, v0, v2", false, |m, x, _| if m == 0 || m > x { x } else { m - 1 });
    atomic("ds_min_i32 v0, v2", false, |m, x, _| s32(m).min(s32(x)) as u64);
    atomic("ds_min_rtn_i32 v6, v0, v2", false, |m, x, _| s32(m).min(s32(x)) as u64);
    atomic("ds_max_i32 v0, v2", false, |m, x, _| s32(m).max(s32(x)) as u64);
    atomic("ds_max_rtn_i32 v6, v0, v2", false, |m, x, _| s32(m).max(s32(x)) as u64);
    atomic("ds_min_u32 v0, v2", false, |m, x, _| m.min(x));
    atomic("ds_min_rtn_u32 v6, v0, v2", false, |m, x, _| m.min(x));
    atomic("ds_max_u32 v0, v2", false, |m, x, _| m.max(x));
    atomic("ds_max_rtn_u32 v6, v0, v2", false, |m, x, _| m.max(x));
    atomic("ds_and_b32 v0, v2", false, |m, x, _| m & x);
    atomic("ds_and_rtn_b32 v6, v0, v2", false, |m, x, _| m & x);
    atomic("ds_or_b32 v0, v2", false, |m, x, _| m | x);
    atomic("ds_or_rtn_b32 v6, v0, v2", false, |m, x, _| m | x);
    atomic("ds_xor_b32 v0, v2", false, |m, x, _| m ^ x);
    atomic("ds_xor_rtn_b32 v6, v0, v2", false, |m, x, _| m ^ x);
    atomic("ds_mskor_b32 v0, v2, v4", false, |m, x, y| m & !x | y);
    atomic("ds_mskor_rtn_b32 v6, v0, v2, v4", false, |m, x, y| m & !x | y);
    atomic("ds_wrxchg_rtn_b32 v6, v0, v2", false, |_, x, _| x);
    atomic("ds_cmpst_b32 v0, v2, v4", false, |m, x, y| if m == x { y } else { m });
    atomic("ds_cmpst_rtn_b32 v6, v0, v2, v4", false, |m, x, y| if m == x { y } else { m });
    atomic("ds_cmpst_f32 v0, v2, v4", false, |m, x, y| if f32_of(m) == f32_of(x) { y } else { m });
    atomic("ds_cmpst_rtn_f32 v6, v0, v2, v4", false, |m, x, y| if f32_of(m) == f32_of(x) { y } else { m });
    atomic("ds_wrap_rtn_b32 v6, v0, v2, v4", false, |m, x, y| if m >= x { m - x } else { m + y });
    atomic("ds_min_f32 v0, v2", false, |m, x, _| if f32_of(x) < f32_of(m) { x } else { m });
    atomic("ds_min_rtn_f32 v6, v0, v2", false, |m, x, _| if f32_of(x) < f32_of(m) { x } else { m });
    atomic("ds_max_f32 v0, v2", false, |m, x, _| if f32_of(x) > f32_of(m) { x } else { m });
    atomic("ds_max_rtn_f32 v6, v0, v2", false, |m, x, _| if f32_of(x) > f32_of(m) { x } else { m });
}

#[test]
fn atomics_of_double_words() {
    let s = |x: u64| x as i64;
    atomic("ds_add_u64 v0, v[2:3]", true, |m, x, _| m.wrapping_add(x));
    atomic("ds_add_rtn_u64 v[6:7], v0, v[2:3]", true, |m, x, _| m.wrapping_add(x));
    atomic("ds_sub_u64 v0, v[2:3]", true, |m, x, _| m.wrapping_sub(x));
    atomic("ds_sub_rtn_u64 v[6:7], v0, v[2:3]", true, |m, x, _| m.wrapping_sub(x));
    atomic("ds_rsub_u64 v0, v[2:3]", true, |m, x, _| x.wrapping_sub(m));
    atomic("ds_inc_u64 v0, v[2:3]", true, |m, x, _| if m >= x { 0 } else { m + 1 });
    atomic("ds_dec_u64 v0, v[2:3]", true, |m, x, _| if m == 0 || m > x { x } else { m - 1 });
    atomic("ds_min_i64 v0, v[2:3]", true, |m, x, _| s(m).min(s(x)) as u64);
    atomic("ds_max_i64 v0, v[2:3]", true, |m, x, _| s(m).max(s(x)) as u64);
    atomic("ds_min_u64 v0, v[2:3]", true, |m, x, _| m.min(x));
    atomic("ds_max_rtn_u64 v[6:7], v0, v[2:3]", true, |m, x, _| m.max(x));
    atomic("ds_and_b64 v0, v[2:3]", true, |m, x, _| m & x);
    atomic("ds_or_b64 v0, v[2:3]", true, |m, x, _| m | x);
    atomic("ds_xor_b64 v0, v[2:3]", true, |m, x, _| m ^ x);
    atomic("ds_mskor_b64 v0, v[2:3], v[4:5]", true, |m, x, y| m & !x | y);
    atomic("ds_wrxchg_rtn_b64 v[6:7], v0, v[2:3]", true, |_, x, _| x);
    atomic("ds_cmpst_b64 v0, v[2:3], v[4:5]", true, |m, x, y| if m == x { y } else { m });
    atomic("ds_cmpst_rtn_b64 v[6:7], v0, v[2:3], v[4:5]", true, |m, x, y| if m == x { y } else { m });
    atomic("ds_max_u64 v0, v[2:3]", true, |m, x, _| m.max(x));
    atomic("ds_min_rtn_u64 v[6:7], v0, v[2:3]", true, |m, x, _| m.min(x));
    atomic("ds_rsub_rtn_u64 v[6:7], v0, v[2:3]", true, |m, x, _| x.wrapping_sub(m));
    atomic("ds_inc_rtn_u64 v[6:7], v0, v[2:3]", true, |m, x, _| if m >= x { 0 } else { m + 1 });
    atomic("ds_dec_rtn_u64 v[6:7], v0, v[2:3]", true, |m, x, _| if m == 0 || m > x { x } else { m - 1 });
    atomic("ds_min_rtn_i64 v[6:7], v0, v[2:3]", true, |m, x, _| s(m).min(s(x)) as u64);
    atomic("ds_max_rtn_i64 v[6:7], v0, v[2:3]", true, |m, x, _| s(m).max(s(x)) as u64);
    atomic("ds_and_rtn_b64 v[6:7], v0, v[2:3]", true, |m, x, _| m & x);
    atomic("ds_or_rtn_b64 v[6:7], v0, v[2:3]", true, |m, x, _| m | x);
    atomic("ds_xor_rtn_b64 v[6:7], v0, v[2:3]", true, |m, x, _| m ^ x);
    atomic("ds_mskor_rtn_b64 v[6:7], v0, v[2:3], v[4:5]", true, |m, x, y| m & !x | y);
    let f = f64::from_bits;
    atomic("ds_cmpst_f64 v0, v[2:3], v[4:5]", true, |m, x, y| if f(m) == f(x) { y } else { m });
    atomic("ds_cmpst_rtn_f64 v[6:7], v0, v[2:3], v[4:5]", true, |m, x, y| if f(m) == f(x) { y } else { m });
    atomic("ds_min_f64 v0, v[2:3]", true, |m, x, _| if f(x) < f(m) { x } else { m });
    atomic("ds_min_rtn_f64 v[6:7], v0, v[2:3]", true, |m, x, _| if f(x) < f(m) { x } else { m });
    atomic("ds_max_f64 v0, v[2:3]", true, |m, x, _| if f(x) > f(m) { x } else { m });
    atomic("ds_max_rtn_f64 v[6:7], v0, v[2:3]", true, |m, x, _| if f(x) > f(m) { x } else { m });
}

/// Sums of small multiples of 1/4, which every format holds: `encode` and `decode` of one number in so many bits.
fn exact_sums(text: &str, bits: usize, parts: usize, encode: fn(f64) -> u64, decode: fn(u64) -> f64) {
    let mut s = state(9);
    let number = |lane: usize, i: usize| ((lane * 7 + i * 3) % 23) as f64 / 4.0 - 2.0;
    let pack = |lane: usize, from: usize| {
        (0..parts).fold(0, |word, i| word | encode(number(lane, from + i)) << (bits * i))
    };
    for lane in 0..64 {
        let (at, old, new) = (s.vgprs[0][lane] as usize, pack(lane, 0), pack(lane, 5));
        s.lds[at..at + 8].copy_from_slice(&old.to_le_bytes());
        (s.vgprs[2][lane], s.vgprs[3][lane]) = (new as u32, (new >> 32) as u32);
    }
    let before = s.clone();
    s.run(&words(text), &no_memory()).unwrap();
    for lane in 0..64 {
        let sum = bytes(&s, s.vgprs[0][lane] as usize, bits * parts / 8);
        for i in 0..parts {
            let part = (sum >> (bits * i)) & (u64::MAX >> (64 - bits));
            assert_eq!(decode(part), number(lane, i) + number(lane, 5 + i), "{text}, lane {lane}");
        }
        let returned = if text.contains("_rtn_") { pack(lane, 0) as u32 } else { before.vgprs[6][lane] };
        assert_eq!(s.vgprs[6][lane], returned, "{text}, lane {lane}");
    }
}

#[test]
fn sums_of_every_format() {
    let (to32, of32) = (|x| u64::from((x as f32).to_bits()), |x| f64::from(f32::from_bits(x as u32)));
    let (to16, of16) =
        (|x| u64::from(half::f16::from_f64(x).to_bits()), |x| half::f16::from_bits(x as u16).to_f64());
    let (to_b, of_b) =
        (|x| u64::from(half::bf16::from_f64(x).to_bits()), |x| half::bf16::from_bits(x as u16).to_f64());
    exact_sums("ds_add_rtn_f32 v6, v0, v2", 32, 1, to32, of32);
    exact_sums("ds_add_rtn_f64 v[6:7], v0, v[2:3]", 64, 1, f64::to_bits, f64::from_bits);
    exact_sums("ds_pk_add_f16 v0, v2", 16, 2, to16, of16);
    exact_sums("ds_pk_add_rtn_f16 v6, v0, v2", 16, 2, to16, of16);
    exact_sums("ds_pk_add_bf16 v0, v2", 16, 2, to_b, of_b);
    exact_sums("ds_pk_add_rtn_bf16 v6, v0, v2", 16, 2, to_b, of_b);
}

#[test]
fn sums_of_floats_go_lane_by_lane() {
    let mut s = state(6);
    s.vgprs[0] = [64; 64];
    s.vgprs[2] = std::array::from_fn(|lane| (1.0f32 / (lane as f32 + 1.0)).to_bits());
    s.lds[64..68].copy_from_slice(&2.5f32.to_le_bytes());
    let expected = s.vgprs[2].iter().fold(2.5f32, |sum, &x| sum + f32::from_bits(x));
    s.run(&words("ds_add_f32 v0, v2"), &no_memory()).unwrap();
    assert_eq!(bytes(&s, 64, 4) as u32, expected.to_bits());
    let mut s = state(7);
    s.vgprs[0] = [128; 64];
    for lane in 0..64 {
        let value = (0.1 * lane as f64).to_bits();
        (s.vgprs[2][lane], s.vgprs[3][lane]) = (value as u32, (value >> 32) as u32);
    }
    s.lds[128..136].copy_from_slice(&1.0f64.to_le_bytes());
    let expected = (0..64).fold(1.0f64, |sum, lane| sum + 0.1 * f64::from(lane));
    s.run(&words("ds_add_f64 v0, v[2:3]"), &no_memory()).unwrap();
    assert_eq!(bytes(&s, 128, 8), expected.to_bits());
}

#[test]
fn permutes() {
    for exec in [u64::MAX, 0xf0f0_0000_ffff_1357] {
        let mut s = state(8);
        s.vgprs[0] = std::array::from_fn(|lane| (lane as u32 * 29 + 3) * 4);
        s.set_pair(126, exec);
        let before = s.clone();
        let active = |lane: usize| (exec >> lane) & 1 == 1;
        s.run(&words("ds_bpermute_b32 v6, v0, v2 offset:8"), &no_memory()).unwrap();
        for lane in 0..64 {
            let from = (lane * 29 + 3 + 2) % 64;
            let pulled = if active(from) { before.vgprs[2][from] } else { 0 };
            assert_eq!(s.vgprs[6][lane], if active(lane) { pulled } else { before.vgprs[6][lane] });
        }
        let mut s = before.clone();
        s.run(&words("ds_permute_b32 v6, v0, v2"), &no_memory()).unwrap();
        for lane in 0..64 {
            let from = (0..64).rfind(|&from| active(from) && (from * 29 + 3) % 64 == lane);
            let pushed = from.map_or(0, |from| before.vgprs[2][from]);
            assert_eq!(s.vgprs[6][lane], if active(lane) { pushed } else { before.vgprs[6][lane] });
        }
        let swizzles: [(&str, Pattern); 4] = [
            ("ds_swizzle_b32 v6, v2 offset:swizzle(QUAD_PERM,2,0,3,1)", |l| l / 4 * 4 + [2, 0, 3, 1][l % 4]),
            ("ds_swizzle_b32 v6, v2 offset:swizzle(SWAP,16)", |l| l ^ 16),
            ("ds_swizzle_b32 v6, v2 offset:swizzle(REVERSE,8)", |l| l ^ 7),
            ("ds_swizzle_b32 v6, v2 offset:swizzle(BROADCAST,4,1)", |l| l / 4 * 4 + 1),
        ];
        for (text, source) in swizzles {
            let mut s = before.clone();
            s.run(&words(text), &no_memory()).unwrap();
            for lane in 0..64 {
                let from = source(lane);
                let pulled = if active(from) { before.vgprs[2][from] } else { 0 };
                assert_eq!(
                    s.vgprs[6][lane],
                    if active(lane) { pulled } else { before.vgprs[6][lane] },
                    "{text}"
                );
            }
        }
    }
}

/// Exchanges at two places: the old values go to v6 on, dwords side by side.
fn exchanges(text: &str, size: usize, offsets: [usize; 2]) {
    for exec in [u64::MAX, 0x00ff_f0f0_1234_8001] {
        let mut s = state(10);
        s.vgprs[0] = std::array::from_fn(|lane| 8 * (lane as u32 * 5 % 64));
        s.set_pair(126, exec);
        let before = s.clone();
        s.run(&words(text), &no_memory()).unwrap();
        let mut lds = before.lds.clone();
        for lane in 0..64 {
            for (i, offset) in offsets.into_iter().enumerate() {
                for byte in 0..size {
                    let (register, shift) = (6 + (i * size + byte) / 4, 8 * (byte % 4));
                    let (got, old) =
                        (s.vgprs[register][lane] >> shift, before.vgprs[register][lane] >> shift);
                    let at = before.vgprs[0][lane] as usize + offset + byte;
                    let active = (exec >> lane) & 1 == 1;
                    let expected = if active { before.lds[at] } else { old as u8 };
                    assert_eq!(got as u8, expected, "{text}, lane {lane}, {i}");
                    if active {
                        lds[at] = (before.vgprs[2 + 2 * i + byte / 4][lane] >> shift) as u8;
                    }
                }
            }
        }
        assert!(s.lds == lds, "{text}");
    }
}

#[test]
fn two_exchanges_at_once() {
    exchanges("ds_wrxchg2_rtn_b32 v[6:7], v0, v2, v4 offset0:1 offset1:130", 4, [4, 520]);
    exchanges("ds_wrxchg2st64_rtn_b32 v[6:7], v0, v2, v4 offset0:2 offset1:5", 4, [512, 1280]);
    exchanges("ds_wrxchg2_rtn_b64 v[6:9], v0, v[2:3], v[4:5] offset1:70", 8, [0, 560]);
    exchanges("ds_wrxchg2st64_rtn_b64 v[6:9], v0, v[2:3], v[4:5] offset0:2 offset1:1", 8, [1024, 512]);
    // The first result may take the place of the second datum.
    let mut s = state(11);
    s.vgprs[0] = std::array::from_fn(|lane| 4 * lane as u32);
    let before = s.clone();
    s.run(&words("ds_wrxchg2_rtn_b32 v[4:5], v0, v2, v4 offset1:64"), &no_memory()).unwrap();
    for lane in 0..64 {
        assert_eq!(bytes(&s, 256 + 4 * lane, 4) as u32, before.vgprs[4][lane]);
        assert_eq!(s.vgprs[4][lane], bytes(&before, 4 * lane, 4) as u32);
    }
}

#[test]
fn conditional_exchanges() {
    atomic("ds_condxchg32_rtn_b64 v[6:7], v0, v[2:3]", true, |m, x, _| {
        let halves = [0, 32].map(|at| {
            let (old, datum) = (m >> at & 0xffff_ffff, x >> at & 0xffff_ffff);
            if datum < 1 << 31 { old } else { datum - (1 << 31) }
        });
        halves[0] + (halves[1] << 32)
    });
}

#[test]
fn counters_of_active_lanes() {
    for exec in [u64::MAX, 0x00ff_f0f0_1234_8001, 1 << 63, 0] {
        for (text, sign) in [("ds_append v6 offset:8", 1), ("ds_consume v6 offset:8", -1)] {
            let mut s = state(12);
            s.set_pair(126, exec);
            s.scalars[124] = 0x5_0064;
            let before = s.clone();
            s.run(&words(text), &no_memory()).unwrap();
            let old = bytes(&before, 108, 4) as u32;
            let lanes = (0..64).filter(|lane| exec >> lane & 1 == 1).count() as i64;
            assert_eq!(bytes(&s, 108, 4) as u32, (i64::from(old) + sign * lanes) as u32, "{text}");
            for lane in 0..64 {
                let expected = if exec >> lane & 1 == 1 { old } else { before.vgprs[6][lane] };
                assert_eq!(s.vgprs[6][lane], expected, "{text}, lane {lane}");
            }
        }
    }
}

#[test]
fn dwords_of_threads() {
    let exec = 0x00ff_f0f0_1234_8001u64;
    let mut s = state(13);
    s.set_pair(126, exec);
    s.scalars[124] = 0x7_0100;
    let before = s.clone();
    s.run(&words("ds_read_addtid_b32 v6 offset:16; ds_write_addtid_b32 v2 offset:1024"), &no_memory())
        .unwrap();
    let mut lds = before.lds.clone();
    for lane in 0..64 {
        let active = exec >> lane & 1 == 1;
        let loaded = bytes(&before, 256 + 16 + 4 * lane, 4) as u32;
        assert_eq!(s.vgprs[6][lane], if active { loaded } else { before.vgprs[6][lane] }, "lane {lane}");
        if active {
            let at = 256 + 1024 + 4 * lane;
            lds[at..at + 4].copy_from_slice(&before.vgprs[2][lane].to_le_bytes());
        }
    }
    assert!(s.lds == lds);
}

#[test]
fn lds_out_of_bounds_names_the_limit() {
    let mut s = state(9);
    s.vgprs[0] = [SIZE as u32 - 2; 64];
    let problem = s.run(&words("ds_read_b32 v6, v0"), &no_memory()).unwrap_err();
    let Problem::Lds { fault } = problem else { panic!("{problem:?}") };
    assert_eq!(fault.problem, LdsProblem::OutOfBounds { limit: SIZE as u64 });
    assert_eq!((fault.offset, fault.size), (SIZE as u64 - 2, 4));
}
