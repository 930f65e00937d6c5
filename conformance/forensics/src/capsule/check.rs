//! What a capsule must be before anything runs it: a malformed file is the file's fault, never a kernel's.

use std::collections::HashSet;

use kernels::{Buffer, Record, Role};

use super::{Capsule, Stored};

/// A buffer of which only the size matters.
struct Extent<'a> {
    name: &'a str,
    bytes: usize,
}

impl Buffer for Extent<'_> {
    fn len(&self) -> usize {
        self.bytes
    }

    fn label(&self) -> &str {
        self.name
    }
}

/// What is wrong with a case.
pub(super) fn problem(case: &Capsule) -> Option<String> {
    let op = op_problem(&case.record);
    op.or_else(|| {
        let expected = case.expected.iter().map(|(name, stored)| ("expected", name, Some(stored), 0));
        let observed = case.observed.iter().map(|(name, bytes)| ("observed", name, None, bytes.len()));
        let mut seen = HashSet::new();
        expected.chain(observed).find_map(|(kind, name, stored, observed)| {
            if !seen.insert((kind, name)) {
                return Some(format!("{kind} '{name}' is there twice"));
            }
            result_problem(&case.record, kind, name, stored, observed)
        })
    })
}

/// What is wrong with an op: its names, its parameters, or what the op itself asks of its operands.
fn op_problem(record: &Record) -> Option<String> {
    let mut names = HashSet::new();
    if let Some(twice) = record.operands().iter().find(|o| !names.insert(&o.name)) {
        return Some(format!("operand '{}' is there twice", twice.name));
    }
    let mut buffers: Vec<_> =
        record.operands().iter().map(|o| Extent { name: &o.name, bytes: o.bytes.len() }).collect();
    match record.bind(&mut buffers) {
        Err(error) => Some(error.to_string()),
        Ok(op) => op.validate().err().map(|error| error.to_string()),
    }
}

/// What is wrong with a result that the file holds for output `name`.
fn result_problem(
    record: &Record,
    kind: &str,
    name: &str,
    stored: Option<&Stored>,
    observed: usize,
) -> Option<String> {
    let Some(output) = record.find(name).filter(|o| o.role == Role::Output) else {
        return Some(format!("{kind} '{name}' is no output of the op"));
    };
    let elements = output.layout.elements();
    let bytes = elements.and_then(|n| output.layout.dtype().bytes_of(n));
    let (found, want, unit) = match stored {
        Some(Stored::Values(values)) => (values.len(), elements, "values"),
        Some(Stored::Bits(stored)) => (stored.len(), bytes, "bytes"),
        None => (observed, bytes, "bytes"),
    };
    (Some(found) != want)
        .then(|| format!("{kind} '{name}' has {found} {unit}, the output has {}", want.unwrap_or_default()))
}
