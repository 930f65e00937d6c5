//! Runs a snippet on random registers under several EXEC masks and compares every lane of every register.

use softhip::exec::WaveState;
use softhip::memory::{Checks, LaunchMemory, Memory, WAVE};

/// The words of an assembled snippet.
pub fn words(text: &str) -> Vec<u32> {
    let line = include_str!("words.txt")
        .lines()
        .find_map(|line| line.split_once(' ').filter(|(_, asm)| *asm == text))
        .unwrap_or_else(|| panic!("no words for, run assemble.sh: {text}"));
    let bytes: Vec<u8> =
        (0..line.0.len()).step_by(2).map(|i| u8::from_str_radix(&line.0[i..i + 2], 16).unwrap()).collect();
    bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// A small generator with a fixed seed.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn u64(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn u32(&mut self) -> u32 {
        (self.u64() >> 32) as u32
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.u64() >> 33) as usize % n
    }
}

/// Which values registers are filled with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Pool {
    /// Integers: random bits, small numbers and the ends of the ranges.
    Bits,
    /// f32: special values, ordinary numbers, random bits.
    F32,
    /// f64 in pairs of registers.
    F64,
    /// f16 in both halves.
    F16,
}

const BITS: [u32; 16] = [
    0,
    1,
    2,
    31,
    32,
    33,
    0xff,
    0x100,
    0x7fff,
    0x8000,
    0xffff,
    0x10000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fffe,
    u32::MAX,
];
const SPECIAL32: [u32; 14] = [
    0,
    0x8000_0000,
    1,
    0x007f_ffff,
    0x8080_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0x7fa0_0000,
    0x3f00_0000,
];
const SPECIAL16: [u16; 12] =
    [0, 0x8000, 1, 0x3ff, 0x8400, 0x3c00, 0xbc00, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0x3800];
const SPECIAL64: [u64; 12] = [
    0,
    1 << 63,
    1,
    0x000f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x3ff0_0000_0000_0000,
    0xbff0_0000_0000_0000,
    0x7fef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
    0x3fe0_0000_0000_0000,
];

impl Pool {
    /// A value of two registers.
    fn draw(self, random: &mut Random) -> u64 {
        match self {
            Self::Bits => {
                let mut word =
                    || if random.below(3) == 0 { BITS[random.below(BITS.len())] } else { random.u32() };
                u64::from(word()) | (u64::from(word()) << 32)
            }
            Self::F32 => {
                let mut word = || match random.below(4) {
                    0 => SPECIAL32[random.below(SPECIAL32.len())],
                    1 => random.u32(),
                    _ => ((random.u32() & 0x00ff_ffff) as f32 / 65536.0 - 128.0).to_bits(),
                };
                u64::from(word()) | (u64::from(word()) << 32)
            }
            Self::F64 => match random.below(4) {
                0 => SPECIAL64[random.below(SPECIAL64.len())],
                1 => random.u64(),
                _ => {
                    (f64::from(random.u32()) / 65536.0 - 32768.0 + f64::from(random.u32()) * 1e-12).to_bits()
                }
            },
            Self::F16 => (0..4).fold(0, |value, i| {
                let half =
                    if random.below(3) == 0 { SPECIAL16[random.below(12)] } else { random.u32() as u16 };
                value | (u64::from(half) << (16 * i))
            }),
        }
    }
}

/// What an operation sees in one lane: `v[0:1]`, `v[2:3]`, `v[4:5]`, and the old `v[6:7]`.
#[derive(Clone, Copy)]
pub struct Lane {
    pub a: u64,
    pub b: u64,
    pub c: u64,
    pub old: u64,
    /// Its number.
    pub index: usize,
    /// The lane's bit of VCC.
    pub vcc: bool,
    /// s20, and s[20:21].
    pub s: u64,
}

macro_rules! views {
    ($($name:ident: $field:ident as $ty:ty = $f:expr;)*) => {
        #[allow(dead_code, reason = "one view per operand and type")]
        impl Lane {
            $(pub fn $name(&self) -> $ty { let x = self.$field; $f(x) })*
        }
    };
}

views! {
    au: a as u32 = |x| x as u32;
    bu: b as u32 = |x| x as u32;
    cu: c as u32 = |x| x as u32;
    ai: a as i32 = |x| x as i32;
    bi: b as i32 = |x| x as i32;
    ci: c as i32 = |x| x as i32;
    af: a as f32 = |x| f32::from_bits(x as u32);
    bf: b as f32 = |x| f32::from_bits(x as u32);
    cf: c as f32 = |x| f32::from_bits(x as u32);
    of: old as f32 = |x| f32::from_bits(x as u32);
    ad: a as f64 = f64::from_bits;
    bd: b as f64 = f64::from_bits;
    cd: c as f64 = f64::from_bits;
    od: old as f64 = f64::from_bits;
    ah: a as half::f16 = |x| half::f16::from_bits(x as u16);
    bh: b as half::f16 = |x| half::f16::from_bits(x as u16);
    ch: c as half::f16 = |x| half::f16::from_bits(x as u16);
    sf: s as f32 = |x| f32::from_bits(x as u32);
}

/// A result of one lane.
#[derive(Clone, Copy, Debug)]
pub enum Out {
    Bits32(u32),
    Bits64(u64),
    /// NaNs are equal to each other.
    F32(f32),
    F64(f64),
    /// The low half; the high one must be this.
    F16(half::f16, u16),
    /// Within so many units in the last place.
    Near32(f64, f64),
}

impl Out {
    fn registers(self) -> usize {
        if matches!(self, Self::Bits64(_) | Self::F64(_)) { 2 } else { 1 }
    }

