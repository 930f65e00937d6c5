//! The form of an op: everything but the bytes.

use serde_json::{Map, Value};

use super::{Op, Role, Stem};
use crate::{DType, Layout};

/// An op with its parameters and the layouts of its operands, without buffers: what a backend needs to know to say
/// whether and how it computes it.
#[derive(Clone, PartialEq, Debug)]
pub struct OpForm {
    /// Which op.
    pub stem: Stem,
    /// Its parameters, by name.
    pub params: Map<String, Value>,
    /// Name, role and layout of its operands; absent and in-place ones are left out.
    pub operands: Vec<(String, Role, Layout)>,
}

impl OpForm {
    /// Layout of operand `name`.
    pub fn layout(&self, name: &str) -> Option<&Layout> {
        self.operands.iter().find(|(n, ..)| n == name).map(|(.., layout)| layout)
    }

    /// Whether the result depends on what the outputs hold before: an op in place, or one that writes only part of its output.
    pub fn reads_outputs(&self) -> bool {
        let facts = self.stem.facts();
        facts.updates || facts.in_place().is_some_and(|source| self.layout(source).is_none())
    }

    /// Element type of operand `name`.
    pub fn dtype(&self, name: &str) -> Option<DType> {
        self.layout(name).map(Layout::dtype)
    }
}

impl<'a, B: 'a> Op<'a, B> {
    /// The form of this op.
    pub fn form(&self) -> OpForm {
        let operands = self.operands().into_iter().map(|o| (o.name.to_owned(), o.role, o.layout)).collect();
        OpForm { stem: self.stem(), params: self.params(), operands }
    }
}
