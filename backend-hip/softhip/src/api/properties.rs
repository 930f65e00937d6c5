//! What the device says about itself: the figures of one MI300X, which gfx942 is.

use std::ffi::{c_char, c_int, c_uint};

use crate::control::SoftDevice;
use crate::sched::LDS_LIMIT;

const NAME: &str = "softhip gfx942 (software)";
const ARCH_NAME: &str = "gfx942:sramecc+:xnack-";
const WARP: c_int = 64;
const THREADS_PER_BLOCK: c_int = 1024;
const THREADS_PER_CU: c_int = 2048;
const CUS: c_int = 304;
const REGISTERS_PER_BLOCK: c_int = 65536;
const CLOCK_KHZ: c_int = 2_100_000;
const MEMORY_CLOCK_KHZ: c_int = 1_300_000;
const BUS_BITS: c_int = 8192;
const L2_BYTES: c_int = 4 << 20;
const WALL_CLOCK_KHZ: c_int = 100_000;
const LDS_BYTES: c_int = 64 << 10;
const _: () = assert!(LDS_BYTES.unsigned_abs() == LDS_LIMIT);

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

/// A string in a field of fixed size, with zeros after it.
fn text(value: &str) -> [c_char; 256] {
    let mut field = [0; 256];
    for (slot, byte) in field.iter_mut().zip(value.bytes()) {
        *slot = c_char::from_ne_bytes([byte]);
    }
    field
}

impl DeviceProperties {
    pub(super) fn of(device: &SoftDevice) -> Self {
        let total = device.options().memory_bytes;
        Self {
            name: text(NAME),
            total_global_mem: usize::try_from(total).unwrap_or(usize::MAX),
            shared_mem_per_block: LDS_LIMIT as usize,
            regs_per_block: REGISTERS_PER_BLOCK,
            warp_size: WARP,
            max_threads_per_block: THREADS_PER_BLOCK,
            max_threads_dim: [THREADS_PER_BLOCK; 3],
            max_grid_size: [c_int::MAX, 65535, 65535],
            clock_rate: CLOCK_KHZ,
            memory_clock_rate: MEMORY_CLOCK_KHZ,
            memory_bus_width: BUS_BITS,
            total_const_mem: 2 << 30,
            major: 9,
            minor: 4,
            multi_processor_count: CUS,
            l2_cache_size: L2_BYTES,
            max_threads_per_multi_processor: THREADS_PER_CU,
            compute_mode: 0,
            clock_instruction_rate: WALL_CLOCK_KHZ,
            // All but dynamic parallelism, surfaces, funnel shifts and the system fence's extensions.
            arch: 0b0_1001_0111_1111_1111,
            concurrent_kernels: 1,
            pci_domain_id: 0,
            pci_bus_id: 0,
            pci_device_id: 0,
            max_shared_memory_per_multi_processor: LDS_LIMIT as usize,
            is_multi_gpu_board: 0,
            can_map_host_memory: 1,
            gcn_arch: 942,
            gcn_arch_name: text(ARCH_NAME),
            integrated: 0,
            cooperative_launch: 0,
            cooperative_multi_device_launch: 0,
            max_texture_1d_linear: 0,
            max_texture_1d: 0,
            max_texture_2d: [0; 2],
            max_texture_3d: [0; 3],
            hdp_mem_flush_cntl: std::ptr::null_mut(),
            hdp_reg_flush_cntl: std::ptr::null_mut(),
            mem_pitch: c_int::MAX.unsigned_abs() as usize,
            texture_alignment: 256,
            texture_pitch_alignment: 256,
            kernel_exec_timeout_enabled: 0,
            ecc_enabled: 1,
            tcc_driver: 0,
            cooperative_multi_device_unmatched_func: 0,
            cooperative_multi_device_unmatched_grid_dim: 0,
            cooperative_multi_device_unmatched_block_dim: 0,
            cooperative_multi_device_unmatched_shared_mem: 0,
            is_large_bar: 1,
            asic_revision: 1,
            managed_memory: 0,
            direct_managed_mem_access_from_host: 0,
            concurrent_managed_access: 0,
            pageable_memory_access: 0,
            pageable_memory_access_uses_host_page_tables: 0,
        }
    }
}

/// `hipDeviceGetAttribute`, by the attribute's number. Features of textures, surfaces, managed memory and the like,
/// which this device has not, are 0.
pub(super) fn attribute(number: c_int) -> Option<c_int> {
    Some(match number {
        // ECC, host mapping, concurrent kernels, unified addressing, memory pools, large BAR, fine-grained memory.
        0 | 3 | 8 | 85 | 88 | 10011 | 10016 => 1,
        5 => CLOCK_KHZ,
        19 => L2_BYTES,
        23 => 9,
        26..=28 | 56 => THREADS_PER_BLOCK,
        // Grid in x, pitch, constant memory: no limit of its own.
        29 | 58 | 83 => c_int::MAX,
        30 | 31 => 65535,
        57 => THREADS_PER_CU,
        59 => BUS_BITS,
        60 => MEMORY_CLOCK_KHZ,
        61 => 4,
        63 | 10015 => CUS,
        71 | 72 => REGISTERS_PER_BLOCK,
        74..=76 | 10002 => LDS_BYTES,
        87 => WARP,
        10000 | 10017 => WALL_CLOCK_KHZ,
        0..=91 | 10000..=10023 => 0,
        _ => return None,
    })
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
