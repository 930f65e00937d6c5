//! What a pointer is, and copies between pointers.

use std::ffi::{c_int, c_uint, c_void};

/// `hipMemoryType`, by its number in HIP 6. (HIP 5 has 0 for the host and 1 for the device.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MemoryType(pub c_int);

impl MemoryType {
    /// `hipMemoryTypeUnregistered`.
    pub const UNREGISTERED: Self = Self(0);
    /// `hipMemoryTypeHost`.
    pub const HOST: Self = Self(1);
    /// `hipMemoryTypeDevice`.
    pub const DEVICE: Self = Self(2);
    /// `hipMemoryTypeManaged`.
    pub const MANAGED: Self = Self(3);
}

/// `hipPointerAttribute_t`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct PointerAttributes {
    /// The number of a [`MemoryType`].
    pub memory_type: c_int,
    /// The device.
    pub device: c_int,
    /// The address for kernels.
    pub device_pointer: *mut c_void,
    /// The address for the host.
    pub host_pointer: *mut c_void,
    /// Managed memory: never.
    pub is_managed: c_int,
    /// Flags of the allocation.
    pub allocation_flags: c_uint,
}

/// `hipMemcpyKind`: the direction of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemcpyKind {
    /// `hipMemcpyHostToHost`.
    HostToHost = 0,
    /// `hipMemcpyHostToDevice`.
    HostToDevice = 1,
    /// `hipMemcpyDeviceToHost`.
    DeviceToHost = 2,
    /// `hipMemcpyDeviceToDevice`.
    DeviceToDevice = 3,
    /// `hipMemcpyDefault`: the addresses tell.
    Default = 4,
}

impl MemcpyKind {
    /// All directions.
    pub const ALL: [Self; 5] =
        [Self::HostToHost, Self::HostToDevice, Self::DeviceToHost, Self::DeviceToDevice, Self::Default];

    /// The number that crosses the C interface.
    pub const fn number(self) -> c_int {
        self as c_int
    }
}
