//! Device memory and pinned host memory, as handles that free what they hold.
#![expect(
    unsafe_code,
    reason = "the runtime writes addresses through pointers, and pinned memory is the runtime's"
)]

use std::ffi::c_void;
use std::panic::Location;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use hip_api::Code;
use kernels::{Buffer, DeviceError};
use softhip::report::{HostCall, Problem, Report};
use softhip::sched::Ticket;

use crate::api::Api;

/// Memory of the device.
#[derive(Debug)]
pub struct DeviceBuffer {
    api: Arc<Api>,
    /// 0 for an allocation of no bytes.
    address: u64,
    len: usize,
    label: String,
}

impl DeviceBuffer {
    /// Allocates `len` bytes with unspecified content.
    #[track_caller]
    pub(crate) fn new(api: &Arc<Api>, len: usize, label: &str) -> Result<Self, DeviceError> {
        let mut pointer = null_mut();
        if len > 0 {
            // SAFETY: `pointer` is a valid destination.
            match api.status(|hip| unsafe { (hip.malloc)(&raw mut pointer, len) }) {
                Code::SUCCESS => {}
                Code::OUT_OF_MEMORY => {
                    let available = free_bytes(api);
                    return Err(DeviceError::OutOfMemory { label: label.into(), requested: len, available });
                }
                code => return Err(api.error("hipMalloc", code)),
            }
        }
        let address = pointer.addr() as u64;
        if let Some(device) = api.software_device() {
            device.label(address, label);
        }
        Ok(DeviceBuffer { api: Arc::clone(api), address, len, label: label.into() })
    }

    /// The device address of byte `offset`.
    pub(crate) const fn address(&self, offset: usize) -> u64 {
        self.address + offset as u64
    }
}

impl Buffer for DeviceBuffer {
    fn len(&self) -> usize {
        self.len
    }

    fn label(&self) -> &str {
        &self.label
    }
}

impl Drop for DeviceBuffer {
    fn drop(&mut self) {
        if self.address != 0 {
            let pointer = device_pointer(self.address);
            // SAFETY: the address came from `hipMalloc` and is freed once; the call waits for work that uses it.
            if let Err(error) = self.api.call("hipFree", |hip| unsafe { (hip.free)(pointer) }) {
                self.api.park(error);
            }
        }
    }
}

/// An address as HIP's functions take it. The host never follows it.
pub(crate) fn device_pointer(address: u64) -> *mut c_void {
    let address = usize::try_from(address).expect("the runtime gave it as a pointer");
    std::ptr::without_provenance_mut(address)
}

/// Free bytes of the device, 0 if the runtime does not report them.
fn free_bytes(api: &Api) -> usize {
    let (mut free, mut total) = (0, 0);
    // SAFETY: both are valid destinations.
    match api.status(|hip| unsafe { (hip.mem_get_info)(&raw mut free, &raw mut total) }) {
        Code::SUCCESS => free,
        _ => 0,
    }
}

/// Pinned host memory: asynchronous copies can read and write it.
#[derive(Debug)]
pub(crate) struct Pinned {
    api: Arc<Api>,
    start: NonNull<u8>,
    len: usize,
    /// The copy that uses it, where a software device can say whether the host has waited for it.
    copy: Option<(Ticket, HostCall)>,
}

// SAFETY: the memory belongs to the handle alone and is not tied to a thread.
unsafe impl Send for Pinned {}

impl Pinned {
    /// Allocates `len` bytes, set to 0.
    pub fn new(api: &Arc<Api>, len: usize) -> Result<Self, DeviceError> {
        let len = len.max(1);
        let mut pointer = null_mut();
        // SAFETY: `pointer` is a valid destination.
        let status = api.status(|hip| unsafe { (hip.host_malloc)(&raw mut pointer, len, 0) });
        match (status, NonNull::new(pointer.cast())) {
            (Code::SUCCESS, Some(start)) => {
                // SAFETY: the allocation has `len` bytes.
                unsafe { start.write_bytes(0, len) };
                Ok(Pinned { api: Arc::clone(api), start, len, copy: None })
            }
            (Code::SUCCESS | Code::OUT_OF_MEMORY, _) => {
                let label = "pinned host memory".into();
                Err(DeviceError::OutOfMemory { label, requested: len, available: 0 })
            }
            (code, _) => Err(api.error("hipHostMalloc", code)),
        }
    }

    /// The first byte, for a copy.
    pub fn pointer(&self) -> *mut c_void {
        self.start.as_ptr().cast()
    }

    /// Its size in bytes.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// A copy to it or from it has been queued on `stream` by `function`, and the host must wait before it touches the bytes.
    #[track_caller]
    pub fn copied(&mut self, function: &'static str, stream: *mut c_void) {
        let call = HostCall::new(function, Some(Location::caller().into()));
        self.copy = self.api.ticket(stream).map(|ticket| (ticket, call));
    }

    /// The bytes.
    ///
    /// # Safety
    ///
    /// No copy writes to them as long as the result is used: the stream of each has been synchronised.
    #[track_caller]
    pub unsafe fn bytes(&self) -> Result<&[u8], DeviceError> {
        self.touch(false)?;
        // SAFETY: the allocation has `len` initialised bytes, and the caller vouches that no copy writes to them.
        Ok(unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) })
    }

    /// The bytes, to change.
    ///
    /// # Safety
    ///
    /// No copy reads or writes them as long as the result is used: an event after each has passed.
    #[track_caller]
    pub unsafe fn bytes_mut(&mut self) -> Result<&mut [u8], DeviceError> {
        self.touch(true)?;
        // SAFETY: the allocation has `len` initialised bytes, the handle is held exclusively, and the caller vouches
        // that no copy uses them.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) })
    }

    /// Reports an access of the host to memory of a copy that it has not waited for. A GPU cannot tell.
    #[track_caller]
    fn touch(&self, writes: bool) -> Result<(), DeviceError> {
        let (Some(device), Some((ticket, call))) = (self.api.software_device(), &self.copy) else {
            return Ok(());
        };
        if device.host_has_waited(*ticket) {
            return Ok(());
        }
        let address = self.start.as_ptr().addr() as u64;
        let allocation = device.allocation_at(address).map(Box::new);
        let problem = Problem::HostAccess { writes, address, allocation, copy: Box::new(call.clone()) };
        let host = HostCall::new("the host's own code", Some(Location::caller().into()));
        let report = Report::new(problem).call(host);
        device.add_report(report.clone());
        Err(DeviceError::Fault(report.to_string()))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let pointer = self.pointer();
        // SAFETY: the pointer came from `hipHostMalloc` and is freed once; the call waits for copies that use it.
        if let Err(error) = self.api.call("hipHostFree", |hip| unsafe { (hip.host_free)(pointer) }) {
            self.api.park(error);
        }
    }
}
