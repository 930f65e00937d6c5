//! Global, flat, private and scalar memory.

use softhip::exec::WaveState;
use softhip::memory::{AllocationKind, Checks, FaultKind, Memory};
use softhip::report::{LdsProblem, Problem, Segment};

use crate::bench::{Pool, random_state, words};

const SIZE: usize = 4096;

/// A device with one buffer of noise, and a wave whose `v[0:1]` (and `s[20:21]` with offsets in `v2`) point into it:
/// lane `l` at `16 · (37 l mod 64)`.
struct World {
    memory: Memory,
    base: u64,
    state: WaveState,
}

impl World {
    fn new() -> Self {
        let memory = Memory::new(3, 1 << 30);
        let base = memory.allocate(SIZE as u64, AllocationKind::Device, None).unwrap();
        let noise: Vec<u8> = (0..SIZE).map(|i| (i * 131 % 251) as u8).collect();
        memory.write(base, &noise).unwrap();
        let mut state = random_state(Pool::Bits, 1);
        state.set_pair(20, base);
        for lane in 0..64 {
            let address = base + Self::offset(lane) as u64;
            (state.vgprs[0][lane], state.vgprs[1][lane]) = (address as u32, (address >> 32) as u32);
            state.vgprs[2][lane] = Self::offset(lane) as u32;
        }
        Self { memory, base, state }
    }

    fn offset(lane: usize) -> usize {
        16 * (lane * 37 % 64)
    }

    fn run(&mut self, text: &str) -> Result<(), Problem> {
        self.state.run(&words(text), &self.memory.launch(1, Checks::ALL))
    }

    fn bytes(&self) -> Vec<u8> {
        let mut out = vec![0; SIZE];
        self.memory.read(self.base, &mut out, true).unwrap();
        out
    }
}

fn word(bytes: &[u8], at: usize, count: usize) -> u32 {
    (0..count).fold(0, |value, i| value | u32::from(bytes[at + i]) << (8 * i))
}

const PATTERNS: [u64; 3] = [u64::MAX, 0x8000_0000_0000_0001, 0x0f0f_aaaa_1234_ffff];

fn load(text: &str, offset: usize, count: usize, place: impl Fn(u32, u32) -> u32) {
    for exec in PATTERNS {
        let mut world = World::new();
        world.state.set_pair(126, exec);
        let (before, bytes) = (world.state.clone(), world.bytes());
        world.run(text).unwrap();
        for lane in 0..64 {
            for i in 0..count.div_ceil(4) {
                let loaded = word(&bytes, World::offset(lane) + offset + 4 * i, count.min(4));
                let old = before.vgprs[6 + i][lane];
                let expected = if (exec >> lane) & 1 == 1 { place(loaded, old) } else { old };
                assert_eq!(world.state.vgprs[6 + i][lane], expected, "{text}, lane {lane}");
            }
        }
    }
}

