//! Canaries on both sides of each allocation, poison inside.
//!
//! Every buffer of `Guarded<D>` lies inside a larger one of `D`, between two zones of a known pattern. After each op the
//! zones of all its operands are compared; a byte that changed is a fault that names the op, the operand, the buffer, the
//! side and the distance. New memory is filled with a pattern that reads as NaN in every float format, or with another one,
//! so that a result which depends on what was there before differs from run to run.

use std::cell::Cell;
use std::ops::Range;

use crate::{
    Adoption, Backend, Buffer, DeviceError, HostMemory, Identity, Numerics, Op, OpForm, Pending, Rebind,
    Site, Support, Tag, Valid, View, ViewMut,
};

/// Bytes of a guard zone: a multiple of every alignment that an op asks for.
const ZONE: usize = 256;

/// What new memory is filled with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Poison {
    /// All bits set: NaN in f32, f16 and bf16, the largest index, −1 in 8-bit integers.
    Ones,
    /// A finite pattern, different for each byte position.
    Ramp,
}

impl Poison {
    fn byte(self, at: usize) -> u8 {
        match self {
            Poison::Ones => 0xff,
            Poison::Ramp => u8::try_from(at * 7 % 64).unwrap_or(0) + 0x11,
        }
    }

    /// `len` bytes of the pattern.
    pub fn bytes(self, len: usize) -> Vec<u8> {
        (0..len).map(|at| self.byte(at)).collect()
    }
}

/// The canaries' pattern: differs between neighbours, so that a shifted copy shows as well.
fn canary(at: usize) -> u8 {
    u8::try_from(at * 37 % 251).unwrap_or(0) ^ 0xa5
}

/// A backend whose buffers are guarded.
#[derive(Debug)]
pub struct Guarded<D: Backend> {
    inner: D,
    /// For filling new memory, which belongs to no stream of the caller's.
    stream: D::Stream,
    poison: Cell<Poison>,
}

/// Memory between canaries.
#[derive(Debug)]
pub struct GuardedBuffer<B> {
    inner: B,
    len: usize,
}

impl<B> GuardedBuffer<B> {
    fn zones(&self) -> [(&'static str, Range<usize>); 2] {
        [("before", 0..ZONE), ("after", ZONE + self.len..ZONE + self.len + ZONE)]
    }
}

impl<B: Buffer> Buffer for GuardedBuffer<B> {
    fn len(&self) -> usize {
        self.len
    }

    fn label(&self) -> &str {
        self.inner.label()
    }
}

impl<D: Backend> Guarded<D> {
    /// Guards the buffers of `inner`.
    pub fn new(inner: D) -> Result<Self, DeviceError> {
        let stream = inner.stream()?;
        Ok(Guarded { inner, stream, poison: Cell::new(Poison::Ones) })
    }

    /// Fills memory that is allocated from now on with `poison`.
    pub fn set_poison(&self, poison: Poison) {
        self.poison.set(poison);
    }

    /// The backend inside.
    pub const fn inner(&self) -> &D {
        &self.inner
    }

    /// Compares the canaries of `buffer`.
    fn inspect(
        &self,
        stream: &D::Stream,
        what: &str,
        buffer: &GuardedBuffer<D::Buffer>,
    ) -> Result<(), DeviceError> {
        for (side, zone) in buffer.zones() {
            let start = zone.start;
            let found = self.inner.read_bytes(stream, &buffer.inner, zone, Tag::of("guard zone"))?.wait()?;
            let damaged = |(at, byte): &(usize, &u8)| **byte != canary(start + at);
            let Some((first, _)) = found.iter().enumerate().find(damaged) else { continue };
            let count = found.iter().enumerate().filter(damaged).count();
            let distance = match side {
                "before" => format!("{} bytes before the start", ZONE - first),
                _ => format!("{first} bytes past the end"),
            };
            return Err(DeviceError::Fault(format!(
                "{what} of buffer '{}' ({} bytes): {count} bytes overwritten, the first {distance}",
                buffer.label(),
                buffer.len,
            )));
        }
        Ok(())
    }
}

/// Leads from guarded buffers to those inside.
struct Unwrap;

impl<'a, B> Rebind<'a, GuardedBuffer<B>, B> for Unwrap {
    fn view(&mut self, _: &'static str, view: View<'a, GuardedBuffer<B>>) -> View<'a, B> {
        View::new(&view.buffer.inner, view.layout.at(view.layout.offset() + ZONE))
    }

