//! The HIP backend: ops as kernels on an AMD GPU, or on the software HIP device.
//!
//! | module | what is there |
//! |---|---|
//! | [`backend`] | [`HipBackend`]: the contract |
//! | [`api`] | HIP's functions as a table, every status checked; an error in a `drop` is parked for the next synchronisation |
//! | `memory`, `stream` | handles for device and pinned memory, streams and events |
//! | `module`, [`launch`] | code objects; a launch whose arguments are checked against its object |
//! | `upload`, [`readback`] | copies to the device; copies to the host |
//! | `shared_library`, `rocm`, `hiprtc` | loaded when needed: the real runtime, and its compiler for GPUs without a built code object |
//! | [`objects`] | the code objects and sources embedded in the program |
//! | `ops` | one file per op: kernel, shape, arguments |
//! | [`planted`] | bugs of host code, planted between the backend and the software device, for tests of what finds them |
//! | [`foreign`] | kernels of other people, in the place of ours, as a manifest says |

pub mod api;
pub mod backend;
pub mod foreign;
pub mod gpu;
pub mod hiprtc;
pub mod launch;
mod memory;
mod module;
pub mod objects;
mod ops;
pub mod planted;
pub mod readback;
mod rocm;
mod shared_library;
mod stream;
mod upload;
mod workspace;

pub use backend::{HipBackend, Options};
pub use foreign::Foreign;
pub use memory::DeviceBuffer;
pub use module::Function;
pub use planted::HostBug;
pub use stream::{HipEvent, HipStream, Launched};