#[test]
fn loads() {
    let whole = |x, _| x;
    load("global_load_dword v6, v[0:1], off", 0, 4, whole);
    load("global_load_dwordx2 v[6:7], v[0:1], off offset:3", 3, 8, whole);
    load("global_load_dwordx3 v[6:8], v[0:1], off", 0, 12, whole);
    load("global_load_dwordx4 v[6:9], v2, s[20:21] offset:32", 32, 16, whole);
    load("global_load_ubyte v6, v[0:1], off offset:1", 1, 1, whole);
    load("global_load_sbyte v6, v[0:1], off", 0, 1, |x, _| x as i8 as u32);
    load("global_load_ushort v6, v[0:1], off offset:7", 7, 2, whole);
    load("global_load_sshort v6, v[0:1], off", 0, 2, |x, _| x as i16 as u32);
    let low = |x: u32, old: u32| old & 0xffff_0000 | x & 0xffff;
    let high = |x: u32, old: u32| old & 0xffff | x << 16;
    load("global_load_short_d16 v6, v[0:1], off", 0, 2, low);
    load("global_load_short_d16_hi v6, v[0:1], off", 0, 2, high);
    load("global_load_ubyte_d16 v6, v[0:1], off", 0, 1, low);
    load("global_load_ubyte_d16_hi v6, v[0:1], off", 0, 1, high);
    load("global_load_sbyte_d16 v6, v[0:1], off", 0, 1, move |x, old| low(x as i8 as u32, old));
    load("global_load_sbyte_d16_hi v6, v[0:1], off", 0, 1, move |x, old| high(x as i8 as u32, old));
    load("flat_load_dword v6, v[0:1] offset:8", 8, 4, whole);
    load("flat_load_dwordx2 v[6:7], v[0:1]", 0, 8, whole);
    load("flat_load_dwordx3 v[6:8], v[0:1]", 0, 12, whole);
    load("flat_load_dwordx4 v[6:9], v[0:1]", 0, 16, whole);
    load("flat_load_ubyte v6, v[0:1]", 0, 1, whole);
    load("flat_load_sbyte v6, v[0:1]", 0, 1, |x, _| x as i8 as u32);
    load("flat_load_ushort v6, v[0:1]", 0, 2, whole);
    load("flat_load_sshort v6, v[0:1]", 0, 2, |x, _| x as i16 as u32);
    load("flat_load_short_d16 v6, v[0:1]", 0, 2, low);
    load("flat_load_short_d16_hi v6, v[0:1]", 0, 2, high);
    load("flat_load_ubyte_d16 v6, v[0:1]", 0, 1, low);
    load("flat_load_ubyte_d16_hi v6, v[0:1]", 0, 1, high);
    load("flat_load_sbyte_d16 v6, v[0:1]", 0, 1, move |x, old| low(x as i8 as u32, old));
    load("flat_load_sbyte_d16_hi v6, v[0:1]", 0, 1, move |x, old| high(x as i8 as u32, old));
}

fn store(text: &str, count: usize, parts: &[(usize, usize, u32)]) {
    for exec in PATTERNS {
        let mut world = World::new();
        world.state.set_pair(126, exec);
        let mut expected = world.bytes();
        for lane in (0..64).filter(|lane| (exec >> lane) & 1 == 1) {
            for &(offset, register, shift) in parts {
                let at = World::offset(lane) + offset;
                let value = (world.state.vgprs[register][lane] >> shift).to_le_bytes();
                expected[at..at + count].copy_from_slice(&value[..count]);
            }
        }
        world.run(text).unwrap();
        assert!(world.bytes() == expected, "{text}, EXEC {exec:#x}");
    }
}

#[test]
fn stores() {
    store("global_store_dword v[0:1], v4, off", 4, &[(0, 4, 0)]);
    store("global_store_dwordx2 v2, v[4:5], s[20:21] offset:1", 4, &[(1, 4, 0), (5, 5, 0)]);
    store("global_store_dwordx3 v[0:1], v[4:6], off", 4, &[(0, 4, 0), (4, 5, 0), (8, 6, 0)]);
    store("global_store_dwordx4 v[0:1], v[4:7], off", 4, &[(0, 4, 0), (4, 5, 0), (8, 6, 0), (12, 7, 0)]);
    store("global_store_byte v[0:1], v4, off offset:3", 1, &[(3, 4, 0)]);
    store("global_store_short v[0:1], v4, off offset:3", 2, &[(3, 4, 0)]);
    store("global_store_byte_d16_hi v[0:1], v4, off", 1, &[(0, 4, 16)]);
    store("global_store_short_d16_hi v[0:1], v4, off", 2, &[(0, 4, 16)]);
    store("flat_store_dword v[0:1], v4", 4, &[(0, 4, 0)]);
    store("flat_store_dwordx2 v[0:1], v[4:5]", 4, &[(0, 4, 0), (4, 5, 0)]);
    store("flat_store_dwordx3 v[0:1], v[4:6]", 4, &[(0, 4, 0), (4, 5, 0), (8, 6, 0)]);
    store("flat_store_dwordx4 v[0:1], v[4:7]", 4, &[(0, 4, 0), (4, 5, 0), (8, 6, 0), (12, 7, 0)]);
    store("flat_store_byte v[0:1], v4", 1, &[(0, 4, 0)]);
    store("flat_store_short v[0:1], v4", 2, &[(0, 4, 0)]);
    store("flat_store_byte_d16_hi v[0:1], v4", 1, &[(0, 4, 16)]);
    store("flat_store_short_d16_hi v[0:1], v4", 2, &[(0, 4, 16)]);
}

