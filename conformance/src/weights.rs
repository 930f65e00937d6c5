//! Seeded weights in every format.
//!
//! A block is random bits with its scales overwritten: everything that a format can store occurs, and the decoded values
//! have a sensible size.

use half::f16;
use kernels::{DType, quant};

use crate::data::{Data, Random, Remembered};

/// What the decoded weights look like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// As in a model: mostly below 1.
    Model,
    /// Integers below 2^12, or halves of them: sums of up to 1024 products with [`Data::Integers`] are exact in f32.
    Integers,
}

/// Byte offsets of the f16 scales in a block, and of the offset or minimum that some formats have besides.
fn scales(dtype: DType) -> (usize, Option<usize>) {
    match dtype {
        DType::Q4_1 | DType::Q5_1 | DType::Q4K | DType::Q5K => (0, Some(2)),
        DType::Q2K => (80, Some(82)),
        DType::Q3K => (108, None),
        DType::Q6K => (208, None),
        _ => (0, None),
    }
}

/// Bytes of `rows × columns` weights; a row consists of whole blocks.
///
/// # Panics
///
/// When `columns` is no multiple of the format's block: a mistake in the suite.
pub fn weights(dtype: DType, style: Style, random: &mut Random, rows: usize, columns: usize) -> Vec<u8> {
    let len = dtype.bytes_of(rows * columns).expect("rows of whole blocks");
    if dtype.is_quantised() {
        thread_local! {
            static RECENT: Remembered<(DType, Style, usize), u8> = const { Remembered::new() };
        }
        return RECENT.with(|recent| {
            recent.or_draw((dtype, style, len), random, |random| blocks(dtype, style, random, len))
        });
    }
    let mut bytes = vec![0; len];
    let data = if style == Style::Model { Data::Gauss } else { Data::Integers };
    let values = data.values(random, rows, columns);
    quant::encode_row(dtype, &values, &mut bytes).expect("plain formats have encoders");
    bytes
}

fn blocks(dtype: DType, style: Style, random: &mut Random, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    for block in bytes.chunks_exact_mut(dtype.block_bytes()) {
        fill(dtype, style, random, block);
    }
    bytes
}

fn fill(dtype: DType, style: Style, random: &mut Random, block: &mut [u8]) {
    block.iter_mut().for_each(|byte| *byte = random.bits().to_le_bytes()[0]);
    if dtype == DType::Mxfp4 {
        // An exponent, biased by 127.
        block[0] = match style {
            Style::Model => [121, 122, 123, 124, 125, 126][random.below(6)],
            Style::Integers => 127,
        };
        return;
    }
    let largest = largest(dtype);
    let (scale, offset) = match style {
        Style::Model => (2.0 * (0.2 + random.unit()) / largest, random.unit() - 1.0),
        Style::Integers => (1.0, [-3.0, -2.0, 1.0, 2.0][random.below(4)]),
    };
    // The K formats multiply the minimum by a further 4- or 6-bit scale; it must not dwarf the rest.
    let shrink = if dtype.block_len() == 256 && style == Style::Model { 1.0 / 32.0 } else { 1.0 };
    let (at, offset_at) = scales(dtype);
    block[at..at + 2].copy_from_slice(&f16::from_f64(scale).to_le_bytes());
    if let Some(at) = offset_at {
        block[at..at + 2].copy_from_slice(&f16::from_f64(offset * shrink).to_le_bytes());
    }
}

/// Largest integer that multiplies the scale.
fn largest(dtype: DType) -> f64 {
    match dtype {
        DType::Q4_0 => 8.0,
        DType::Q4_1 => 15.0,
        DType::Q5_0 => 16.0,
        DType::Q5_1 => 31.0,
        DType::Q8_0 | DType::Iq4Nl => 127.0,
        DType::Q2K => 45.0,
        DType::Q3K => 128.0,
        DType::Q4K => 945.0,
        DType::Q5K => 1953.0,
        DType::Q6K | DType::Iq4Xs => 4096.0,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_weights_are_of_moderate_size_and_not_all_alike() {
        for dtype in DType::WEIGHTS {
            let bytes = weights(dtype, Style::Model, &mut Random::new(1), 4, 512);
            let mut values = vec![0.0; 4 * 512];
            quant::decode_row(dtype, &bytes, &mut values).unwrap();
            let rms = (values.iter().map(|v| f64::from(v * v)).sum::<f64>() / 2048.0).sqrt();
            assert!((0.05..8.0).contains(&rms), "{dtype}: {rms}");
            assert_ne!(values[..512], values[512..1024], "{dtype}");
        }
    }

    #[test]
    fn integer_weights_are_multiples_of_a_half_below_4097() {
        for dtype in DType::WEIGHTS {
            let bytes = weights(dtype, Style::Integers, &mut Random::new(2), 4, 512);
            let mut values = vec![0.0; 4 * 512];
            quant::decode_row(dtype, &bytes, &mut values).unwrap();
            assert!(values.iter().all(|v| (v * 2.0).fract() == 0.0 && v.abs() <= 4160.0), "{dtype}");
            assert!(values.iter().any(|v| *v != 0.0), "{dtype}");
        }
    }
}
