//! Which allocations are live.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::{Mutex, PoisonError};

use hip_api::Code;
use softhip::memory::{AllocationInfo, AllocationKind, Site};

/// Every allocation by its address. A freed one stays until its address is used again.
static ALLOCATIONS: Mutex<BTreeMap<u64, AllocationInfo>> = Mutex::new(BTreeMap::new());

fn with<T>(body: impl FnOnce(&mut BTreeMap<u64, AllocationInfo>) -> T) -> T {
    body(&mut ALLOCATIONS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The allocation, live or freed, that holds an address.
pub(crate) fn at(address: u64) -> Option<AllocationInfo> {
    with(|all| {
        let (_, found) = all.range(..=address).next_back()?;
        (address - found.base < found.size).then(|| found.clone())
    })
}

/// A call allocated `size` bytes.
///
/// # Safety
///
/// `out` is valid for a read if `code` is success.
pub(crate) unsafe fn allocated(code: i32, out: *mut *mut c_void, size: usize, kind: AllocationKind) {
    if code != Code::SUCCESS.0 || out.is_null() || size == 0 {
        return;
    }
    // SAFETY: as this function's.
    let base = unsafe { out.read() }.addr() as u64;
    let size = size as u64;
    let info = AllocationInfo {
        base,
        size,
        label: None,
        kind,
        allocated: Some(Site::of_stack(host_stack::take())),
        freed: None,
        is_freed: false,
    };
    with(|all| {
        let end = base.saturating_add(size);
        // The bytes of freed allocations are this one's now.
        let covered: Vec<u64> = all
            .range(..end)
            .rev()
            .take_while(|(_, old)| old.base + old.size > base)
            .map(|(&at, _)| at)
            .collect();
        covered.iter().for_each(|at| drop(all.remove(at)));
        all.insert(base, info);
    });
}

pub(crate) fn freed(code: i32, memory: *mut c_void) {
    if code == Code::SUCCESS.0 {
        with(|all| {
            if let Some(info) = all.get_mut(&(memory.addr() as u64)) {
                info.is_freed = true;
                info.freed = Some(Site::of_stack(host_stack::take()));
            }
        });
    }
}

/// Names allocations after the arguments that point to them, unless they have a name.
pub(crate) fn suggest_label(address: u64, label: &str) {
    with(|all| {
        if let Some(info) = all.get_mut(&address) {
            info.label.get_or_insert_with(|| label.to_owned());
        }
    });
}

forwarded! {
    hipMallocAsync(out: *mut *mut c_void, size: usize, stream: *mut c_void)
        // SAFETY: a call that succeeds has written its output; likewise below.
        => |code| unsafe { allocated(code, out, size, AllocationKind::Device) };
    hipMallocManaged(out: *mut *mut c_void, size: usize, flags: c_uint)
        // SAFETY: as above.
        => |code| unsafe { allocated(code, out, size, AllocationKind::Pinned) };
    hipExtMallocWithFlags(out: *mut *mut c_void, size: usize, flags: c_uint)
        // SAFETY: as above.
        => |code| unsafe { allocated(code, out, size, AllocationKind::Device) };
    hipHostMalloc(out: *mut *mut c_void, size: usize, flags: c_uint)
        // SAFETY: as above.
        => |code| unsafe { allocated(code, out, size, AllocationKind::Pinned) };
    hipHostAlloc(out: *mut *mut c_void, size: usize, flags: c_uint)
        // SAFETY: as above.
        => |code| unsafe { allocated(code, out, size, AllocationKind::Pinned) };
    hipFreeAsync(memory: *mut c_void, stream: *mut c_void) => |code| freed(code, memory);
    hipHostFree(memory: *mut c_void) => |code| freed(code, memory);
    hipMemset(to: *mut c_void, value: c_int, size: usize);
    hipMemsetAsync(to: *mut c_void, value: c_int, size: usize, stream: *mut c_void);
}
