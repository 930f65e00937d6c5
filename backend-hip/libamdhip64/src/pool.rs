//! Memory pools. What is freed goes back to the device at once, so that a later use is found; a pool counts what it has given out.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::ptr::without_provenance_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hip_api::Code;

use crate::export::{HIP, put, status};
use crate::location::{Access, AccessDescription, Location};

/// The default pool's handle. Those of others follow it.
const DEFAULT: usize = 0x55 << 48;

/// `hipMemAllocationTypePinned`, the only type there is.
const PINNED: c_int = 1;

/// `hipMemPoolProps`, as far as this library reads it; releases before HIP 6 have zeros in the place of the size.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Properties {
    kind: c_int,
    handle_types: c_int,
    location: Location,
    _security: *mut c_void,
    max_size: usize,
}

/// A pool.
#[derive(Default)]
struct Pool {
    /// Whether memory may be reused after events, opportunistically, and by dependencies of the runtime's own: it never is.
    reuse: [c_int; 3],
    /// Bytes that the pool would keep.
    threshold: u64,
    /// Bytes that are given out, and the most that were.
    used: u64,
    high: u64,
    /// 0: no limit.
    limit: u64,
    /// It takes no more allocations, and goes when its last one is freed.
    destroyed: bool,
}

struct Pools {
    by_handle: BTreeMap<usize, Pool>,
    current: usize,
    /// Pool and size of what is given out, by address.
    allocations: BTreeMap<usize, (usize, u64)>,
}

static POOLS: Mutex<Option<Pools>> = Mutex::new(None);

fn with<T>(body: impl FnOnce(&mut Pools) -> Result<T, Code>) -> Result<T, Code> {
    let mut pools: MutexGuard<'_, Option<Pools>> = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    body(pools.get_or_insert_with(|| {
        let default = Pool { reuse: [1; 3], ..Pool::default() };
        Pools {
            by_handle: BTreeMap::from([(DEFAULT, default)]),
            current: DEFAULT,
            allocations: BTreeMap::new(),
        }
    }))
}

impl Pools {
    fn pool(&mut self, handle: usize) -> Result<&mut Pool, Code> {
        self.by_handle.get_mut(&handle).filter(|pool| !pool.destroyed).ok_or(Code::INVALID_VALUE)
    }
}

/// Runs `body` on a pool.
fn with_pool<T>(pool: *mut c_void, body: impl FnOnce(&mut Pool) -> Result<T, Code>) -> Result<T, Code> {
    with(|pools| body(pools.pool(pool.addr())?))
}

fn is_device(device: c_int) -> Result<(), Code> {
    if device == 0 { Ok(()) } else { Err(Code::INVALID_VALUE) }
}

/// Allocates from a pool; from the device's present one, if none is given.
///
/// # Safety
///
/// `out` is null or valid for a write.
unsafe fn allocate(
    out: *mut *mut c_void,
    size: usize,
    pool: Option<usize>,
    stream: *mut c_void,
) -> Result<(), Code> {
    with(|pools| {
        let handle = pool.unwrap_or(pools.current);
        let pool = pools.pool(handle)?;
        if pool.limit != 0 && size as u64 > pool.limit.saturating_sub(pool.used) {
            return Err(Code::OUT_OF_MEMORY);
        }
        // SAFETY: as this function's.
        status(unsafe { (HIP.malloc_async)(out, size, stream) })?;
        pool.used += size as u64;
        pool.high = pool.high.max(pool.used);
        // SAFETY: the call succeeded, so it is valid and holds the address.
        let address = unsafe { out.read() }.addr();
        if size != 0 {
            pools.allocations.insert(address, (handle, size as u64));
        }
        Ok(())
    })
}

/// An allocation is freed: its pool, if it is of one, has it no longer.
pub(crate) fn freed(memory: *mut c_void) {
    let given_back = with(|pools| {
        let Some((handle, size)) = pools.allocations.remove(&memory.addr()) else { return Ok(()) };
        if let Some(pool) = pools.by_handle.get_mut(&handle) {
            pool.used = pool.used.saturating_sub(size);
            if pool.destroyed && pool.used == 0 {
                pools.by_handle.remove(&handle);
            }
        }
        Ok(())
    });
    debug_assert!(given_back.is_ok(), "nothing here can fail");
}