/// Checks an atomic of 32 or 64 bits: `f(old, data, second datum)`.
fn atomic(text: &str, wide: bool, f: impl Fn(u64, u64, u64) -> u64) {
    let exec = 0x7fff_0000_ffff_0f0f;
    let mut world = World::new();
    world.state.set_pair(126, exec);
    let step = if wide { 2 } else { 1 };
    for lane in (0..64).step_by(3) {
        // Some lanes find their own second datum in memory.
        let at = world.base + World::offset(lane) as u64;
        for i in 0..step {
            let value = world.state.vgprs[4 + step + i][lane].to_le_bytes();
            world.memory.write(at + 4 * i as u64, &value).unwrap();
        }
    }
    let (before, bytes) = (world.state.clone(), world.bytes());
    world.run(text).unwrap();
    let after = world.bytes();
    let get = |bytes: &[u8], at: usize| {
        u64::from(word(bytes, at, 4)) | if wide { u64::from(word(bytes, at + 4, 4)) << 32 } else { 0 }
    };
    for lane in 0..64 {
        let at = World::offset(lane);
        let active = (exec >> lane) & 1 == 1;
        let register = |r: usize| u64::from(before.vgprs[r][lane]);
        let datum =
            |i: usize| if wide { register(4 + 2 * i) | register(5 + 2 * i) << 32 } else { register(4 + i) };
        let old = get(&bytes, at);
        let mask = if wide { u64::MAX } else { 0xffff_ffff };
        let expected = if active { f(old, datum(0), datum(1)) & mask } else { old };
        assert_eq!(get(&after, at), expected, "{text}, lane {lane}");
        let returned = if text.contains("sc0") && active { old as u32 } else { before.vgprs[8][lane] };
        assert_eq!(world.state.vgprs[8][lane], returned, "{text}, lane {lane}");
    }
}

#[test]
fn atomics() {
    let s = |x: u64| x as i32;
    atomic("global_atomic_swap v8, v[0:1], v4, off sc0", false, |_, x, _| x);
    atomic("global_atomic_cmpswap v8, v[0:1], v[4:5], off sc0", false, |m, x, y| if m == y { x } else { m });
    atomic("global_atomic_add v8, v[0:1], v4, off sc0", false, |m, x, _| m + x);
    atomic("global_atomic_add v2, v4, s[20:21]", false, |m, x, _| m + x);
    atomic("global_atomic_sub v[0:1], v4, off", false, |m, x, _| m.wrapping_sub(x));
    atomic("global_atomic_smin v[0:1], v4, off", false, |m, x, _| s(m).min(s(x)) as u64);
    atomic("global_atomic_umin v[0:1], v4, off", false, |m, x, _| m.min(x));
    atomic("global_atomic_smax v[0:1], v4, off", false, |m, x, _| s(m).max(s(x)) as u64);
    atomic("global_atomic_umax v[0:1], v4, off", false, |m, x, _| m.max(x));
    atomic("global_atomic_and v[0:1], v4, off", false, |m, x, _| m & x);
    atomic("global_atomic_or v[0:1], v4, off", false, |m, x, _| m | x);
    atomic("global_atomic_xor v[0:1], v4, off", false, |m, x, _| m ^ x);
    atomic("global_atomic_inc v[0:1], v4, off", false, |m, x, _| if m >= x { 0 } else { m + 1 });
    atomic("global_atomic_dec v[0:1], v4, off", false, |m, x, _| if m == 0 || m > x { x } else { m - 1 });
    atomic("global_atomic_swap_x2 v[8:9], v[0:1], v[4:5], off sc0", true, |_, x, _| x);
    atomic(
        "global_atomic_cmpswap_x2 v[8:9], v[0:1], v[4:7], off sc0",
        true,
        |m, x, y| if m == y { x } else { m },
    );
    atomic("global_atomic_add_x2 v[0:1], v[4:5], off", true, |m, x, _| m.wrapping_add(x));
    atomic("global_atomic_sub_x2 v[0:1], v[4:5], off", true, |m, x, _| m.wrapping_sub(x));
    atomic("global_atomic_smin_x2 v[0:1], v[4:5], off", true, |m, x, _| (m as i64).min(x as i64) as u64);
    atomic("global_atomic_umin_x2 v[0:1], v[4:5], off", true, |m, x, _| m.min(x));
    atomic("global_atomic_smax_x2 v[0:1], v[4:5], off", true, |m, x, _| (m as i64).max(x as i64) as u64);
    atomic("global_atomic_umax_x2 v[0:1], v[4:5], off", true, |m, x, _| m.max(x));
    atomic("global_atomic_and_x2 v[0:1], v[4:5], off", true, |m, x, _| m & x);
    atomic("global_atomic_or_x2 v[0:1], v[4:5], off", true, |m, x, _| m | x);
    atomic("global_atomic_xor_x2 v[0:1], v[4:5], off", true, |m, x, _| m ^ x);
    atomic("global_atomic_inc_x2 v[0:1], v[4:5], off", true, |m, x, _| if m >= x { 0 } else { m + 1 });
    atomic(
        "global_atomic_dec_x2 v[0:1], v[4:5], off",
        true,
        |m, x, _| if m == 0 || m > x { x } else { m - 1 },
    );
    atomic("flat_atomic_add v8, v[0:1], v4 sc0", false, |m, x, _| m + x);
    atomic("flat_atomic_umax_x2 v[0:1], v[4:5]", true, |m, x, _| m.max(x));
}

