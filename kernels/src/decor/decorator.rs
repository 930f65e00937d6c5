//! A base for decorators: it forwards everything that a decorator does not change.

use std::ops::Range;

use crate::backend::one_after_another;
use crate::{
    Adoption, Backend, Breakpoint, Buffer, DeviceError, HostMemory, Identity, Numerics, Op, OpForm, Site,
    Support, Valid,
};

/// A backend around another one. Every [`Decorator`] is a [`Backend`]; what it does not override goes to the backend inside.
///
/// A buffer of the decorator lies inside a buffer of the backend inside, from [`offset`](Decorator::offset) on.
pub trait Decorator: Sized {
    /// The backend inside.
    type Inner: Backend;
    /// Memory, as users of the decorator see it.
    type Buffer: Buffer;

    /// Bytes of an inner buffer before the first one that users see.
    fn offset(&self) -> usize;

    /// The backend inside.
    fn inner(&self) -> &Self::Inner;

    /// The memory that holds `buffer`.
    fn inner_buffer(buffer: &Self::Buffer) -> &<Self::Inner as Backend>::Buffer;

    /// The memory that holds `buffer`, to be written.
    fn inner_buffer_mut(buffer: &mut Self::Buffer) -> &mut <Self::Inner as Backend>::Buffer;

    /// As [`Backend::alloc`].
    #[track_caller]
    fn alloc(&self, bytes: usize, label: &str) -> Result<Self::Buffer, DeviceError>;

    /// As [`Backend::adopt`].
    fn adopt(&self, memory: &HostMemory, label: &str) -> Result<Adoption<Self::Buffer>, DeviceError>;

    /// As [`Backend::launch`].
    fn launch(
        &self,
        stream: &<Self::Inner as Backend>::Stream,
        op: Valid<Op<'_, Self::Buffer>>,
    ) -> Result<(), DeviceError>;

    /// As [`Backend::launch_together`]; by default one op after the other.
    fn launch_together(
        &self,
        stream: &<Self::Inner as Backend>::Stream,
        ops: Vec<(Site, Valid<Op<'_, Self::Buffer>>)>,
    ) -> Result<(), (usize, DeviceError)> {
        one_after_another(self, stream, ops)
    }

    /// The identity, given that of the backend inside.
    fn identity(&self, inner: Identity) -> Identity {
        inner
    }

    /// Before the ops of `site`.
    fn enter(&self, site: &Site) {
        self.inner().enter(site);
    }

    /// Before the host waits for a stream.
    fn before_synchronize(&self) -> Result<(), DeviceError> {
        Ok(())
    }

    /// Before bytes `range` of `from` are copied to the host, in the coordinates of the decorator.
    fn before_read(
        &self,
        _from: &Self::Buffer,
        _range: &Range<usize>,
        _site: &Site,
    ) -> Result<(), DeviceError> {
        Ok(())
    }

    /// Before bytes `range` of `to` are written, in the coordinates of the decorator.
    fn before_write(&self, _to: &Self::Buffer, _range: &Range<usize>) -> Result<(), DeviceError> {
        Ok(())
    }
}

/// `range` in the coordinates of the backend inside.
fn shifted(range: Range<usize>, offset: usize) -> Range<usize> {
    range.start.saturating_add(offset)..range.end.saturating_add(offset)
}

impl<T: Decorator> Backend for T {
    type Buffer = T::Buffer;
    type Stream = <T::Inner as Backend>::Stream;
    type Event = <T::Inner as Backend>::Event;
    type Pending = <T::Inner as Backend>::Pending;

    fn identity(&self) -> Identity {
        Decorator::identity(self, self.inner().identity())
    }

    fn numerics(&self, op: &OpForm) -> Numerics {
        self.inner().numerics(op)
    }

    fn breakpoints(&self, op: &OpForm) -> Vec<Breakpoint> {
        self.inner().breakpoints(op)
    }

    fn supports(&self, op: &OpForm) -> Support {
        self.inner().supports(op)
    }

    fn alloc(&self, bytes: usize, label: &str) -> Result<Self::Buffer, DeviceError> {
        Decorator::alloc(self, bytes, label)
    }

    fn adopt(&self, memory: &HostMemory, label: &str) -> Result<Adoption<Self::Buffer>, DeviceError> {
        Decorator::adopt(self, memory, label)
    }

    fn stream(&self) -> Result<Self::Stream, DeviceError> {
        self.inner().stream()
    }

    fn record(&self, stream: &Self::Stream) -> Result<Self::Event, DeviceError> {
        self.inner().record(stream)
    }

    fn wait_event(&self, stream: &Self::Stream, event: &Self::Event) -> Result<(), DeviceError> {
        self.inner().wait_event(stream, event)
    }

    fn synchronize(&self, stream: &Self::Stream) -> Result<(), DeviceError> {
        self.before_synchronize()?;
        self.inner().synchronize(stream)
    }

    fn write(
        &self,
        stream: &Self::Stream,
        to: &mut Self::Buffer,
        offset: usize,
        bytes: &[u8],
    ) -> Result<(), DeviceError> {
        self.before_write(to, &(offset..offset.saturating_add(bytes.len())))?;
        self.inner().write(stream, T::inner_buffer_mut(to), offset + self.offset(), bytes)
    }

    fn read_bytes(
        &self,
        stream: &Self::Stream,
        from: &Self::Buffer,
        range: Range<usize>,
        site: &Site,
    ) -> Result<Self::Pending, DeviceError> {
        self.before_read(from, &range, site)?;
        self.inner().read_bytes(stream, T::inner_buffer(from), shifted(range, self.offset()), site)
    }

    fn read_into(
        &self,
        stream: &Self::Stream,
        from: &Self::Buffer,
        range: Range<usize>,
        site: &Site,
        to: &mut [u8],
    ) -> Result<(), DeviceError> {
        self.before_read(from, &range, site)?;
        self.inner().read_into(stream, T::inner_buffer(from), shifted(range, self.offset()), site, to)
    }

    fn launch(&self, stream: &Self::Stream, op: Valid<Op<'_, Self::Buffer>>) -> Result<(), DeviceError> {
        Decorator::launch(self, stream, op)
    }

    fn launch_together(
        &self,
        stream: &Self::Stream,
        ops: Vec<(Site, Valid<Op<'_, Self::Buffer>>)>,
    ) -> Result<(), (usize, DeviceError)> {
        Decorator::launch_together(self, stream, ops)
    }

    fn enter(&self, site: &Site) {
        Decorator::enter(self, site);
    }

    fn address(&self, buffer: &Self::Buffer) -> Option<u64> {
        self.inner().address(T::inner_buffer(buffer)).map(|start| start + self.offset() as u64)
    }

    fn last_launch(&self, stream: &Self::Stream) -> Option<String> {
        self.inner().last_launch(stream)
    }

    fn checks_bounds(&self) -> bool {
        self.inner().checks_bounds()
    }
}
