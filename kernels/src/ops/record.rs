//! An op as data: what a capsule stores, a worker receives, and a case is made of.
//!
//! A [`Record`] names the op, its parameters, and for each operand the layout and the whole content of the
//! buffer around it (padding included, so that a write into padding shows). [`Record::bind`] turns it back into
//! an [`Op`] over the buffers of any backend.

use std::ops::Range;

use serde_json::{Map, Value};

use super::{Op, OpForm, Role, Stem};
use crate::{Buffer, DeviceError, Indices, Layout, View, ViewMut};

/// A multiple of every alignment that an op asks for: a record that leaves out the front of a buffer keeps the alignment of
/// what it holds.
const ALIGNMENT: usize = 256;

/// One operand with the bytes of its buffer.
#[derive(Clone, PartialEq, Debug)]
pub struct RecordOperand {
    /// Name of the op's field.
    pub name: String,
    /// Read or written.
    pub role: Role,
    /// Where the tensor lies in `bytes`.
    pub layout: Layout,
    /// Content of the buffer before the op.
    pub bytes: Vec<u8>,
    /// True for an output whose content must not affect the result; `bytes` is arbitrary then.
    pub blank: bool,
}

/// An op with its parameters and operands, in host memory.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// Which op.
    pub stem: Stem,
    /// Its parameters, by name.
    pub params: Map<String, Value>,
    operands: Vec<RecordOperand>,
    /// Values of the operands that are indices; empty for the others.
    indices: Vec<Vec<u32>>,
}

