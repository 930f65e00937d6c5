//! What a device says about itself.

use std::ffi::{c_char, c_int, c_uint};

/// `hipDeviceProp_t` in the layout of the unversioned symbol (HIP 5), which later releases still export.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
#[expect(missing_docs, reason = "HIP documents its fields")]
pub struct DeviceProperties {
    pub name: [c_char; 256],
    pub total_global_mem: usize,
    pub shared_mem_per_block: usize,
    pub regs_per_block: c_int,
    pub warp_size: c_int,
    pub max_threads_per_block: c_int,
    pub max_threads_dim: [c_int; 3],
    pub max_grid_size: [c_int; 3],
    pub clock_rate: c_int,
    pub memory_clock_rate: c_int,
    pub memory_bus_width: c_int,
    pub total_const_mem: usize,
    pub major: c_int,
    pub minor: c_int,
    pub multi_processor_count: c_int,
    pub l2_cache_size: c_int,
    pub max_threads_per_multi_processor: c_int,
    pub compute_mode: c_int,
    pub clock_instruction_rate: c_int,
    /// 17 feature bits.
    pub arch: c_uint,
    pub concurrent_kernels: c_int,
    pub pci_domain_id: c_int,
    pub pci_bus_id: c_int,
    pub pci_device_id: c_int,
    pub max_shared_memory_per_multi_processor: usize,
    pub is_multi_gpu_board: c_int,
    pub can_map_host_memory: c_int,
    pub gcn_arch: c_int,
    pub gcn_arch_name: [c_char; 256],
    pub integrated: c_int,
    pub cooperative_launch: c_int,
    pub cooperative_multi_device_launch: c_int,
    pub max_texture_1d_linear: c_int,
    pub max_texture_1d: c_int,
    pub max_texture_2d: [c_int; 2],
    pub max_texture_3d: [c_int; 3],
    pub hdp_mem_flush_cntl: *mut c_uint,
    pub hdp_reg_flush_cntl: *mut c_uint,
    pub mem_pitch: usize,
    pub texture_alignment: usize,
    pub texture_pitch_alignment: usize,
    pub kernel_exec_timeout_enabled: c_int,
    pub ecc_enabled: c_int,
    pub tcc_driver: c_int,
    pub cooperative_multi_device_unmatched_func: c_int,
    pub cooperative_multi_device_unmatched_grid_dim: c_int,
    pub cooperative_multi_device_unmatched_block_dim: c_int,
    pub cooperative_multi_device_unmatched_shared_mem: c_int,
    pub is_large_bar: c_int,
    pub asic_revision: c_int,
    pub managed_memory: c_int,
    pub direct_managed_mem_access_from_host: c_int,
    pub concurrent_managed_access: c_int,
    pub pageable_memory_access: c_int,
    pub pageable_memory_access_uses_host_page_tables: c_int,
}

/// `hipDeviceAttribute_t`, by its number. A newer runtime may have numbers that are not named here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceAttribute(pub c_int);

