//! A backend with a planted bug.
//!
//! The bug is a function of a [`Work`]: it may change the op before it runs, run it (on the reference), and change what came
//! out. Everything around it is the real suite: real buffers, guard zones, validation, comparison. Its numerics are those of a
//! careful f32 backend, so that its bounds are no looser than a real one's.

use std::cell::{Cell, RefCell};
use std::ops::Range;

use backend_cpu::HostBuffer;
use backend_cpu::host::{Compute, Host};
use backend_cpu::reference::Reference;
use conformance::target::{Guards, RunError, Target};
use kernels::{
    Backend, DType, DeviceError, Identity, Layout, Numerics, Op, OpForm, Pending, Record, RecordOperand,
    Role, Site, Stem, Support, Valid, quant,
};
use serde::Deserialize;
use serde_json::Value;

/// What a bug is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum About {
    /// Where something lies, and for how long.
    Addresses,
    /// What happens when.
    Order,
    /// What is computed.
    Values,
    /// The suite itself.
    Harness,
}

/// A bug to plant.
#[derive(Clone, Copy)]
pub struct Mutant {
    /// Name.
    pub name: &'static str,
    /// What it is about.
    pub about: About,
    /// The op that has the bug.
    pub stem: Stem,
    /// The mistake.
    pub fault: &'static str,
    /// The bug.
    pub plant: Plant,
}

/// What a run of an op gives: the content of its buffers, or why there is none.
pub type Ran = Result<Vec<Vec<u8>>, RunError>;

/// Where a bug sits.
#[derive(Clone, Copy)]
pub enum Plant {
    /// In the kernel: what it reads, computes and writes.
    Kernel(fn(&mut Work<'_>) -> Result<(), DeviceError>),
    /// Around the kernel: what becomes of the buffers of an op, or of its refusal.
    Around(fn(&Record, Ran) -> Ran),
    /// In the copy of bytes of a buffer to the host.
    Copy(fn(&Site, &Range<usize>) -> Result<(), DeviceError>),
}

impl std::fmt::Debug for Mutant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Mutant({})", self.name)
    }
}

/// An op in the hands of a mutant.
pub struct Work<'w> {
    /// The op, with the content of its buffers.
    pub record: Record,
    /// Content of the output buffers; the reference's after [`Work::run`], before that what they held.
    pub outputs: Vec<Vec<u8>>,
    /// Ops that this mutant has run before.
    pub calls: usize,
    /// Outputs of the op before this one.
    pub previous: &'w [Vec<u8>],
}

