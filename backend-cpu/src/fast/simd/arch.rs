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

/// Environment variable that names the set to use instead of the best one.
const SELECTION: &str = "ASSAY_SIMD";

/// A set of instructions that `ASSAY_SIMD` names and that this machine or program lacks.
#[derive(Debug, thiserror::Error)]
#[error("{SELECTION} is '{want}', which this machine does not have; it has {}", have.join(", "))]
pub struct UnavailableInstructions {
    want: String,
    have: Vec<&'static str>,
}

impl Arch {
    /// The set that `ASSAY_SIMD` names, or the best that this machine has.
    pub fn select() -> Result<Self, UnavailableInstructions> {
        match std::env::var_os(SELECTION) {
            Some(want) if !want.is_empty() => Arch::named(&want.to_string_lossy()),
            _ => Ok(Arch::best()),
        }
    }

    /// The best that this machine has.
    pub fn best() -> Self {
        Arch::available().last().unwrap_or(Arch::Portable)
    }

    /// The set called `want`.
    pub fn named(want: &str) -> Result<Self, UnavailableInstructions> {
        Arch::available().find(|arch| arch.name() == want).ok_or_else(|| UnavailableInstructions {
            want: want.to_owned(),
            have: Arch::available().map(Arch::name).collect(),
        })
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