#[test]
fn flat_atomics() {
    let s = |x: u64| x as i32;
    let l = |x: u64| x as i64;
    let (inc, dec) = (
        |m: u64, x: u64| if m >= x { 0 } else { m + 1 },
        |m: u64, x: u64| if m == 0 || m > x { x } else { m - 1 },
    );
    atomic("flat_atomic_swap v8, v[0:1], v4 sc0", false, |_, x, _| x);
    atomic("flat_atomic_cmpswap v8, v[0:1], v[4:5] sc0", false, |m, x, y| if m == y { x } else { m });
    atomic("flat_atomic_sub v8, v[0:1], v4 sc0", false, |m, x, _| m.wrapping_sub(x));
    atomic("flat_atomic_smin v8, v[0:1], v4 sc0", false, |m, x, _| s(m).min(s(x)) as u64);
    atomic("flat_atomic_umin v8, v[0:1], v4 sc0", false, |m, x, _| m.min(x));
    atomic("flat_atomic_smax v8, v[0:1], v4 sc0", false, |m, x, _| s(m).max(s(x)) as u64);
    atomic("flat_atomic_umax v8, v[0:1], v4 sc0", false, |m, x, _| m.max(x));
    atomic("flat_atomic_and v8, v[0:1], v4 sc0", false, |m, x, _| m & x);
    atomic("flat_atomic_or v8, v[0:1], v4 sc0", false, |m, x, _| m | x);
    atomic("flat_atomic_xor v8, v[0:1], v4 sc0", false, |m, x, _| m ^ x);
    atomic("flat_atomic_inc v8, v[0:1], v4 sc0", false, |m, x, _| inc(m, x));
    atomic("flat_atomic_dec v8, v[0:1], v4 sc0", false, |m, x, _| dec(m, x));
    atomic("flat_atomic_swap_x2 v[8:9], v[0:1], v[4:5] sc0", true, |_, x, _| x);
    atomic("flat_atomic_cmpswap_x2 v[8:9], v[0:1], v[4:7] sc0", true, |m, x, y| if m == y { x } else { m });
    atomic("flat_atomic_add_x2 v[8:9], v[0:1], v[4:5] sc0", true, |m, x, _| m.wrapping_add(x));
    atomic("flat_atomic_sub_x2 v[8:9], v[0:1], v[4:5] sc0", true, |m, x, _| m.wrapping_sub(x));
    atomic("flat_atomic_smin_x2 v[8:9], v[0:1], v[4:5] sc0", true, |m, x, _| l(m).min(l(x)) as u64);
    atomic("flat_atomic_umin_x2 v[8:9], v[0:1], v[4:5] sc0", true, |m, x, _| m.min(x));
    atomic("flat_atomic_smax_x2 v[8:9], v[0:1], v[4:5] sc0", true, |m, x, _| l(m).max(l(x)) as u64);
    atomic("flat_atomic_and_x2 v[8:9], v[0:1], v[4:5] sc0", true, |m, x, _| m & x);
    atomic("flat_atomic_or_x2 v[8:9], v[0:1], v[4:5] sc0", true, |m, x, _| m | x);
    atomic("flat_atomic_xor_x2 v[8:9], v[0:1], v[4:5] sc0", true, |m, x, _| m ^ x);
    atomic("flat_atomic_inc_x2 v[8:9], v[0:1], v[4:5] sc0", true, |m, x, _| inc(m, x));
    atomic("flat_atomic_dec_x2 v[8:9], v[0:1], v[4:5] sc0", true, |m, x, _| dec(m, x));
}

