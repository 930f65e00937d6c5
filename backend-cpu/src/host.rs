//! What backends in host memory share. Work is done when the call returns, so streams and events only order
//! what is ordered already.

use kernels::{
    Adoption, Backend, Buffer, DeviceError, HostMemory, Identity, Layout, Numerics, Op, Pending, Place,
    Readback, Support, Tag, Valid, View,
};

use crate::HostBuffer;

/// The part in which CPU backends differ.
pub trait Compute {
    /// Name on the command line.
    const NAME: &'static str;

    /// What it is, in a few words, for reports.
    fn describe(&self) -> String;

    /// How it computes `op`.
    fn numerics(&self, op: &Op<'_, HostBuffer>) -> Numerics;

    /// Whether it implements `op`.
    fn supports(&self, op: &Op<'_, HostBuffer>) -> Support;

    /// Computes `op`.
    fn run(&self, op: Valid<Op<'_, HostBuffer>>) -> Result<(), DeviceError>;
}

/// A backend that computes by `C` in host memory.
#[derive(Clone, Debug, Default)]
pub struct Host<C>(C);

impl<C: Compute> Host<C> {
    /// The backend that computes by `compute`.
    pub const fn new(compute: C) -> Self {
        Host(compute)
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

/// The elements of a tensor in row-major order, without padding; `None` where the layout leaves the buffer.
pub fn dense_bytes(buffer: &HostBuffer, layout: &Layout) -> Option<Vec<u8>> {
    let all = buffer.bytes();
    let range = layout.byte_range()?;
    if layout.is_contiguous() {
        return all.get(range).map(<[u8]>::to_vec);
    }
    let row = layout.dtype().bytes_of(*layout.shape().last()?)?;
    let mut dense = Vec::new();
    for index in row_indices(layout) {
        let start = layout.row_offset(&index);
        dense.extend_from_slice(all.get(start..start + row)?);
    }
    Some(dense)
}

/// Index of every row of a tensor, in row-major order. A row is the innermost dimension.
pub fn row_indices(layout: &Layout) -> impl Iterator<Item = Vec<usize>> {
    let outer = layout.shape()[..layout.shape().len().saturating_sub(1)].to_vec();
    let rows: usize = outer.iter().product();
    (0..rows).map(move |row| {
        let mut rest = row;
        let mut index = vec![0; outer.len()];
        for (axis, &extent) in outer.iter().enumerate().rev() {
            index[axis] = rest % extent;
            rest /= extent;
        }
        index
    })
}

impl<C: Compute> Backend for Host<C> {
    type Buffer = HostBuffer;
    type Stream = HostStream;
    type Event = HostEvent;
    type Pending = Landed;

    fn identity(&self) -> Identity {
        Identity { name: C::NAME, device: self.0.describe(), place: Place::Host }
    }

    fn numerics(&self, op: &Op<'_, HostBuffer>) -> Numerics {
        self.0.numerics(op)
    }

    fn supports(&self, op: &Op<'_, HostBuffer>) -> Support {
        self.0.supports(op)
    }

    fn alloc(&self, bytes: usize, label: &str) -> Result<HostBuffer, DeviceError> {
        let out_of_memory =
            || DeviceError::OutOfMemory { label: label.into(), requested: bytes, available: 0 };
        HostBuffer::zeroed(bytes, label).ok_or_else(out_of_memory)
    }

    fn adopt(&self, memory: &HostMemory, label: &str) -> Result<Adoption<HostBuffer>, DeviceError> {
        Ok(Adoption::Shared(HostBuffer::adopted(memory.clone(), label)))
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

    fn read(
        &self,
        _: &HostStream,
        from: View<'_, HostBuffer>,
        _: Tag<'_>,
    ) -> Result<Readback<Landed>, DeviceError> {
        match dense_bytes(from.buffer, &from.layout) {
            Some(bytes) => Ok(Readback::new(Landed(bytes), from.layout)),
            None => {
                let end = from.layout.byte_range().map_or(usize::MAX, |range| range.end);
                Err(extent("read", from.buffer, from.layout.offset(), end))
            }
        }
    }

    fn launch(&self, _: &HostStream, op: Valid<Op<'_, HostBuffer>>) -> Result<(), DeviceError> {
        self.0.run(op)
    }
}

fn extent(call: &'static str, buffer: &HostBuffer, start: usize, end: usize) -> DeviceError {
    DeviceError::Extent { call, label: buffer.label().into(), start, end, len: buffer.len() }
}
