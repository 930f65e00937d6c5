//! Names, limits, properties in the layout of HIP 6.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicUsize, Ordering};

use hip_api::{Code, DeviceProperties, DevicePropertiesR0600};

use crate::export::{HIP, put, status};

const PCI_BUS_ID: &[u8] = b"0000:00:00.0";

/// `hipLimit_t`: bytes of a thread's stack, of the buffer of `printf`, of the heap of `malloc`. There are no others.
const LIMIT_STACK: c_int = 0;
const LIMIT_PRINTF: c_int = 1;
const LIMIT_HEAP: c_int = 2;
const STACK_BYTES: usize = 1024;
const HEAP_BYTES: usize = 8 << 20;
/// What a wave's stack can have in the registers that say so, for each of its threads.
const MOST_STACK_BYTES: usize = 8191 * 16;

/// `hipDeviceScheduleMask`, and with it all flags of a device.
const SCHEDULE: c_uint = 7;
const FLAGS: c_uint = 0x1f;
/// `hipSharedMemBankSizeFourByte`.
const BANKS_OF_4_BYTES: c_int = 1;

/// What `hipSetDeviceFlags` was last given.
static DEVICE_FLAGS: AtomicU32 = AtomicU32::new(0);
/// What `hipDeviceSetCacheConfig` was last given.
static CACHE: AtomicI32 = AtomicI32::new(0);

/// What `hipDeviceSetLimit` was last given.
static STACK: AtomicUsize = AtomicUsize::new(STACK_BYTES);
static HEAP: AtomicUsize = AtomicUsize::new(HEAP_BYTES);

/// Forgets what the program has chosen: the device has been reset.
pub(crate) fn forget_choices() {
    STACK.store(STACK_BYTES, Ordering::Relaxed);
    HEAP.store(HEAP_BYTES, Ordering::Relaxed);
    DEVICE_FLAGS.store(0, Ordering::Relaxed);
    CACHE.store(0, Ordering::Relaxed);
}

/// Answers the device that is nearest to what is wanted.
///
/// # Safety
///
/// `device` is null or valid for a write.
unsafe fn choose(device: *mut c_int, wanted: *const c_void) -> Result<(), Code> {
    if wanted.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: as this function's.
    unsafe { put(device, 0) }
}

pub(crate) fn properties(device: c_int) -> Result<DeviceProperties, Code> {
    let mut found = MaybeUninit::uninit();
    // SAFETY: the destination is valid for a write.
    status(unsafe { (HIP.get_device_properties)(found.as_mut_ptr(), device) })?;
    // SAFETY: the call succeeded, so it wrote all of it.
    Ok(unsafe { found.assume_init() })
}