/// A number's bits, and the number of bits.
type Format = (fn(f64) -> u64, fn(u64) -> f64);
/// What becomes of a register, from what was loaded and what it held.
type Placement<'a> = &'a dyn Fn(u32, u32) -> u32;
/// What becomes of a dword of LDS.
type Extension = fn(u32) -> u32;

/// An atomic on small multiples of 1/4, which every format holds, in `parts` numbers of so many bits.
fn exact_atomic(text: &str, (bits, parts): (usize, usize), (encode, decode): Format, f: fn(f64, f64) -> f64) {
    let mut world = World::new();
    let number = |lane: usize, i: usize| ((lane * 7 + i * 3) % 23) as f64 / 4.0 - 2.0;
    let pack = |lane: usize, from: usize| {
        (0..parts).fold(0, |word, i| word | encode(number(lane, from + i)) << (bits * i))
    };
    for lane in 0..64 {
        let (old, new) = (pack(lane, 0), pack(lane, 5));
        let at = world.base + World::offset(lane) as u64;
        world.memory.write(at, &old.to_le_bytes()[..bits * parts / 8]).unwrap();
        (world.state.vgprs[4][lane], world.state.vgprs[5][lane]) = (new as u32, (new >> 32) as u32);
    }
    world.run(text).unwrap();
    let bytes = world.bytes();
    for lane in 0..64 {
        let at = World::offset(lane);
        let after = u64::from(word(&bytes, at, 4)) | u64::from(word(&bytes, at + 4, 4)) << 32;
        for i in 0..parts {
            let part = (after >> (bits * i)) & (u64::MAX >> (64 - bits));
            assert_eq!(decode(part), f(number(lane, i), number(lane, 5 + i)), "{text}, lane {lane}");
        }
    }
}

#[test]
fn floating_point_atomics_of_every_format() {
    let single: Format = (|x| u64::from((x as f32).to_bits()), |x| f64::from(f32::from_bits(x as u32)));
    let half: Format =
        (|x| u64::from(half::f16::from_f64(x).to_bits()), |x| half::f16::from_bits(x as u16).to_f64());
    let brain: Format =
        (|x| u64::from(half::bf16::from_f64(x).to_bits()), |x| half::bf16::from_bits(x as u16).to_f64());
    let double: Format = (f64::to_bits, f64::from_bits);
    let sum = |m, x| m + x;
    exact_atomic("flat_atomic_add_f32 v[0:1], v4", (32, 1), single, sum);
    exact_atomic("flat_atomic_pk_add_f16 v[0:1], v4", (16, 2), half, sum);
    exact_atomic("flat_atomic_pk_add_bf16 v[0:1], v4", (16, 2), brain, sum);
    exact_atomic("global_atomic_pk_add_f16 v[0:1], v4, off", (16, 2), half, sum);
    exact_atomic("global_atomic_pk_add_bf16 v[0:1], v4, off", (16, 2), brain, sum);
    exact_atomic("flat_atomic_add_f64 v[0:1], v[4:5]", (64, 1), double, sum);
    exact_atomic("flat_atomic_min_f64 v[0:1], v[4:5]", (64, 1), double, f64::min);
    exact_atomic("flat_atomic_max_f64 v[0:1], v[4:5]", (64, 1), double, f64::max);
}

