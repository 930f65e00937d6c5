//! Typed accesses of buffers: every data format with every number format, both ways.
//!
//! The expected components are read bit by bit from bytes; the formats are written as the manual's table has them, from the
//! highest bit down.

use half::f16;
use softhip::exec::WaveState;
use softhip::memory::{AllocationKind, Checks, Memory};
use softhip::report::Problem;

use crate::bench::{Pool, random_state, words};

const SIZE: usize = 4096;
const RECORDS: u32 = 60;

/// Data formats by number: the names that the assembler knows, and bits from the highest component down.
const DATA: [(&str, u32, &[usize]); 14] = [
    ("8", 1, &[8]),
    ("16", 2, &[16]),
    ("8_8", 3, &[8, 8]),
    ("32", 4, &[32]),
    ("16_16", 5, &[16, 16]),
    ("10_11_11", 6, &[10, 11, 11]),
    ("11_11_10", 7, &[11, 11, 10]),
    ("10_10_10_2", 8, &[10, 10, 10, 2]),
    ("2_10_10_10", 9, &[2, 10, 10, 10]),
    ("8_8_8_8", 10, &[8, 8, 8, 8]),
    ("32_32", 11, &[32, 32]),
    ("16_16_16_16", 12, &[16, 16, 16, 16]),
    ("32_32_32", 13, &[32, 32, 32]),
    ("32_32_32_32", 14, &[32, 32, 32, 32]),
];
const NUMBERS: [u32; 7] = [0, 1, 2, 3, 4, 5, 7];
/// X, Y, Z and W as they are.
const IDENTITY: u32 = 4 | 5 << 3 | 6 << 6 | 7 << 9;

fn is_defined(widths: &[usize], number: u32) -> bool {
    match (widths, number) {
        ([32, ..], _) => number >= 4,
        ([8 | 2, ..] | [10, 10, 10, 2], 7) => false,
        _ => true,
    }
}

struct World {
    memory: Memory,
    base: u64,
    state: WaveState,
}

