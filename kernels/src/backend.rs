//! What an implementation provides: [`Backend`].
//!
//! Memory, streams, events, and a single [`launch`](Backend::launch) over the closed [`Op`] enum. One
//! method for all ops means that a decorator implements one method, that a new op breaks every backend's
//! `match` at compile time, and that an op is a value that can be printed and stored.
//!
//! Order: work on one stream runs in the order in which it was given. Work on two streams is unordered
//! unless an event orders it. `launch` and `write` may return before the work is done; an error of such
//! work surfaces at the next call that waits ([`Pending::wait`], [`Backend::synchronize`]).

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::{
    Breakpoint, Buffer, DType, DeviceError, IndexBuffer, Layout, Numerics, Op, OpForm, Record, Site, Valid,
    View,
};

/// What a device is. A report never shows a result without it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DeviceKind {
    /// The host's processor.
    Host,
    /// A software device: device code under checked emulation, not a run on silicon.
    Software,
    /// A GPU.
    Gpu,
}

/// Which backend this is and what it runs on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// Name on the command line and in case names: `ref`, `cpu`, `soft`, `hip`.
    pub name: &'static str,
    /// Device, as it calls itself.
    pub device: String,
    /// Host, software device or GPU.
    pub kind: DeviceKind,
}

/// Whether a backend implements an op on given operands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Support {
    /// It does.
    Yes,
    /// It does not, and says why. Reported as unsupported; never a pass.
    No(String),
}

/// Bytes of the host that outlive every use: a memory-mapped file, for instance.
#[derive(Clone)]
pub struct HostMemory {
    owner: Arc<dyn AsRef<[u8]> + Send + Sync>,
    range: Range<usize>,
}

impl HostMemory {
    /// Bytes `range` of `owner`; `None` where the range leaves it.
    pub fn new(owner: Arc<dyn AsRef<[u8]> + Send + Sync>, range: Range<usize>) -> Option<Self> {
        (*owner).as_ref().get(range.clone())?;
        Some(HostMemory { owner, range })
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        // An owner whose slice shrinks breaks the promise of `new`; it reads as empty then, not as a panic.
        (*self.owner).as_ref().get(self.range.clone()).unwrap_or_default()
    }
}

impl fmt::Debug for HostMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostMemory({:?})", self.range)
    }
}

/// Answer to an offer of host memory.
#[derive(Debug)]
pub enum Adoption<B> {
    /// The backend reads the host's bytes where they are.
    Shared(B),
    /// The backend has memory of its own; the bytes must be written to it.
    NeedsCopy,
}

/// A copy of part of a buffer that ends on the host.
pub trait Pending {
    /// Waits until the copy has landed, checks the device's error state, and hands over the bytes.
    fn wait(self) -> Result<Vec<u8>, DeviceError>;
}

/// A tensor on its way to the host. Its bytes can be reached only through [`Readback::wait`], so that
/// no caller sees a copy that has not landed.
#[derive(Debug)]
#[must_use = "a readback that is not waited for reads nothing"]
pub struct Readback<P> {
    pending: P,
    layout: Layout,
}

impl<P: Pending> Readback<P> {
    /// Waits for the copy and leaves out the padding.
    pub fn wait(self) -> Result<HostTensor, DeviceError> {
        let bytes = self.pending.wait()?;
        match self.layout.gather(&bytes, self.layout.offset()) {
            Some(dense) => Ok(HostTensor { layout: self.layout.densified(), bytes: dense }),
            None => Err(DeviceError::ShortCopy {
                want: self.layout.byte_range().map_or(usize::MAX, |r| r.len()),
                got: bytes.len(),
            }),
        }
    }
}

/// A dense tensor in host memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostTensor {
    layout: Layout,
    bytes: Vec<u8>,
}

impl HostTensor {
    /// Type and shape.
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Elements in row-major order.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The elements of an `f32` tensor; `None` for another type.
    pub fn f32s(&self) -> Option<Vec<f32>> {
        (self.layout.dtype() == DType::F32).then(|| bytemuck::pod_collect_to_vec(&self.bytes))
    }

    /// The elements of a `u32` tensor; `None` for another type.
    pub fn u32s(&self) -> Option<Vec<u32>> {
        (self.layout.dtype() == DType::U32).then(|| bytemuck::pod_collect_to_vec(&self.bytes))
    }
}

