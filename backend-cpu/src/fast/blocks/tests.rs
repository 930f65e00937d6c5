//! Two implementations of every format, on the same bytes.

use half::{bf16, f16};
use kernels::{DType, SplitMix64, quant};

use super::super::float16;
use super::{decode_row, encode_row};

fn bytes(random: &mut SplitMix64, n: usize) -> Vec<u8> {
    (0..n).map(|_| random.next_u64().to_le_bytes()[0]).collect()
}

/// From −1 to 1, more often small than large.
fn value(random: &mut SplitMix64) -> f32 {
    let parts: [u16; 4] = bytemuck::cast(random.next_u64());
    let [a, b, ..] = parts.map(|part| f32::from(part) / 32768.0 - 1.0);
    a * b * b
}

/// Bits of a number, the same for every NaN.
fn identity(x: f32) -> u32 {
    if x.is_nan() { u32::MAX } else { x.to_bits() }
}

fn assert_decodes_alike(dtype: DType, bytes: &[u8]) {
    let n = bytes.len() / dtype.block_bytes() * dtype.block_len();
    let (mut ours, mut theirs) = (vec![7.5; n], vec![0.0; n]);
    decode_row(dtype, bytes, &mut ours);
    quant::decode_row(dtype, bytes, &mut theirs).unwrap();
    for (i, (a, b)) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(identity(*a), identity(*b), "{dtype}: value {i} is {a}, not {b}, in {bytes:02x?}");
    }
}

#[test]
fn random_blocks_of_every_format_decode_to_the_same_bits() {
    let mut random = SplitMix64::new(1);
    for dtype in DType::WEIGHTS {
        for _ in 0..400 {
            assert_decodes_alike(dtype, &bytes(&mut random, 3 * dtype.block_bytes()));
        }
    }
}

#[test]
fn extreme_scales_decode_to_the_same_bits_wherever_they_stand() {
    let mut random = SplitMix64::new(2);
    // Zeros, subnormals, the largest, infinities, NaN, each of both signs; a byte at a time for MXFP4's.
    let extremes = [0x0000, 0x0001, 0x03ff, 0x0400, 0x7bff, 0x7c00, 0x7e01, 0x7fff, 0x00ff, 0xff00, 0xfefe];
    for dtype in DType::WEIGHTS {
        for extreme in extremes.into_iter().flat_map(|e: u16| [e, e ^ 0x8000]) {
            for at in 0..dtype.block_bytes() - 1 {
                let mut block = bytes(&mut random, dtype.block_bytes());
                block[at..at + 2].copy_from_slice(&extreme.to_le_bytes());
                assert_decodes_alike(dtype, &block);
            }
        }
    }
}

#[test]
fn uniform_blocks_decode_to_the_same_bits() {
    for dtype in DType::WEIGHTS {
        for byte in 0..=255 {
            assert_decodes_alike(dtype, &vec![byte; dtype.block_bytes()]);
        }
    }
}

#[test]
fn every_f16_widens_to_its_value() {
    for half in 0..=u16::MAX {
        assert_eq!(identity(float16::widen(half)), identity(f16::from_bits(half).to_f32()), "{half:#06x}");
        assert_eq!(
            identity(float16::widen_bf16(half)),
            identity(bf16::from_bits(half).to_f32()),
            "{half:#06x}"
        );
    }
}

#[test]
fn narrowing_rounds_to_nearest_even_at_every_boundary() {
    for half in 0..u16::MAX {
        let (low, high) = (f16::from_bits(half).to_f32(), f16::from_bits(half + 1).to_f32());
        // Exact in f32; between the largest number and infinity, it is 65520 that matters.
        let middle = if high.is_infinite() { 65520f32.copysign(high) } else { f32::midpoint(low, high) };
        for x in [low, middle.next_down(), middle, middle.next_up()] {
            assert_eq!(float16::narrow(x), f16::from_f32(x).to_bits(), "{x:e}");
        }
    }
    let mut random = SplitMix64::new(3);
    for _ in 0..200_000 {
        let [a, b]: [u32; 2] = bytemuck::cast(random.next_u64());
        for x in [f32::from_bits(a), f32::from_bits(b & 0xffff_8000), f32::from_bits(b | 0x7f80_0000)] {
            assert_eq!(float16::narrow(x), f16::from_f32(x).to_bits(), "{:#010x}", x.to_bits());
            assert_eq!(float16::narrow_bf16(x), bf16::from_f32(x).to_bits(), "{:#010x}", x.to_bits());
        }
    }
}

const ENCODABLE: [DType; 8] =
    [DType::F32, DType::F16, DType::BF16, DType::Q4_0, DType::Q4_1, DType::Q5_0, DType::Q5_1, DType::Q8_0];

fn assert_encodes_alike(values: &[f32; 32]) {
    for dtype in ENCODABLE {
        let n = dtype.bytes_of(32).unwrap();
        let (mut ours, mut theirs) = (vec![0xa5; n], vec![0; n]);
        encode_row(dtype, values, &mut ours);
        quant::encode_row(dtype, values, &mut theirs).unwrap();
        assert_eq!(ours, theirs, "{dtype}: {values:?}");
    }
}

#[test]
fn random_blocks_encode_to_the_same_bytes() {
    let mut random = SplitMix64::new(4);
    for exponent in -149..=127 {
        let unit = f32::from_bits(if exponent < -126 {
            1 << (exponent + 149)
        } else {
            u32::try_from(exponent + 127).unwrap() << 23
        });
        for _ in 0..20 {
            let values = std::array::from_fn(|_| value(&mut random) * unit);
            assert_encodes_alike(&values);
            assert_encodes_alike(&values.map(f32::abs));
        }
    }
}

#[test]
fn ties_constants_and_zeros_encode_to_the_same_bytes() {
    let mut random = SplitMix64::new(5);
    for constant in [0.0, -0.0, 1.0, -3.0, f32::MIN_POSITIVE, f32::from_bits(1), f32::MAX, f32::MIN] {
        assert_encodes_alike(&[constant; 32]);
    }
    for _ in 0..2000 {
        // Halves between codes, and equal peaks of both signs.
        assert_encodes_alike(&std::array::from_fn(|_| {
            f32::from(bytes(&mut random, 1)[0].cast_signed() % 17) * 0.5
        }));
        assert_encodes_alike(&std::array::from_fn(|_| {
            f32::from(bytes(&mut random, 1)[0].cast_signed()) * 0.25
        }));
    }
}

#[test]
fn hostile_blocks_encode_to_the_same_bytes() {
    let mut random = SplitMix64::new(6);
    let specials =
        [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::from_bits(0x7fa0_1234), -0.0];
    for round in 0..4000 {
        let mut values: [f32; 32] = std::array::from_fn(|_| value(&mut random));
        for _ in 0..=round % 3 {
            let [at, which, ..]: [u8; 8] = random.next_u64().to_le_bytes();
            values[usize::from(at) % 32] = specials[usize::from(which) % specials.len()];
        }
        assert_encodes_alike(&values);
    }
    assert_encodes_alike(&[f32::NAN; 32]);
    assert_encodes_alike(&[f32::INFINITY; 32]);
}
