//! What backends in host memory share. Work is done when the call returns, so streams and events have nothing to do.

use std::io::ErrorKind;
use std::ops::Range;

use kernels::{
    Adoption, Backend, Buffer, DeviceError, DeviceKind, HostMemory, Identity, Numerics, Op, OpForm, Pending,
    Site, Support, Valid,
};

use crate::HostBuffer;
use crate::fence::{self, Fence, FenceError};

/// What CPU backends differ in.
pub trait Compute {
    /// Name on the command line.
    fn name(&self) -> &'static str;

    /// What it is, in a few words, for reports.
    fn describe(&self) -> String;

    /// How it computes `op`.
    fn numerics(&self, op: &OpForm) -> Numerics;

    /// Tells if it implements `op`.
    fn supports(&self, op: &OpForm) -> Support;

    /// Computes `op`.
    fn run(&self, op: Valid<Op<'_, HostBuffer>>) -> Result<(), DeviceError>;

    /// Computes ops that do not need each other's results. An error comes with the index of its op.
    fn run_together(&self, ops: Vec<Valid<Op<'_, HostBuffer>>>) -> Result<(), (usize, DeviceError)> {
        ops.into_iter().enumerate().try_for_each(|(nth, op)| self.run(op).map_err(|error| (nth, error)))
    }
}

/// A backend that computes by `C` in host memory.
#[derive(Clone, Debug, Default)]
pub struct Host<C> {
    compute: C,
    fence: Option<Fence>,
}

impl<C: Compute> Host<C> {
    /// The backend that computes by `compute`.
    pub const fn new(compute: C) -> Self {
        Host { compute, fence: None }
    }

    /// The backend that computes by `compute` in buffers against unmapped pages. An access past that edge ends the process, so use it
    /// in a process that may die.
    pub fn with_fence(compute: C, fence: Fence) -> Result<Self, FenceError> {
        fence::available()?;
        Ok(Host { compute, fence: Some(fence) })
    }
}

/// A queue whose work is done at once.
#[derive(Debug)]
pub struct HostStream(());

/// A point that has been passed.
#[derive(Debug)]
pub struct HostEvent(());

/// A copy that has landed.
#[derive(Debug)]
pub struct Landed(Vec<u8>);

impl Pending for Landed {
    fn wait(self) -> Result<Vec<u8>, DeviceError> {
        Ok(self.0)
    }
}

impl<C: Compute> Backend for Host<C> {
    type Buffer = HostBuffer;
    type Stream = HostStream;
    type Event = HostEvent;
    type Pending = Landed;

    fn identity(&self) -> Identity {
        Identity { name: self.compute.name(), device: self.compute.describe(), kind: DeviceKind::Host }
    }

    fn numerics(&self, op: &OpForm) -> Numerics {
        self.compute.numerics(op)
    }

    fn supports(&self, op: &OpForm) -> Support {
        self.compute.supports(op)
    }

    fn alloc(&self, bytes: usize, label: &str) -> Result<HostBuffer, DeviceError> {
        match self.fence {
            Some(fence) => HostBuffer::fenced(bytes, label, fence).map_err(|e| refused(bytes, label, e)),
            None => HostBuffer::zeroed(bytes, label).ok_or_else(|| out_of_memory(bytes, label)),
        }
    }

    fn adopt(&self, memory: &HostMemory, label: &str) -> Result<Adoption<HostBuffer>, DeviceError> {
        Ok(match self.fence {
            // The host's memory has no fence; a copy of it does.
            Some(_) => Adoption::NeedsCopy,
            None => Adoption::Shared(HostBuffer::adopted(memory.clone(), label)),
        })
    }

    fn stream(&self) -> Result<HostStream, DeviceError> {
        Ok(HostStream(()))
    }

    fn record(&self, _: &HostStream) -> Result<HostEvent, DeviceError> {
        Ok(HostEvent(()))
    }

    fn wait_event(&self, _: &HostStream, _: &HostEvent) -> Result<(), DeviceError> {
        Ok(())
    }

    fn synchronize(&self, _: &HostStream) -> Result<(), DeviceError> {
        Ok(())
    }

    fn write(
        &self,
        _: &HostStream,
        to: &mut HostBuffer,
        offset: usize,
        bytes: &[u8],
    ) -> Result<(), DeviceError> {
        let end = offset.saturating_add(bytes.len());
        if end > to.len() {
            return Err(extent("write", to, offset, end));
        }
        to.bytes_mut()[offset..end].copy_from_slice(bytes);
        Ok(())
    }

    fn read_bytes(
        &self,
        _: &HostStream,
        from: &HostBuffer,
        range: Range<usize>,
        _: &Site,
    ) -> Result<Landed, DeviceError> {
        read(from, range).map(|bytes| Landed(bytes.to_vec()))
    }

    fn read_into(
        &self,
        _: &HostStream,
        from: &HostBuffer,
        range: Range<usize>,
        _: &Site,
        to: &mut [u8],
    ) -> Result<(), DeviceError> {
        let bytes = read(from, range)?;
        if bytes.len() != to.len() {
            return Err(extent("read", from, 0, to.len()));
        }
        to.copy_from_slice(bytes);
        Ok(())
    }

    fn address(&self, buffer: &HostBuffer) -> Option<u64> {
        u64::try_from(buffer.bytes().as_ptr().addr()).ok()
    }

    fn launch(&self, _: &HostStream, op: Valid<Op<'_, HostBuffer>>) -> Result<(), DeviceError> {
        self.compute.run(op)
    }

    fn launch_together(
        &self,
        _: &HostStream,
        ops: Vec<(Site, Valid<Op<'_, HostBuffer>>)>,
    ) -> Result<(), (usize, DeviceError)> {
        self.compute.run_together(ops.into_iter().map(|(_, op)| op).collect())
    }
}

fn read(from: &HostBuffer, range: Range<usize>) -> Result<&[u8], DeviceError> {
    let bytes = from.bytes().get(range.clone());
    bytes.ok_or_else(|| extent("read", from, range.start, range.end))
}

pub(crate) fn out_of_memory(bytes: usize, label: &str) -> DeviceError {
    DeviceError::OutOfMemory { label: label.into(), requested: bytes, available: 0 }
}

fn refused(bytes: usize, label: &str, error: FenceError) -> DeviceError {
    match error {
        FenceError::TooLarge { .. } => out_of_memory(bytes, label),
        FenceError::System { source, .. } if source.kind() == ErrorKind::OutOfMemory => {
            out_of_memory(bytes, label)
        }
        FenceError::System { call, source, .. } => {
            DeviceError::Runtime { call, code: source.raw_os_error().unwrap_or(0), name: source.to_string() }
        }
        FenceError::NoPages => DeviceError::Lost(error.to_string()),
    }
}

fn extent(call: &'static str, buffer: &HostBuffer, start: usize, end: usize) -> DeviceError {
    DeviceError::Extent { call, label: buffer.label().into(), start, end, len: buffer.len() }
}