impl Work<'_> {
    /// Runs the op as it now stands on the reference.
    pub fn run(&mut self) -> Result<(), DeviceError> {
        self.outputs = run(&self.record)?;
        Ok(())
    }

    /// Parameter `name`, to be changed.
    pub fn param(&mut self, name: &str, value: impl serde::Serialize) {
        self.record.params.insert(name.into(), serde_json::to_value(value).unwrap_or(Value::Null));
    }

    /// The operand called `name`.
    pub fn operand(&self, name: &str) -> Option<&RecordOperand> {
        self.record.find(name)
    }

    /// Extent of dimension `axis` of operand `name`; 1 where there is none.
    pub fn dim(&self, name: &str, axis: usize) -> usize {
        self.operand(name).map_or(1, |o| o.layout.dim(axis))
    }

    /// As [`Work::dim`], for arithmetic with indices.
    pub fn dim_u32(&self, name: &str, axis: usize) -> Result<u32, DeviceError> {
        let dim = self.dim(name, axis);
        u32::try_from(dim).map_err(|_| own(&format!("dimension {axis} of '{name}' is {dim}")))
    }

    /// Parameter `name`, a whole number.
    pub fn count<T: TryFrom<u64>>(&self, name: &str) -> Result<T, DeviceError> {
        let value = self.record.params.get(name);
        let count = value.and_then(Value::as_u64).and_then(|n| T::try_from(n).ok());
        count.ok_or_else(|| own(&format!("parameter '{name}' is {value:?}")))
    }

    /// Changes an operand of the op before it runs.
    pub fn change(&mut self, name: &str, mut with: impl FnMut(&mut RecordOperand)) {
        let mut changed = Record::new(self.record.stem);
        changed.params.clone_from(&self.record.params);
        for operand in self.record.operands() {
            let mut operand = operand.clone();
            if operand.name == name {
                with(&mut operand);
            }
            changed = changed.operand(&operand.name, operand.role, operand.layout, operand.bytes);
        }
        self.record = changed;
    }

    /// Changes the indices `name` before the op runs.
    pub fn change_indices(&mut self, name: &str, mut with: impl FnMut(usize, u32) -> u32) {
        self.change(name, |operand| {
            for (at, word) in operand.bytes.chunks_exact_mut(4).enumerate() {
                let value = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
                word.copy_from_slice(&with(at, value).to_le_bytes());
            }
        });
    }

    /// Changes the elements of a plain operand before the op runs; for an op in place, its output.
    pub fn change_values(&mut self, name: &str, mut with: impl FnMut(&[usize], f32) -> f32) {
        let name = if self.operand(name).is_some() { name } else { "out" };
        self.change(name, |operand| map(&operand.layout.clone(), &mut operand.bytes, &mut with));
    }

    /// Changes the elements of the first output after the op has run.
    pub fn change_out(&mut self, mut with: impl FnMut(&[usize], f32) -> f32) {
        let layout = self.out_layout();
        if let Some(out) = self.outputs.first_mut() {
            map(&layout, out, &mut with);
        }
    }

    /// Layout of the first output.
    pub fn out_layout(&self) -> Layout {
        let out = self.record.operands().iter().find(|o| o.role == Role::Output);
        out.map_or_else(|| Layout::contiguous(DType::F32, &[1]), |o| o.layout)
    }

    /// The elements of the first output, in row-major order.
    pub fn out(&self) -> Vec<f32> {
        self.outputs.first().map(|out| elements(&self.out_layout(), out)).unwrap_or_default()
    }

    /// The elements of an operand, in row-major order; for an op in place, of what its output held.
    pub fn values(&self, name: &str) -> Vec<f32> {
        let operand = self.operand(name).or_else(|| self.operand("out"));
        operand.map(|o| elements(&o.layout, &o.bytes)).unwrap_or_default()
    }
}

/// The elements of a tensor of any type, in row-major order; of indices, the numbers with their bits.
pub(crate) fn elements(layout: &Layout, bytes: &[u8]) -> Vec<f32> {
    let dense = layout.gather(bytes, 0).unwrap_or_default();
    let mut values = vec![0.0; layout.elements().unwrap_or(0)];
    decode(layout.dtype(), &dense, &mut values);
    values
}

/// The reference takes the same bytes: what fails here leaves zeros, and the mutant would survive visibly.
fn decode(dtype: DType, bytes: &[u8], values: &mut [f32]) {
    let dtype = if dtype == DType::U32 { DType::F32 } else { dtype };
    let _ = quant::decode_row(dtype, bytes, values);
}

/// Applies `with` to each element of a plain tensor, with its index; what it gives is rounded to the tensor's type.
fn map(layout: &Layout, bytes: &mut [u8], with: &mut dyn FnMut(&[usize], f32) -> f32) {
    let outer = &layout.shape()[..layout.shape().len().saturating_sub(1)];
    for (row, range) in layout.rows().enumerate() {
        let mut index = vec![0; layout.rank()];
        let mut rest = row;
        for (axis, &extent) in outer.iter().enumerate().rev() {
            index[axis] = rest % extent;
            rest /= extent;
        }
        let plain = if layout.dtype() == DType::U32 { DType::F32 } else { layout.dtype() };
        for (column, element) in bytes[range].chunks_exact_mut(plain.block_bytes()).enumerate() {
            if let Some(last) = index.last_mut() {
                *last = column;
            }
            let mut value = [0.0];
            decode(plain, element, &mut value);
            let _ = quant::encode_row(plain, &[with(&index, value[0])], element);
        }
    }
}