    fn view_mut(&mut self, _: &'static str, view: ViewMut<'a, GuardedBuffer<B>>) -> ViewMut<'a, B> {
        ViewMut::new(&mut view.buffer.inner, view.layout.at(view.layout.offset() + ZONE))
    }
}

impl<D: Backend> Backend for Guarded<D> {
    type Buffer = GuardedBuffer<D::Buffer>;
    type Stream = D::Stream;
    type Event = D::Event;
    type Pending = D::Pending;

    fn identity(&self) -> Identity {
        self.inner.identity()
    }

    fn numerics(&self, op: &OpForm) -> Numerics {
        self.inner.numerics(op)
    }

    fn supports(&self, op: &OpForm) -> Support {
        self.inner.supports(op)
    }

    fn alloc(&self, bytes: usize, label: &str) -> Result<Self::Buffer, DeviceError> {
        let too_large = || DeviceError::OutOfMemory { label: label.into(), requested: bytes, available: 0 };
        let total = bytes.checked_add(2 * ZONE).ok_or_else(too_large)?;
        let mut buffer = GuardedBuffer { inner: self.inner.alloc(total, label)?, len: bytes };
        for (_, zone) in buffer.zones() {
            let pattern: Vec<u8> = zone.clone().map(canary).collect();
            self.inner.write(&self.stream, &mut buffer.inner, zone.start, &pattern)?;
        }
        self.inner.write(&self.stream, &mut buffer.inner, ZONE, &self.poison.get().bytes(bytes))?;
        self.inner.synchronize(&self.stream)?;
        Ok(buffer)
    }

    fn adopt(&self, _: &HostMemory, _: &str) -> Result<Adoption<Self::Buffer>, DeviceError> {
        // The host's memory has no zones around it; a copy of it does.
        Ok(Adoption::NeedsCopy)
    }

    fn stream(&self) -> Result<D::Stream, DeviceError> {
        self.inner.stream()
    }

    fn record(&self, stream: &D::Stream) -> Result<D::Event, DeviceError> {
        self.inner.record(stream)
    }

    fn wait_event(&self, stream: &D::Stream, event: &D::Event) -> Result<(), DeviceError> {
        self.inner.wait_event(stream, event)
    }

    fn synchronize(&self, stream: &D::Stream) -> Result<(), DeviceError> {
        self.inner.synchronize(stream)
    }

    fn write(
        &self,
        stream: &D::Stream,
        to: &mut Self::Buffer,
        offset: usize,
        bytes: &[u8],
    ) -> Result<(), DeviceError> {
        within("write", to, offset, offset.saturating_add(bytes.len()))?;
        self.inner.write(stream, &mut to.inner, offset + ZONE, bytes)
    }

    fn read_bytes(
        &self,
        stream: &D::Stream,
        from: &Self::Buffer,
        range: Range<usize>,
        tag: Tag<'_>,
    ) -> Result<D::Pending, DeviceError> {
        within("read", from, range.start, range.end)?;
        self.inner.read_bytes(stream, &from.inner, range.start + ZONE..range.end + ZONE, tag)
    }

    fn enter(&self, site: Site) {
        self.inner.enter(site);
    }

    fn address(&self, buffer: &Self::Buffer) -> Option<u64> {
        self.inner.address(&buffer.inner).map(|start| start + ZONE as u64)
    }

    fn last_launch(&self, stream: &D::Stream) -> Option<String> {
        self.inner.last_launch(stream)
    }

    fn launch(&self, stream: &D::Stream, op: Valid<Op<'_, Self::Buffer>>) -> Result<(), DeviceError> {
        let mut op = op.into_inner();
        let inner =
            op.rebind(&mut Unwrap).validate().map_err(|e| DeviceError::Fault(format!("guard: {e}")))?;
        self.inner.launch(stream, inner)?;
        let stem = op.stem();
        for operand in op.operands() {
            self.inspect(
                stream,
                &format!("{stem} wrote outside operand '{}'", operand.name),
                operand.buffer,
            )?;
        }
        Ok(())
    }
}

fn within<B: Buffer>(
    call: &'static str,
    buffer: &GuardedBuffer<B>,
    start: usize,
    end: usize,
) -> Result<(), DeviceError> {
    if start <= end && end <= buffer.len {
        return Ok(());
    }
    Err(DeviceError::Extent { call, label: buffer.label().into(), start, end, len: buffer.len })
}
