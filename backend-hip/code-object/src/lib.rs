//! Code objects: what a HIP module holds, read from its ELF file.
//!
//! [`CodeObject::parse`] trusts nothing: a truncated or hostile file gives an [`ObjectError`]. What it returns is
//! checked: every kernel's code and descriptor lie in loaded segments, and its descriptor and metadata agree.
//!
//! | module | what is there |
//! |---|---|
//! | `container` | [`open`]: the files that code objects arrive in: bundles, compressed bundles, programs |
//! | `code_object` | [`CodeObject`]: the whole |
//! | `elf` | the ELF header and the metadata note |
//! | `image` | [`Image`]: the loadable segments and their relocations |
//! | `metadata` | the `MessagePack` that lists kernels and arguments |
//! | `kernel`, `argument`, `descriptor` | [`Kernel`], [`Argument`], [`Descriptor`] |
//! | `symbols` | [`Function`]: symbols and the extents of functions |
//! | `lines` | [`LineTable`]: source lines of addresses |
//! | `target` | [`Target`]: which GPU the code is for |

#![forbid(unsafe_code)]

mod argument;
mod code_object;
mod container;
mod descriptor;
mod elf;
mod error;
mod image;
mod kernel;
mod lines;
mod metadata;
mod symbols;
mod target;

pub use argument::{Argument, ArgumentKind, Axis, Hidden};
pub use code_object::CodeObject;
pub use container::{
    Compression, ContainerError, MAX_UNPACKED, Packed, Source, TargetId, extent, open, open_for,
    wrapper_pointer,
};
pub use descriptor::{Descriptor, FloatMode, UserSgpr};
pub use error::{KernelPart, KernelSize, ObjectError, SegmentProblem};
pub use image::{Image, Relocation, Segment};
pub use kernel::{Kernel, KernelNote};
pub use lines::{LineTable, Location};
pub use symbols::Function;
pub use target::{GFX942, Target};
