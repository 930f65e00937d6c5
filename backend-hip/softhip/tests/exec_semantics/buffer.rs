//! Buffer resources: addressing, ranges, atomics, LDS as a destination; and scalar stores and atomics.
//!
//! The formulas are those of the manual's chapter on buffer addressing and range checking, on an array of bytes.

use half::f16;
use softhip::exec::WaveState;
use softhip::memory::{AllocationKind, Checks, Memory};
use softhip::report::Problem;

use crate::bench::{Pool, random_state, words};

const SIZE: usize = 4096;

/// A buffer of noise, and a wave with its resource in `s[20:23]`, offsets or indices in `v0`, offsets in `v1`.
struct World {
    memory: Memory,
    base: u64,
    state: WaveState,
}

impl World {
    fn new(stride: u32, records: u32, word3: u32) -> Self {
        let memory = Memory::new(3, 1 << 30);
        let base = memory.allocate(SIZE as u64, AllocationKind::Device, None).unwrap();
        let noise: Vec<u8> = (0..SIZE).map(|i| (i * 131 % 251) as u8).collect();
        memory.write(base, &noise).unwrap();
        let mut state = random_state(Pool::Bits, 5);
        state.lds = (0..1024u32).map(|i| (i * 7 % 253) as u8).collect();
        state.set_pair(20, base | u64::from(stride) << 48);
        (state.scalars[22], state.scalars[23]) = (records, word3);
        Self { memory, base, state }
    }

    /// A raw buffer of so many bytes.
    fn raw(records: u32) -> Self {
        Self::new(0, records, 0)
    }

    fn set(&mut self, register: usize, f: impl Fn(usize) -> u32) {
        self.state.vgprs[register] = std::array::from_fn(f);
    }

    fn try_run(&mut self, text: &str) -> Result<(), Problem> {
        self.state.run(&words(text), &self.memory.launch(1, Checks::ALL))
    }

    #[track_caller]
    fn run(&mut self, text: &str) {
        self.try_run(text).unwrap_or_else(|problem| panic!("{text}: {problem:?}"));
    }

    fn bytes(&self) -> Vec<u8> {
        let mut out = vec![0; SIZE];
        self.memory.read(self.base, &mut out, true).unwrap();
        out
    }
}

