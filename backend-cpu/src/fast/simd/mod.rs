//! The vector operations that the kernels of this backend are written in, and who carries them out.
//!
//! A kernel is written once, over any [`Simd`]: eight f32 ([`Simd::F`]) or 256 bits of integers ([`Simd::I`]), and sixteen of each
//! ([`Wide`]) for products of integers. [`Portable`] does every operation by plain Rust, `Avx2` and `Avx512` by one or a few
//! instructions where the machine has them. All give the same bits: integers are exact, and each operation on floats is one IEEE
//! rounding.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;
mod prefetch;
mod row_panel;
#[cfg(test)]
mod tests;
mod wide;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "x86_64")]
use {avx2::Avx2, avx512::Avx512};

pub use portable::Portable;
pub use prefetch::{LINE, prefetch};
pub use row_panel::Rows16;
pub use wide::Wide;

/// Floats of a vector.
pub const WIDTH: usize = 8;

/// A set of vector operations. Values of such a type exist only where the machine has the instructions.
pub trait Simd: Wide {
    /// Eight f32.
    type F: Copy + Send;
    /// 256 bits: 32 bytes, 16 i16 or 8 i32, as an operation takes them.
    type I: Copy + Send;

    /// Runs `kernel` with the instructions enabled.
    fn run<K: Kernel>(self, kernel: K) -> K::Output;

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

    /// The largest of eight, none of which is NaN.
    fn peak(self, x: Self::F) -> f32;
    /// Sum of the eight: `((0+2)+(1+3)) + ((4+6)+(5+7))`.
    fn total(self, x: Self::F) -> f32;
    /// Lane `r` is the sum of `x[r]`, as [`Simd::total`] has it.
    fn totals(self, x: [Self::F; 8]) -> Self::F;

    /// The bytes of an array.
    fn bytes(self, x: &[u8; 32]) -> Self::I;
    /// Eight times the i32 `x`.
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

/// A piece of work over any vector operations.
pub trait Kernel {
    /// What comes of it.
    type Output;

    /// Does it. Implementations are `#[inline(always)]`, so that they are compiled with the instructions of `S`; for the same reason
    /// they use no closures around vector operations.
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
    /// AVX-512 with VNNI.
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
}

impl Arch {
    /// The best that this machine has.
    pub fn detect() -> Self {
        Arch::available().last().unwrap_or(Arch::Portable)
    }

    /// All that this machine has, the best one last.
    pub fn available() -> impl Iterator<Item = Self> {
        let found = [
            Some(Arch::Portable),
            #[cfg(target_arch = "x86_64")]
            Avx2::detect().map(Arch::Avx2),
            #[cfg(target_arch = "x86_64")]
            Avx512::detect().map(Arch::Avx512),
        ];
        found.into_iter().flatten()
    }

    /// Runs `kernel` by these operations.
    #[inline]
    pub fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self {
            Arch::Portable => Portable.run(kernel),
            #[cfg(target_arch = "x86_64")]
            Arch::Avx2(avx2) => avx2.run(kernel),
            #[cfg(target_arch = "x86_64")]
            Arch::Avx512(avx512) => avx512.run(kernel),
        }
    }

    /// Name for reports.
    pub const fn name(self) -> &'static str {
        match self {
            Arch::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Arch::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Arch::Avx512(_) => "avx512",
        }
    }
}
