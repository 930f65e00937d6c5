//! The vector operations that the kernels of this backend are written in, for each instruction set.
//!
//! A kernel is written once, over any [`Simd`]: eight f32 ([`Simd::F`]) or 256 bits of integers ([`Simd::I`]), and sixteen of each
//! ([`wide::Wide`]) for products of integers. [`Portable`] does every operation by plain Rust, `Avx2` and `Avx512` by one or a few
//! instructions if the machine has them. All give the same bits: integers are exact, and each operation on floats is one IEEE
//! rounding.

mod arch;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;
mod portable_wide;
mod prefetch;
mod row_panel;
#[cfg(test)]
mod tests;
mod vector;
mod wide;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use arch::{Arch, UnavailableInstructions};
pub use portable::Portable;
pub use prefetch::{CACHE_LINE, prefetch};
pub use row_panel::{PANEL_ROWS, RowPanel};
pub use vector::{Kernel, Simd, WIDTH};
