//! CPU backends of Assay.
//!
//! * [`mod@reference`]: plain f64 arithmetic, one readable file per op, no `unsafe`. It is the oracle: for each output
//!   element it knows the value and what the error of a correct implementation scales with.
//! * [`fast`]: f32 on all cores, written independently of the reference.
//! * [`host`]: what every backend in host memory shares: buffers, streams, copies. Work is done when a call returns.
//! * [`fence`]: buffers against unmapped pages.
//!
//! `unsafe` is in `fence` and, of `fast`, in the thread pool, the vector instructions and one bounds check for sixteen rows.
#![deny(unsafe_code)]

pub mod fast;
pub mod fence;
pub mod host;
mod memory;
pub mod reference;

pub use memory::HostBuffer;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
