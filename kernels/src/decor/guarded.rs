//! Canaries on both sides of each allocation, poison inside.
//!
//! Every buffer of `Guarded<D>` lies inside a larger one of `D`, between two zones of a known pattern. After each op the
//! zones of all its operands are compared; a byte that changed is a fault that names the op, the operand, the buffer, the
//! side and the distance. New memory is filled with a pattern that reads as NaN in every float format, or with another one,
//! so that a result which depends on what was there before differs from run to run.
//!
//! A device that [checks bounds](Backend::checks_bounds) gets no zones: it finds the access itself, reads included, at once.

use std::cell::Cell;
use std::ops::Range;

use super::Decorator;
use crate::{
    Adoption, Backend, Buffer, DeviceError, HostMemory, Op, Overrun, Pending, Rebind, Side, Site, Valid,
    View, ViewMut,
};

/// Bytes of a guard zone where there is one: a multiple of every alignment that an op asks for.
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
            Poison::Ramp => low_byte(at * 7 % 64) + 0x11,
        }
    }

    /// `len` bytes of the pattern.
    pub fn bytes(self, len: usize) -> Vec<u8> {
        let period: [u8; 64] = std::array::from_fn(|at| self.byte(at));
        let mut bytes = period.repeat(len.div_ceil(period.len()));
        bytes.truncate(len);
        bytes
    }
}

/// The canaries' pattern: differs between neighbours, so that a shifted copy shows as well.
const fn canary(at: usize) -> u8 {
    low_byte(at * 37 % CANARIES) ^ 0xa5
}

/// Bytes after which the canaries' pattern begins again.
const CANARIES: usize = 251;

/// The canaries of a zone that begins at `start`.
fn canaries(start: usize) -> &'static [u8] {
    const PATTERN: [u8; CANARIES + ZONE] = {
        let mut pattern = [0; CANARIES + ZONE];
        let mut at = 0;
        while at < pattern.len() {
            pattern[at] = canary(at);
            at += 1;
        }
        pattern
    };
    static CANARY_BYTES: [u8; CANARIES + ZONE] = PATTERN;
    let start = start % CANARIES;
    &CANARY_BYTES[start..start + ZONE]
}

/// The lowest byte of `n`.
const fn low_byte(n: usize) -> u8 {
    n.to_le_bytes()[0]
}

/// A backend whose buffers are guarded.
#[derive(Debug)]
pub struct Guarded<D: Backend> {
    inner: D,
    /// For filling new memory, which belongs to no stream of the caller's.
    stream: D::Stream,
    poison: Cell<Poison>,
    /// Bytes of each zone.
    zone: usize,
}

/// Memory between canaries.
#[derive(Debug)]
pub struct GuardedBuffer<B> {
    inner: B,
    len: usize,
    zone: usize,
}

impl<B> GuardedBuffer<B> {
    fn zones(&self) -> [(Side, Range<usize>); 2] {
        let after = self.zone + self.len;
        [(Side::Before, 0..self.zone), (Side::After, after..after + self.zone)]
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
        let zone = if inner.checks_bounds() { 0 } else { ZONE };
        Ok(Guarded { inner, stream, poison: Cell::new(Poison::Ones), zone })
    }

    /// Fills memory that is allocated from now on with `poison`.
    pub fn set_poison(&self, poison: Poison) {
        self.poison.set(poison);
    }

    /// Compares the canaries of `operand` after `op`.
    fn inspect(
        &self,
        stream: &D::Stream,
        op: &'static str,
        operand: &'static str,
        buffer: &GuardedBuffer<D::Buffer>,
    ) -> Result<(), DeviceError> {
        if self.zone == 0 {
            return Ok(());
        }
        for (side, zone) in buffer.zones() {
            let start = zone.start;
            let read = || {
                let site = Site::outside("guard zone");
                self.inner.read_bytes(stream, &buffer.inner, zone.clone(), &site)?.wait()
            };
            let found = read()?;
            let whole = canaries(start);
            if found == whole {
                continue;
            }
            let damaged = |at: &usize| found.get(*at) != whole.get(*at);
            let Some(first) = (0..ZONE).find(damaged) else { continue };
            if read()? != found {
                return Err(DeviceError::UnsteadyCopy {
                    label: buffer.label().into(),
                    start,
                    len: found.len(),
                });
            }
            return Err(DeviceError::Overrun(Box::new(Overrun {
                op,
                operand,
                label: buffer.label().into(),
                len: buffer.len,
                side,
                distance: match side {
                    Side::Before => self.zone - first,
                    Side::After => first,
                },
                count: (0..ZONE).filter(damaged).count(),
            })));
        }
        Ok(())
    }
}