    fn accepts(self, got: u64) -> bool {
        match self {
            Self::Bits32(bits) => got as u32 == bits,
            Self::Bits64(bits) => got == bits,
            Self::F32(value) => {
                got as u32 == value.to_bits() || (value.is_nan() && f32::from_bits(got as u32).is_nan())
            }
            Self::F64(value) => got == value.to_bits() || (value.is_nan() && f64::from_bits(got).is_nan()),
            Self::F16(value, high) => {
                let got = got as u32;
                let low = got as u16;
                let same = low == value.to_bits() || (value.is_nan() && half::f16::from_bits(low).is_nan());
                same && (got >> 16) as u16 == high
            }
            Self::Near32(value, ulps) => {
                let got = f32::from_bits(got as u32);
                if value.is_nan() || got.is_nan() || !(value as f32).is_finite() {
                    return (value.is_nan() && got.is_nan()) || value as f32 == got;
                }
                let unit = f64::from((value.abs() as f32).next_up()) - f64::from(value.abs() as f32);
                let flushed = value.abs() < f64::from(f32::MIN_POSITIVE) && got == 0.0;
                (f64::from(got) - value).abs() <= ulps * unit || flushed
            }
        }
    }
}

pub fn h(value: half::f16) -> Out {
    Out::F16(value, 0)
}

/// Memory that no snippet of arithmetic reaches.
pub fn no_memory() -> LaunchMemory {
    Memory::new(1, 1 << 20).launch(1, Checks::ALL)
}

pub const MASKS: [u64; 6] = [u64::MAX, 0, 1, 0xaaaa_aaaa_aaaa_aaaa, 1 << 63, 0x0123_4567_89ab_cdef];

/// Random registers: v0..v15, s20..s31, VCC.
pub fn random_state(pool: Pool, seed: u64) -> WaveState {
    let mut state = WaveState::new(16, 0, 0);
    let mut random = Random::new(seed);
    for pair in 0..8 {
        for lane in 0..WAVE {
            let value = pool.draw(&mut random);
            state.vgprs[2 * pair][lane] = value as u32;
            state.vgprs[2 * pair + 1][lane] = (value >> 32) as u32;
        }
    }
    for pair in 10..16 {
        state.set_pair(2 * pair, pool.draw(&mut random));
    }
    state.set_pair(106, random.u64());
    state
}

pub fn lane_of(state: &WaveState, lane: usize) -> Lane {
    let pair = |at: usize| u64::from(state.vgprs[at][lane]) | (u64::from(state.vgprs[at + 1][lane]) << 32);
    Lane {
        a: pair(0),
        b: pair(2),
        c: pair(4),
        old: pair(6),
        index: lane,
        vcc: (state.pair(106) >> lane) & 1 != 0,
        s: state.pair(20),
    }
}

/// Checks that a snippet writes `f` of its sources to v6, or v[6:7], in active lanes, and touches no other register.
pub fn vector(pool: Pool, text: &str, f: impl Fn(&Lane) -> Out) {
    vector_in_mode(pool, text, 0x3f0, f);
}

/// As [`vector`] with a MODE register.
pub fn vector_in_mode(pool: Pool, text: &str, mode: u32, f: impl Fn(&Lane) -> Out) {
    let words = words(text);
    let memory = no_memory();
    for (seed, exec) in (1..).zip(MASKS).chain([(7, u64::MAX), (8, u64::MAX), (9, 0xffff_0000_ff00_f0c5)]) {
        let mut before = random_state(pool, seed);
        before.set_pair(126, exec);
        before.mode = mode;
        let mut after = before.clone();
        after.run(&words, &memory).unwrap_or_else(|problem| panic!("{text}: {problem:?}"));
        let mut expected = before.clone();
        for lane in (0..WAVE).filter(|lane| (exec >> lane) & 1 != 0) {
            let input = lane_of(&before, lane);
            let want = f(&input);
            let got = lane_of(&after, lane).old;
            assert!(
                want.accepts(got),
                "{text}, lane {lane}, mode {mode:#x}: a {:#x} b {:#x} c {:#x} old {:#x} vcc {} gave {got:#x}, not {want:?}",
                input.a,
                input.b,
                input.c,
                input.old,
                input.vcc
            );
            for register in 6..6 + want.registers() {
                expected.vgprs[register][lane] = after.vgprs[register][lane];
            }
        }
        expected.scalars = after.scalars;
        assert!(after == expected, "{text}: another register changed under EXEC {exec:#x}");
        assert_eq!(after.pair(126), exec, "{text} changed EXEC");
    }
}

/// Checks a lane mask in the scalar pair `at`: `f` in active lanes, 0 elsewhere.
pub fn mask(pool: Pool, text: &str, at: u8, f: impl Fn(&Lane) -> bool) {
    let words = words(text);
    let memory = no_memory();
    for (seed, exec) in (1..).zip(MASKS).chain([(7, u64::MAX), (8, u64::MAX)]) {
        let mut before = random_state(pool, seed);
        before.set_pair(126, exec);
        let mut after = before.clone();
        after.run(&words, &memory).unwrap_or_else(|problem| panic!("{text}: {problem:?}"));
        for lane in 0..WAVE {
            let active = (exec >> lane) & 1 != 0;
            let input = lane_of(&before, lane);
            let got = (after.pair(at) >> lane) & 1 != 0;
            assert_eq!(got, active && f(&input), "{text}, lane {lane}: a {:#x} b {:#x}", input.a, input.b);
        }
    }
}