impl World {
    /// Records of `stride` bytes; each lane has its number as the index in v0.
    fn new(stride: u32, word3: u32) -> Self {
        let memory = Memory::new(3, 1 << 30);
        let base = memory.allocate(SIZE as u64, AllocationKind::Device, None).unwrap();
        let mut state = random_state(Pool::Bits, 11);
        let noise: Vec<u8> = (0..SIZE).map(|i| (i * i * 31 % 257 + i / 3) as u8).collect();
        memory.write(base, &noise).unwrap();
        state.set_pair(20, base | u64::from(stride) << 48);
        (state.scalars[22], state.scalars[23]) = (RECORDS, word3);
        state.vgprs[0] = std::array::from_fn(|lane| lane as u32);
        Self { memory, base, state }
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

fn bits(bytes: &[u8], start: usize, width: usize) -> u64 {
    (start..start + width).rev().fold(0, |value, bit| value << 1 | u64::from(bytes[bit / 8] >> (bit % 8) & 1))
}

/// The components of an element, X first.
fn raw(bytes: &[u8], widths: &[usize]) -> Vec<(u64, usize)> {
    let mut start = 0;
    widths
        .iter()
        .rev()
        .map(|&width| {
            start += width;
            (bits(bytes, start - width, width), width)
        })
        .collect()
}

/// A float of 5 exponent bits and no sign.
fn small_float(value: u64, fraction: usize) -> f32 {
    let (exponent, digits) = ((value >> fraction) as i32, (value & ((1 << fraction) - 1)) as f32);
    let unit = 2f32.powi(-(fraction as i32));
    match exponent {
        0 => digits * unit * 2f32.powi(-14),
        31 if digits == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1.0 + digits * unit) * 2f32.powi(exponent - 15),
    }
}

/// A component as 32 bits; `Err` has it as a float.
fn converted((value, width): (u64, usize), number: u32) -> Result<u32, f32> {
    let signed = if value >> (width - 1) == 0 { value as i64 } else { value as i64 - (1 << width) };
    let most = ((1u64 << width) - 1) as f64;
    match (number, width) {
        (0, _) => Err((value as f64 / most) as f32),
        (1, _) => Err((signed as f64 / (most / 2.0).floor()).max(-1.0) as f32),
        (2, _) => Err(value as f32),
        (3, _) => Err(signed as f32),
        (5, _) => Ok(signed as u32),
        (4, _) | (_, 32) => Ok(value as u32),
        (_, 16) => Err(f16::from_bits(value as u16).to_f32()),
        (_, 11) => Err(small_float(value, 6)),
        (_, _) => Err(small_float(value, 5)),
    }
}

fn same(got: u32, expected: Result<u32, f32>) -> bool {
    match expected {
        Ok(bits) => got == bits,
        Err(value) => got == value.to_bits() || (value.is_nan() && f32::from_bits(got).is_nan()),
    }
}

const LOADS: [&str; 4] = [
    "buffer_load_format_x v6, v0, s[20:23], 0 idxen",
    "buffer_load_format_xy v[6:7], v0, s[20:23], 0 idxen",
    "buffer_load_format_xyz v[6:8], v0, s[20:23], 0 idxen",
    "buffer_load_format_xyzw v[6:9], v0, s[20:23], 0 idxen",
];

#[test]
fn every_format_is_read_as_the_table_has_it() {
    let mut seen = 0;
    for (name, data, widths) in DATA {
        for number in NUMBERS {
            for (count, text) in (1..).zip(LOADS) {
                let stride = widths.iter().sum::<usize>() as u32 / 8;
                let mut world = World::new(stride, IDENTITY | number << 12 | data << 15);
                let (bytes, before) = (world.bytes(), world.state.clone());
                let outcome = world.run(text);
                if !is_defined(widths, number) {
                    assert!(matches!(outcome, Err(Problem::Instruction { .. })), "{name} {number}");
                    continue;
                }
                outcome.unwrap();
                seen += 1;
                for lane in 0..64 {
                    let at = lane * stride as usize;
                    let components = raw(&bytes[at..], widths);
                    for i in 0..4 {
                        let got = world.state.vgprs[6 + i][lane];
                        if i >= count {
                            assert_eq!(got, before.vgprs[6 + i][lane], "{name} {number}: not loaded");
                        } else if lane >= RECORDS as usize || i >= components.len() {
                            assert_eq!(got, 0, "{name} {number}, lane {lane}, {i}");
                        } else {
                            let expected = converted(components[i], number);
                            assert!(
                                same(got, expected),
                                "{name} {number}, lane {lane}, {i}: {got:#x}, not {expected:x?}"
                            );
                        }
                    }
                }
            }
        }
    }
    // Formats of 8, 16, 32 bits, of 10 and 11, and of 10 and 2.
    assert_eq!(seen, 4 * (3 * 6 + 3 * 7 + 4 * 3 + 2 * 7 + 2 * 6));
}

#[test]
fn the_resource_selects_components() {
    // W, 1, 0, X of 8_8_8_8 as integers and as numbers from 0 to 1.
    for (number, one) in [(4, 1), (0, 1f32.to_bits())] {
        let select = 7 | 1 << 3 | 4 << 9;
        let mut world = World::new(4, select | number << 12 | 10 << 15);
        let bytes = world.bytes();
        world.run(LOADS[3]).unwrap();
        for lane in 0..64 {
            let part = |i: usize| if lane < RECORDS as usize { bytes[4 * lane + i] } else { 0 };
            let value =
                |i| if number == 4 { u32::from(part(i)) } else { (f32::from(part(i)) / 255.0).to_bits() };
            let got: [u32; 4] = std::array::from_fn(|i| world.state.vgprs[6 + i][lane]);
            assert_eq!(got, [value(3), one, 0, value(0)], "lane {lane}");
        }
    }
    let mut world = World::new(4, 2 | 4 << 12 | 10 << 15);
    assert!(matches!(world.run(LOADS[0]), Err(Problem::Instruction { .. })), "a reserved selection");
}

/// The halves that a lane's registers from v6 on hold.
fn halves(state: &WaveState, lane: usize) -> [u16; 4] {
    std::array::from_fn(|i| (state.vgprs[6 + i / 2][lane] >> (16 * (i % 2))) as u16)
}

#[test]
fn sixteen_bits_stand_side_by_side() {
    let loads = [
        "buffer_load_format_d16_x v6, v0, s[20:23], 0 idxen",
        "buffer_load_format_d16_xy v6, v0, s[20:23], 0 idxen",
        "buffer_load_format_d16_xyz v[6:7], v0, s[20:23], 0 idxen",
        "buffer_load_format_d16_xyzw v[6:7], v0, s[20:23], 0 idxen",
    ];
    for number in [0, 1, 4, 5, 7] {
        for (count, text) in (1..).zip(loads) {
            let mut world = World::new(8, IDENTITY | number << 12 | 12 << 15);
            let (bytes, before) = (world.bytes(), world.state.clone());
            world.run(text).unwrap();
            for lane in 0..RECORDS as usize {
                let (got, old) = (halves(&world.state, lane), halves(&before, lane));
                for (i, component) in raw(&bytes[8 * lane..], &[16; 4]).into_iter().enumerate() {
                    let expected = match converted(component, number) {
                        _ if i >= count => old[i],
                        _ if number == 7 => component.0 as u16,
                        Ok(bits) => bits as u16,
                        Err(value) => f16::from_f32(value).to_bits(),
                    };
                    assert_eq!(got[i], expected, "{text}, {number}, lane {lane}, {i}");
                }
            }
        }
    }
    let mut world = World::new(2, IDENTITY | 4 << 12 | 2 << 15);
    let (bytes, before) = (world.bytes(), world.state.clone());
    world.run("buffer_load_format_d16_hi_x v6, v0, s[20:23], 0 idxen").unwrap();
    for lane in 0..RECORDS as usize {
        let high = bits(&bytes[2 * lane..], 0, 16) as u32;
        assert_eq!(world.state.vgprs[6][lane], high << 16 | before.vgprs[6][lane] & 0xffff);
    }
    let mut world = World::new(4, IDENTITY | 4 << 12 | 4 << 15);
    assert!(world.run(loads[0]).is_err(), "integers of 32 bits do not fit");
}

#[test]
fn the_instruction_has_a_format_of_its_own() {
    // The resource's format says nothing here.
    for (text, count, widths, number) in [
        (
            "tbuffer_load_format_x v6, v0, s[20:23], 0 format:[BUF_DATA_FORMAT_16,BUF_NUM_FORMAT_SNORM] idxen",
            1,
            &[16][..],
            1,
        ),
        (
            "tbuffer_load_format_xy v[6:7], v0, s[20:23], 0 format:[BUF_DATA_FORMAT_8_8,BUF_NUM_FORMAT_UINT] idxen",
            2,
            &[8, 8],
            4,
        ),
        (
            "tbuffer_load_format_xyz v[6:8], v0, s[20:23], 0 format:[BUF_DATA_FORMAT_10_11_11,BUF_NUM_FORMAT_FLOAT] idxen",
            3,
            &[10, 11, 11],
            7,
        ),
        (
            "tbuffer_load_format_xyzw v[6:9], v0, s[20:23], 0 format:[BUF_DATA_FORMAT_2_10_10_10,BUF_NUM_FORMAT_UNORM] idxen",
            4,
            &[2, 10, 10, 10],
            0,
        ),
    ] {
        let mut world = World::new(4, 0);
        let bytes = world.bytes();
        world.run(text).unwrap();
        for lane in 0..RECORDS as usize {
            for (i, &component) in raw(&bytes[4 * lane..], widths).iter().enumerate().take(count) {
                let got = world.state.vgprs[6 + i][lane];
                assert!(same(got, converted(component, number)), "{text}, lane {lane}, {i}: {got:#x}");
            }
        }
    }
    for (text, count) in [
        (
            "tbuffer_load_format_d16_x v6, v0, s[20:23], 0 format:[BUF_DATA_FORMAT_16,BUF_NUM_FORMAT_FLOAT] idxen",
            1,
        ),
        (
            "tbuffer_load_format_d16_xy v6, v0, s[20:23], 0 format:[BUF_DATA_FORMAT_16_16,BUF_NUM_FORMAT_FLOAT] idxen",
            2,
        ),
        (
            "tbuffer_load_format_d16_xyz v[6:7], v0, s[20:23], 0 format:[BUF_DATA_FORMAT_16_16_16_16,BUF_NUM_FORMAT_FLOAT] idxen",
            3,
        ),
        (
            "tbuffer_load_format_d16_xyzw v[6:7], v0, s[20:23], 0 format:[BUF_DATA_FORMAT_16_16_16_16,BUF_NUM_FORMAT_FLOAT] idxen",
            4,
        ),
    ] {
        let mut world = World::new(8, 0);
        let bytes = world.bytes();
        world.run(text).unwrap();
        for lane in 0..RECORDS as usize {
            for (i, half) in halves(&world.state, lane).into_iter().enumerate().take(count) {
                assert_eq!(half, bits(&bytes[8 * lane..], 16 * i, 16) as u16, "{text}, lane {lane}, {i}");
            }
        }
    }
}

/// Stores `value(lane, i)` and compares component `i` of each record with `expected`.
fn stored(
    text: &str,
    (data, number, widths): (u32, u32, &[usize]),
    value: impl Fn(usize, usize) -> u32,
    expected: impl Fn(usize, usize) -> u64,
) {
    let stride = widths.iter().sum::<usize>() / 8;
    let mut world = World::new(stride as u32, IDENTITY | number << 12 | data << 15);
    for i in 0..4 {
        world.state.vgprs[2 + i] = std::array::from_fn(|lane| value(lane, i));
    }
    let before = world.bytes();
    world.run(text).unwrap_or_else(|problem| panic!("{text}: {problem:?}"));
    let after = world.bytes();
    for lane in 0..64 {
        let record = &after[lane * stride..];
        if lane >= RECORDS as usize {
            assert_eq!(record, &before[lane * stride..], "{text}: out of range");
            break;
        }
        for (i, (got, _)) in raw(record, widths).into_iter().enumerate() {
            assert_eq!(got, expected(lane, i), "{text}, lane {lane}, {i}");
        }
    }
}

#[test]
fn stores_put_components_where_loads_find_them() {
    let float = |lane: usize, i: usize| (lane as f32 - 30.0) / 25.0 + i as f32 / 7.0;
    let unorm = |x: f32, most: f64| (f64::from(x.clamp(0.0, 1.0)) * most).round_ties_even() as u64;
    stored(
        "buffer_store_format_x v2, v0, s[20:23], 0 idxen",
        (1, 0, &[8]),
        |l, i| float(l, i).to_bits(),
        |l, i| unorm(float(l, i), 255.0),
    );
    stored(
        "buffer_store_format_xy v[2:3], v0, s[20:23], 0 idxen",
        (5, 1, &[16, 16]),
        |l, i| float(l, i).to_bits(),
        |l, i| {
            let scaled = (f64::from(float(l, i).clamp(-1.0, 1.0)) * 32767.0).round_ties_even() as i64;
            (scaled & 0xffff) as u64
        },
    );
    stored(
        "buffer_store_format_xyz v[2:4], v0, s[20:23], 0 idxen",
        (13, 7, &[32; 3]),
        |l, i| float(l, i).to_bits(),
        |l, i| float(l, i).to_bits().into(),
    );
    let integer = |l: usize, i: usize| (l * 7 + i * 13) as u32 % if i == 3 { 4 } else { 1024 };
    stored(
        "buffer_store_format_xyzw v[2:5], v0, s[20:23], 0 idxen",
        (9, 4, &[2, 10, 10, 10]),
        integer,
        |l, i| integer(l, i).into(),
    );
    let signed = |l: usize, i: usize| (l as i32 * 4 - 128 + i as i32).cast_unsigned();
    stored(
        "buffer_store_format_xyzw v[2:5], v0, s[20:23], 0 idxen",
        (10, 5, &[8; 4]),
        |l, i| (signed(l, i).cast_signed().clamp(-128, 127)).cast_unsigned(),
        |l, i| (signed(l, i).cast_signed().clamp(-128, 127) & 255) as u64,
    );
    let text =
        "tbuffer_store_format_x v2, v0, s[20:23], 0 format:[BUF_DATA_FORMAT_16,BUF_NUM_FORMAT_FLOAT] idxen";
    stored(
        text,
        (2, 7, &[16]),
        |l, i| float(l, i).to_bits(),
        |l, i| f16::from_f32(float(l, i)).to_bits().into(),
    );
    let text = "tbuffer_store_format_xy v[2:3], v0, s[20:23], 0 format:[BUF_DATA_FORMAT_32_32,BUF_NUM_FORMAT_UINT] idxen";
    stored(
        text,
        (11, 4, &[32, 32]),
        |l, i| (l * 77777777 + i) as u32,
        |l, i| u64::from((l * 77777777 + i) as u32),
    );
    let text = "tbuffer_store_format_xyz v[2:4], v0, s[20:23], 0 format:[BUF_DATA_FORMAT_10_11_11,BUF_NUM_FORMAT_USCALED] idxen";
    stored(text, (6, 2, &[10, 11, 11]), |l, i| ((l + i) as f32).to_bits(), |l, i| (l + i) as u64);
    let text = "tbuffer_store_format_xyzw v[2:5], v0, s[20:23], 0 format:[BUF_DATA_FORMAT_16_16_16_16,BUF_NUM_FORMAT_SSCALED] idxen";
    stored(
        text,
        (12, 3, &[16; 4]),
        |l, i| (l as f32 - 32.0 * i as f32).to_bits(),
        |l, i| ((l as i64 - 32 * i as i64) & 0xffff) as u64,
    );
}

#[test]
fn stores_of_sixteen_bits() {
    let half = |l: usize, i: usize| f16::from_f32((l as f32 - 31.0) / 16.0 + i as f32);
    let pair = |l: usize, r: usize| {
        u32::from(half(l, 2 * r).to_bits()) | u32::from(half(l, 2 * r + 1).to_bits()) << 16
    };
    let as_is = |l: usize, i: usize| u64::from(half(l, i).to_bits());
    stored("buffer_store_format_d16_x v2, v0, s[20:23], 0 idxen", (2, 7, &[16]), pair, as_is);
    stored("buffer_store_format_d16_xy v2, v0, s[20:23], 0 idxen", (5, 7, &[16; 2]), pair, as_is);
    stored("buffer_store_format_d16_xyz v[2:3], v0, s[20:23], 0 idxen", (13, 7, &[32; 3]), pair, |l, i| {
        half(l, i).to_f32().to_bits().into()
    });
    stored("buffer_store_format_d16_xyzw v[2:3], v0, s[20:23], 0 idxen", (10, 0, &[8; 4]), pair, |l, i| {
        (f64::from(half(l, i).to_f32().clamp(0.0, 1.0)) * 255.0).round_ties_even() as u64
    });
    stored(
        "buffer_store_format_d16_hi_x v2, v0, s[20:23], 0 idxen",
        (2, 4, &[16]),
        |l, _| (l as u32 * 999) << 16,
        |l, _| (l as u64 * 999) & 0xffff,
    );
    for (text, format) in [
        (
            "tbuffer_store_format_d16_x v2, v0, s[20:23], 0 format:[BUF_DATA_FORMAT_16,BUF_NUM_FORMAT_FLOAT] idxen",
            (2, 7, &[16; 1][..]),
        ),
        (
            "tbuffer_store_format_d16_xy v2, v0, s[20:23], 0 format:[BUF_DATA_FORMAT_16_16,BUF_NUM_FORMAT_FLOAT] idxen",
            (5, 7, &[16; 2]),
        ),
        (
            "tbuffer_store_format_d16_xyzw v[2:3], v0, s[20:23], 0 format:[BUF_DATA_FORMAT_16_16_16_16,BUF_NUM_FORMAT_FLOAT] idxen",
            (12, 7, &[16; 4]),
        ),
    ] {
        stored(text, format, pair, as_is);
    }
    let text = "tbuffer_store_format_d16_xyz v[2:3], v0, s[20:23], 0 format:[BUF_DATA_FORMAT_32_32_32,BUF_NUM_FORMAT_FLOAT] idxen";
    stored(text, (13, 7, &[32; 3]), pair, |l, i| half(l, i).to_f32().to_bits().into());
}

#[test]
fn what_the_manual_leaves_open_is_refused_by_name() {
    for (text, word3, value, expected) in [
        ("buffer_store_format_x v2, v0, s[20:23], 0 idxen", 4 << 12 | 1 << 15, 256, "does not fit"),
        (
            "buffer_store_format_x v2, v0, s[20:23], 0 idxen",
            2 << 12 | 1 << 15,
            0.5f32.to_bits(),
            "does not fit",
        ),
        ("buffer_store_format_x v2, v0, s[20:23], 0 idxen", 4 << 12 | 10 << 15, 0, "not stored"),
        ("buffer_load_format_x v6, v0, s[20:23], 0 idxen", 4 << 12 | 1 << 15 | 1 << 23, 0, "lane's number"),
        ("buffer_load_format_x v6, v0, s[20:23], 0 idxen", 6 << 12 | 1 << 15, 0, "format"),
    ] {
        let mut world = World::new(4, IDENTITY | word3);
        world.state.vgprs[2] = [value; 64];
        let Err(Problem::Instruction { reason, .. }) = world.run(text) else { panic!("{text} runs") };
        assert!(reason.contains(expected), "{text}: {reason}");
    }
}
