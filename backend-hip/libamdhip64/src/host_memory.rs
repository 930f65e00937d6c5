//! Pinned memory, and device memory of special kinds: all of it is fine-grained here, and the flags are checked and remembered.

use std::collections::BTreeMap;
use std::ffi::{c_uint, c_void};
use std::sync::{Mutex, PoisonError};

use hip_api::{Code, MemoryType};

use crate::export::{HIP, put, status};
use crate::{memory, registered};

/// `hipHostMallocPortable`, `…Mapped`, `…WriteCombined`.
const PORTABLE: c_uint = 1;
const MAPPED: c_uint = 2;
const WRITE_COMBINED: c_uint = 4;
/// `hipHostMallocUncached`, `…NumaUser`, `…Coherent`, `…NonCoherent`.
const UNCACHED: c_uint = 0x1000_0000;
const NUMA_USER: c_uint = 0x2000_0000;
const COHERENT: c_uint = 0x4000_0000;
const NON_COHERENT: c_uint = 0x8000_0000;

/// Flags of `hipHostAlloc`, and those of `hipHostMalloc` besides.
const PLAIN: c_uint = PORTABLE | MAPPED | WRITE_COMBINED;
const ALL: c_uint = PLAIN | UNCACHED | NUMA_USER | COHERENT | NON_COHERENT;

/// `hipMallocSignalMemory`, the only kind of device memory that has a size of its own.
const SIGNAL: c_uint = 2;
const SIGNAL_BYTES: usize = 8;

/// Flags of pinned allocations that were given some, by their addresses.
static FLAGS: Mutex<BTreeMap<usize, c_uint>> = Mutex::new(BTreeMap::new());

fn with_flags<T>(body: impl FnOnce(&mut BTreeMap<usize, c_uint>) -> T) -> T {
    body(&mut FLAGS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Allocates pinned memory.
///
/// # Safety
///
/// `out` is null or valid for a write.
unsafe fn allocate(out: *mut *mut c_void, size: usize, flags: c_uint, known: c_uint) -> Result<(), Code> {
    let both = COHERENT | NON_COHERENT;
    if flags & !known != 0 || flags & both == both {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: as this function's.
    status(unsafe { (HIP.host_malloc)(out, size, flags) })?;
    // SAFETY: the call succeeded, so it is valid and holds the address.
    let memory = unsafe { out.read() };
    with_flags(|all| if flags == 0 { all.remove(&memory.addr()) } else { all.insert(memory.addr(), flags) });
    Ok(())
}

compose! {
    /// `hipHostMalloc`.
    fn hipHostMalloc(out: *mut *mut c_void, size: usize, flags: c_uint) {
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { allocate(out, size, flags, ALL) }
    }

    /// `hipHostAlloc`.
    fn hipHostAlloc(out: *mut *mut c_void, size: usize, flags: c_uint) {
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { allocate(out, size, flags, PLAIN) }
    }

    /// `hipExtHostAlloc`.
    fn hipExtHostAlloc(out: *mut *mut c_void, size: usize, flags: c_uint) {
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { allocate(out, size, flags, ALL) }
    }

    /// `hipMallocHost`.
    fn hipMallocHost(out: *mut *mut c_void, size: usize) {
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { allocate(out, size, 0, 0) }
    }

    /// `hipMemAllocHost`.
    fn hipMemAllocHost(out: *mut *mut c_void, size: usize) {
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { allocate(out, size, 0, 0) }
    }

    /// `hipHostGetFlags`.
    fn hipHostGetFlags(flags: *mut c_uint, memory: *mut c_void) {
        if memory::attributes(memory)?.memory_type != MemoryType::HOST.0 {
            return Err(Code::INVALID_VALUE);
        }
        let address = memory.addr();
        let given = || with_flags(|all| all.get(&address).copied()).unwrap_or(0);
        let found = registered::flags(address).unwrap_or_else(given);
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(flags, found) }
    }

    /// `hipExtMallocWithFlags`.
    fn hipExtMallocWithFlags(out: *mut *mut c_void, size: usize, flags: c_uint) {
        // Default, fine-grained, signals, uncached, contiguous.
        let known = matches!(flags, 0 | 1 | SIGNAL | 3 | 4);
        if !known || (flags == SIGNAL && size != SIGNAL_BYTES) {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller keeps to HIP's contract.
        status(unsafe { (HIP.malloc)(out, size) })
    }
}
