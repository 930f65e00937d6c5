//! Memory of the program's own that host and kernels both see: `hipHostRegister`.

use std::collections::BTreeMap;
use std::ffi::{c_uint, c_void};
use std::io::pipe;
use std::os::fd::AsRawFd as _;
use std::ptr::{NonNull, with_exposed_provenance_mut};
use std::sync::{Mutex, PoisonError};

use hip_api::Code;
use softhip::control::{CallSite, current};
use softhip::memory::{AllocationKind, HostRange, MemoryError};

use crate::export::{HIP, status};
use crate::session;

/// Bytes of a page.
const PAGE: usize = 4096;
/// Bytes of a word, the smallest unit that the device reads.
const WORD: usize = 4;
/// All flags: portable, mapped, I/O memory, read-only or coarse-grained, uncached.
const FLAGS: c_uint = 0x8000_000f;

/// The flags of registered memory, by its address.
static REGISTERED: Mutex<BTreeMap<usize, c_uint>> = Mutex::new(BTreeMap::new());

fn with_registered<T>(body: impl FnOnce(&mut BTreeMap<usize, c_uint>) -> T) -> T {
    body(&mut REGISTERED.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The flags that memory was registered with, if it begins at `address`.
pub(crate) fn flags(address: usize) -> Option<c_uint> {
    with_registered(|registered| registered.get(&address).copied())
}

/// Are all pages of `start..end` mapped?
fn is_mapped(start: usize, end: usize) -> bool {
    let first = start - start % PAGE;
    let pages = (end - first).div_ceil(PAGE);
    let mut resident = vec![0u8; pages];
    // SAFETY: the call only looks at the mappings, and there is a byte for each page.
    unsafe {
        libc::mincore(with_exposed_provenance_mut(first), pages * PAGE, resident.as_mut_ptr().cast()) == 0
    }
}

/// Can the word at `address` be read? The system looks, so that no signal is raised.
fn is_readable(address: usize) -> bool {
    let Ok((_reader, writer)) = pipe() else { return false };
    let from = with_exposed_provenance_mut::<c_void>(address);
    // SAFETY: the system answers EFAULT where the bytes cannot be read.
    let written = unsafe { libc::write(writer.as_raw_fd(), from, WORD) };
    usize::try_from(written).is_ok_and(|written| written == WORD)
}

/// The device may read one word past the memory. Sees to it that there is one.
fn extend(end: usize) -> bool {
    if !end.is_multiple_of(PAGE) {
        return true;
    }
    let place = with_exposed_provenance_mut(end);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: nothing that is mapped is replaced.
    let page = unsafe { libc::mmap(place, PAGE, libc::PROT_READ, flags, -1, 0) };
    page == place || is_readable(end)
}

/// Makes memory reachable from kernels.
///
/// # Safety
///
/// The memory stays until it is unregistered.
unsafe fn register(host: *mut c_void, size: usize, flags: c_uint) -> Result<(), Code> {
    let start = NonNull::new(host.cast::<u8>()).ok_or(Code::INVALID_VALUE)?;
    let address = host.expose_provenance();
    let end = address.checked_add(size).and_then(|end| end.checked_next_multiple_of(WORD));
    let end = end.filter(|_| size != 0 && flags & !FLAGS == 0).ok_or(Code::INVALID_VALUE)?;
    if !is_mapped(address, end) {
        return Err(Code::INVALID_VALUE);
    }
    if !extend(end) {
        session::print_line(
            "assay: hipHostRegister: the page after the memory cannot be read, which the software device needs",
        );
        return Err(Code::NOT_SUPPORTED);
    }
    let range = HostRange {
        host: start,
        base: address as u64,
        size: size as u64,
        kind: AllocationKind::Registered,
        writable: true,
        written: Vec::new(),
        site: CallSite::get(),
    };
    // SAFETY: the memory is mapped, as is a word after it; the caller keeps it so until it is unregistered.
    unsafe { current().memory().map(range) }.map_err(|error| match error {
        MemoryError::Taken { .. } => Code::HOST_MEMORY_ALREADY_REGISTERED,
        _ => Code::OUT_OF_MEMORY,
    })?;
    with_registered(|registered| registered.insert(address, flags));
    Ok(())
}

compose! {
    /// `hipHostRegister`.
    fn hipHostRegister(host: *mut c_void, size: usize, flags: c_uint) {
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { register(host, size, flags) }
    }

    /// `hipHostUnregister`: everything queued runs first.
    fn hipHostUnregister(host: *mut c_void) {
        if host.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        with_registered(|registered| registered.remove(&host.addr())).ok_or(Code::HOST_MEMORY_NOT_REGISTERED)?;
        // SAFETY: what is queued is under the contract of the calls that queued it.
        let synchronised = status(unsafe { (HIP.device_synchronize)() });
        let found = current().memory().unmap(host.addr() as u64, CallSite::get());
        synchronised?;
        found.map(|_| ()).ok_or(Code::HOST_MEMORY_NOT_REGISTERED)
    }
}
