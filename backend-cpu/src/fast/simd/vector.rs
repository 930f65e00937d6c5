//! Operations on eight lanes, and the kernels that are written in them.

use super::wide::Wide;

/// f32 lanes of a [`Simd::F`].
pub const WIDTH: usize = 8;

/// A set of vector operations. A value of such a type exists only if the machine has the instructions.
pub trait Simd: Wide {
    /// Eight f32.
    type F: Copy + Send;
    /// 256 bits: 32 bytes, 16 i16 or 8 i32, as an operation takes them.
    type I: Copy + Send;

    /// Runs `kernel` with the instructions enabled.
    fn run<K: Kernel>(self, kernel: K) -> K::Output;

    /// `x` in all eight lanes.
    fn splat(self, x: f32) -> Self::F;
    /// The floats of an array.
    fn load(self, x: &[f32; 8]) -> Self::F;
    /// Eight f32 in memory of any alignment, little-endian.
    fn load_bytes(self, x: &[u8; 32]) -> Self::F;
    /// Eight f16 as f32.
    fn f16_to_f32(self, x: [u16; 8]) -> Self::F;
    /// Eight bf16 as f32.
    fn bf16_to_f32(self, x: [u16; 8]) -> Self::F;
    /// The bits of the nearest f16, ties to even. NaN become quiet.
    fn f32_to_f16(self, x: Self::F) -> [u16; 8];
    /// The floats.
    fn array(self, x: Self::F) -> [f32; 8];
    /// `a + b`.
    fn add(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a − b`.
    fn sub(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a·b`.
    fn mul(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a / b`.
    fn div(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a·b + c`, rounded once.
    fn mul_add(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// The larger of `a` and `b` in each lane; `b` if one is NaN.
    fn max(self, a: Self::F, b: Self::F) -> Self::F;
    /// The smaller of `a` and `b` in each lane; `b` if one is NaN.
    fn min(self, a: Self::F, b: Self::F) -> Self::F;
    /// The magnitude.
    fn abs(self, a: Self::F) -> Self::F;
    /// `2^n` times `x` by its exponent's bits, for results that are normal.
    fn scale_by_power(self, x: Self::F, n: Self::I) -> Self::F;
    /// `x`, or 0 where `a < b`.
    fn zero_where_below(self, x: Self::F, a: Self::F, b: Self::F) -> Self::F;
    /// Nearest integers, ties to even, of floats within the range of i32.
    fn nearest(self, x: Self::F) -> Self::I;
    /// i32 as f32, rounded.
    fn floats(self, x: Self::I) -> Self::F;

    /// The largest of the eight lanes, none of which is NaN.
    fn reduce_max(self, x: Self::F) -> f32;
    /// Sum of the eight lanes: `((0+2)+(1+3)) + ((4+6)+(5+7))`.
    fn reduce_add(self, x: Self::F) -> f32;
    /// Lane `r` is the sum of `x[r]`, as [`Simd::reduce_add`] has it.
    fn reduce_add_rows(self, x: [Self::F; 8]) -> Self::F;

    /// The bytes of an array.
    fn bytes(self, x: &[u8; 32]) -> Self::I;
    /// The i32 `x` in all eight lanes.
    fn splat_int(self, x: i32) -> Self::I;
    /// The vector as 8 i32.
    fn int_array(self, x: Self::I) -> [i32; 8];
    /// Bitwise `a | b`.
    fn or(self, a: Self::I, b: Self::I) -> Self::I;
    /// `a + b` of i32, wrapping.
    fn add_ints(self, a: Self::I, b: Self::I) -> Self::I;
    /// 32 i32 that are within the range of i8, as bytes.
    fn narrow(self, x: [Self::I; 4]) -> [u8; 32];
}

/// A computation that is generic over the vector operations.
pub trait Kernel {
    /// Its result.
    type Output;

    /// Runs it. Implementations are `#[inline(always)]`, so that they are compiled with the instructions of `S`. For the same reason they
    /// have no closures around vector operations.
    fn run<S: Simd>(self, s: S) -> Self::Output;
}
