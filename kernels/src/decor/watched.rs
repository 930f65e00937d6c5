//! Calls an observer before each op, after it, and wherever the host waits.
//!
//! What a debugging aid does with an op (compare it with an oracle, store it on disk, synchronise behind it, spoil it on
//! purpose) is a [`Watch`]; [`Watched`] is the backend that calls it. Buffers and streams are those of the backend inside.

use std::cell::RefCell;
use std::ops::Range;

use super::Decorator;
use crate::backend::one_after_another;
use crate::{
    Adoption, Backend, Buffer, DeviceError, HostMemory, Identity, Op, Rebind, Site, Valid, View, ViewMut,
};

/// An op under observation.
#[derive(Debug)]
pub struct Seen<'s, D: Backend> {
    /// The backend that runs it.
    pub backend: &'s D,
    /// The queue that it stands in.
    pub stream: &'s D::Stream,
    /// The op.
    pub op: &'s Op<'s, D::Buffer>,
    /// Where in a model it stands; `None` where it is unknown.
    pub site: Option<Site>,
}

/// The host waits, and meets the errors of the work before.
#[derive(Debug)]
pub enum Wait<'w> {
    /// For bytes of a buffer.
    Copy {
        /// Label of the buffer.
        label: &'w str,
        /// The bytes.
        range: Range<usize>,
        /// The tensor.
        site: &'w Site,
    },
    /// For a stream.
    Synchronize,
}

/// An observer of the ops of a backend. Each method may end the run by returning an error.
pub trait Watch<D: Backend> {
    /// What the backend is, as it is now.
    fn identity(&self, inner: Identity) -> Identity {
        inner
    }

    /// True for an observer that looks at no op: ops then go straight to the backend inside.
    fn idle(&self) -> bool {
        false
    }

    /// What new memory is filled with; `None` leaves it as it is. For those who read all of a buffer, written or not.
    fn fill(&self) -> Option<u8> {
        None
    }

    /// Before an op runs.
    fn before(&self, _: &Seen<'_, D>) -> Result<(), DeviceError> {
        Ok(())
    }

    /// What to put into the buffers of the op's outputs instead of running it; `None` runs it. For planted faults.
    fn instead(&self, _: &Seen<'_, D>) -> Result<Option<Vec<Vec<u8>>>, DeviceError> {
        Ok(None)
    }

    /// After an op was launched, with what the launch answered. The answer of this method is the launch's.
    fn after(&self, _: &Seen<'_, D>, ran: Result<(), DeviceError>) -> Result<(), DeviceError> {
        ran
    }

    /// Before the host waits.
    fn wait(&self, _: &Wait<'_>) -> Result<(), DeviceError> {
        Ok(())
    }
}

/// No observer.
impl<D: Backend> Watch<D> for () {
    fn idle(&self) -> bool {
        true
    }
}

/// Any watch: so that a model need not be compiled once for each.
pub type AnyWatch<'w, D> = Box<dyn Watch<D> + 'w>;

impl<D: Backend, W: Watch<D> + ?Sized> Watch<D> for Box<W> {
    fn identity(&self, inner: Identity) -> Identity {
        (**self).identity(inner)
    }

    fn idle(&self) -> bool {
        (**self).idle()
    }

    fn fill(&self) -> Option<u8> {
        (**self).fill()
    }

    fn before(&self, seen: &Seen<'_, D>) -> Result<(), DeviceError> {
        (**self).before(seen)
    }

    fn instead(&self, seen: &Seen<'_, D>) -> Result<Option<Vec<Vec<u8>>>, DeviceError> {
        (**self).instead(seen)
    }

    fn after(&self, seen: &Seen<'_, D>, ran: Result<(), DeviceError>) -> Result<(), DeviceError> {
        (**self).after(seen, ran)
    }

    fn wait(&self, wait: &Wait<'_>) -> Result<(), DeviceError> {
        (**self).wait(wait)
    }
}

/// A backend whose ops are watched.
#[derive(Debug)]
pub struct Watched<D, W> {
    inner: D,
    watch: W,
    site: RefCell<Option<Site>>,
}