impl DeviceAttribute {
    /// `hipDeviceAttributeEccEnabled`.
    pub const ECC_ENABLED: Self = Self(0);
    /// `hipDeviceAttributeCanMapHostMemory`.
    pub const CAN_MAP_HOST_MEMORY: Self = Self(3);
    /// `hipDeviceAttributeHostNativeAtomicSupported`.
    pub const HOST_NATIVE_ATOMIC_SUPPORTED: Self = Self(15);
    /// `hipDeviceAttributeStreamPrioritiesSupported`.
    pub const STREAM_PRIORITIES_SUPPORTED: Self = Self(78);
    /// `hipDeviceAttributeTextureAlignment`.
    pub const TEXTURE_ALIGNMENT: Self = Self(81);
    /// `hipDeviceAttributeTexturePitchAlignment`.
    pub const TEXTURE_PITCH_ALIGNMENT: Self = Self(82);
    /// `hipDeviceAttributeAsicRevision`.
    pub const ASIC_REVISION: Self = Self(10_012);
    /// `hipDeviceAttributeCanUseHostPointerForRegisteredMem`.
    pub const CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM: Self = Self(4);
    /// `hipDeviceAttributeClockRate`, in kHz.
    pub const CLOCK_RATE: Self = Self(5);
    /// `hipDeviceAttributeConcurrentKernels`.
    pub const CONCURRENT_KERNELS: Self = Self(8);
    /// `hipDeviceAttributeConcurrentManagedAccess`.
    pub const CONCURRENT_MANAGED_ACCESS: Self = Self(9);
    /// `hipDeviceAttributeCooperativeLaunch`.
    pub const COOPERATIVE_LAUNCH: Self = Self(10);
    /// `hipDeviceAttributeL2CacheSize`, in bytes.
    pub const L2_CACHE_SIZE: Self = Self(19);
    /// `hipDeviceAttributeComputeCapabilityMajor`.
    pub const COMPUTE_CAPABILITY_MAJOR: Self = Self(23);
    /// `hipDeviceAttributeManagedMemory`.
    pub const MANAGED_MEMORY: Self = Self(24);
    /// `hipDeviceAttributeMaxBlockDimX`.
    pub const MAX_BLOCK_DIM_X: Self = Self(26);
    /// `hipDeviceAttributeMaxBlockDimY`.
    pub const MAX_BLOCK_DIM_Y: Self = Self(27);
    /// `hipDeviceAttributeMaxBlockDimZ`.
    pub const MAX_BLOCK_DIM_Z: Self = Self(28);
    /// `hipDeviceAttributeMaxGridDimX`.
    pub const MAX_GRID_DIM_X: Self = Self(29);
    /// `hipDeviceAttributeMaxGridDimY`.
    pub const MAX_GRID_DIM_Y: Self = Self(30);
    /// `hipDeviceAttributeMaxGridDimZ`.
    pub const MAX_GRID_DIM_Z: Self = Self(31);
    /// `hipDeviceAttributeMaxThreadsPerBlock`.
    pub const MAX_THREADS_PER_BLOCK: Self = Self(56);
    /// `hipDeviceAttributeMaxThreadsPerMultiProcessor`.
    pub const MAX_THREADS_PER_MULTIPROCESSOR: Self = Self(57);
    /// `hipDeviceAttributeMaxPitch`, in bytes.
    pub const MAX_PITCH: Self = Self(58);
    /// `hipDeviceAttributeMemoryBusWidth`, in bits.
    pub const MEMORY_BUS_WIDTH: Self = Self(59);
    /// `hipDeviceAttributeMemoryClockRate`, in kHz.
    pub const MEMORY_CLOCK_RATE: Self = Self(60);
    /// `hipDeviceAttributeComputeCapabilityMinor`.
    pub const COMPUTE_CAPABILITY_MINOR: Self = Self(61);
    /// `hipDeviceAttributeMultiprocessorCount`.
    pub const MULTIPROCESSOR_COUNT: Self = Self(63);
    /// `hipDeviceAttributeMaxRegistersPerBlock`.
    pub const MAX_REGISTERS_PER_BLOCK: Self = Self(71);
    /// `hipDeviceAttributeMaxRegistersPerMultiprocessor`.
    pub const MAX_REGISTERS_PER_MULTIPROCESSOR: Self = Self(72);
    /// `hipDeviceAttributeMaxSharedMemoryPerBlock`, in bytes.
    pub const MAX_SHARED_MEMORY_PER_BLOCK: Self = Self(74);
    /// `hipDeviceAttributeSharedMemPerBlockOptin`, in bytes.
    pub const SHARED_MEM_PER_BLOCK_OPTIN: Self = Self(75);
    /// `hipDeviceAttributeSharedMemPerMultiprocessor`, in bytes.
    pub const SHARED_MEM_PER_MULTIPROCESSOR: Self = Self(76);
    /// `hipDeviceAttributeTotalConstantMemory`, in bytes.
    pub const TOTAL_CONSTANT_MEMORY: Self = Self(83);
    /// `hipDeviceAttributeUnifiedAddressing`.
    pub const UNIFIED_ADDRESSING: Self = Self(85);
    /// `hipDeviceAttributeWarpSize`.
    pub const WARP_SIZE: Self = Self(87);
    /// `hipDeviceAttributeMemoryPoolsSupported`.
    pub const MEMORY_POOLS_SUPPORTED: Self = Self(88);
    /// `hipDeviceAttributeVirtualMemoryManagementSupported`.
    pub const VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED: Self = Self(89);
    /// `hipDeviceAttributeHostRegisterSupported`.
    pub const HOST_REGISTER_SUPPORTED: Self = Self(90);
    /// `hipDeviceAttributeClockInstructionRate`, in kHz.
    pub const CLOCK_INSTRUCTION_RATE: Self = Self(10_000);
    /// `hipDeviceAttributeMaxSharedMemoryPerMultiprocessor`, in bytes.
    pub const MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: Self = Self(10_002);
    /// `hipDeviceAttributeIsLargeBar`.
    pub const IS_LARGE_BAR: Self = Self(10_011);
    /// `hipDeviceAttributePhysicalMultiProcessorCount`.
    pub const PHYSICAL_MULTIPROCESSOR_COUNT: Self = Self(10_015);
    /// `hipDeviceAttributeFineGrainSupport`.
    pub const FINE_GRAIN_SUPPORT: Self = Self(10_016);
    /// `hipDeviceAttributeWallClockRate`, in kHz.
    pub const WALL_CLOCK_RATE: Self = Self(10_017);

    /// True if HIP 6 has an attribute of this number: CUDA's attributes come first, AMD's own from 10000.
    pub const fn is_known(self) -> bool {
        matches!(self.0, 0..=91 | 10_000..=10_023)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    fn the_layout_is_that_of_the_unversioned_symbol() {
        // Offsets that a C compiler gives the fields of HIP 5's structure on a 64-bit host.
        assert_eq!(offset_of!(DeviceProperties, total_global_mem), 256);
        assert_eq!(offset_of!(DeviceProperties, warp_size), 276);
        assert_eq!(offset_of!(DeviceProperties, total_const_mem), 320);
        assert_eq!(offset_of!(DeviceProperties, multi_processor_count), 336);
        assert_eq!(offset_of!(DeviceProperties, gcn_arch_name), 396);
        assert_eq!(offset_of!(DeviceProperties, hdp_mem_flush_cntl), 696);
        assert_eq!(size_of::<DeviceProperties>(), 792);
    }
}
