//! Streams and events, as handles that destroy what they hold.
#![expect(unsafe_code, reason = "the runtime's handles are pointers")]

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex};

use code_object::Kernel;
use hip_api::flags::EVENT_DISABLE_TIMING;
use kernels::DeviceError;

use crate::api::{Api, Handle};
use crate::memory::device_pointer;
use crate::workspace::{Reserved, Workspace};

/// A queue of work.
#[derive(Clone, Debug)]
pub struct HipStream {
    handle: Arc<StreamHandle>,
}

#[derive(Debug)]
struct StreamHandle {
    api: Arc<Api>,
    raw: Handle,
    workspace: Workspace,
    /// The launches of the last op.
    launches: Mutex<Vec<Launched>>,
}

/// A launch that was given to a stream.
#[derive(Clone, Debug)]
pub struct Launched {
    /// The kernel, as its object describes it.
    pub kernel: Arc<Kernel>,
    /// Blocks in each dimension.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: u32,
    /// Bytes of LDS beyond what the kernel declares.
    pub dynamic_lds: u32,
}

impl HipStream {
    pub(crate) fn new(api: &Arc<Api>) -> Result<Self, DeviceError> {
        let mut raw = null_mut();
        // SAFETY: `raw` is a valid destination.
        api.call("hipStreamCreate", |hip| unsafe { (hip.stream_create)(&raw mut raw) })?;
        Ok(HipStream {
            handle: Arc::new(StreamHandle {
                api: Arc::clone(api),
                raw: Handle(raw),
                launches: Mutex::default(),
                workspace: Workspace::default(),
            }),
        })
    }

    /// A new op begins: forgets the launches of the one before.
    pub(crate) fn begin_op(&self) {
        if let Ok(mut launches) = self.handle.launches.lock() {
            launches.clear();
        }
    }

    /// Remembers what is about to be launched.
    pub(crate) fn remember(&self, launched: Launched) {
        if let Ok(mut launches) = self.handle.launches.lock() {
            launches.push(launched);
        }
    }

    /// The launches of the last op, in order.
    pub fn launches(&self) -> Vec<Launched> {
        self.handle.launches.lock().map(|launches| launches.clone()).unwrap_or_default()
    }

    /// The last launch: stream, kernel, grid, block, LDS.
    pub(crate) fn last_launch(&self) -> Option<String> {
        let launches = self.handle.launches.lock().ok()?;
        let Launched { kernel, grid: [x, y, z], block, dynamic_lds } = launches.last()?;
        let (name, lds) = (&kernel.name, kernel.lds_size + dynamic_lds);
        let stream = self.raw();
        Some(format!(
            "stream {stream:?}, kernel {name}, grid {x} × {y} × {z}, block {block}, {lds} bytes of LDS"
        ))
    }

    /// As HIP's functions take it.
    pub(crate) fn raw(&self) -> *mut c_void {
        self.handle.raw.0
    }

    /// Sets `bytes` bytes from `address` on to zero.
    #[track_caller]
    pub(crate) fn set_zero(&self, address: u64, bytes: usize) -> Result<(), DeviceError> {
        let pointer = device_pointer(address);
        // SAFETY: the range lies in a live allocation of the device, which outlasts the stream's work: freeing waits for it.
        self.handle
            .api
            .call("hipMemsetAsync", |hip| unsafe { (hip.memset_async)(pointer, 0, bytes, self.raw()) })
    }

    /// At least `bytes` of memory for the launches of one op.
    pub(crate) fn workspace(&self, bytes: usize) -> Result<Reserved<'_>, DeviceError> {
        self.handle.workspace.reserve(&self.handle.api, bytes)
    }

    /// Waits for all work on it. An error of that work, one that was parked, or a finding of the checkers ends here.
    #[track_caller]
    pub(crate) fn synchronize(&self) -> Result<(), DeviceError> {
        let api = &self.handle.api;
        // SAFETY: the handle is live.
        api.call("hipStreamSynchronize", |hip| unsafe { (hip.stream_synchronize)(self.raw()) })?;
        api.settle()
    }
}

impl Drop for StreamHandle {
    fn drop(&mut self) {
        // SAFETY: the handle is live and destroyed once.
        let destroyed = self.api.call("hipStreamDestroy", |hip| unsafe { (hip.stream_destroy)(self.raw.0) });
        if let Err(error) = destroyed {
            self.api.park(error);
        }
    }
}

/// A point in a queue.
#[derive(Debug)]
pub struct HipEvent {
    api: Arc<Api>,
    raw: Handle,
}

impl HipEvent {
    /// Marks the point that `stream` has reached.
    pub(crate) fn record(api: &Arc<Api>, stream: &HipStream) -> Result<Self, DeviceError> {
        let mut raw = null_mut();
        // SAFETY: `raw` is a valid destination.
        api.call("hipEventCreateWithFlags", |hip| unsafe {
            (hip.event_create_with_flags)(&raw mut raw, EVENT_DISABLE_TIMING)
        })?;
        let event = HipEvent { api: Arc::clone(api), raw: Handle(raw) };
        // SAFETY: both handles are live.
        api.call("hipEventRecord", |hip| unsafe { (hip.event_record)(event.raw.0, stream.raw()) })?;
        Ok(event)
    }

    /// Lets later work on `stream` start only after this point.
    pub(crate) fn holds_back(&self, stream: &HipStream) -> Result<(), DeviceError> {
        // SAFETY: both handles are live.
        self.api
            .call("hipStreamWaitEvent", |hip| unsafe { (hip.stream_wait_event)(stream.raw(), self.raw.0, 0) })
    }

    /// Waits until the point has been passed.
    pub(crate) fn wait(&self) -> Result<(), DeviceError> {
        // SAFETY: the handle is live.
        self.api.call("hipEventSynchronize", |hip| unsafe { (hip.event_synchronize)(self.raw.0) })
    }
}

impl Drop for HipEvent {
    fn drop(&mut self) {
        // SAFETY: the handle is live and destroyed once.
        if let Err(error) = self.api.call("hipEventDestroy", |hip| unsafe { (hip.event_destroy)(self.raw.0) })
        {
            self.api.park(error);
        }
    }
}
