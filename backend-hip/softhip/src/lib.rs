//! A software HIP device: it runs gfx942 code objects on the CPU with every access checked.
//!
//! It is a memory checker, an initialisation checker, a race checker and a launch checker for AMD GPU code, and
//! needs neither a GPU nor AMD's runtime. It is *checked emulation*: what runs on it has not run on silicon.
//!
//! | module | what is there |
//! |---|---|
//! | [`api`] | HIP's functions with HIP's signatures and codes, and [`api::table`] to fill a backend's table from |
//! | [`control`] | the device as a Rust value: seed, schedule, checks, labels, reports, counters |
//! | [`report`] | findings, as text in the shape that users of compute-sanitizer know, and as JSON |
//! | [`sched`] | streams, events, policies, races between streams; what a launch is |
//! | [`memory`] | addresses, exact bounds, initialised bytes, races between workgroups: one checker for all accesses |
//! | [`isa`] | gfx942 instructions: decoding and printing |
//! | [`exec`] | the executor |
//! | [`waits`] | missing waits and hazards: the rules, and one state machine that keeps to them |
//! | [`lint`] | missing waits and hazards of a code object, found without running it |
//! | [`dataflow`] | what instructions do to registers along all ways through a kernel: dead results, branches that cannot go one way |
//! | [`trace`] | which instructions and branch directions launches reach |
//!
//! # Limits
//!
//! Transcendentals follow libm; the hardware is within about 1 ULP of it, so compare by bound across the two.
//! Memory is sequentially consistent: missing fences and cache-coherence bugs stay invisible. There is no timing.

pub mod api;
pub mod control;
pub mod dataflow;
pub mod exec;
mod host;
mod hostcall;
pub mod isa;
pub mod lint;
pub mod memory;
mod prefetch;
pub mod report;
pub mod sched;
pub mod trace;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod transpose;
pub mod waits;
mod wide;

#[doc(no_inline)]
pub use code_object as object;
