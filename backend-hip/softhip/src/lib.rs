//! A software HIP device: it runs gfx942 code objects on the CPU with every access checked.

pub mod exec;
pub mod api;
pub mod control;
pub mod isa;
pub mod memory;
pub mod object;
pub mod report;
pub mod sched;