impl<D: Backend, W: Watch<D>> Watched<D, W> {
    /// Shows the ops of `inner` to `watch`.
    pub const fn new(inner: D, watch: W) -> Self {
        Watched { inner, watch, site: RefCell::new(None) }
    }

    /// The observer.
    pub const fn watch(&self) -> &W {
        &self.watch
    }

    fn seen<'s>(&'s self, stream: &'s D::Stream, op: &'s Op<'s, D::Buffer>) -> Seen<'s, D> {
        Seen { backend: &self.inner, stream, op, site: self.site.borrow().clone() }
    }

    fn run(&self, stream: &D::Stream, op: &mut Op<'_, D::Buffer>) -> Result<(), DeviceError> {
        let Some(contents) = self.watch.instead(&self.seen(stream, op))? else {
            let Ok(again) = op.rebind(&mut Same).validate() else {
                unreachable!("the same op over the same buffers is as valid as before")
            };
            return self.inner.launch(stream, again);
        };
        for (out, bytes) in op.rebind(&mut Same).into_outputs().into_iter().zip(contents) {
            self.inner.write(stream, out.buffer, 0, &bytes)?;
        }
        Ok(())
    }
}

/// Keeps the buffers: an op that outlives its launch.
struct Same;

impl<'a, B> Rebind<'a, B, B> for Same {
    fn view(&mut self, _: &'static str, view: View<'a, B>) -> View<'a, B> {
        view
    }

    fn view_mut(&mut self, _: &'static str, view: ViewMut<'a, B>) -> ViewMut<'a, B> {
        view
    }
}

impl<D: Backend, W: Watch<D>> Decorator for Watched<D, W> {
    type Inner = D;
    type Buffer = D::Buffer;

    fn offset(&self) -> usize {
        0
    }

    fn inner(&self) -> &D {
        &self.inner
    }

    fn inner_buffer(buffer: &D::Buffer) -> &D::Buffer {
        buffer
    }

    fn inner_buffer_mut(buffer: &mut D::Buffer) -> &mut D::Buffer {
        buffer
    }

    fn identity(&self, inner: Identity) -> Identity {
        self.watch.identity(inner)
    }

    fn alloc(&self, bytes: usize, label: &str) -> Result<D::Buffer, DeviceError> {
        let mut buffer = self.inner.alloc(bytes, label)?;
        if let Some(byte) = self.watch.fill() {
            let stream = self.inner.stream()?;
            self.inner.write(&stream, &mut buffer, 0, &vec![byte; bytes])?;
            self.inner.synchronize(&stream)?;
        }
        Ok(buffer)
    }

    fn adopt(&self, memory: &HostMemory, label: &str) -> Result<Adoption<D::Buffer>, DeviceError> {
        self.inner.adopt(memory, label)
    }

    fn before_synchronize(&self) -> Result<(), DeviceError> {
        self.watch.wait(&Wait::Synchronize)
    }

    fn before_read(&self, from: &D::Buffer, range: &Range<usize>, site: &Site) -> Result<(), DeviceError> {
        self.watch.wait(&Wait::Copy { label: from.label(), range: range.clone(), site })
    }

    fn launch(&self, stream: &D::Stream, op: Valid<Op<'_, D::Buffer>>) -> Result<(), DeviceError> {
        if self.watch.idle() {
            return self.inner.launch(stream, op);
        }
        let mut op = op.into_inner();
        self.watch.before(&self.seen(stream, &op))?;
        let ran = self.run(stream, &mut op);
        self.watch.after(&self.seen(stream, &op), ran)
    }

    fn launch_together(
        &self,
        stream: &D::Stream,
        ops: Vec<(Site, Valid<Op<'_, D::Buffer>>)>,
    ) -> Result<(), (usize, DeviceError)> {
        if self.watch.idle() {
            return self.inner.launch_together(stream, ops);
        }
        // A watch sees one op at a time.
        one_after_another(self, stream, ops)
    }

    fn enter(&self, site: &Site) {
        *self.site.borrow_mut() = Some(site.clone());
        self.inner.enter(site);
    }
}
