//! A software HIP device: it runs gfx942 code objects on the CPU with every access checked.

pub mod isa;
pub mod memory;