/// Leads from guarded buffers to those inside.
struct Unwrap;

impl<'a, B> Rebind<'a, GuardedBuffer<B>, B> for Unwrap {
    fn view(&mut self, _: &'static str, view: View<'a, GuardedBuffer<B>>) -> View<'a, B> {
        View::new(&view.buffer.inner, view.layout.at(view.layout.offset() + view.buffer.zone))
    }

    fn view_mut(&mut self, _: &'static str, view: ViewMut<'a, GuardedBuffer<B>>) -> ViewMut<'a, B> {
        ViewMut::new(&mut view.buffer.inner, view.layout.at(view.layout.offset() + view.buffer.zone))
    }
}

impl<D: Backend> Decorator for Guarded<D> {
    type Inner = D;
    type Buffer = GuardedBuffer<D::Buffer>;

    fn inner(&self) -> &D {
        &self.inner
    }

    fn offset(&self) -> usize {
        self.zone
    }

    fn inner_buffer(buffer: &Self::Buffer) -> &D::Buffer {
        &buffer.inner
    }

    fn inner_buffer_mut(buffer: &mut Self::Buffer) -> &mut D::Buffer {
        &mut buffer.inner
    }

    fn alloc(&self, bytes: usize, label: &str) -> Result<Self::Buffer, DeviceError> {
        let too_large = || DeviceError::OutOfMemory { label: label.into(), requested: bytes, available: 0 };
        let total = bytes.checked_add(2 * self.zone).ok_or_else(too_large)?;
        let mut buffer =
            GuardedBuffer { inner: self.inner.alloc(total, label)?, len: bytes, zone: self.zone };
        let [before, after] =
            buffer.zones().map(|(_, zone)| canaries(zone.start).get(..zone.len()).unwrap_or_default());
        let poison = self.poison.get().bytes(bytes);
        self.inner.write(&self.stream, &mut buffer.inner, 0, &[before, &poison, after].concat())?;
        self.inner.synchronize(&self.stream)?;
        Ok(buffer)
    }

    fn adopt(&self, _: &HostMemory, _: &str) -> Result<Adoption<Self::Buffer>, DeviceError> {
        // The host's memory has no zones around it; a copy of it does.
        Ok(Adoption::NeedsCopy)
    }

    fn before_read(&self, from: &Self::Buffer, range: &Range<usize>, _: &Site) -> Result<(), DeviceError> {
        within("read", from, range)
    }

    fn before_write(&self, to: &Self::Buffer, range: &Range<usize>) -> Result<(), DeviceError> {
        within("write", to, range)
    }

    fn launch(&self, stream: &D::Stream, op: Valid<Op<'_, Self::Buffer>>) -> Result<(), DeviceError> {
        let mut op = op.into_inner();
        let Ok(inner) = op.rebind(&mut Unwrap).validate() else {
            unreachable!(
                "zones are multiples of every alignment, so an op that was valid between them is valid inside"
            )
        };
        self.inner.launch(stream, inner)?;
        let stem = op.stem().name();
        op.operands().iter().try_for_each(|operand| self.inspect(stream, stem, operand.name, operand.buffer))
    }
}

/// An access between the zones.
fn within<B: Buffer>(
    call: &'static str,
    buffer: &GuardedBuffer<B>,
    range: &Range<usize>,
) -> Result<(), DeviceError> {
    let (start, end, len) = (range.start, range.end, buffer.len);
    if start <= end && end <= len {
        return Ok(());
    }
    Err(DeviceError::Extent { call, label: buffer.label().into(), start, end, len })
}
