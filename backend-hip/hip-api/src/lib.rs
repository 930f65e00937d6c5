//! HIP's types, status codes, constants and table of calls. There is no logic here.
//!
//! A backend calls HIP through a [`HipApi`]. The real runtime fills the table, or the software device does.
//!
//! | module | what is there |
//! |---|---|
//! | `table` | [`HipApi`]: HIP's functions as pointers |
//! | `code` | [`Code`]: status codes with their names |
//! | `device` | [`DeviceProperties`], [`DeviceAttribute`] |
//! | `device_r0600` | [`DevicePropertiesR0600`] |
//! | `function` | [`FunctionAttributes`], [`FunctionAttribute`], the keys of packed launch arguments |
//! | `pointer` | [`PointerAttributes`], [`MemoryType`], [`MemcpyKind`] |
//! | [`flags`] | flags of streams and events |

#![forbid(unsafe_code)]

mod code;
mod device;
mod device_r0600;
pub mod flags;
mod function;
mod pointer;
mod table;

pub use code::Code;
pub use device::{DeviceAttribute, DeviceProperties};
pub use device_r0600::DevicePropertiesR0600;
pub use function::{
    FunctionAttribute, FunctionAttributes, LAUNCH_PARAM_BUFFER_POINTER, LAUNCH_PARAM_BUFFER_SIZE,
    LAUNCH_PARAM_END,
};
pub use pointer::{MemcpyKind, MemoryType, PointerAttributes};
pub use table::{HipApi, HostFunction};
