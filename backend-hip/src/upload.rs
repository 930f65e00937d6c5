//! Copies to the device, through a ring of pinned chunks. The caller may reuse its bytes when the call returns, and the
//! copy of one chunk runs while the next one is filled.
#![expect(unsafe_code, reason = "a copy is told its ends by pointers")]

use std::collections::VecDeque;
use std::sync::Arc;

use hip_api::MemcpyKind;
use kernels::DeviceError;

use crate::api::Api;
use crate::memory::{DeviceBuffer, Pinned, device_pointer};
use crate::stream::{HipEvent, HipStream};

/// Chunks in flight at most.
const CHUNKS: usize = 4;
/// Bytes of a chunk at least and at most.
const CHUNK_BYTES: [usize; 2] = [1 << 12, 1 << 22];

/// The ring.
#[derive(Debug, Default)]
pub(crate) struct Uploads {
    /// Chunks with the point after which each is free again, oldest first.
    chunks: VecDeque<(Pinned, HipEvent)>,
}

impl Uploads {
    /// Copies `bytes` to byte `offset` of `to`, which has room for them.
    #[track_caller]
    pub fn copy(
        &mut self,
        api: &Arc<Api>,
        stream: &HipStream,
        to: &DeviceBuffer,
        offset: usize,
        bytes: &[u8],
    ) -> Result<(), DeviceError> {
        for (number, part) in bytes.chunks(CHUNK_BYTES[1]).enumerate() {
            let mut chunk = self.free_chunk(api, part.len())?;
            // SAFETY: the chunk is free: it is new, or the event after its last copy has passed.
            let room = unsafe { chunk.bytes_mut() }?;
            room[..part.len()].copy_from_slice(part);
            let destination = device_pointer(to.address(offset + number * CHUNK_BYTES[1]));
            let source = chunk.pointer();
            let kind = MemcpyKind::HostToDevice.number();
            // SAFETY: the chunk holds the part and stays untouched until the event after this copy has passed.
            api.call("hipMemcpyAsync", |hip| unsafe {
                (hip.memcpy_async)(destination, source, part.len(), kind, stream.raw())
            })?;
            chunk.copied("hipMemcpyAsync", stream.raw());
            self.chunks.push_back((chunk, HipEvent::record(api, stream)?));
        }
        Ok(())
    }

    /// A chunk of at least `bytes` bytes that no copy uses.
    fn free_chunk(&mut self, api: &Arc<Api>, bytes: usize) -> Result<Pinned, DeviceError> {
        if self.chunks.len() >= CHUNKS
            && let Some((chunk, in_use)) = self.chunks.pop_front()
        {
            in_use.wait()?;
            if chunk.len() >= bytes {
                return Ok(chunk);
            }
        }
        Pinned::new(api, bytes.next_power_of_two().clamp(CHUNK_BYTES[0], CHUNK_BYTES[1]))
    }
}