fn dword(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn qword(bytes: &[u8], at: usize) -> u64 {
    u64::from(dword(bytes, at)) | u64::from(dword(bytes, at + 4)) << 32
}

#[test]
fn raw_loads_beyond_the_range_give_zero_dword_by_dword() {
    for records in [0u32, 4, 40, 41, 42, 43, 44, 200, 4096] {
        for (text, count) in [
            ("buffer_load_dword v6, v0, s[20:23], 0 offen offset:8", 1),
            ("buffer_load_dwordx2 v[6:7], v0, s[20:23], 0 offen offset:8", 2),
            ("buffer_load_dwordx3 v[6:8], v0, s[20:23], 0 offen offset:8", 3),
            ("buffer_load_dwordx4 v[6:9], v0, s[20:23], 0 offen offset:8", 4),
        ] {
            let mut world = World::raw(records);
            world.set(0, |lane| 4 * lane as u32);
            let bytes = world.bytes();
            world.run(text);
            for lane in 0..64 {
                for i in 0..count {
                    let at = 8 + 4 * lane + 4 * i;
                    let expected = if at + 4 <= records as usize { dword(&bytes, at) } else { 0 };
                    assert_eq!(
                        world.state.vgprs[6 + i][lane],
                        expected,
                        "{text}, {records}, lane {lane}, {i}"
                    );
                }
            }
        }
    }
}

#[test]
fn huge_offsets_mask_lanes() {
    let mut world = World::raw(SIZE as u32);
    world.set(0, |lane| if lane % 3 == 0 { 0x8000_0000 } else { 4 * lane as u32 });
    let bytes = world.bytes();
    world.run("buffer_load_dword v6, v0, s[20:23], 0 offen");
    world.run("buffer_store_byte v2, v0, s[20:23], 0 offen");
    let after = world.bytes();
    for lane in 0..64 {
        let masked = lane % 3 == 0;
        let expected = if masked { 0 } else { dword(&bytes, 4 * lane) };
        assert_eq!(world.state.vgprs[6][lane], expected, "lane {lane}");
        let expected = if masked { bytes[4 * lane] } else { world.state.vgprs[2][lane] as u8 };
        assert_eq!(after[4 * lane], expected, "lane {lane}");
    }
}

#[test]
fn narrow_loads_beyond_the_range_give_zero_and_keep_the_other_half() {
    let mut world = World::raw(20);
    world.set(0, |lane| lane as u32);
    let (bytes, before) = (world.bytes(), world.state.clone());
    world.run("buffer_load_sbyte v6, v0, s[20:23], 0 offen");
    world.run("buffer_load_short_d16_hi v7, v0, s[20:23], 0 offen");
    for lane in 0..64 {
        let byte = if lane < 20 { i32::from(bytes[lane] as i8) } else { 0 };
        assert_eq!(world.state.vgprs[6][lane] as i32, byte);
        let short = if lane + 2 <= 20 { u32::from(bytes[lane]) | u32::from(bytes[lane + 1]) << 8 } else { 0 };
        assert_eq!(world.state.vgprs[7][lane], short << 16 | before.vgprs[7][lane] & 0xffff);
    }
}

#[test]
fn the_scalar_offset_takes_from_the_range() {
    let mut world = World::raw(100);
    world.set(0, |lane| 4 * lane as u32);
    world.state.scalars[24] = 40;
    let bytes = world.bytes();
    world.run("buffer_load_dword v6, v0, s[20:23], s24 offen");
    for lane in 0..64 {
        let expected = if 40 + 4 * lane + 4 <= 100 { dword(&bytes, 40 + 4 * lane) } else { 0 };
        assert_eq!(world.state.vgprs[6][lane], expected, "lane {lane}");
    }
    // Register and immediate wrap at 32 bits.
    world.state.scalars[24] = 0;
    world.set(0, |lane| (4 * lane as u32).wrapping_sub(8));
    world.run("buffer_load_dword v6, v0, s[20:23], s24 offen offset:8");
    for lane in 0..64 {
        let expected = if 4 * lane + 4 <= 100 { dword(&bytes, 4 * lane) } else { 0 };
        assert_eq!(world.state.vgprs[6][lane], expected, "lane {lane}");
    }
    // More than the range: nothing is in it.
    world.state.scalars[24] = 104;
    world.run("buffer_load_dword v6, v0, s[20:23], s24 offen");
    assert_eq!(world.state.vgprs[6], [0; 64]);
}

#[test]
fn a_stride_without_an_index_checks_bytes() {
    // 16 bytes to the record, range 64: 64 bytes without idxen, 64 records with.
    let mut world = World::new(16, 64, 0);
    world.set(0, |lane| 4 * lane as u32);
    let bytes = world.bytes();
    world.run("buffer_load_dword v6, v0, s[20:23], 0 offen");
    for lane in 0..64 {
        let expected = if 4 * lane + 4 <= 64 { dword(&bytes, 4 * lane) } else { 0 };
        assert_eq!(world.state.vgprs[6][lane], expected, "lane {lane}");
    }
}

#[test]
fn an_index_is_checked_against_the_records() {
    let mut world = World::new(16, 40, 0);
    world.set(0, |lane| lane as u32);
    world.set(1, |lane| 4 * (lane as u32 % 4));
    let bytes = world.bytes();
    world.run("buffer_load_dword v6, v0, s[20:23], 0 idxen offset:4");
    world.run("buffer_load_dword v7, v[0:1], s[20:23], 0 idxen offen");
    for lane in 0..64 {
        let inside = |at| if lane < 40 { dword(&bytes, at) } else { 0 };
        assert_eq!(world.state.vgprs[6][lane], inside(16 * lane + 4), "lane {lane}");
        assert_eq!(world.state.vgprs[7][lane], inside(16 * lane + 4 * (lane % 4)), "lane {lane}");
    }
}

#[test]
fn swizzled_records_stand_side_by_side() {
    // Stride 16, 8 records side by side: dword `d` of record `r` at (r/8 * 4 + d) * 32 + r%8 * 4.
    let mut world = World::new(16 | 0x8000, 48, 0);
    world.set(0, |lane| lane as u32);
    let bytes = world.bytes();
    world.run("buffer_load_dword v6, v0, s[20:23], 0 idxen offset:8");
    for lane in 0..64 {
        let at = (lane / 8 * 4 + 2) * 32 + lane % 8 * 4;
        let expected = if lane < 48 { dword(&bytes, at) } else { 0 };
        assert_eq!(world.state.vgprs[6][lane], expected, "lane {lane}");
    }
    // The lane's number as the index.
    let mut world = World::new(8, 512, 1 << 23);
    let bytes = world.bytes();
    world.run("buffer_load_dword v6, off, s[20:23], 0 offset:4");
    for lane in 0..64 {
        assert_eq!(world.state.vgprs[6][lane], dword(&bytes, 8 * lane + 4), "lane {lane}");
    }
}

#[test]
fn stores_beyond_the_range_are_dropped_dword_by_dword() {
    let mut world = World::raw(1010);
    world.set(0, |lane| 16 * lane as u32);
    let mut expected = world.bytes();
    world.run("buffer_store_dwordx4 v[2:5], v0, s[20:23], 0 offen");
    for lane in 0..64 {
        for i in 0..4 {
            let at = 16 * lane + 4 * i;
            if at + 4 <= 1010 {
                expected[at..at + 4].copy_from_slice(&world.state.vgprs[2 + i][lane].to_le_bytes());
            }
        }
    }
    assert_eq!(world.bytes(), expected);
}

#[test]
fn what_is_in_range_and_outside_the_memory_is_a_fault() {
    let mut world = World::raw(2 * SIZE as u32);
    world.set(0, |lane| SIZE as u32 - 4 * 63 + 4 * lane as u32);
    assert!(world.try_run("buffer_load_dword v6, v0, s[20:23], 0 offen").is_err());
    assert!(world.try_run("buffer_atomic_add v2, v0, s[20:23], 0 offen").is_err());
    assert!(world.try_run("buffer_store_dword v2, v0, s[20:23], 0 offen").is_err());
}

/// An atomic on dwords: 50 lanes are in range, each on its own dword.
fn atomic32(text: &str, returns: bool, f: impl Fn(u32, [u32; 2]) -> u32) {
    let mut world = World::raw(200);
    world.set(0, |lane| 4 * lane as u32);
    let before = world.state.clone();
    let mut expected = world.bytes();
    world.run(text);
    for lane in 0..64 {
        let old = dword(&expected, 4 * lane);
        let inside = lane < 50;
        let data = [before.vgprs[6][lane], before.vgprs[7][lane]];
        if inside {
            expected[4 * lane..4 * lane + 4].copy_from_slice(&f(old, data).to_le_bytes());
        }
        let left = match (returns, inside) {
            (false, _) => data[0],
            (true, true) => old,
            (true, false) => 0,
        };
        assert_eq!(world.state.vgprs[6][lane], left, "{text}, lane {lane}");
    }
    assert_eq!(world.bytes(), expected, "{text}");
}

fn atomic64(text: &str, f: impl Fn(u64, [u64; 2]) -> u64) {
    let mut world = World::raw(400);
    world.set(0, |lane| 8 * lane as u32);
    let before = world.state.clone();
    let pair = |at: usize, lane: usize| {
        u64::from(before.vgprs[at][lane]) | u64::from(before.vgprs[at + 1][lane]) << 32
    };
    let mut expected = world.bytes();
    world.run(text);
    for lane in 0..64 {
        let old = qword(&expected, 8 * lane);
        if lane < 50 {
            let new = f(old, [pair(6, lane), pair(8, lane)]);
            expected[8 * lane..8 * lane + 8].copy_from_slice(&new.to_le_bytes());
        }
        let left = if lane < 50 { old } else { 0 };
        let got = u64::from(world.state.vgprs[6][lane]) | u64::from(world.state.vgprs[7][lane]) << 32;
        assert_eq!(got, left, "{text}, lane {lane}");
    }
    assert_eq!(world.bytes(), expected, "{text}");
}

#[test]
fn atomics() {
    atomic32("buffer_atomic_swap v6, v0, s[20:23], 0 offen sc0", true, |_, [x, _]| x);
    atomic32("buffer_atomic_add v6, v0, s[20:23], 0 offen", false, |old, [x, _]| old.wrapping_add(x));
    atomic32("buffer_atomic_sub v6, v0, s[20:23], 0 offen sc0", true, |old, [x, _]| old.wrapping_sub(x));
    atomic32("buffer_atomic_smin v6, v0, s[20:23], 0 offen", false, |old, [x, _]| {
        (old as i32).min(x as i32) as u32
    });
    atomic32("buffer_atomic_umin v6, v0, s[20:23], 0 offen", false, |old, [x, _]| old.min(x));
    atomic32("buffer_atomic_smax v6, v0, s[20:23], 0 offen", false, |old, [x, _]| {
        (old as i32).max(x as i32) as u32
    });
    atomic32("buffer_atomic_umax v6, v0, s[20:23], 0 offen", false, |old, [x, _]| old.max(x));
    atomic32("buffer_atomic_and v6, v0, s[20:23], 0 offen", false, |old, [x, _]| old & x);
    atomic32("buffer_atomic_or v6, v0, s[20:23], 0 offen", false, |old, [x, _]| old | x);
    atomic32("buffer_atomic_xor v6, v0, s[20:23], 0 offen", false, |old, [x, _]| old ^ x);
    atomic32(
        "buffer_atomic_inc v6, v0, s[20:23], 0 offen",
        false,
        |old, [x, _]| {
            if old >= x { 0 } else { old + 1 }
        },
    );
    atomic32("buffer_atomic_dec v6, v0, s[20:23], 0 offen", false, |old, [x, _]| {
        if old == 0 || old > x { x } else { old - 1 }
    });
    atomic32("buffer_atomic_cmpswap v[6:7], v0, s[20:23], 0 offen sc0", true, |old, [x, compare]| {
        if old == compare { x } else { old }
    });
    atomic64("buffer_atomic_swap_x2 v[6:7], v0, s[20:23], 0 offen sc0", |_, [x, _]| x);
    atomic64("buffer_atomic_add_x2 v[6:7], v0, s[20:23], 0 offen sc0", |old, [x, _]| old.wrapping_add(x));
    atomic64("buffer_atomic_sub_x2 v[6:7], v0, s[20:23], 0 offen sc0", |old, [x, _]| old.wrapping_sub(x));
    atomic64("buffer_atomic_smin_x2 v[6:7], v0, s[20:23], 0 offen sc0", |old, [x, _]| {
        (old as i64).min(x as i64) as u64
    });
    atomic64("buffer_atomic_umin_x2 v[6:7], v0, s[20:23], 0 offen sc0", |old, [x, _]| old.min(x));
    atomic64("buffer_atomic_smax_x2 v[6:7], v0, s[20:23], 0 offen sc0", |old, [x, _]| {
        (old as i64).max(x as i64) as u64
    });
    atomic64("buffer_atomic_umax_x2 v[6:7], v0, s[20:23], 0 offen sc0", |old, [x, _]| old.max(x));
    atomic64("buffer_atomic_and_x2 v[6:7], v0, s[20:23], 0 offen sc0", |old, [x, _]| old & x);
    atomic64("buffer_atomic_or_x2 v[6:7], v0, s[20:23], 0 offen sc0", |old, [x, _]| old | x);
    atomic64("buffer_atomic_xor_x2 v[6:7], v0, s[20:23], 0 offen sc0", |old, [x, _]| old ^ x);
    atomic64(
        "buffer_atomic_inc_x2 v[6:7], v0, s[20:23], 0 offen sc0",
        |old, [x, _]| {
            if old >= x { 0 } else { old + 1 }
        },
    );
    atomic64("buffer_atomic_dec_x2 v[6:7], v0, s[20:23], 0 offen sc0", |old, [x, _]| {
        if old == 0 || old > x { x } else { old - 1 }
    });
    atomic64("buffer_atomic_cmpswap_x2 v[6:9], v0, s[20:23], 0 offen sc0", |old, [x, compare]| {
        if old == compare { x } else { old }
    });
}

/// Puts finite numbers into memory and registers first.
fn float_atomic(text: &str, bytes: usize, fill: u64, f: impl Fn(u64, u64) -> u64) {
    let mut world = World::raw(50 * bytes as u32);
    world.set(0, |lane| (bytes * lane) as u32);
    let content: Vec<u8> = (0..SIZE / bytes)
        .flat_map(|i| fill.wrapping_add((i as u64) << 7).to_le_bytes()[..bytes].to_vec())
        .collect();
    world.memory.write(world.base, &content).unwrap();
    let data = |lane: usize| (fill ^ 0x20).wrapping_sub((lane as u64) << 6);
    world.set(6, |lane| data(lane) as u32);
    world.set(7, |lane| (data(lane) >> 32) as u32);
    let mut expected = world.bytes();
    world.run(text);
    for lane in 0..50 {
        let at = bytes * lane;
        let mut old = [0; 8];
        old[..bytes].copy_from_slice(&expected[at..at + bytes]);
        let new = f(u64::from_le_bytes(old), data(lane));
        expected[at..at + bytes].copy_from_slice(&new.to_le_bytes()[..bytes]);
    }
    assert_eq!(world.bytes(), expected, "{text}");
}

#[test]
fn float_atomics() {
    float_atomic("buffer_atomic_add_f32 v6, v0, s[20:23], 0 offen", 4, 0x3fc0_1000, |old, x| {
        (f32::from_bits(old as u32) + f32::from_bits(x as u32)).to_bits().into()
    });
    float_atomic("buffer_atomic_pk_add_f16 v6, v0, s[20:23], 0 offen", 4, 0x3c00_3e00, |old, x| {
        let sum = |shift: u32| {
            let part = |word: u64| f16::from_bits((word >> shift) as u16).to_f64();
            u64::from(f16::from_f64(part(old) + part(x)).to_bits()) << shift
        };
        sum(0) | sum(16)
    });
    let double = 0x4000_1000_0000_0000;
    float_atomic("buffer_atomic_add_f64 v[6:7], v0, s[20:23], 0 offen", 8, double, |old, x| {
        (f64::from_bits(old) + f64::from_bits(x)).to_bits()
    });
    float_atomic("buffer_atomic_min_f64 v[6:7], v0, s[20:23], 0 offen", 8, double, |old, x| {
        f64::from_bits(old).min(f64::from_bits(x)).to_bits()
    });
    float_atomic("buffer_atomic_max_f64 v[6:7], v0, s[20:23], 0 offen", 8, double, |old, x| {
        f64::from_bits(old).max(f64::from_bits(x)).to_bits()
    });
}

#[test]
fn lds_as_destination_and_source() {
    let mut world = World::raw(200);
    world.set(0, |lane| 4 * lane as u32);
    world.state.scalars[124] = 64;
    let (bytes, before) = (world.bytes(), world.state.clone());
    world.run("buffer_load_dword v0, s[20:23], 0 offen lds");
    for lane in 0..64 {
        let expected = if lane < 50 { dword(&bytes, 4 * lane) } else { 0 };
        assert_eq!(dword(&world.state.lds, 64 + 4 * lane), expected, "lane {lane}");
    }
    assert_eq!(world.state.vgprs, before.vgprs);
    let mut world = World::new(4, 200, 1 << 23);
    world.state.scalars[124] = 32;
    let mut expected = world.bytes();
    let lds = world.state.lds.clone();
    world.run("buffer_store_lds_dword s[20:23], 0 offset:8 lds");
    for lane in 0..64 {
        let at = 8 + 4 * lane;
        // Nothing is checked where the lane's number is added.
        expected[at..at + 4].copy_from_slice(&lds[40 + 4 * lane..44 + 4 * lane]);
    }
    assert_eq!(world.bytes(), expected);
}

#[test]
fn scalar_stores() {
    let mut world = World::raw(24);
    let s = |world: &World, i: usize| world.state.scalars[24 + i].to_le_bytes();
    let mut expected = world.bytes();
    world.run("s_store_dword s24, s[20:21], 0x64");
    world.run("s_store_dwordx2 s[24:25], s[20:21], 0xc8");
    world.run("s_store_dwordx4 s[24:27], s[20:21], 0x12c");
    for (at, count) in [(100, 1), (200, 2), (300, 4)] {
        (0..count).for_each(|i| expected[at + 4 * i..at + 4 * i + 4].copy_from_slice(&s(&world, i)));
    }
    assert_eq!(world.bytes(), expected);
    // Through a resource of 24 bytes: what is beyond is dropped.
    world.run("s_buffer_store_dword s24, s[20:23], 0x0");
    world.run("s_buffer_store_dwordx2 s[26:27], s[20:23], 0x8");
    world.run("s_buffer_store_dwordx4 s[24:27], s[20:23], 0x10");
    expected[0..4].copy_from_slice(&s(&world, 0));
    (0..2).for_each(|i| expected[8 + 4 * i..12 + 4 * i].copy_from_slice(&s(&world, 2 + i)));
    (0..2).for_each(|i| expected[16 + 4 * i..20 + 4 * i].copy_from_slice(&s(&world, i)));
    assert_eq!(world.bytes(), expected);
    world.run("s_buffer_load_dwordx4 s[24:27], s[20:23], 0x10");
    assert_eq!(world.state.scalars[24..28], [dword(&expected, 16), dword(&expected, 20), 0, 0]);
    assert!(world.try_run("s_store_dword s24, s[20:21], 0x1000").is_err());
}

/// Reads and writes as a lane would.
fn scalar_atomic(text: &str, wide: bool, f: impl Fn(u64, [u64; 2]) -> u64) {
    let mut world = World::raw(64);
    let before = world.state.clone();
    let mut expected = world.bytes();
    world.run(text);
    let bytes = if wide { 8 } else { 4 };
    let value = |i: usize| if wide { before.pair(24 + 2 * i as u8) } else { before.scalars[24 + i].into() };
    let old = if wide { qword(&expected, 16) } else { dword(&expected, 16).into() };
    let new = f(old, [value(0), value(1)]);
    expected[16..16 + bytes].copy_from_slice(&new.to_le_bytes()[..bytes]);
    assert_eq!(world.bytes(), expected, "{text}");
    let got = if wide { world.state.pair(24) } else { world.state.scalars[24].into() };
    assert_eq!(got, if text.ends_with("glc") { old } else { value(0) }, "{text}");
}

#[test]
fn scalar_atomics() {
    let low = |x: u64| x & 0xffff_ffff;
    let s32 = |x: u64| x as u32 as i32;
    scalar_atomic("s_atomic_swap s24, s[20:21], 0x10 glc", false, |_, [x, _]| x);
    scalar_atomic(
        "s_atomic_cmpswap s[24:25], s[20:21], 0x10 glc",
        false,
        |old, [x, c]| if old == c { x } else { old },
    );
    scalar_atomic("s_atomic_add s24, s[20:21], 0x10", false, |old, [x, _]| low(old.wrapping_add(x)));
    scalar_atomic("s_atomic_sub s24, s[20:21], 0x10 glc", false, |old, [x, _]| low(old.wrapping_sub(x)));
    scalar_atomic("s_atomic_smin s24, s[20:21], 0x10", false, |old, [x, _]| low(s32(old).min(s32(x)) as u64));
    scalar_atomic("s_atomic_umin s24, s[20:21], 0x10", false, |old, [x, _]| old.min(x));
    scalar_atomic("s_atomic_smax s24, s[20:21], 0x10", false, |old, [x, _]| low(s32(old).max(s32(x)) as u64));
    scalar_atomic("s_atomic_umax s24, s[20:21], 0x10", false, |old, [x, _]| old.max(x));
    scalar_atomic("s_atomic_and s24, s[20:21], 0x10", false, |old, [x, _]| old & x);
    scalar_atomic("s_atomic_or s24, s[20:21], 0x10", false, |old, [x, _]| old | x);
    scalar_atomic("s_atomic_xor s24, s[20:21], 0x10", false, |old, [x, _]| old ^ x);
    scalar_atomic(
        "s_atomic_inc s24, s[20:21], 0x10 glc",
        false,
        |old, [x, _]| if old >= x { 0 } else { old + 1 },
    );
    scalar_atomic("s_atomic_dec s24, s[20:21], 0x10 glc", false, |old, [x, _]| {
        if old == 0 || old > x { x } else { old - 1 }
    });
    scalar_atomic("s_atomic_swap_x2 s[24:25], s[20:21], 0x10 glc", true, |_, [x, _]| x);
    scalar_atomic(
        "s_atomic_cmpswap_x2 s[24:27], s[20:21], 0x10 glc",
        true,
        |old, [x, c]| if old == c { x } else { old },
    );
    scalar_atomic("s_atomic_add_x2 s[24:25], s[20:21], 0x10 glc", true, |old, [x, _]| old.wrapping_add(x));
    scalar_atomic("s_atomic_sub_x2 s[24:25], s[20:21], 0x10", true, |old, [x, _]| old.wrapping_sub(x));
    scalar_atomic("s_atomic_smin_x2 s[24:25], s[20:21], 0x10", true, |old, [x, _]| {
        (old as i64).min(x as i64) as u64
    });
    scalar_atomic("s_atomic_umin_x2 s[24:25], s[20:21], 0x10", true, |old, [x, _]| old.min(x));
    scalar_atomic("s_atomic_smax_x2 s[24:25], s[20:21], 0x10", true, |old, [x, _]| {
        (old as i64).max(x as i64) as u64
    });
    scalar_atomic("s_atomic_umax_x2 s[24:25], s[20:21], 0x10", true, |old, [x, _]| old.max(x));
    scalar_atomic("s_atomic_and_x2 s[24:25], s[20:21], 0x10", true, |old, [x, _]| old & x);
    scalar_atomic("s_atomic_or_x2 s[24:25], s[20:21], 0x10", true, |old, [x, _]| old | x);
    scalar_atomic("s_atomic_xor_x2 s[24:25], s[20:21], 0x10", true, |old, [x, _]| old ^ x);
    scalar_atomic(
        "s_atomic_inc_x2 s[24:25], s[20:21], 0x10",
        true,
        |old, [x, _]| if old >= x { 0 } else { old + 1 },
    );
    scalar_atomic("s_atomic_dec_x2 s[24:25], s[20:21], 0x10", true, |old, [x, _]| {
        if old == 0 || old > x { x } else { old - 1 }
    });
}

#[test]
fn scalar_buffer_atomics() {
    let low = |x: u64| x & 0xffff_ffff;
    let s32 = |x: u64| x as u32 as i32;
    scalar_atomic("s_buffer_atomic_swap s24, s[20:23], 0x10 glc", false, |_, [x, _]| x);
    scalar_atomic("s_buffer_atomic_cmpswap s[24:25], s[20:23], 0x10 glc", false, |old, [x, c]| {
        if old == c { x } else { old }
    });
    scalar_atomic("s_buffer_atomic_add s24, s[20:23], 0x10", false, |old, [x, _]| low(old.wrapping_add(x)));
    scalar_atomic("s_buffer_atomic_sub s24, s[20:23], 0x10 glc", false, |old, [x, _]| {
        low(old.wrapping_sub(x))
    });
    scalar_atomic("s_buffer_atomic_smin s24, s[20:23], 0x10", false, |old, [x, _]| {
        low(s32(old).min(s32(x)) as u64)
    });
    scalar_atomic("s_buffer_atomic_umin s24, s[20:23], 0x10", false, |old, [x, _]| old.min(x));
    scalar_atomic("s_buffer_atomic_smax s24, s[20:23], 0x10", false, |old, [x, _]| {
        low(s32(old).max(s32(x)) as u64)
    });
    scalar_atomic("s_buffer_atomic_umax s24, s[20:23], 0x10", false, |old, [x, _]| old.max(x));
    scalar_atomic("s_buffer_atomic_and s24, s[20:23], 0x10", false, |old, [x, _]| old & x);
    scalar_atomic("s_buffer_atomic_or s24, s[20:23], 0x10", false, |old, [x, _]| old | x);
    scalar_atomic("s_buffer_atomic_xor s24, s[20:23], 0x10", false, |old, [x, _]| old ^ x);
    scalar_atomic(
        "s_buffer_atomic_inc s24, s[20:23], 0x10",
        false,
        |old, [x, _]| if old >= x { 0 } else { old + 1 },
    );
    scalar_atomic("s_buffer_atomic_dec s24, s[20:23], 0x10", false, |old, [x, _]| {
        if old == 0 || old > x { x } else { old - 1 }
    });
    scalar_atomic("s_buffer_atomic_swap_x2 s[24:25], s[20:23], 0x10 glc", true, |_, [x, _]| x);
    scalar_atomic("s_buffer_atomic_cmpswap_x2 s[24:27], s[20:23], 0x10 glc", true, |old, [x, c]| {
        if old == c { x } else { old }
    });
    scalar_atomic("s_buffer_atomic_add_x2 s[24:25], s[20:23], 0x10", true, |old, [x, _]| old.wrapping_add(x));
    scalar_atomic("s_buffer_atomic_sub_x2 s[24:25], s[20:23], 0x10", true, |old, [x, _]| old.wrapping_sub(x));
    scalar_atomic("s_buffer_atomic_smin_x2 s[24:25], s[20:23], 0x10", true, |old, [x, _]| {
        (old as i64).min(x as i64) as u64
    });
    scalar_atomic("s_buffer_atomic_umin_x2 s[24:25], s[20:23], 0x10", true, |old, [x, _]| old.min(x));
    scalar_atomic("s_buffer_atomic_smax_x2 s[24:25], s[20:23], 0x10", true, |old, [x, _]| {
        (old as i64).max(x as i64) as u64
    });
    scalar_atomic("s_buffer_atomic_umax_x2 s[24:25], s[20:23], 0x10", true, |old, [x, _]| old.max(x));
    scalar_atomic("s_buffer_atomic_and_x2 s[24:25], s[20:23], 0x10", true, |old, [x, _]| old & x);
    scalar_atomic("s_buffer_atomic_or_x2 s[24:25], s[20:23], 0x10", true, |old, [x, _]| old | x);
    scalar_atomic("s_buffer_atomic_xor_x2 s[24:25], s[20:23], 0x10", true, |old, [x, _]| old ^ x);
    scalar_atomic("s_buffer_atomic_inc_x2 s[24:25], s[20:23], 0x10", true, |old, [x, _]| {
        if old >= x { 0 } else { old + 1 }
    });
    scalar_atomic("s_buffer_atomic_dec_x2 s[24:25], s[20:23], 0x10", true, |old, [x, _]| {
        if old == 0 || old > x { x } else { old - 1 }
    });
}

/// What becomes of a register, from what was loaded and what it held.
type Placement<'a> = &'a dyn Fn(u32, u32) -> u32;

#[test]
fn narrow_loads_through_a_resource() {
    let low = |x: u32, old: u32| old & 0xffff_0000 | x & 0xffff;
    let high = |x: u32, old: u32| old & 0xffff | x << 16;
    let cases: [(&str, usize, Placement<'_>); 8] = [
        ("buffer_load_ubyte v6, v0, s[20:23], 0 offen", 1, &|x, _| x),
        ("buffer_load_ushort v6, v0, s[20:23], 0 offen", 2, &|x, _| x),
        ("buffer_load_sshort v6, v0, s[20:23], 0 offen", 2, &|x, _| x as i16 as u32),
        ("buffer_load_ubyte_d16 v6, v0, s[20:23], 0 offen", 1, &low),
        ("buffer_load_ubyte_d16_hi v6, v0, s[20:23], 0 offen", 1, &high),
        ("buffer_load_sbyte_d16 v6, v0, s[20:23], 0 offen", 1, &|x, old| low(x as i8 as u32, old)),
        ("buffer_load_sbyte_d16_hi v6, v0, s[20:23], 0 offen", 1, &|x, old| high(x as i8 as u32, old)),
        ("buffer_load_short_d16 v6, v0, s[20:23], 0 offen", 2, &low),
    ];
    for (text, count, place) in cases {
        let mut world = World::raw(SIZE as u32);
        world.set(0, |lane| 6 * lane as u32);
        let (bytes, before) = (world.bytes(), world.state.clone());
        world.run(text);
        for lane in 0..64 {
            let loaded = (0..count).fold(0, |x, i| x | u32::from(bytes[6 * lane + i]) << (8 * i));
            assert_eq!(
                world.state.vgprs[6][lane],
                place(loaded, before.vgprs[6][lane]),
                "{text}, lane {lane}"
            );
        }
    }
}

#[test]
fn stores_through_a_resource() {
    let cases: [(&str, usize, u32); 5] = [
        ("buffer_store_byte_d16_hi v2, v0, s[20:23], 0 offen", 1, 16),
        ("buffer_store_short v2, v0, s[20:23], 0 offen", 2, 0),
        ("buffer_store_short_d16_hi v2, v0, s[20:23], 0 offen", 2, 16),
        ("buffer_store_dwordx2 v[2:3], v0, s[20:23], 0 offen", 8, 0),
        ("buffer_store_dwordx3 v[2:4], v0, s[20:23], 0 offen", 12, 0),
    ];
    for (text, count, shift) in cases {
        let mut world = World::raw(SIZE as u32);
        world.set(0, |lane| 16 * lane as u32);
        let mut expected = world.bytes();
        for lane in 0..64 {
            for i in 0..count {
                let word = world.state.vgprs[2 + i / 4][lane] >> shift;
                expected[16 * lane + i] = word.to_le_bytes()[i % 4];
            }
        }
        world.run(text);
        assert!(world.bytes() == expected, "{text}");
    }
}

#[test]
fn scalar_loads_through_a_resource() {
    for (text, count) in [
        ("s_buffer_load_dword s32, s[20:23], 0x20", 1),
        ("s_buffer_load_dwordx2 s[32:33], s[20:23], 0x20", 2),
        ("s_buffer_load_dwordx8 s[32:39], s[20:23], 0x20", 8),
        ("s_buffer_load_dwordx16 s[32:47], s[20:23], 0x20", 16),
    ] {
        let mut world = World::raw(SIZE as u32);
        let bytes = world.bytes();
        world.run(text);
        for i in 0..count {
            assert_eq!(world.state.scalars[32 + i], dword(&bytes, 0x20 + 4 * i), "{text}, {i}");
        }
    }
}