#[test]
fn loads_to_lds_write_a_dword_per_lane() {
    let cases: [(&str, usize, Extension); 5] = [
        ("global_load_lds_dword v[0:1], off", 4, |x| x),
        ("global_load_lds_ubyte v[0:1], off", 1, |x| x),
        ("global_load_lds_sbyte v[0:1], off", 1, |x| x as i8 as u32),
        ("global_load_lds_ushort v[0:1], off", 2, |x| x),
        ("global_load_lds_sshort v[0:1], off", 2, |x| x as i16 as u32),
    ];
    for (text, count, place) in cases {
        let mut world = World::new();
        world.state.lds = vec![0xee; 1024];
        world.state.scalars[124] = 64;
        let bytes = world.bytes();
        world.run(text).unwrap();
        for lane in 0..64 {
            let expected = place(word(&bytes, World::offset(lane), count));
            assert_eq!(word(&world.state.lds, 64 + 4 * lane, 4), expected, "{text}, lane {lane}");
        }
        assert!(world.state.lds[..64].iter().chain(&world.state.lds[320..]).all(|&byte| byte == 0xee));
    }
}

#[test]
fn private_memory_to_lds() {
    let cases: [(&str, Extension); 5] = [
        ("scratch_store_dword off, v2, off offset:8; scratch_load_lds_dword off, off offset:8", |x| x),
        ("scratch_store_dword off, v2, off offset:8; scratch_load_lds_ubyte off, off offset:8", |x| x & 0xff),
        ("scratch_store_dword off, v2, off offset:8; scratch_load_lds_sbyte off, off offset:8", |x| {
            x as i8 as u32
        }),
        ("scratch_store_dword off, v2, off offset:8; scratch_load_lds_ushort off, off offset:8", |x| {
            x & 0xffff
        }),
        ("scratch_store_dword off, v2, off offset:8; scratch_load_lds_sshort off, off offset:8", |x| {
            x as i16 as u32
        }),
    ];
    for (text, place) in cases {
        let mut world = World::new();
        world.state.lds = vec![0xee; 1024];
        world.state.scalars[124] = 64;
        let before = world.state.clone();
        world.run(text).unwrap();
        for lane in 0..64 {
            let got = word(&world.state.lds, 64 + 8 + 4 * lane, 4);
            assert_eq!(got, place(before.vgprs[2][lane]), "{text}, lane {lane}");
        }
        assert_eq!(world.state.vgprs, before.vgprs);
    }
}

