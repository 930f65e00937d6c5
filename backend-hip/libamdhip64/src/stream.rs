//! Flags, priorities, callbacks.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{c_int, c_uint, c_void};
use std::sync::{Mutex, PoisonError};

use hip_api::Code;
use hip_api::flags::STREAM_NON_BLOCKING;

use crate::capture;
use crate::export::{HIP, put, status};

/// `hipStreamCallback_t`.
pub(crate) type Callback = unsafe extern "C" fn(*mut c_void, i32, *mut c_void);

/// A callback with its arguments.
struct Callee {
    callback: Callback,
    stream: *mut c_void,
    data: *mut c_void,
}

/// Calls a [`Callee`].
///
/// # Safety
///
/// `callee` came from `Box::into_raw`, and this is its only use.
unsafe extern "C" fn call(callee: *mut c_void) {
    // SAFETY: as this function's.
    let callee = unsafe { Box::from_raw(callee.cast::<Callee>()) };
    // SAFETY: whoever added the callback allows one call.
    unsafe { (callee.callback)(callee.stream, Code::SUCCESS.0, callee.data) };
}

/// Compute units of the device.
const UNITS: u32 = 304;

/// Masks of compute units, by streams.
static MASKS: Mutex<BTreeMap<usize, Vec<u32>>> = Mutex::new(BTreeMap::new());

/// Priorities: a smaller number goes first.
const LOW: c_int = 1;
const HIGH: c_int = -1;

/// Priorities other than 0, by streams.
static PRIORITIES: Mutex<BTreeMap<usize, c_int>> = Mutex::new(BTreeMap::new());

/// The streams that were created with flags other than 0.
static NON_BLOCKING: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

fn with_non_blocking<T>(body: impl FnOnce(&mut BTreeSet<usize>) -> T) -> T {
    body(&mut NON_BLOCKING.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Is this a stream that has not been destroyed?
pub(crate) fn check(stream: *mut c_void) -> Result<(), Code> {
    softhip::api::ticket(stream).map(|_| ()).map_err(|_| Code::CONTEXT_IS_DESTROYED)
}

/// Creates a stream, whose flags can be asked for; its handle.
///
/// # Safety
///
/// `stream` is null or valid for a write.
unsafe fn create(stream: *mut *mut c_void, flags: c_uint) -> Result<usize, Code> {
    // SAFETY: as this function's.
    status(unsafe { (HIP.stream_create_with_flags)(stream, flags) })?;
    // SAFETY: the call succeeded, so it is valid and holds the handle.
    let created = unsafe { stream.read() }.addr();
    if flags != 0 {
        with_non_blocking(|all| all.insert(created));
    }
    Ok(created)
}

compose! {
    /// `hipStreamCreateWithFlags`.
    fn hipStreamCreateWithFlags(stream: *mut *mut c_void, flags: c_uint) {
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { create(stream, flags) }.map(|_| ())
    }

    /// `hipStreamCreateWithPriority`: priorities change nothing here, and can be asked for.
    fn hipStreamCreateWithPriority(stream: *mut *mut c_void, flags: c_uint, priority: c_int) {
        // SAFETY: the caller keeps to HIP's contract.
        let created = unsafe { create(stream, flags) }?;
        let priority = priority.clamp(HIGH, LOW);
        if priority != 0 {
            PRIORITIES.lock().unwrap_or_else(PoisonError::into_inner).insert(created, priority);
        }
        Ok(())
    }

    /// `hipStreamGetFlags`, which ROCm refuses for the null stream.
    fn hipStreamGetFlags(stream: *mut c_void, flags: *mut c_uint) {
        if stream.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        let found = with_non_blocking(|all| all.contains(&stream.addr()));
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(flags, if found { STREAM_NON_BLOCKING } else { 0 }) }
    }

    /// `hipExtStreamCreateWithCUMask`: a stream like others. The mask is kept for who asks for it.
    fn hipExtStreamCreateWithCUMask(stream: *mut *mut c_void, size: c_uint, mask: *const c_uint) {
        if stream.is_null() {
            return Err(Code::INVALID_HANDLE);
        }
        if mask.is_null() || size == 0 {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: there are as many words by HIP's contract.
        let words = (0..size as usize).map(|at| unsafe { mask.wrapping_add(at).read() }).collect::<Vec<_>>();
        // SAFETY: the caller keeps to HIP's contract.
        let created = unsafe { create(stream, 0) }?;
        MASKS.lock().unwrap_or_else(PoisonError::into_inner).insert(created, words);
        Ok(())
    }

    /// `hipExtStreamGetCUMask`: a stream without a mask has all compute units, and so has one whose mask has none.
    fn hipExtStreamGetCUMask(stream: *mut c_void, size: c_uint, mask: *mut c_uint) {
        let (size, units) = (size as usize, UNITS.div_ceil(32) as usize);
        if mask.is_null() || size < units {
            return Err(Code::INVALID_VALUE);
        }
        let masks = MASKS.lock().unwrap_or_else(PoisonError::into_inner);
        let is_used = |words: &&Vec<u32>| words.iter().take(units).any(|word| *word != 0);
        let given = masks.get(&stream.addr()).filter(is_used);
        for at in 0..size {
            let left = UNITS.saturating_sub(32 * u32::try_from(at).unwrap_or(u32::MAX)).min(32);
            let all = u32::MAX.checked_shr(32 - left).unwrap_or(0);
            let word = given.map_or(all, |words| words.get(at).map_or(0, |word| word & all));
            // SAFETY: there is room for `size` words by HIP's contract.
            unsafe { put(mask.wrapping_add(at), word) }?;
        }
        Ok(())
    }

    /// `hipStreamGetId`: every stream has a handle of its own.
    fn hipStreamGetId(stream: *mut c_void, id: *mut u64) {
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(id, stream.addr() as u64) }
    }

    /// `hipStreamAddCallback`.
    fn hipStreamAddCallback(
        stream: *mut c_void, callback: Option<Callback>, data: *mut c_void, flags: c_uint,
    ) {
        let callback = callback.filter(|_| flags == 0).ok_or(Code::INVALID_VALUE)?;
        let callee = Box::into_raw(Box::new(Callee { callback, stream, data }));
        // SAFETY: `call` may be called once with `callee`, on any thread: the caller allows that of the callback.
        status(unsafe { (HIP.launch_host_func)(stream, Some(call), callee.cast()) })
    }

    /// `hipStreamGetDevice`: there is one.
    fn hipStreamGetDevice(_stream: *mut c_void, device: *mut c_int) {
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(device, 0) }
    }

    /// `hipStreamGetPriority`.
    fn hipStreamGetPriority(stream: *mut c_void, priority: *mut c_int) {
        check(stream)?;
        let all = PRIORITIES.lock().unwrap_or_else(PoisonError::into_inner);
        let found = all.get(&stream.addr()).copied().unwrap_or(0);
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(priority, found) }
    }

    /// `hipDeviceGetStreamPriorityRange`.
    fn hipDeviceGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) {
        for (out, priority) in [(least, LOW), (greatest, HIGH)] {
            if !out.is_null() {
                // SAFETY: not null, so valid by HIP's contract.
                unsafe { put(out, priority) }?;
            }
        }
        Ok(())
    }

    /// `hipEventRecordWithFlags`.
    fn hipEventRecordWithFlags(event: *mut c_void, stream: *mut c_void, flags: c_uint) {
        if flags != 0 {
            return Err(Code::NOT_SUPPORTED);
        }
        capture::record_event(event, stream)
    }
}