compose! {
    /// `hipDeviceGetDefaultMemPool`.
    fn hipDeviceGetDefaultMemPool(pool: *mut *mut c_void, device: c_int) {
        if device != 0 {
            return Err(Code::INVALID_DEVICE);
        }
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(pool, without_provenance_mut(DEFAULT)) }
    }

    /// `hipDeviceGetMemPool`.
    fn hipDeviceGetMemPool(pool: *mut *mut c_void, device: c_int) {
        is_device(device)?;
        let current = with(|pools| Ok(pools.current))?;
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(pool, without_provenance_mut(current)) }
    }

    /// `hipDeviceSetMemPool`.
    fn hipDeviceSetMemPool(device: c_int, pool: *mut c_void) {
        is_device(device)?;
        with(|pools| {
            pools.pool(pool.addr())?;
            pools.current = pool.addr();
            Ok(())
        })
    }

    /// `hipMemPoolCreate`.
    fn hipMemPoolCreate(pool: *mut *mut c_void, properties: *const Properties) {
        if pool.is_null() || properties.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: not null, so valid by HIP's contract.
        let properties = unsafe { properties.read() };
        if properties.kind != PINNED {
            return Err(Code::INVALID_VALUE);
        }
        properties.location.check()?;
        if properties.handle_types != 0 {
            return Err(Code::NOT_SUPPORTED);
        }
        let handle = with(|pools| {
            let last = pools.by_handle.keys().next_back().copied().unwrap_or(DEFAULT);
            let limit = properties.max_size as u64;
            pools.by_handle.insert(last + 1, Pool { reuse: [1; 3], limit, ..Pool::default() });
            Ok(last + 1)
        })?;
        // SAFETY: not null, so valid by HIP's contract.
        unsafe { put(pool, without_provenance_mut(handle)) }
    }

    /// `hipMemPoolDestroy`: what it has given out stays until it is freed.
    fn hipMemPoolDestroy(pool: *mut c_void) {
        let handle = pool.addr();
        if handle == DEFAULT {
            return Err(Code::INVALID_VALUE);
        }
        with(|pools| {
            let pool = pools.pool(handle)?;
            pool.destroyed = true;
            if pool.used == 0 {
                pools.by_handle.remove(&handle);
            }
            if pools.current == handle {
                pools.current = DEFAULT;
            }
            Ok(())
        })
    }

    /// `hipMallocAsync`.
    fn hipMallocAsync(out: *mut *mut c_void, size: usize, stream: *mut c_void) {
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { allocate(out, size, None, stream) }
    }

    /// `hipMallocFromPoolAsync`.
    fn hipMallocFromPoolAsync(out: *mut *mut c_void, size: usize, pool: *mut c_void, stream: *mut c_void) {
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { allocate(out, size, Some(pool.addr()), stream) }
    }

    /// `hipFreeAsync`.
    fn hipFreeAsync(memory: *mut c_void, stream: *mut c_void) {
        if memory.is_null() {
            return Ok(());
        }
        // SAFETY: the caller keeps to HIP's contract.
        status(unsafe { (HIP.free_async)(memory, stream) })?;
        freed(memory);
        Ok(())
    }

    /// `hipMemPoolSetAttribute`: thresholds and reuse change nothing here, and can be asked for.
    fn hipMemPoolSetAttribute(pool: *mut c_void, attribute: c_int, value: *mut c_void) {
        if value.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        with_pool(pool, |pool| {
            match attribute {
                // hipMemPoolReuseFollowEventDependencies, …AllowOpportunistic, …AllowInternalDependencies.
                // SAFETY: not null, so valid for this attribute's type by HIP's contract; likewise below.
                1 => pool.reuse[0] = unsafe { value.cast::<c_int>().read() },
                // SAFETY: as above.
                2 => pool.reuse[1] = unsafe { value.cast::<c_int>().read() },
                // SAFETY: as above.
                3 => pool.reuse[2] = unsafe { value.cast::<c_int>().read() },
                // hipMemPoolAttrReleaseThreshold.
                // SAFETY: as above.
                4 => pool.threshold = unsafe { value.cast::<u64>().read() },
                // hipMemPoolAttrReservedMemHigh, …UsedMemHigh: they can only be set back.
                // SAFETY: as above.
                6 | 8 if unsafe { value.cast::<u64>().read() } == 0 => pool.high = pool.used,
                _ => return Err(Code::INVALID_VALUE),
            }
            Ok(())
        })
    }

    /// `hipMemPoolGetAttribute`: what is reserved is what is used.
    fn hipMemPoolGetAttribute(pool: *mut c_void, attribute: c_int, value: *mut c_void) {
        with_pool(pool, |pool| match attribute {
            // SAFETY: null or valid for this attribute's type by HIP's contract; likewise below.
            1 => unsafe { put(value.cast(), pool.reuse[0]) },
            // SAFETY: as above.
            2 => unsafe { put(value.cast(), pool.reuse[1]) },
            // SAFETY: as above.
            3 => unsafe { put(value.cast(), pool.reuse[2]) },
            // SAFETY: as above.
            4 => unsafe { put(value.cast(), pool.threshold) },
            // hipMemPoolAttrReservedMemCurrent, …UsedMemCurrent.
            // SAFETY: as above.
            5 | 7 => unsafe { put(value.cast(), pool.used) },
            // hipMemPoolAttrReservedMemHigh, …UsedMemHigh.
            // SAFETY: as above.
            6 | 8 => unsafe { put(value.cast(), pool.high) },
            _ => Err(Code::INVALID_VALUE),
        })
    }

    /// `hipMemPoolTrimTo`: pools keep nothing.
    fn hipMemPoolTrimTo(pool: *mut c_void, _bytes: usize) {
        with_pool(pool, |_| Ok(()))
    }

    /// `hipMemPoolSetAccess`: the device reads and writes its own memory.
    fn hipMemPoolSetAccess(pool: *mut c_void, descriptions: *const AccessDescription, count: usize) {
        with_pool(pool, |_| Ok(()))?;
        if descriptions.is_null() || count == 0 {
            return Err(Code::INVALID_VALUE);
        }
        for at in 0..count {
            // SAFETY: the list has `count` entries by HIP's contract.
            let access = unsafe { descriptions.wrapping_add(at).read() }.access()?;
            if access != Access::ReadWrite {
                return Err(Code::INVALID_VALUE);
            }
        }
        Ok(())
    }

    /// `hipMemPoolGetAccess`.
    fn hipMemPoolGetAccess(flags: *mut c_int, pool: *mut c_void, location: *mut Location) {
        with_pool(pool, |_| Ok(()))?;
        if location.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: not null, so valid by HIP's contract.
        unsafe { location.read() }.check()?;
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(flags, Access::ReadWrite.number()) }
    }
}
