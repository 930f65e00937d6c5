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

pub mod api;
pub mod backend;
pub mod gpu;
pub mod hiprtc;
pub mod launch;
mod memory;
mod module;
pub mod objects;
mod ops;
pub mod readback;
mod rocm;
mod shared_library;
mod stream;
mod upload;
mod workspace;

pub use backend::{HipBackend, Options};
pub use memory::DeviceBuffer;
pub use module::Function;
pub use stream::{HipEvent, HipStream, Launched};
