//! The left run: it tells the right one what it computed.

use std::hash::{DefaultHasher, Hasher};
use std::sync::mpsc::SyncSender;

use kernels::decor::{Seen, Watch};
use kernels::{Backend, DeviceError, Layout, OperandRef, Role, Stem};

use crate::capsule::crop::elements;

/// An op of the left run.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) stem: Stem,
    /// Type, shape and elements of each output, in row-major order.
    pub(super) outputs: Vec<(Layout, Vec<u8>)>,
    /// Operands that are the same in both runs, with a hash of their bytes.
    pub(super) constants: Vec<(&'static str, u64)>,
}

/// Tells of each op after it ran.
#[derive(Debug)]
pub(super) struct Teller {
    pub(super) to: SyncSender<Told>,
}

impl<D: Backend> Watch<D> for Teller {
    /// NaN in every float format, so that reads of memory that was never written show.
    fn fill(&self) -> Option<u8> {
        Some(0xff)
    }

    fn after(&self, seen: &Seen<'_, D>, ran: Result<(), DeviceError>) -> Result<(), DeviceError> {
        ran?;
        let mut told = Told { stem: seen.op.stem(), outputs: Vec::new(), constants: Vec::new() };
        for operand in seen.op.operands() {
            if operand.role == Role::Output {
                told.outputs.push((operand.layout.densified(), elements(seen, &operand)?));
            } else if is_constant(&operand) {
                told.constants.push((operand.name, fingerprint(&elements(seen, &operand)?)));
            }
        }
        let gone = |_| DeviceError::Stopped("the right run has ended".into());
        self.to.send(told).map_err(gone)
    }
}

/// Whether an operand is the same in every run: weights and indices.
pub(super) fn is_constant<B>(operand: &OperandRef<'_, B>) -> bool {
    operand.role == Role::Indices || ["weight", "bias", "table", "factors"].contains(&operand.name)
}

pub(super) fn fingerprint(bytes: &[u8]) -> u64 {
    let mut hash = DefaultHasher::new();
    hash.write(bytes);
    hash.finish()
}
