//! A plug-in as a [`Backend`].
//!
//! It has one queue: work on two streams is then ordered, which the contract permits.

use std::cell::RefCell;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;

use backend_cpu::fast::Fast;
use kernels::{
    Adoption, Backend, Buffer, DeviceError, HostMemory, Identity, Numerics, Op, OpForm, Pending, Site,
    Support, Valid,
};

use crate::call::{Answers, Call, CallOperand, Handle, settings};
use crate::elsewhere;

/// A plug-in as a backend.
pub struct PluginBackend {
    plugin: Rc<Shared>,
    identity: Identity,
    completion: Option<Completion>,
}

/// What makes a backend for models of a plug-in that has a few ops.
struct Completion {
    cpu: Fast,
    /// Is told of each op that the plug-in runs.
    reached: Box<dyn Fn()>,
}

impl fmt::Debug for PluginBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PluginBackend({:?})", self.identity)
    }
}

/// What backend and buffers share.
#[derive(Debug)]
struct Shared {
    answers: Box<dyn Answers>,
    /// An error in returning memory, which surfaces at the next call that waits.
    parked: RefCell<Option<DeviceError>>,
}

/// Memory of a plug-in.
#[derive(Debug)]
pub struct PluginBuffer {
    plugin: Rc<Shared>,
    handle: Handle,
    len: usize,
    label: String,
}

impl Buffer for PluginBuffer {
    fn len(&self) -> usize {
        self.len
    }

    fn label(&self) -> &str {
        &self.label
    }
}

impl Drop for PluginBuffer {
    fn drop(&mut self) {
        if let Err(error) = self.plugin.answers.free(self.handle) {
            self.plugin.parked.borrow_mut().get_or_insert(error);
        }
    }
}

/// The one queue.
#[derive(Debug)]
pub struct Queue(());

/// A copy that has landed.
#[derive(Debug)]
pub struct Landed(Vec<u8>);

impl Pending for Landed {
    fn wait(self) -> Result<Vec<u8>, DeviceError> {
        Ok(self.0)
    }
}

impl PluginBackend {
    pub(crate) fn new(path: &Path, answers: impl Answers + 'static) -> Self {
        let file = path.file_name().unwrap_or_default().display();
        let device = format!("{} ({file})", answers.name());
        let identity = Identity { name: "plugin", device, kind: answers.place() };
        let plugin = Rc::new(Shared { answers: Box::new(answers), parked: RefCell::new(None) });
        PluginBackend { plugin, identity, completion: None }
    }

    /// The same with the ops that the plug-in lacks on the CPU, so that a single kernel can be tried in a whole model. `reached` is called
    /// for each op that the plug-in runs: a run in which it has run none says nothing about it.
    #[must_use]
    pub fn completed(mut self, reached: impl Fn() + 'static) -> Self {
        self.completion = Some(Completion { cpu: Fast::exact(0), reached: Box::new(reached) });
        self
    }

    /// What launches have done since the last call besides computing: files, processes and addresses that they reached for. Of a library
    /// this is not seen.
    pub fn touched(&self) -> Result<Vec<String>, DeviceError> {
        self.plugin.answers.touched()
    }

    fn fetch(&self, from: &PluginBuffer, range: Range<usize>) -> Result<Vec<u8>, DeviceError> {
        Self::inside("read", from, range.start, range.len())?;
        let mut bytes = vec![0; range.len()];
        self.plugin.answers.read(from.handle, range.start, &mut bytes).map_err(DeviceError::in_copy)?;
        Ok(bytes)
    }

    /// Refuses a range that leaves a buffer.
    fn inside(
        call: &'static str,
        buffer: &PluginBuffer,
        offset: usize,
        bytes: usize,
    ) -> Result<(), DeviceError> {
        let end = offset.saturating_add(bytes);
        if end <= buffer.len {
            return Ok(());
        }
        Err(DeviceError::Extent { call, label: buffer.label.clone(), start: offset, end, len: buffer.len })
    }
}

