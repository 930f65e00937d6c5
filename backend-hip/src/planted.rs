//! Bugs of host code, planted between the backend and the software device.
//!
//! The backend's own host code has none of them: it waits by type, and its buffers outlive their work. So each is a function of HIP's table
//! that does what a careless caller would have done: free too early, wait for nothing, copy without an order. What finds them is tested
//! on the real host code and the real kernels.
#![expect(unsafe_code, reason = "HIP is a C interface")]

use std::ffi::c_void;
use std::ptr::{null_mut, without_provenance_mut};

use hip_api::flags::STREAM_NON_BLOCKING;
use hip_api::{Code, HipApi, MemcpyKind};
use softhip::api::table;
use softhip::control::{SoftDevice, current};

/// A bug of host code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostBug {
    /// A buffer is freed before the copy that reads it.
    FreedBeforeCopy,
    /// The host reads what a copy writes before it has waited.
    MissingSynchronise,
    /// The host fills a staging buffer again while its copy is under way.
    StagingReused,
    /// Two copies write the same bytes, with no order between them.
    OverlappingCopies,
    /// An allocation is refused.
    RefusedAllocation,
}

/// The allocation that is refused, counted from 1: one in the middle of a model's weights.
const REFUSED: u64 = 7;

impl HostBug {
    /// All of them.
    pub const ALL: [HostBug; 5] = [
        HostBug::FreedBeforeCopy,
        HostBug::MissingSynchronise,
        HostBug::StagingReused,
        HostBug::OverlappingCopies,
        HostBug::RefusedAllocation,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            HostBug::FreedBeforeCopy => "freed-before-copy",
            HostBug::MissingSynchronise => "missing-synchronise",
            HostBug::StagingReused => "staging-reused",
            HostBug::OverlappingCopies => "overlapping-copies",
            HostBug::RefusedAllocation => "refused-allocation",
        }
    }

    /// The mistake.
    pub const fn fault(self) -> &'static str {
        match self {
            HostBug::FreedBeforeCopy => "buffer freed before the copy to the host that reads it",
            HostBug::MissingSynchronise => {
                "host reads the destination before the stream has been synchronised"
            }
            HostBug::StagingReused => "staging buffer filled again while its copy is in flight",
            HostBug::OverlappingCopies => "a copy on another stream without an event, to the same bytes",
            HostBug::RefusedAllocation => "an allocation is refused",
        }
    }

    /// Plants it between a backend and `device`.
    pub(crate) fn plant(self, device: &SoftDevice, hip: &mut HipApi) {
        match self {
            HostBug::FreedBeforeCopy => hip.memcpy_async = freed_before_copy,
            HostBug::MissingSynchronise => hip.stream_synchronize = no_wait,
            HostBug::StagingReused => hip.event_synchronize = no_wait,
            HostBug::OverlappingCopies => hip.memcpy_async = overlapping_copies,
            HostBug::RefusedAllocation => device.fail_allocation(REFUSED),
        }
    }
}

const TO_HOST: i32 = MemcpyKind::DeviceToHost.number();

/// `hipStreamSynchronize` or `hipEventSynchronize` that was forgotten.
unsafe extern "C" fn no_wait(_: *mut c_void) -> i32 {
    Code::SUCCESS.0
}

/// `hipMemcpyAsync` of a buffer that is gone.
///
/// # Safety
///
/// As that of `hipMemcpyAsync`.
unsafe extern "C" fn freed_before_copy(
    to: *mut c_void,
    from: *const c_void,
    size: usize,
    kind: i32,
    stream: *mut c_void,
) -> i32 {
    let hip = table();
    if kind == TO_HOST
        && let Some(buffer) = current().allocation_at(from.addr() as u64)
        && let Ok(base) = usize::try_from(buffer.base)
    {
        // SAFETY: the software device checks addresses; its memory cannot be reached by the host.
        unsafe { (hip.free)(without_provenance_mut(base)) };
    }
    // SAFETY: as this function's; of the source only the address is used.
    unsafe { (hip.memcpy_async)(to, from, size, kind, stream) }
}

/// `hipMemcpyAsync`, once more on another stream.
///
/// # Safety
///
/// As that of `hipMemcpyAsync`.
unsafe extern "C" fn overlapping_copies(
    to: *mut c_void,
    from: *const c_void,
    size: usize,
    kind: i32,
    stream: *mut c_void,
) -> i32 {
    let hip = table();
    if kind == TO_HOST {
        let mut other = null_mut();
        // What the stream did before is no part of the bug.
        // SAFETY: the handle is live.
        unsafe { (hip.stream_synchronize)(stream) };
        // SAFETY: `other` is a valid destination.
        unsafe { (hip.stream_create_with_flags)(&raw mut other, STREAM_NON_BLOCKING) };
        // SAFETY: as this function's; at the latest the copy runs when its pinned memory is freed.
        unsafe { (hip.memcpy_async)(to, from, size, kind, other) };
    }
    // SAFETY: as this function's.
    unsafe { (hip.memcpy_async)(to, from, size, kind, stream) }
}