/// Runs an op on the reference and returns the content of its output buffers.
pub fn run(record: &Record) -> Result<Vec<Vec<u8>>, DeviceError> {
    let reference = Reference::default();
    let stream = reference.stream()?;
    let mut buffers = record.upload(&reference, &stream)?;
    let op = record.bind(&mut buffers).map_err(|e| own(&e))?.validate().map_err(|e| own(&e))?;
    reference.launch(&stream, op)?;
    let outputs = record.operands().iter().zip(&buffers).filter(|(o, _)| o.role == Role::Output);
    outputs
        .map(|(o, b)| {
            reference.read_bytes(&stream, b, 0..o.bytes.len(), &Site::outside(o.name.clone()))?.wait()
        })
        .collect()
}

/// The error of an op that a mutant has made itself, or cannot make.
fn own(what: &dyn std::fmt::Display) -> DeviceError {
    DeviceError::Fault(format!("the mutant's own op: {what}"))
}

/// Computes by a mutant.
#[derive(Debug)]
pub struct Planted {
    mutant: Mutant,
    calls: Cell<usize>,
    previous: RefCell<Vec<Vec<u8>>>,
}

impl Compute for Planted {
    fn name(&self) -> &'static str {
        "mutant"
    }

    fn describe(&self) -> String {
        format!("reference with a planted bug: {}", self.mutant.fault)
    }

    fn numerics(&self, _: &OpForm) -> Numerics {
        Numerics::F32
    }

    fn supports(&self, _: &OpForm) -> Support {
        Support::Yes
    }

    fn run(&self, op: Valid<Op<'_, HostBuffer>>) -> Result<(), DeviceError> {
        let record = Record::of(&op, |buffer| Ok(buffer.bytes().to_vec()))?;
        let held = record.operands().iter().filter(|o| o.role == Role::Output);
        let outputs = held.map(|o| o.bytes.clone()).collect();
        let previous = self.previous.borrow().clone();
        let mut work = Work { record, outputs, calls: self.calls.get(), previous: &previous };
        match self.mutant.plant {
            Plant::Kernel(plant) if work.record.stem == self.mutant.stem => {
                plant(&mut work)?;
                self.calls.set(work.calls + 1);
            }
            _ => work.run()?,
        }
        let outputs = work.outputs;
        self.previous.replace(outputs.clone());
        for (out, bytes) in op.into_inner().into_outputs().into_iter().zip(outputs) {
            let buffer = out.buffer.bytes_mut();
            let len = buffer.len().min(bytes.len());
            buffer[..len].copy_from_slice(&bytes[..len]);
        }
        Ok(())
    }
}

/// A mutant as a target, guard zones included.
#[derive(Debug)]
pub struct Subject {
    mutant: Mutant,
    inner: Guards<Host<Planted>>,
}

impl Subject {
    /// The target that `mutant` is.
    pub fn new(mutant: Mutant) -> Result<Self, DeviceError> {
        let planted = Planted { mutant, calls: Cell::new(0), previous: RefCell::new(Vec::new()) };
        Ok(Subject { mutant, inner: Guards::new(Host::new(planted))? })
    }
}

impl Target for Subject {
    fn identity(&self) -> Identity {
        self.inner.identity()
    }

    fn supports(&self, form: &OpForm) -> Support {
        self.inner.supports(form)
    }

    fn numerics(&self, form: &OpForm) -> Numerics {
        self.inner.numerics(form)
    }

    fn run(&self, record: &Record) -> Result<Vec<Vec<u8>>, RunError> {
        let ran = self.inner.run(record);
        match self.mutant.plant {
            Plant::Around(plant) if record.stem == self.mutant.stem => plant(record, ran),
            _ => ran,
        }
    }
}

/// What the runtime says of an access that no allocation covers.
pub fn illegal_address(call: &'static str) -> DeviceError {
    DeviceError::Runtime { call, code: 700, name: "hipErrorIllegalAddress".into() }
}
