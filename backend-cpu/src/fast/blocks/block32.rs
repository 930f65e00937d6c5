//! Blocks of 32 with one scale: `Q4_0`, `Q4_1`, `Q5_0`, `Q5_1`, `Q8_0`.

use super::super::float16::scale;
use super::codes::{field, nibbles, scaled, shifted};

pub fn q4_0(block: &[u8; 18], out: &mut [f32; 32]) {
    let codes = nibbles(&field(block, 2)).map(|code| code.cast_signed() - 8);
    scaled(&codes, scale(block, 0), out);
}

pub fn q4_1(block: &[u8; 20], out: &mut [f32; 32]) {
    let codes = nibbles(&field(block, 4)).map(u8::cast_signed);
    shifted(&codes, scale(block, 0), scale(block, 2), out);
}

pub fn q5_0(block: &[u8; 22], out: &mut [f32; 32]) {
    let codes = with_fifth_bits(nibbles(&field(block, 6)), field(block, 2));
    scaled(&codes.map(|code| code.cast_signed() - 16), scale(block, 0), out);
}

pub fn q5_1(block: &[u8; 24], out: &mut [f32; 32]) {
    let codes = with_fifth_bits(nibbles(&field(block, 8)), field(block, 4));
    shifted(&codes.map(u8::cast_signed), scale(block, 0), scale(block, 2), out);
}

pub fn q8_0(block: &[u8; 34], out: &mut [f32; 32]) {
    let codes = field::<32, 34>(block, 2).map(u8::cast_signed);
    scaled(&codes, scale(block, 0), out);
}

/// Sets bit 4 of code `i` where bit `i` of `fifths`, little-endian, is set.
#[inline]
fn with_fifth_bits(mut codes: [u8; 32], fifths: [u8; 4]) -> [u8; 32] {
    for (codes, byte) in codes.chunks_exact_mut(8).zip(fifths) {
        for (bit, code) in codes.iter_mut().enumerate() {
            *code |= (byte >> bit & 1) << 4;
        }
    }
    codes
}
