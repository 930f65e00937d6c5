//! An argument of a kernel.

use std::fmt::{self, Display, Formatter};

/// One kernel argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Name in the source, where the compiler recorded it.
    pub name: Option<String>,
    /// Byte offset in the kernel-argument segment.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// What it is.
    pub kind: ArgumentKind,
    /// Address space of a pointer: `global`, `local`, `constant`, `generic`, …
    pub address_space: Option<String>,
}

/// What an argument is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ArgumentKind {
    /// Passed by value.
    ByValue,
    /// A pointer to device memory.
    GlobalBuffer,
    /// An offset of dynamic LDS.
    DynamicSharedPointer,
    /// Filled in by the runtime.
    Hidden(Hidden),
    /// Another kind (images, samplers, pipes), by its name.
    Other(String),
}

impl ArgumentKind {
    pub(crate) fn parse(name: &str) -> Self {
        match name {
            "by_value" => Self::ByValue,
            "global_buffer" => Self::GlobalBuffer,
            "dynamic_shared_pointer" => Self::DynamicSharedPointer,
            other => match other.strip_prefix(HIDDEN) {
                Some(hidden) => Self::Hidden(Hidden::parse(hidden)),
                None => Self::Other(other.to_owned()),
            },
        }
    }

    /// Whether the runtime fills it in.
    #[inline]
    pub fn is_hidden(&self) -> bool {
        matches!(self, Self::Hidden(_))
    }
}

impl Display for ArgumentKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByValue => f.write_str("by_value"),
            Self::GlobalBuffer => f.write_str("global_buffer"),
            Self::DynamicSharedPointer => f.write_str("dynamic_shared_pointer"),
            Self::Hidden(hidden) => write!(f, "{HIDDEN}{hidden}"),
            Self::Other(name) => f.write_str(name),
        }
    }
}

/// What the names of the arguments that the runtime fills in begin with.
const HIDDEN: &str = "hidden_";

/// What the runtime passes in an argument that the source does not have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Hidden {
    /// Workgroups along an axis.
    BlockCount(Axis),
    /// Work-items of a workgroup along an axis.
    GroupSize(Axis),
    /// Dimensions of the grid.
    GridDims,
    /// Bytes of LDS beyond what the kernel declares.
    DynamicLdsSize,
    /// Address of the buffer through which kernels ask the host for services, as `printf` does.
    HostcallBuffer,
    /// Address of the buffer in which kernels leave messages that are printed after the launch.
    PrintfBuffer,
    /// Address of what the workgroups of a cooperative launch meet by.
    MultigridSyncArg,
    /// Address of the queue.
    QueuePtr,
    /// High half of the flat addresses of private memory.
    PrivateBase,
    /// High half of the flat addresses of LDS.
    SharedBase,
    /// Something else, by its name without the prefix.
    Other(String),
}

/// An axis of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axis {
    /// The first.
    X,
    /// The second.
    Y,
    /// The third.
    Z,
}

impl Hidden {
    fn parse(name: &str) -> Self {
        match name {
            "block_count_x" => Self::BlockCount(Axis::X),
            "block_count_y" => Self::BlockCount(Axis::Y),
            "block_count_z" => Self::BlockCount(Axis::Z),
            "group_size_x" => Self::GroupSize(Axis::X),
            "group_size_y" => Self::GroupSize(Axis::Y),
            "group_size_z" => Self::GroupSize(Axis::Z),
            "grid_dims" => Self::GridDims,
            "dynamic_lds_size" => Self::DynamicLdsSize,
            "hostcall_buffer" => Self::HostcallBuffer,
            "printf_buffer" => Self::PrintfBuffer,
            "multigrid_sync_arg" => Self::MultigridSyncArg,
            "queue_ptr" => Self::QueuePtr,
            "private_base" => Self::PrivateBase,
            "shared_base" => Self::SharedBase,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl Display for Hidden {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::BlockCount(axis) => write!(f, "block_count_{axis}"),
            Self::GroupSize(axis) => write!(f, "group_size_{axis}"),
            Self::GridDims => f.write_str("grid_dims"),
            Self::DynamicLdsSize => f.write_str("dynamic_lds_size"),
            Self::HostcallBuffer => f.write_str("hostcall_buffer"),
            Self::PrintfBuffer => f.write_str("printf_buffer"),
            Self::MultigridSyncArg => f.write_str("multigrid_sync_arg"),
            Self::QueuePtr => f.write_str("queue_ptr"),
            Self::PrivateBase => f.write_str("private_base"),
            Self::SharedBase => f.write_str("shared_base"),
            Self::Other(name) => f.write_str(name),
        }
    }
}

impl Display for Axis {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::X => "x",
            Self::Y => "y",
            Self::Z => "z",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_print_as_the_metadata_names_them() {
        for name in [
            "by_value",
            "global_buffer",
            "dynamic_shared_pointer",
            "hidden_block_count_x",
            "hidden_block_count_y",
            "hidden_block_count_z",
            "hidden_group_size_x",
            "hidden_group_size_y",
            "hidden_group_size_z",
            "hidden_grid_dims",
            "hidden_dynamic_lds_size",
            "hidden_hostcall_buffer",
            "hidden_multigrid_sync_arg",
            "hidden_queue_ptr",
            "hidden_private_base",
            "hidden_shared_base",
            "hidden_global_offset_x",
            "sampler",
        ] {
            let kind = ArgumentKind::parse(name);
            assert_eq!(kind.to_string(), name);
            assert_eq!(kind.is_hidden(), name.starts_with("hidden_"), "{name}");
        }
    }
}
