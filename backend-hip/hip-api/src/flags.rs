//! Flags of streams and events.

use std::ffi::c_uint;

/// `hipStreamNonBlocking`: no order with the null stream.
pub const STREAM_NON_BLOCKING: c_uint = 1;

/// `hipEventBlockingSync`.
pub const EVENT_BLOCKING_SYNC: c_uint = 1;
/// `hipEventDisableTiming`.
pub const EVENT_DISABLE_TIMING: c_uint = 2;
/// `hipEventInterprocess`.
pub const EVENT_INTERPROCESS: c_uint = 4;
/// `hipEventDisableSystemFence`.
pub const EVENT_DISABLE_SYSTEM_FENCE: c_uint = 0x2000_0000;
/// `hipEventReleaseToDevice`.
pub const EVENT_RELEASE_TO_DEVICE: c_uint = 0x4000_0000;
/// `hipEventReleaseToSystem`.
pub const EVENT_RELEASE_TO_SYSTEM: c_uint = 0x8000_0000;
