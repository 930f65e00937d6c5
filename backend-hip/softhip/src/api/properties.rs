//! What the device says about itself: the figures of one MI300X, which gfx942 is.

use std::ffi::{c_char, c_int};

use hip_api::{DeviceAttribute, DeviceProperties};

use crate::control::SoftDevice;
use crate::host;
use crate::sched::{COMPUTE_UNITS, LDS_LIMIT};

const NAME: &str = "softhip gfx942 (software)";
const ARCH_NAME: &str = "gfx942:sramecc+:xnack-";
const WARP: c_int = 64;
const TEXTURE_ALIGNMENT: c_int = 256;
const THREADS_PER_BLOCK: c_int = 1024;
const THREADS_PER_CU: c_int = 2048;
const CUS: c_int = COMPUTE_UNITS.cast_signed();
const REGISTERS_PER_BLOCK: c_int = 65536;
const CLOCK_KHZ: c_int = 2_100_000;
const MEMORY_CLOCK_KHZ: c_int = 1_300_000;
const BUS_BITS: c_int = 8192;
const L2_BYTES: c_int = 4 << 20;
const WALL_CLOCK_KHZ: c_int = 100_000;
const LDS_BYTES: c_int = 64 << 10;
const _: () = assert!(LDS_BYTES.unsigned_abs() == LDS_LIMIT);

/// A string in a field of fixed size, with zeros after it.
fn text(value: &str) -> [c_char; 256] {
    let mut field = [0; 256];
    for (slot, byte) in field.iter_mut().zip(value.bytes()) {
        *slot = c_char::from_ne_bytes([byte]);
    }
    field
}

pub(super) fn of(device: &SoftDevice) -> DeviceProperties {
    let total = device.options().memory_bytes;
    DeviceProperties {
        name: text(NAME),
        total_global_mem: host::size(total),
        shared_mem_per_block: LDS_LIMIT as usize,
        regs_per_block: REGISTERS_PER_BLOCK,
        warp_size: WARP,
        max_threads_per_block: THREADS_PER_BLOCK,
        max_threads_dim: [THREADS_PER_BLOCK; 3],
        max_grid_size: [c_int::MAX, 65535, 65535],
        clock_rate: CLOCK_KHZ,
        memory_clock_rate: MEMORY_CLOCK_KHZ,
        memory_bus_width: BUS_BITS,
        total_const_mem: i32::MAX as usize,
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
        cooperative_launch: 1,
        cooperative_multi_device_launch: 0,
        max_texture_1d_linear: 0,
        max_texture_1d: 0,
        max_texture_2d: [0; 2],
        max_texture_3d: [0; 3],
        hdp_mem_flush_cntl: std::ptr::null_mut(),
        hdp_reg_flush_cntl: std::ptr::null_mut(),
        mem_pitch: c_int::MAX.unsigned_abs() as usize,
        texture_alignment: TEXTURE_ALIGNMENT.unsigned_abs() as usize,
        texture_pitch_alignment: TEXTURE_ALIGNMENT.unsigned_abs() as usize,
        kernel_exec_timeout_enabled: 0,
        ecc_enabled: 1,
        tcc_driver: 0,
        cooperative_multi_device_unmatched_func: 0,
        cooperative_multi_device_unmatched_grid_dim: 0,
        cooperative_multi_device_unmatched_block_dim: 0,
        cooperative_multi_device_unmatched_shared_mem: 0,
        is_large_bar: 1,
        asic_revision: 1,
        managed_memory: 1,
        direct_managed_mem_access_from_host: 0,
        concurrent_managed_access: 1,
        pageable_memory_access: 0,
        pageable_memory_access_uses_host_page_tables: 0,
    }
}

/// `hipDeviceGetAttribute`. Features that this device lacks (textures, surfaces and the like) are 0.
pub(super) fn attribute(which: DeviceAttribute) -> Option<c_int> {
    use DeviceAttribute as A;
    Some(match which {
        A::ECC_ENABLED
        | A::CAN_MAP_HOST_MEMORY
        | A::CONCURRENT_KERNELS
        | A::UNIFIED_ADDRESSING
        | A::MEMORY_POOLS_SUPPORTED
        | A::VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
        | A::HOST_REGISTER_SUPPORTED
        | A::CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM
        | A::CONCURRENT_MANAGED_ACCESS
        | A::COOPERATIVE_LAUNCH
        | A::HOST_NATIVE_ATOMIC_SUPPORTED
        | A::STREAM_PRIORITIES_SUPPORTED
        | A::ASIC_REVISION
        | A::MANAGED_MEMORY
        | A::IS_LARGE_BAR
        | A::FINE_GRAIN_SUPPORT => 1,
        A::CLOCK_RATE => CLOCK_KHZ,
        A::L2_CACHE_SIZE => L2_BYTES,
        A::COMPUTE_CAPABILITY_MAJOR => 9,
        A::COMPUTE_CAPABILITY_MINOR => 4,
        A::MAX_BLOCK_DIM_X | A::MAX_BLOCK_DIM_Y | A::MAX_BLOCK_DIM_Z | A::MAX_THREADS_PER_BLOCK => {
            THREADS_PER_BLOCK
        }
        // There is no limit but that of the type.
        A::MAX_GRID_DIM_X | A::MAX_PITCH | A::TOTAL_CONSTANT_MEMORY => c_int::MAX,
        A::MAX_GRID_DIM_Y | A::MAX_GRID_DIM_Z => 65535,
        A::MAX_THREADS_PER_MULTIPROCESSOR => THREADS_PER_CU,
        A::MEMORY_BUS_WIDTH => BUS_BITS,
        A::MEMORY_CLOCK_RATE => MEMORY_CLOCK_KHZ,
        A::MULTIPROCESSOR_COUNT | A::PHYSICAL_MULTIPROCESSOR_COUNT => CUS,
        A::MAX_REGISTERS_PER_BLOCK | A::MAX_REGISTERS_PER_MULTIPROCESSOR => REGISTERS_PER_BLOCK,
        A::MAX_SHARED_MEMORY_PER_BLOCK
        | A::SHARED_MEM_PER_BLOCK_OPTIN
        | A::SHARED_MEM_PER_MULTIPROCESSOR
        | A::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR => LDS_BYTES,
        A::WARP_SIZE => WARP,
        A::TEXTURE_ALIGNMENT | A::TEXTURE_PITCH_ALIGNMENT => TEXTURE_ALIGNMENT,
        A::CLOCK_INSTRUCTION_RATE | A::WALL_CLOCK_RATE => WALL_CLOCK_KHZ,
        known if known.is_known() => 0,
        _ => return None,
    })
}