#[test]
fn private_memory_in_every_width() {
    let low = |x: u32, old: u32| old & 0xffff_0000 | x & 0xffff;
    let high = |x: u32, old: u32| old & 0xffff | x << 16;
    let cases: [(&str, Placement<'_>); 8] = [
        ("scratch_store_dword off, v2, off; scratch_load_sbyte v6, off, off", &|x, _| x as i8 as u32),
        ("scratch_store_dword off, v2, off; scratch_load_ushort v6, off, off", &|x, _| x & 0xffff),
        ("scratch_store_dword off, v2, off; scratch_load_ubyte_d16 v6, off, off", &|x, old| {
            low(x & 0xff, old)
        }),
        ("scratch_store_dword off, v2, off; scratch_load_ubyte_d16_hi v6, off, off", &|x, old| {
            high(x & 0xff, old)
        }),
        ("scratch_store_dword off, v2, off; scratch_load_sbyte_d16 v6, off, off", &|x, old| {
            low(x as i8 as u32, old)
        }),
        ("scratch_store_dword off, v2, off; scratch_load_sbyte_d16_hi v6, off, off", &|x, old| {
            high(x as i8 as u32, old)
        }),
        ("scratch_store_dword off, v2, off; scratch_load_short_d16 v6, off, off", &low),
        ("scratch_store_dword off, v2, off; scratch_load_short_d16_hi v6, off, off", &high),
    ];
    for (text, place) in cases {
        let mut world = World::new();
        world.state.vgprs[2] = std::array::from_fn(|lane| 0x9e37_79b9u32.wrapping_mul(lane as u32 + 1));
        let before = world.state.clone();
        world.run(text).unwrap();
        for lane in 0..64 {
            let expected = place(before.vgprs[2][lane], before.vgprs[6][lane]);
            assert_eq!(world.state.vgprs[6][lane], expected, "{text}, lane {lane}");
        }
    }
    let mut world = World::new();
    let before = world.state.clone();
    world.run("scratch_store_dwordx4 off, v[0:3], off; scratch_load_dwordx4 v[6:9], off, off; scratch_store_dwordx3 off, v[2:4], off offset:32; scratch_load_dwordx3 v[10:12], off, off offset:32").unwrap();
    assert_eq!(world.state.vgprs[6..10], before.vgprs[0..4]);
    assert_eq!(world.state.vgprs[10..13], before.vgprs[2..5]);
    let mut world = World::new();
    world.run("scratch_store_dword off, v4, off; scratch_store_byte_d16_hi off, v2, off; scratch_load_dword v6, off, off; scratch_store_short_d16_hi off, v3, off; scratch_load_dword v7, off, off").unwrap();
    for lane in 0..64 {
        let v = |r: usize| before.vgprs[r][lane];
        let first = v(4) & !0xff | (v(2) >> 16) & 0xff;
        assert_eq!(world.state.vgprs[6][lane], first);
        assert_eq!(world.state.vgprs[7][lane], first & 0xffff_0000 | v(3) >> 16);
    }
}

#[test]
fn floating_point_atomics() {
    let mut world = World::new();
    for lane in 0..64 {
        world
            .memory
            .write(world.base + World::offset(lane) as u64, &(lane as f32 * 0.37).to_le_bytes())
            .unwrap();
        world.state.vgprs[4][lane] = (1.0f32 / (lane as f32 + 1.0)).to_bits();
    }
    world.run("global_atomic_add_f32 v[0:1], v4, off").unwrap();
    let bytes = world.bytes();
    for lane in 0..64 {
        let expected = lane as f32 * 0.37 + 1.0 / (lane as f32 + 1.0);
        assert_eq!(word(&bytes, World::offset(lane), 4), expected.to_bits());
    }
    for (text, f) in [
        ("global_atomic_add_f64 v[0:1], v[4:5], off", (|m, x| m + x) as fn(f64, f64) -> f64),
        ("global_atomic_min_f64 v[0:1], v[4:5], off", f64::min),
        ("global_atomic_max_f64 v[0:1], v[4:5], off", f64::max),
    ] {
        let mut world = World::new();
        for lane in 0..64 {
            world
                .memory
                .write(world.base + World::offset(lane) as u64, &(lane as f64 - 30.5).to_le_bytes())
                .unwrap();
            let value = (12.25 - lane as f64 / 3.0).to_bits();
            (world.state.vgprs[4][lane], world.state.vgprs[5][lane]) = (value as u32, (value >> 32) as u32);
        }
        world.run(text).unwrap();
        let bytes = world.bytes();
        for lane in 0..64 {
            let expected = f(lane as f64 - 30.5, 12.25 - lane as f64 / 3.0).to_bits();
            let at = World::offset(lane);
            assert_eq!(
                u64::from(word(&bytes, at, 4)) | u64::from(word(&bytes, at + 4, 4)) << 32,
                expected,
                "{text}"
            );
        }
    }
}

#[test]
fn scalar_loads_fill_consecutive_registers() {
    for (text, count) in [
        ("s_load_dword s24, s[20:21], 0x10", 1),
        ("s_load_dwordx2 s[24:25], s[20:21], 0x10", 2),
        ("s_load_dwordx4 s[24:27], s[20:21], 0x10", 4),
        ("s_load_dwordx8 s[24:31], s[20:21], 0x10", 8),
        ("s_load_dwordx16 s[24:39], s[20:21], 0x10", 16),
    ] {
        let mut world = World::new();
        let bytes = world.bytes();
        world.run(text).unwrap();
        for i in 0..count {
            assert_eq!(world.state.scalars[24 + i], word(&bytes, 16 + 4 * i, 4), "{text}");
        }
    }
    let mut world = World::new();
    world.state.scalars[22] = 0x40;
    let bytes = world.bytes();
    world.run("s_load_dword s24, s[20:21], s22 offset:0x8").unwrap();
    assert_eq!(world.state.scalars[24], word(&bytes, 0x48, 4));
}

#[test]
fn a_widened_scalar_load_is_a_fault_only_when_its_missing_part_is_used() {
    let past_end = SIZE as u64 - 8;
    let mut world = World::new();
    world.state.set_pair(20, world.base + past_end);
    world.run("s_load_dwordx4 s[24:27], s[20:21], 0x0; s_mov_b32 s28, s25; s_mov_b32 s26, 5; s_mov_b32 s29, s26").unwrap();
    assert_eq!(world.state.scalars[29], 5, "a write heals");

    let mut world = World::new();
    world.state.set_pair(20, world.base + past_end);
    let problem = world.run("s_load_dwordx4 s[24:27], s[20:21], 0x0; v_add_u32_e32 v6, s26, v0").unwrap_err();
    let Problem::Access { segment: Segment::Scalar, fault } = problem else { panic!("{problem:?}") };
    assert!(matches!(fault.kind, FaultKind::OutOfBounds { .. }), "{fault:?}");
}

#[test]
fn private_memory_is_per_lane_and_checked() {
    let mut world = World::new();
    world.state.vgprs[3] = std::array::from_fn(|lane| 4 * (lane as u32 % 8));
    let text = "scratch_store_dword off, v0, off offset:16; scratch_store_dwordx2 off, v[0:1], off offset:64; scratch_load_dword v6, off, off offset:16; scratch_load_dwordx2 v[8:9], off, off offset:64; scratch_store_byte v3, v2, off; scratch_load_ubyte v7, v3, off; scratch_store_short off, v2, off offset:100; scratch_load_sshort v10, off, off offset:100";
    let before = world.state.clone();
    world.run(text).unwrap();
    assert_eq!(world.state.vgprs[6], before.vgprs[0]);
    assert_eq!((world.state.vgprs[8], world.state.vgprs[9]), (before.vgprs[0], before.vgprs[1]));
    assert_eq!(world.state.vgprs[7], before.vgprs[2].map(|x| x & 0xff));
    assert_eq!(world.state.vgprs[10], before.vgprs[2].map(|x| x as i16 as u32));

    let problem = World::new().run("scratch_load_dword v6, off, off offset:4").unwrap_err();
    assert!(
        matches!(&problem, Problem::Lds { fault } if matches!(fault.problem, LdsProblem::Uninitialised { byte: 4 }))
    );
    let problem = World::new().run("scratch_store_dword off, v0, off offset:254").unwrap_err();
    assert!(
        matches!(&problem, Problem::Lds { fault } if matches!(fault.problem, LdsProblem::OutOfBounds { limit: 256 }))
    );
}

#[test]
fn flat_addresses_reach_all_segments() {
    let mut world = World::new();
    world.state.lds = (0..=255).collect();
    let text = "s_mov_b64 s[24:25], src_shared_base; v_mov_b32_e32 v1, s25; v_mov_b32_e32 v0, 16; flat_load_dword v6, v[0:1]; flat_store_byte v[0:1], v2 offset:4; s_mov_b64 s[26:27], src_private_base; v_mov_b32_e32 v1, s27; flat_store_dword v[0:1], v2; flat_load_dword v7, v[0:1]";
    let before = world.state.clone();
    world.run(text).unwrap();
    assert_eq!(world.state.vgprs[6], [0x1312_1110; 64]);
    assert_eq!(u32::from(world.state.lds[20]), before.vgprs[2][63] & 0xff, "the highest lane wins");
    assert_eq!(world.state.vgprs[7], before.vgprs[2]);
}

#[test]
fn the_lowest_faulting_lane_is_reported_and_nothing_is_written() {
    let mut world = World::new();
    let before = world.bytes();
    for lane in [9, 40] {
        world.state.vgprs[2][lane] = SIZE as u32 - 3;
    }
    let problem = world.run("global_store_dword v2, v4, s[20:21]").unwrap_err();
    let Problem::Access { segment: Segment::Global, fault } = problem else { panic!("{problem:?}") };
    assert_eq!((fault.address, fault.size), (world.base + SIZE as u64 - 3, 4));
    assert!(world.bytes() == before);
}
