//! Memory for what one kernel of an op leaves for the next.
//!
//! Each stream has its own, kept from one op to the next: work of a stream runs in order, so that the next op writes only
//! after the last has read.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kernels::{Buffer, DeviceError};

use crate::api::Api;
use crate::memory::DeviceBuffer;

/// A buffer that grows to the largest request.
#[derive(Debug, Default)]
pub(crate) struct Workspace(Mutex<Option<DeviceBuffer>>);

/// A workspace in use. It stays reserved until the launches that use it are queued.
#[derive(Debug)]
pub(crate) struct Reserved<'w>(MutexGuard<'w, Option<DeviceBuffer>>);

impl Workspace {
    /// At least `bytes`, of unspecified content.
    pub fn reserve(&self, api: &Arc<Api>, bytes: usize) -> Result<Reserved<'_>, DeviceError> {
        let mut buffer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if bytes > buffer.as_ref().map_or(0, Buffer::len) {
            // The old one goes first: both may not fit. Freeing waits for work that uses it.
            *buffer = None;
            *buffer = Some(DeviceBuffer::new(api, bytes.next_power_of_two(), "workspace")?);
        }
        Ok(Reserved(buffer))
    }
}

impl Reserved<'_> {
    /// Where it begins.
    pub fn address(&self) -> u64 {
        self.0.as_ref().map_or(0, |buffer| buffer.address(0))
    }
}
