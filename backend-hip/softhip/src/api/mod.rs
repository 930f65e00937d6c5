//! HIP's functions, with HIP's signatures, codes and behaviour, on the software device.
//!
//! They are Rust items and are not exported under HIP's names, so that the real runtime and this one can live in one
//! process. A backend takes them from [`table`]. The device they act on is [`current`](crate::control::current).
//!
//! What follows the real runtime:
//!
//! * Codes are integers ([`Code`](hip_api::Code) names them). An error is also remembered per thread for `hipGetLastError`.
//! * Work is asynchronous. A kernel that faults makes a *later* call fail, with `hipErrorIllegalAddress`, and every call
//!   after that; the [report](crate::control::SoftDevice::reports) names the instruction that was at fault first.
//! * `hipMemcpyAsync` from pageable memory reads it before it returns; from pinned memory, when the copy runs.
//!
//! What differs: there is one device; copies between host and device that HIP may or may not make synchronous are as
//! asynchronous as its documentation allows; times are host times.
#![allow(
    unsafe_code,
    reason = "the C interface: raw pointers come in, and each one's use is argued where it happens"
)]

mod allocation;
mod copy;
mod device;
mod enter;
mod error;
mod event;
mod fill;
mod handle;
mod host;
mod image;
mod launch;
mod module;
mod properties;
mod stream;
mod table;

pub use enter::{called_as, remember};
pub use handle::on_thread_stream;
pub use image::code_object_at;
pub use launch::{argument_values, copy_arguments, packed_arguments};
pub use stream::ticket;
pub use table::table;