/// Ops of [`Backend::launch_together`], each launched by itself.
pub(crate) fn one_after_another<D: Backend + ?Sized>(
    backend: &D,
    stream: &D::Stream,
    ops: Vec<(Site, Valid<Op<'_, D::Buffer>>)>,
) -> Result<(), (usize, DeviceError)> {
    for (nth, (site, op)) in ops.into_iter().enumerate() {
        backend.enter(&site);
        backend.launch(stream, op).map_err(|error| (nth, error))?;
    }
    Ok(())
}

/// An implementation of the contract.
pub trait Backend {
    /// Device memory.
    type Buffer: Buffer;
    /// A queue of work.
    type Stream;
    /// A point in a queue.
    type Event;
    /// A copy to the host that is under way.
    type Pending: Pending;

    /// Name, device, kind.
    fn identity(&self) -> Identity;

    /// How this backend computes `op`; the op's bound follows from it.
    fn numerics(&self, op: &OpForm) -> Numerics;

    /// The sizes of `op` at which this backend changes from one way of computing to another, as far as it knows them.
    fn breakpoints(&self, _op: &OpForm) -> Vec<Breakpoint> {
        Vec::new()
    }

    /// Whether this backend implements `op` on these operands.
    fn supports(&self, op: &OpForm) -> Support;

    /// Memory of `bytes` bytes with unspecified content. The caller's line is remembered, for reports.
    #[track_caller]
    fn alloc(&self, bytes: usize, label: &str) -> Result<Self::Buffer, DeviceError>;

    /// Offers host memory to be used in place.
    fn adopt(&self, memory: &HostMemory, label: &str) -> Result<Adoption<Self::Buffer>, DeviceError>;

    /// A new queue.
    fn stream(&self) -> Result<Self::Stream, DeviceError>;

    /// Marks the point that `stream` has reached.
    fn record(&self, stream: &Self::Stream) -> Result<Self::Event, DeviceError>;

    /// Lets later work on `stream` start only after `event`.
    fn wait_event(&self, stream: &Self::Stream, event: &Self::Event) -> Result<(), DeviceError>;

    /// Waits for all work on `stream` and returns the first error of it.
    fn synchronize(&self, stream: &Self::Stream) -> Result<(), DeviceError>;

    /// Copies `bytes` to byte `offset` of `to`. The slice may be reused as soon as the call returns.
    #[track_caller]
    fn write(
        &self,
        stream: &Self::Stream,
        to: &mut Self::Buffer,
        offset: usize,
        bytes: &[u8],
    ) -> Result<(), DeviceError>;

    /// Starts a copy of bytes `range` of `from` to the host. A range that leaves the buffer is
    /// [`DeviceError::Extent`].
    fn read_bytes(
        &self,
        stream: &Self::Stream,
        from: &Self::Buffer,
        range: Range<usize>,
        site: &Site,
    ) -> Result<Self::Pending, DeviceError>;

    /// Waits for bytes `range` of `from` and puts them in `to`, which is as long.
    fn read_into(
        &self,
        stream: &Self::Stream,
        from: &Self::Buffer,
        range: Range<usize>,
        site: &Site,
        to: &mut [u8],
    ) -> Result<(), DeviceError> {
        let bytes = self.read_bytes(stream, from, range, site)?.wait()?;
        if bytes.len() != to.len() {
            return Err(DeviceError::ShortCopy { want: to.len(), got: bytes.len() });
        }
        to.copy_from_slice(&bytes);
        Ok(())
    }

    /// Starts an op.
    fn launch(&self, stream: &Self::Stream, op: Valid<Op<'_, Self::Buffer>>) -> Result<(), DeviceError>;

    /// Starts ops that do not need each other, each with its site in a model. A backend may run them at once; the results are those
    /// of one after the other. The borrows guarantee that none writes what another reads or writes. An error comes with the number
    /// of its op.
    fn launch_together(
        &self,
        stream: &Self::Stream,
        ops: Vec<(Site, Valid<Op<'_, Self::Buffer>>)>,
    ) -> Result<(), (usize, DeviceError)> {
        one_after_another(self, stream, ops)
    }

    /// Says where in a model the ops that follow stand, for decorators that report on ops. A backend ignores it.
    fn enter(&self, _site: &Site) {}

    /// The device's address of a buffer, where the backend can tell.
    fn address(&self, _buffer: &Self::Buffer) -> Option<u64> {
        None
    }

    /// How the last op on `stream` was launched, in the backend's own words: stream, kernel, grid. For fault reports.
    fn last_launch(&self, _stream: &Self::Stream) -> Option<String> {
        None
    }

    /// Whether the device itself finds every access outside an allocation, reads included. Canaries around its memory would
    /// hide such accesses from it.
    fn checks_bounds(&self) -> bool {
        false
    }

    /// Starts a copy of a tensor to the host.
    fn read(
        &self,
        stream: &Self::Stream,
        from: View<'_, Self::Buffer>,
        site: &Site,
    ) -> Result<Readback<Self::Pending>, DeviceError> {
        let range = from.layout.byte_range().unwrap_or(from.layout.offset()..usize::MAX);
        let pending = self.read_bytes(stream, from.buffer, range, site)?;
        Ok(Readback { pending, layout: from.layout })
    }

    /// Memory with the given content: adopted where the backend can, copied where it cannot.
    #[track_caller]
    fn load(
        &self,
        stream: &Self::Stream,
        memory: &HostMemory,
        label: &str,
    ) -> Result<Self::Buffer, DeviceError> {
        match self.adopt(memory, label)? {
            Adoption::Shared(buffer) => Ok(buffer),
            Adoption::NeedsCopy => self.upload(stream, memory.bytes(), label),
        }
    }

    /// New memory that holds a copy of `bytes`.
    #[track_caller]
    fn upload(&self, stream: &Self::Stream, bytes: &[u8], label: &str) -> Result<Self::Buffer, DeviceError> {
        let mut buffer = self.alloc(bytes.len(), label)?;
        self.write(stream, &mut buffer, 0, bytes)?;
        Ok(buffer)
    }

    /// Token ids, positions or sequence numbers on the device, with the host's knowledge of their values.
    #[track_caller]
    fn indices(
        &self,
        stream: &Self::Stream,
        values: &[u32],
        label: &str,
    ) -> Result<IndexBuffer<Self::Buffer>, DeviceError> {
        let buffer = self.upload(stream, bytemuck::cast_slice(values), label)?;
        Ok(IndexBuffer { buffer, values: values.to_vec() })
    }
}

impl Record {
    /// New buffers of `backend` with the operands' content, one per operand.
    pub fn upload<D: Backend>(&self, backend: &D, stream: &D::Stream) -> Result<Vec<D::Buffer>, DeviceError> {
        self.operands().iter().map(|o| backend.upload(stream, &o.bytes, &o.name)).collect()
    }
}
