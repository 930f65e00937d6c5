//! The vector operations that the kernels of this backend are written in, and who carries them out.
//!
//! A kernel is written once, over any [`Simd`]: eight f32 ([`Simd::F`]) or 256 bits of integers ([`Simd::I`]).
//! [`Portable`] does every operation by plain Rust, `Avx2` by one or a few instructions where the machine has them. Both give the same bits:
//! integers are exact, and each operation on floats is one IEEE rounding.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod portable;
#[cfg(test)]
mod tests;

#[cfg(target_arch = "x86_64")]
use avx2::Avx2;
pub use portable::Portable;

/// Floats of a vector.
pub const WIDTH: usize = 8;

/// An array of eight, each made of its index. Unlike a closure, the expression is compiled with the instructions of the kernel that it
/// stands in; so kernels use no closures around vector operations.
macro_rules! eight {
    ($i:ident => $value:expr) => {
        [
            $crate::fast::simd::at!($i = 0 => $value),
            $crate::fast::simd::at!($i = 1 => $value),
            $crate::fast::simd::at!($i = 2 => $value),
            $crate::fast::simd::at!($i = 3 => $value),
            $crate::fast::simd::at!($i = 4 => $value),
            $crate::fast::simd::at!($i = 5 => $value),
            $crate::fast::simd::at!($i = 6 => $value),
            $crate::fast::simd::at!($i = 7 => $value),
        ]
    };
}

/// The expression for one index.
macro_rules! at {
    ($i:ident = $index:literal => $value:expr) => {{
        let $i: usize = $index;
        $value
    }};
}

pub(super) use {at, eight};

/// A set of vector operations. Values of such a type exist only where the machine has the instructions.
pub trait Simd: Copy + Send + Sync {
    /// Eight f32.
    type F: Copy + Send;
    /// 256 bits: 32 bytes, 16 i16 or 8 i32, as an operation takes them.
    type I: Copy + Send;

    /// Runs `kernel` with the instructions enabled.
    fn run<K: Kernel>(self, kernel: K) -> K::Output;

    /// Says that the line of memory `ahead` bytes after the start of `bytes` may be read soon. It need not be there.
    fn prefetch(self, bytes: &[u8], ahead: usize);

    /// Eight times `x`.
    fn splat(self, x: f32) -> Self::F;
    /// The floats of an array.
    fn load(self, x: &[f32; 8]) -> Self::F;
    /// Eight f32 in memory of any alignment, little-endian.
    fn load_bytes(self, x: &[u8; 32]) -> Self::F;
    /// Eight f16 as f32.
    fn halves(self, x: [u16; 8]) -> Self::F;
    /// Eight bf16 as f32.
    fn brain_halves(self, x: [u16; 8]) -> Self::F;
    /// The bits of the nearest f16, ties to even. NaN become quiet.
    fn to_halves(self, x: Self::F) -> [u16; 8];
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
    /// The larger of each two; `b` where one is NaN.
    fn max(self, a: Self::F, b: Self::F) -> Self::F;
    /// The smaller of each two; `b` where one is NaN.
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

    /// Sum of the eight: `((0+2)+(1+3)) + ((4+6)+(5+7))`.
    fn total(self, x: Self::F) -> f32;
    /// Lane `r` is the sum of `x[r]`, as [`Simd::total`] has it.
    fn totals(self, x: [Self::F; 8]) -> Self::F;

    /// The bytes of an array.
    fn bytes(self, x: &[u8; 32]) -> Self::I;
    /// The i16 of an array.
    fn shorts(self, x: &[i16; 16]) -> Self::I;
    /// Eight times the i32 `x`.
    fn splat_int(self, x: i32) -> Self::I;
    /// Eight i16 `low`, then eight i16 `high`.
    fn splat_halves(self, low: i16, high: i16) -> Self::I;
    /// The vector as 16 i16.
    fn short_array(self, x: Self::I) -> [i16; 16];
    /// The vector as 8 i32.
    fn int_array(self, x: Self::I) -> [i32; 8];
    /// Bitwise `a | b`.
    fn or(self, a: Self::I, b: Self::I) -> Self::I;
    /// Bits `shift` and up of each byte, as far as `mask` keeps them. `shift` is below 8.
    fn field(self, x: Self::I, shift: i32, mask: u8) -> Self::I;
    /// The low halves of 16 bytes, then their high halves.
    fn nibbles(self, x: &[u8; 16]) -> Self::I;
    /// Byte `i` is `value` where bit `i` of `bits` is set, else 0.
    fn bits(self, bits: u32, value: u8) -> Self::I;
    /// The entry of `table` that each byte, below 16, is the number of.
    fn look_up(self, table: &[i8; 16], x: Self::I) -> Self::I;
    /// Sums of neighbouring products of 32 u8 with 32 i8, as 16 i16. No sum may leave i16.
    fn dot_unsigned(self, a: Self::I, b: Self::I) -> Self::I;
    /// Sums of neighbouring products of 32 i8 with 32 i8 that are not −128, as 16 i16.
    fn dot_signed(self, a: Self::I, b: Self::I) -> Self::I;
    /// Sums of neighbouring products of 16 i16, as 8 i32.
    fn dot_shorts(self, a: Self::I, b: Self::I) -> Self::I;
    /// `a + b` of i32, wrapping.
    fn add_ints(self, a: Self::I, b: Self::I) -> Self::I;
    /// `a − b` of i32, wrapping.
    fn sub_ints(self, a: Self::I, b: Self::I) -> Self::I;
    /// `a − b` of i16, wrapping.
    fn sub_shorts(self, a: Self::I, b: Self::I) -> Self::I;
    /// Low 16 bits of the products of i16.
    fn mul_shorts(self, a: Self::I, b: Self::I) -> Self::I;
    /// `a·2^shift` of i32, wrapping.
    fn shift_ints(self, a: Self::I, shift: i32) -> Self::I;
    /// 32 u8 as i16: the first 16, then the others.
    fn widen_unsigned(self, x: Self::I) -> [Self::I; 2];
    /// 32 i8 as i16: the first 16, then the others.
    fn widen_signed(self, x: Self::I) -> [Self::I; 2];
    /// Lane `r` is the sum of the eight i32 of `x[r]`.
    fn sums(self, x: [Self::I; 8]) -> Self::I;
    /// i32 `c` of row `r` becomes i32 `r` of row `c`.
    fn transpose(self, x: [Self::I; 8]) -> [Self::I; 8];
}

/// A piece of work over any vector operations.
pub trait Kernel {
    /// What comes of it.
    type Output;

    /// Does it. Implementations are `#[inline(always)]`, so that they are compiled with the instructions of `S`.
    fn run<S: Simd>(self, s: S) -> Self::Output;
}

/// The vector operations of this machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arch {
    /// Plain Rust.
    Portable,
    /// AVX2, FMA and F16C.
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
}

impl Arch {
    /// The best that this machine has.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = Avx2::detect() {
            return Arch::Avx2(avx2);
        }
        Arch::Portable
    }

    /// Runs `kernel` by these operations.
    #[inline]
    pub fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self {
            Arch::Portable => Portable.run(kernel),
            #[cfg(target_arch = "x86_64")]
            Arch::Avx2(avx2) => avx2.run(kernel),
        }
    }

    /// Name for reports.
    pub const fn name(self) -> &'static str {
        match self {
            Arch::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Arch::Avx2(_) => "avx2",
        }
    }
}