/// A record that does not describe an op.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BindError {
    /// An operand that the op needs is not there.
    #[error("operand '{0}' is missing")]
    MissingOperand(&'static str),
    /// A parameter that the op needs is not there.
    #[error("parameter '{0}' is missing")]
    MissingParam(&'static str),
    /// A parameter's value is of the wrong kind.
    #[error("parameter '{name}': {why}")]
    BadParam {
        /// Name of the parameter.
        name: &'static str,
        /// What the parser said.
        why: String,
    },
    /// A parameter that the op does not have.
    #[error("parameter '{0}' is not one of this op's")]
    UnknownParam(String),
    /// An operand that the op does not have, or has in another role.
    #[error("operand '{0}' is not one of this op's, or not in this role")]
    UnknownOperand(String),
    /// The buffers given do not pair up with the operands.
    #[error("{operands} operands but {buffers} buffers")]
    BufferCount {
        /// Operands of the record.
        operands: usize,
        /// Buffers given.
        buffers: usize,
    },
}

impl Record {
    /// An op without operands, to be added to.
    pub fn new(stem: Stem) -> Self {
        Record { stem, params: Map::new(), operands: Vec::new(), indices: Vec::new() }
    }

    /// Adds a parameter.
    #[must_use]
    pub fn param(mut self, name: &str, value: impl serde::Serialize) -> Self {
        self.params.insert(name.into(), serde_json::to_value(value).unwrap_or(Value::Null));
        self
    }

    /// Adds an operand with the given layout in a buffer that holds `bytes`.
    #[must_use]
    pub fn operand(mut self, name: &str, role: Role, layout: Layout, bytes: Vec<u8>) -> Self {
        self.indices.push(match role {
            Role::Indices => bytes
                .get(layout.byte_range().unwrap_or(0..0))
                .map(bytemuck::pod_collect_to_vec)
                .unwrap_or_default(),
            Role::Input | Role::Output => Vec::new(),
        });
        self.operands.push(RecordOperand { name: name.into(), role, layout, bytes, blank: false });
        self
    }

    /// Adds an output whose `content` must not affect the result.
    #[must_use]
    pub fn blank(self, name: &str, layout: Layout, content: Vec<u8>) -> Self {
        let mut record = self.operand(name, Role::Output, layout, content);
        if let Some(last) = record.operands.last_mut() {
            last.blank = true;
        }
        record
    }

    /// The same op with other content in its blank outputs.
    #[must_use]
    pub fn refilled(&self, mut content: impl FnMut(usize) -> Vec<u8>) -> Self {
        let mut record = self.clone();
        for operand in record.operands.iter_mut().filter(|o| o.blank) {
            operand.bytes = content(operand.bytes.len());
        }
        record
    }

    /// Stores an op; `content` tells what a buffer holds.
    pub fn of<B>(
        op: &Op<'_, B>,
        mut content: impl FnMut(&B) -> Result<Vec<u8>, DeviceError>,
    ) -> Result<Self, DeviceError> {
        let mut record = Record { params: op.params(), ..Record::new(op.stem()) };
        for operand in op.operands() {
            let bytes = content(operand.buffer)?;
            record = record.operand(operand.name, operand.role, operand.layout, bytes);
        }
        Ok(record)
    }

    /// Stores an op with only those bytes of its buffers that its operands span, each from the multiple of 256 at or
    /// before its first byte on; `content` tells what a range of a buffer holds. An output whose content does not
    /// affect the result is blank, and is not read.
    pub fn cropped<B>(
        op: &Op<'_, B>,
        mut content: impl FnMut(&B, Range<usize>) -> Result<Vec<u8>, DeviceError>,
    ) -> Result<Self, DeviceError> {
        let reads_outputs = op.form().reads_outputs();
        let mut record = Record { params: op.params(), ..Record::new(op.stem()) };
        for operand in op.operands() {
            let range = operand.layout.byte_range().unwrap_or(0..0);
            let start = range.start - range.start % ALIGNMENT;
            let layout = operand.layout.at(range.start - start);
            if operand.role == Role::Output && !reads_outputs {
                record = record.blank(operand.name, layout, vec![0; range.end - start]);
            } else {
                let bytes = content(operand.buffer, start..range.end)?;
                record = record.operand(operand.name, operand.role, layout, bytes);
            }
        }
        Ok(record)
    }

    /// The operands; an absent input means "none" or "in place", as the op's page says.
    pub fn operands(&self) -> &[RecordOperand] {
        &self.operands
    }

    /// The operand called `name`.
    pub fn find(&self, name: &str) -> Option<&RecordOperand> {
        self.operands.iter().find(|o| o.name == name)
    }

    /// Everything but the bytes.
    pub fn form(&self) -> OpForm {
        let operands = self.operands.iter().map(|o| (o.name.clone(), o.role, o.layout)).collect();
        OpForm { stem: self.stem, params: self.params.clone(), operands }
    }

    /// The op over `buffers`, one per operand in their order.
    pub fn bind<'a, B: Buffer>(&'a self, buffers: &'a mut [B]) -> Result<Op<'a, B>, BindError> {
        if buffers.len() != self.operands.len() {
            return Err(BindError::BufferCount { operands: self.operands.len(), buffers: buffers.len() });
        }
        let slots = self.operands.iter().zip(&self.indices).zip(buffers);
        let mut bag = Bag {
            slots: slots
                .map(|((o, indices), buffer)| Slot { operand: o, indices, buffer: Some(buffer) })
                .collect(),
        };
        let op = Op::bind(self.stem, &self.params, &mut bag)?;
        let known = op.params();
        if let Some(unknown) = self.params.keys().find(|name| !known.contains_key(*name)) {
            return Err(BindError::UnknownParam(unknown.clone()));
        }
        match bag.slots.into_iter().find(|s| s.buffer.is_some()) {
            Some(left) => Err(BindError::UnknownOperand(left.operand.name.clone())),
            None => Ok(op),
        }
    }
}

struct Slot<'a, B> {
    operand: &'a RecordOperand,
    indices: &'a [u32],
    buffer: Option<&'a mut B>,
}

/// Operands waiting to be taken by the fields of an op.
pub(crate) struct Bag<'a, B> {
    slots: Vec<Slot<'a, B>>,
}

impl<'a, B> Bag<'a, B> {
    fn take(&mut self, name: &str, role: Role) -> Option<(&'a RecordOperand, &'a [u32], &'a mut B)> {
        let slot = self.slots.iter_mut().find(|s| s.operand.name == name && s.operand.role == role)?;
        Some((slot.operand, slot.indices, slot.buffer.take()?))
    }

    #[expect(clippy::unnecessary_wraps, reason = "the same signature as its siblings")]
    pub(crate) fn input(&mut self, name: &'static str) -> Result<Option<View<'a, B>>, BindError> {
        Ok(self.take(name, Role::Input).map(|(o, _, buffer)| View::new(&*buffer, o.layout)))
    }

    pub(crate) fn indices(&mut self, name: &'static str) -> Result<Indices<'a, B>, BindError> {
        let (o, values, buffer) = self.take(name, Role::Indices).ok_or(BindError::MissingOperand(name))?;
        Ok(Indices { view: View::new(&*buffer, o.layout), values })
    }

    pub(crate) fn output(&mut self, name: &'static str) -> Result<ViewMut<'a, B>, BindError> {
        let (o, _, buffer) = self.take(name, Role::Output).ok_or(BindError::MissingOperand(name))?;
        Ok(ViewMut::new(buffer, o.layout))
    }
}
