//! Operations on sixteen lanes: lane `r` of a vector belongs to row `r` of a panel.

use super::row_panel::RowPanel;

/// Operations on sixteen lanes. A value of such a type exists only if the machine has the instructions.
pub trait Wide: Copy + Send + Sync {
    /// Sixteen f32.
    type G: Copy + Send;
    /// Sixteen i32, or four bytes for each of sixteen rows.
    type W: Copy + Send;

    /// True if there are registers for large tiles: 32 of 512 bits instead of 16 of 256.
    const MANY_REGISTERS: bool;

    /// What [`Wide::biased16`] adds to signed bytes.
    const BIAS: i32;

    /// 16 bytes from `at` on of every row: element `q` has bytes `4q..4q + 4`.
    fn quads(self, rows: RowPanel<'_>, at: usize) -> [Self::W; 4];
    /// Four bytes from `at` on of every row.
    fn words(self, rows: RowPanel<'_>, at: usize) -> Self::W;
    /// The bytes of an array.
    fn bytes16(self, x: &[u8; 64]) -> Self::W;
    /// The vector as bytes.
    fn byte_array16(self, x: Self::W) -> [u8; 64];
    /// The i32 of an array.
    fn ints16(self, x: &[i32; 16]) -> Self::W;
    /// The vector as i32.
    fn int_array16(self, x: Self::W) -> [i32; 16];
    /// The i32 `x` in all lanes.
    fn splat_int16(self, x: i32) -> Self::W;

    /// Bits `shift` and up of each byte, masked by `mask`. `shift` is below 8.
    fn field16(self, x: Self::W, shift: u32, mask: u8) -> Self::W;
    /// Bits `shift` and up of each i32, masked by `mask`. `shift` is below 32.
    fn word_field16(self, x: Self::W, shift: u32, mask: u32) -> Self::W;
    /// Byte `index`, below 4, of each i32 as a signed number.
    fn signed_byte16(self, x: Self::W, index: u32) -> Self::W;
    /// Bitwise `a | b·2^shift` by bytes that do not overflow. `shift` is below 8.
    fn or_shifted16(self, a: Self::W, b: Self::W, shift: u32) -> Self::W;
    /// Byte `i` is `value` where bit `4·quad + i` of its i32 is set, else 0. `quad` is below 8.
    fn bits16(self, x: Self::W, quad: u32, value: u8) -> Self::W;
    /// The entry of `table` at the index in each byte, which is below 16.
    fn table_lookup16(self, table: &[i8; 16], x: Self::W) -> Self::W;
    /// Signed bytes in the form that [`Wide::dot_biased16`] takes.
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
    fn low_f16_to_f32_16(self, x: Self::W) -> Self::G;
    /// `x` in all lanes.
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
