//! Sixteen rows of weights side by side: lane `r` of a vector belongs to row `r`.

use super::Rows16;
use super::portable::Portable;
use crate::fast::float16::widen;

/// Operations on sixteen lanes. Values of such a type exist only where the machine has the instructions.
pub trait Wide: Copy + Send + Sync {
    /// Sixteen f32.
    type G: Copy + Send;
    /// Sixteen i32, or four bytes for each of sixteen rows.
    type W: Copy + Send;

    /// Whether there are registers for large tiles: 32 of 512 bits instead of 16 of 256.
    const SPACIOUS: bool;

    /// What [`Wide::biased16`] adds to signed bytes.
    const BIAS: i32;

    /// 16 bytes from `at` on of every row: element `q` has bytes `4q..4q + 4`.
    fn quads(self, rows: Rows16<'_>, at: usize) -> [Self::W; 4];
    /// Four bytes from `at` on of every row.
    fn words(self, rows: Rows16<'_>, at: usize) -> Self::W;
    /// The bytes of an array.
    fn bytes16(self, x: &[u8; 64]) -> Self::W;
    /// The vector as bytes.
    fn byte_array16(self, x: Self::W) -> [u8; 64];
    /// The i32 of an array.
    fn ints16(self, x: &[i32; 16]) -> Self::W;
    /// The vector as i32.
    fn int_array16(self, x: Self::W) -> [i32; 16];
    /// Sixteen times the i32 `x`.
    fn splat_int16(self, x: i32) -> Self::W;

    /// Bits `shift` and up of each byte, as far as `mask` keeps them. `shift` is below 8.
    fn field16(self, x: Self::W, shift: u32, mask: u8) -> Self::W;
    /// Bits `shift` and up of each i32, as far as `mask` keeps them. `shift` is below 32.
    fn word_field16(self, x: Self::W, shift: u32, mask: u32) -> Self::W;
    /// Byte `index`, below 4, of each i32 as a signed number.
    fn signed_byte16(self, x: Self::W, index: u32) -> Self::W;
    /// Bitwise `a | b·2^shift` by bytes that do not overflow. `shift` is below 8.
    fn or_shifted16(self, a: Self::W, b: Self::W, shift: u32) -> Self::W;
    /// Byte `i` is `value` where bit `4·quad + i` of its i32 is set, else 0. `quad` is below 8.
    fn bits16(self, x: Self::W, quad: u32, value: u8) -> Self::W;
    /// The entry of `table` that each byte, below 16, is the number of.
    fn look_up16(self, table: &[i8; 16], x: Self::W) -> Self::W;
    /// Signed bytes, as [`Wide::dot_biased16`] takes them.
    fn biased16(self, x: Self::W) -> Self::W;

    /// `sum + Σ codes·x` over the four bytes of each lane, codes unsigned and at most 127, `x` four i8.
    fn dot16(self, sum: Self::W, codes: Self::W, x: i32) -> Self::W;
    /// `sum + Σ (code + BIAS)·x` for signed codes that [`Wide::biased16`] has prepared, and no `x` that is −128.
    fn dot_biased16(self, sum: Self::W, codes: Self::W, x: i32) -> Self::W;
    /// `a + b` of i32, wrapping.
    fn add_ints16(self, a: Self::W, b: Self::W) -> Self::W;
    /// `a·b` of i32, wrapping.
    fn mul_ints16(self, a: Self::W, b: Self::W) -> Self::W;

    /// i32 as f32, rounded.
    fn floats16(self, x: Self::W) -> Self::G;
    /// The low half of each i32, an f16, as f32.
    fn halves16(self, x: Self::W) -> Self::G;
    /// Sixteen times `x`.
    fn splat16(self, x: f32) -> Self::G;
    /// The floats of an array.
    fn load16(self, x: &[f32; 16]) -> Self::G;
    /// The floats.
    fn array16(self, x: Self::G) -> [f32; 16];
    /// `a + b`.
    fn add16(self, a: Self::G, b: Self::G) -> Self::G;
    /// `a·b`.
    fn mul16(self, a: Self::G, b: Self::G) -> Self::G;
    /// `a·b + c`, rounded once.
    fn mul_add16(self, a: Self::G, b: Self::G, c: Self::G) -> Self::G;
}

type Bytes = [u8; 64];

fn ints(x: Bytes) -> [i32; 16] {
    bytemuck::must_cast(x)
}

fn each_int(f: impl Fn(usize) -> i32) -> Bytes {
    bytemuck::must_cast::<[i32; 16], _>(std::array::from_fn(f))
}

impl Wide for Portable {
    type G = [f32; 16];
    type W = Bytes;

    const SPACIOUS: bool = false;
    const BIAS: i32 = 0;

    fn quads(self, rows: Rows16<'_>, at: usize) -> [Bytes; 4] {
        let columns = rows.columns::<16>(at);
        std::array::from_fn(|q| std::array::from_fn(|i| columns.row(i / 4)[4 * q + i % 4]))
    }

    fn words(self, rows: Rows16<'_>, at: usize) -> Bytes {
        let columns = rows.columns::<4>(at);
        std::array::from_fn(|i| columns.row(i / 4)[i % 4])
    }

    fn bytes16(self, x: &Bytes) -> Bytes {
        *x
    }

    fn byte_array16(self, x: Bytes) -> Bytes {
        x
    }

    fn ints16(self, x: &[i32; 16]) -> Bytes {
        bytemuck::must_cast(*x)
    }

    fn int_array16(self, x: Bytes) -> [i32; 16] {
        ints(x)
    }

    fn splat_int16(self, x: i32) -> Bytes {
        each_int(|_| x)
    }

    fn field16(self, x: Bytes, shift: u32, mask: u8) -> Bytes {
        x.map(|byte| (byte >> shift) & mask)
    }

    fn word_field16(self, x: Bytes, shift: u32, mask: u32) -> Bytes {
        each_int(|i| ((ints(x)[i].cast_unsigned() >> shift) & mask).cast_signed())
    }

    fn signed_byte16(self, x: Bytes, index: u32) -> Bytes {
        each_int(|i| (ints(x)[i] << (24 - 8 * index)) >> 24)
    }

    fn or_shifted16(self, a: Bytes, b: Bytes, shift: u32) -> Bytes {
        std::array::from_fn(|i| a[i] | b[i] << shift)
    }

    fn bits16(self, x: Bytes, quad: u32, value: u8) -> Bytes {
        let x = ints(x);
        std::array::from_fn(|i| if x[i / 4] >> (4 * quad) >> (i % 4) & 1 == 1 { value } else { 0 })
    }

    fn look_up16(self, table: &[i8; 16], x: Bytes) -> Bytes {
        x.map(|byte| table[usize::from(byte & 15)].cast_unsigned())
    }

    fn biased16(self, x: Bytes) -> Bytes {
        x
    }

    fn dot16(self, sum: Bytes, codes: Bytes, x: i32) -> Bytes {
        let x = x.to_le_bytes().map(|x| i32::from(x.cast_signed()));
        let product = |i: usize, j: usize| i32::from(codes[4 * i + j]) * x[j];
        each_int(|i| ints(sum)[i].wrapping_add(product(i, 0) + product(i, 1) + product(i, 2) + product(i, 3)))
    }

    fn dot_biased16(self, sum: Bytes, codes: Bytes, x: i32) -> Bytes {
        let x = x.to_le_bytes().map(|x| i32::from(x.cast_signed()));
        let product = |i: usize, j: usize| i32::from(codes[4 * i + j].cast_signed()) * x[j];
        each_int(|i| ints(sum)[i].wrapping_add(product(i, 0) + product(i, 1) + product(i, 2) + product(i, 3)))
    }

    fn add_ints16(self, a: Bytes, b: Bytes) -> Bytes {
        let (a, b) = (ints(a), ints(b));
        each_int(|i| a[i].wrapping_add(b[i]))
    }

    fn mul_ints16(self, a: Bytes, b: Bytes) -> Bytes {
        let (a, b) = (ints(a), ints(b));
        each_int(|i| a[i].wrapping_mul(b[i]))
    }

    fn floats16(self, x: Bytes) -> [f32; 16] {
        ints(x).map(|x| x as f32)
    }

    fn halves16(self, x: Bytes) -> [f32; 16] {
        std::array::from_fn(|i| widen(u16::from_le_bytes([x[4 * i], x[4 * i + 1]])))
    }

    fn splat16(self, x: f32) -> [f32; 16] {
        [x; 16]
    }

    fn load16(self, x: &[f32; 16]) -> [f32; 16] {
        *x
    }

    fn array16(self, x: [f32; 16]) -> [f32; 16] {
        x
    }

    fn add16(self, a: [f32; 16], b: [f32; 16]) -> [f32; 16] {
        std::array::from_fn(|i| a[i] + b[i])
    }

    fn mul16(self, a: [f32; 16], b: [f32; 16]) -> [f32; 16] {
        std::array::from_fn(|i| a[i] * b[i])
    }

    fn mul_add16(self, a: [f32; 16], b: [f32; 16], c: [f32; 16]) -> [f32; 16] {
        std::array::from_fn(|i| a[i].mul_add(b[i], c[i]))
    }
}
