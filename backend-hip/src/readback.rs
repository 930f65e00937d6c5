//! Copies to the host. The bytes can be reached only by waiting for them.
#![expect(unsafe_code, reason = "a copy is told its ends by pointers")]

use std::ops::Range;
use std::sync::Arc;

use d2h_audit::{Audit, Copy};
use hip_api::MemcpyKind;
use kernels::{Buffer, DeviceError, Pending, Site};

use crate::api::Api;
use crate::memory::{DeviceBuffer, Pinned, device_pointer};
use crate::stream::HipStream;

/// A copy that is under way.
#[derive(Debug)]
pub struct HipReadback {
    stream: HipStream,
    destination: Pinned,
    audit: Arc<Audit>,
    copy: Copy,
}

impl HipReadback {
    /// Starts a copy of bytes `range` of `from`.
    #[track_caller]
    pub(crate) fn start(
        api: &Arc<Api>,
        audit: &Arc<Audit>,
        stream: &HipStream,
        from: &DeviceBuffer,
        range: Range<usize>,
        site: &Site,
    ) -> Result<Self, DeviceError> {
        let (start, end, len) = (range.start, range.end, from.len());
        if start > end || end > len {
            let label = from.label().into();
            return Err(DeviceError::Extent { call: "read", label, start, end, len });
        }
        let mut destination = Pinned::new(api, range.len())?;
        let mut copy = Copy::of(site.point.clone());
        copy.step = site.step;
        copy.layer = site.layer;
        copy.stream = stream.raw().addr();
        copy.source = from.address(start);
        copy.destination = destination.pointer().addr();
        copy.offset = start;
        copy.bytes = range.len();
        copy.allocation = len;
        if audit.synchronises() {
            stream.synchronize()?;
        }
        audit.started(&mut copy);
        let started = if range.is_empty() {
            Ok(())
        } else {
            let (to, source) = (destination.pointer(), device_pointer(copy.source));
            let kind = MemcpyKind::DeviceToHost.number();
            // SAFETY: the destination has room for the range and lives until the stream has been waited for.
            api.call("hipMemcpyAsync", |hip| unsafe {
                (hip.memcpy_async)(to, source, range.len(), kind, stream.raw())
            })
            .map_err(DeviceError::in_copy)
            .inspect(|()| destination.copied("hipMemcpyAsync", stream.raw()))
        };
        if started.is_err() {
            audit.ended(&copy, outcome(&started));
        }
        started?;
        Ok(HipReadback { stream: stream.clone(), destination, audit: Arc::clone(audit), copy })
    }
}

/// How a copy ended, as the log says it.
fn outcome(result: &Result<(), DeviceError>) -> Result<(), &str> {
    let Err(error) = result else { return Ok(()) };
    Err(match error.cause() {
        DeviceError::Runtime { name, .. } => name,
        _ => "hipErrorIllegalAddress",
    })
}

impl Pending for HipReadback {
    #[track_caller]
    fn wait(self) -> Result<Vec<u8>, DeviceError> {
        let landed = self.stream.synchronize().map_err(DeviceError::in_copy);
        self.audit.ended(&self.copy, outcome(&landed));
        landed?;
        // SAFETY: the copy was the only one to this memory, and its stream has been synchronised.
        let landed = unsafe { self.destination.bytes() }.map_err(DeviceError::in_copy)?;
        Ok(landed[..self.copy.bytes].to_vec())
    }
}