impl Backend for PluginBackend {
    type Buffer = PluginBuffer;
    type Stream = Queue;
    type Event = ();
    type Pending = Landed;

    fn identity(&self) -> Identity {
        self.identity.clone()
    }

    /// A declaration that makes no sense counts as the default here; the launch refuses it.
    fn numerics(&self, op: &OpForm) -> Numerics {
        let call = Call::about(op);
        match &self.completion {
            Some(completion) if self.plugin.answers.supports(&call) != Support::Yes => {
                completion.cpu.numerics(op)
            }
            _ => self.plugin.answers.numerics(&call).unwrap_or(Numerics::F32),
        }
    }

    fn supports(&self, op: &OpForm) -> Support {
        match (self.plugin.answers.supports(&Call::about(op)), &self.completion) {
            (Support::No(_), Some(completion)) => completion.cpu.supports(op),
            (answer, _) => answer,
        }
    }

    fn alloc(&self, bytes: usize, label: &str) -> Result<PluginBuffer, DeviceError> {
        let handle = self.plugin.answers.alloc(bytes, label)?;
        Ok(PluginBuffer { plugin: Rc::clone(&self.plugin), handle, len: bytes, label: label.into() })
    }

    fn adopt(&self, _: &HostMemory, _: &str) -> Result<Adoption<PluginBuffer>, DeviceError> {
        Ok(Adoption::NeedsCopy)
    }

    fn stream(&self) -> Result<Queue, DeviceError> {
        Ok(Queue(()))
    }

    fn record(&self, _: &Queue) -> Result<(), DeviceError> {
        Ok(())
    }

    fn wait_event(&self, _: &Queue, (): &()) -> Result<(), DeviceError> {
        Ok(())
    }

    fn synchronize(&self, _: &Queue) -> Result<(), DeviceError> {
        self.plugin.answers.synchronize()?;
        self.plugin.parked.borrow_mut().take().map_or(Ok(()), Err)
    }

    fn write(
        &self,
        _: &Queue,
        to: &mut PluginBuffer,
        offset: usize,
        bytes: &[u8],
    ) -> Result<(), DeviceError> {
        Self::inside("write", to, offset, bytes.len())?;
        self.plugin.answers.write(to.handle, offset, bytes).map_err(DeviceError::in_copy)
    }

    fn read_bytes(
        &self,
        _: &Queue,
        from: &PluginBuffer,
        range: Range<usize>,
        _: &Site,
    ) -> Result<Landed, DeviceError> {
        self.fetch(from, range).map(Landed)
    }

    fn launch(&self, _: &Queue, op: Valid<Op<'_, PluginBuffer>>) -> Result<(), DeviceError> {
        if let Support::No(reason) = self.plugin.answers.supports(&Call::about(&op.form())) {
            let Some(completion) = &self.completion else {
                return Err(DeviceError::Unsupported { op: op.stem().name(), reason });
            };
            let write = |to: &PluginBuffer, offset, bytes: &[u8]| {
                self.plugin.answers.write(to.handle, offset, bytes).map_err(DeviceError::in_copy)
            };
            return elsewhere::launch(&completion.cpu, &op, |from, range| self.fetch(from, range), write);
        }
        let operands = op.operands().into_iter().map(|operand| CallOperand {
            name: operand.name.into(),
            role: operand.role,
            layout: operand.layout,
            buffer: Some(operand.buffer.handle),
        });
        let call = Call { stem: op.stem(), operands: operands.collect(), params: settings(&op.params()) };
        if let Err(why) = self.plugin.answers.numerics(&call) {
            return Err(DeviceError::Watch(format!("what the plug-in declares of {}: {why}", call.stem)));
        }
        self.plugin.answers.launch(&call)?;
        if let Some(completion) = &self.completion {
            (completion.reached)();
        }
        Ok(())
    }
}