/// The same facts in the newer layout. What only that one has: features that this device lacks are 0.
fn r0600(old: &DeviceProperties) -> DevicePropertiesR0600 {
    DevicePropertiesR0600 {
        name: old.name,
        uuid: *b"assay-softhip-00",
        luid: [0; 8],
        luid_device_node_mask: 0,
        total_global_mem: old.total_global_mem,
        shared_mem_per_block: old.shared_mem_per_block,
        regs_per_block: old.regs_per_block,
        warp_size: old.warp_size,
        mem_pitch: old.mem_pitch,
        max_threads_per_block: old.max_threads_per_block,
        max_threads_dim: old.max_threads_dim,
        max_grid_size: old.max_grid_size,
        clock_rate: old.clock_rate,
        total_const_mem: old.total_const_mem,
        major: old.major,
        minor: old.minor,
        texture_alignment: old.texture_alignment,
        texture_pitch_alignment: old.texture_pitch_alignment,
        device_overlap: 1,
        multi_processor_count: old.multi_processor_count,
        kernel_exec_timeout_enabled: old.kernel_exec_timeout_enabled,
        integrated: old.integrated,
        can_map_host_memory: old.can_map_host_memory,
        compute_mode: old.compute_mode,
        textures_and_surfaces: [0; 40],
        surface_alignment: 0,
        concurrent_kernels: old.concurrent_kernels,
        ecc_enabled: old.ecc_enabled,
        pci_bus_id: old.pci_bus_id,
        pci_device_id: old.pci_device_id,
        pci_domain_id: old.pci_domain_id,
        tcc_driver: old.tcc_driver,
        async_engine_count: 1,
        unified_addressing: 1,
        memory_clock_rate: old.memory_clock_rate,
        memory_bus_width: old.memory_bus_width,
        l2_cache_size: old.l2_cache_size,
        persisting_l2_cache_max_size: 0,
        max_threads_per_multi_processor: old.max_threads_per_multi_processor,
        stream_priorities_supported: 1,
        global_l1_cache_supported: 1,
        local_l1_cache_supported: 1,
        shared_mem_per_multiprocessor: old.max_shared_memory_per_multi_processor,
        regs_per_multiprocessor: old.regs_per_block,
        managed_memory: old.managed_memory,
        is_multi_gpu_board: old.is_multi_gpu_board,
        multi_gpu_board_group_id: 0,
        host_native_atomic_supported: 1,
        single_to_double_precision_perf_ratio: 0,
        pageable_memory_access: old.pageable_memory_access,
        concurrent_managed_access: old.concurrent_managed_access,
        compute_preemption_supported: 0,
        can_use_host_pointer_for_registered_mem: 1,
        cooperative_launch: old.cooperative_launch,
        cooperative_multi_device_launch: old.cooperative_multi_device_launch,
        shared_mem_per_block_optin: old.shared_mem_per_block,
        pageable_memory_access_uses_host_page_tables: old.pageable_memory_access_uses_host_page_tables,
        direct_managed_mem_access_from_host: old.direct_managed_mem_access_from_host,
        max_blocks_per_multi_processor: old.max_threads_per_multi_processor / old.warp_size,
        access_policy_max_window_size: 0,
        reserved_shared_mem_per_block: 0,
        host_register_supported: 1,
        sparse_hip_array_supported: 0,
        host_register_read_only_supported: 0,
        timeline_semaphore_interop_supported: 0,
        memory_pools_supported: 1,
        gpu_direct_rdma_supported: 0,
        gpu_direct_rdma_flush_writes_options: 0,
        gpu_direct_rdma_writes_ordering: 0,
        memory_pool_supported_handle_types: 0,
        deferred_mapping_hip_array_supported: 0,
        ipc_event_supported: 0,
        cluster_launch: 0,
        unified_function_pointers: 0,
        reserved: [0; 95],
        gcn_arch_name: old.gcn_arch_name,
        max_shared_memory_per_multi_processor: old.max_shared_memory_per_multi_processor,
        clock_instruction_rate: old.clock_instruction_rate,
        arch: old.arch,
        hdp_mem_flush_cntl: old.hdp_mem_flush_cntl,
        hdp_reg_flush_cntl: old.hdp_reg_flush_cntl,
        cooperative_multi_device_unmatched_func: old.cooperative_multi_device_unmatched_func,
        cooperative_multi_device_unmatched_grid_dim: old.cooperative_multi_device_unmatched_grid_dim,
        cooperative_multi_device_unmatched_block_dim: old.cooperative_multi_device_unmatched_block_dim,
        cooperative_multi_device_unmatched_shared_mem: old.cooperative_multi_device_unmatched_shared_mem,
        is_large_bar: old.is_large_bar,
        asic_revision: old.asic_revision,
    }
}

/// Writes as much of `text` as fits with a zero byte after it.
///
/// # Safety
///
/// `to` is null or has `len` bytes.
unsafe fn put_text(to: *mut c_char, len: c_int, text: &[u8]) -> Result<(), Code> {
    let room = usize::try_from(len).ok().and_then(|len| len.checked_sub(1)).ok_or(Code::INVALID_VALUE)?;
    if to.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    let text = &text[..text.len().min(room)];
    // SAFETY: the destination has more bytes than the text.
    unsafe { to.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len()) };
    // SAFETY: there is room for one more.
    unsafe { to.wrapping_add(text.len()).write(0) };
    Ok(())
}

