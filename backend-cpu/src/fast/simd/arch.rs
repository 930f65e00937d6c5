//! Choice of the instruction set at run time.

use super::portable::Portable;
use super::vector::{Kernel, Simd};
#[cfg(target_arch = "x86_64")]
use super::{avx2::Avx2, avx512::Avx512};

/// A set of vector instructions that this machine has.
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

    /// Runs `kernel` with these instructions.
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