compose! {
    /// `hipGetDevicePropertiesR0600`.
    fn hipGetDevicePropertiesR0600(out: *mut DevicePropertiesR0600, device: c_int) {
        let found = r0600(&properties(device)?);
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(out, found) }
    }

    /// `hipDeviceGet`.
    fn hipDeviceGet(out: *mut c_int, ordinal: c_int) {
        properties(ordinal)?;
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(out, ordinal) }
    }

    /// `hipDeviceGetName`.
    fn hipDeviceGetName(name: *mut c_char, len: c_int, device: c_int) {
        let found = properties(device)?.name.map(c_char::cast_unsigned);
        let end = found.iter().position(|&byte| byte == 0).unwrap_or(found.len());
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { put_text(name, len, &found[..end]) }
    }

    /// `hipDeviceGetPCIBusId`.
    fn hipDeviceGetPCIBusId(id: *mut c_char, len: c_int, device: c_int) {
        properties(device)?;
        if usize::try_from(len).is_ok_and(|len| len <= PCI_BUS_ID.len()) {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { put_text(id, len, PCI_BUS_ID) }
    }

    /// `hipDeviceGetUuid`.
    fn hipDeviceGetUuid(out: *mut [u8; 16], device: c_int) {
        let found = r0600(&properties(device)?);
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(out, found.uuid) }
    }

    /// `hipDeviceTotalMem`.
    fn hipDeviceTotalMem(out: *mut usize, device: c_int) {
        let found = properties(device)?;
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(out, found.total_global_mem) }
    }

    /// `hipDeviceComputeCapability`.
    fn hipDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, device: c_int) {
        let found = properties(device)?;
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(major, found.major) }?;
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(minor, found.minor) }
    }

    /// `hipDeviceCanAccessPeer`: there is no peer.
    fn hipDeviceCanAccessPeer(out: *mut c_int, device: c_int, peer: c_int) {
        properties(device)?;
        properties(peer)?;
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(out, 0) }
    }

    /// `hipDeviceEnablePeerAccess`: there is no peer.
    fn hipDeviceEnablePeerAccess(_peer: c_int, _flags: c_uint) {
        Err(Code::INVALID_DEVICE)
    }

    /// `hipSetDeviceFlags`: how the host waits changes nothing here, and can be asked for.
    fn hipSetDeviceFlags(flags: c_uint) {
        if flags & !FLAGS != 0 || !(flags & SCHEDULE == 0 || (flags & SCHEDULE).is_power_of_two()) {
            return Err(Code::INVALID_VALUE);
        }
        DEVICE_FLAGS.store(flags & SCHEDULE, Ordering::Relaxed);
        Ok(())
    }

    /// `hipGetDeviceFlags`.
    fn hipGetDeviceFlags(flags: *mut c_uint) {
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(flags, DEVICE_FLAGS.load(Ordering::Relaxed)) }
    }

    /// `hipDeviceSetCacheConfig`: there is no choice, and it can be asked for.
    fn hipDeviceSetCacheConfig(configuration: c_int) {
        if !(0..=3).contains(&configuration) {
            return Err(Code::INVALID_VALUE);
        }
        CACHE.store(configuration, Ordering::Relaxed);
        Ok(())
    }

    /// `hipDeviceSetSharedMemConfig`: there is no choice.
    fn hipDeviceSetSharedMemConfig(configuration: c_int) {
        if (0..=2).contains(&configuration) { Ok(()) } else { Err(Code::INVALID_VALUE) }
    }

    /// `hipProfilerStart`: nothing is profiled.
    fn hipProfilerStart() {
        Ok(())
    }

    /// `hipProfilerStop`.
    fn hipProfilerStop() {
        Ok(())
    }

    /// `hipDeviceGetCacheConfig`.
    fn hipDeviceGetCacheConfig(configuration: *mut c_int) {
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(configuration, CACHE.load(Ordering::Relaxed)) }
    }

    /// `hipDeviceGetSharedMemConfig`: banks have 4 bytes.
    fn hipDeviceGetSharedMemConfig(configuration: *mut c_int) {
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(configuration, BANKS_OF_4_BYTES) }
    }

    /// `hipDeviceGetLimit`: the heap of `malloc` in kernels and the buffer of `printf` are the host's.
    fn hipDeviceGetLimit(value: *mut usize, limit: c_int) {
        let bytes = match limit {
            LIMIT_STACK => STACK.load(Ordering::Relaxed),
            LIMIT_PRINTF => HEAP_BYTES,
            LIMIT_HEAP => HEAP.load(Ordering::Relaxed),
            _ => return Err(Code::UNSUPPORTED_LIMIT),
        };
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(value, bytes) }
    }

    /// `hipDeviceSetLimit`: what a kernel needs is there in any case, and the limits can be asked for.
    fn hipDeviceSetLimit(limit: c_int, value: usize) {
        match limit {
            LIMIT_STACK => STACK.store(value.next_multiple_of(16).min(MOST_STACK_BYTES), Ordering::Relaxed),
            LIMIT_HEAP => HEAP.store(value, Ordering::Relaxed),
            LIMIT_PRINTF => return Err(Code::UNSUPPORTED_LIMIT),
            _ => return Err(Code::INVALID_VALUE),
        }
        Ok(())
    }

    /// `hipChooseDevice`: there is one.
    fn hipChooseDevice(device: *mut c_int, wanted: *const c_void) {
        // SAFETY: null or valid by HIP's contract.
        unsafe { choose(device, wanted) }
    }

    /// `hipChooseDeviceR0600`.
    fn hipChooseDeviceR0600(device: *mut c_int, wanted: *const c_void) {
        // SAFETY: null or valid by HIP's contract.
        unsafe { choose(device, wanted) }
    }

    /// `hipExtGetLinkTypeAndHopCount`: there is no other device.
    fn hipExtGetLinkTypeAndHopCount(first: c_int, second: c_int, kind: *mut u32, hops: *mut u32) {
        let nothing = kind.is_null() || hops.is_null() || first == second || first < 0 || second < 0;
        Err(if nothing { Code::INVALID_VALUE } else { Code::INVALID_DEVICE })
    }

    /// `hipDeviceGetP2PAttribute`: there is no other device.
    fn hipDeviceGetP2PAttribute(value: *mut c_int, _attribute: c_int, _from: c_int, _to: c_int) {
        Err(if value.is_null() { Code::INVALID_VALUE } else { Code::INVALID_DEVICE })
    }

    /// `hipDeviceGetByPCIBusId`.
    fn hipDeviceGetByPCIBusId(device: *mut c_int, id: *const c_char) {
        if id.is_null() || device.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: not null, so a string by HIP's contract.
        if unsafe { CStr::from_ptr(id) }.to_bytes() != PCI_BUS_ID {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: not null, so valid by HIP's contract.
        unsafe { put(device, 0) }
    }

    /// `hipDeviceDisablePeerAccess`: there is no other device.
    fn hipDeviceDisablePeerAccess(_device: c_int) {
        Err(Code::INVALID_DEVICE)
    }

    /// `hipDrvGetErrorName`.
    fn hipDrvGetErrorName(code: i32, out: *mut *const c_char) {
        if !Code(code).is_known() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(out, Code(code).name().as_ptr()) }
    }

    /// `hipDrvGetErrorString`.
    fn hipDrvGetErrorString(code: i32, out: *mut *const c_char) {
        if !Code(code).is_known() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(out, Code(code).text().as_ptr()) }
    }
}
