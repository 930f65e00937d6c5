//! What of the instruction set the executor knows.

use super::handlers::handler;
use crate::isa::Op;

/// How far an operation is supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Support {
    /// It is decoded and printed; to execute it is a fault.
    Decoded,
    /// It is executed.
    Executed,
}

/// Every operation of the instruction set with its support, in the order of the encodings.
///
/// Which of the executed ones have a test of their own is known to the tests, which print the whole table.
pub fn coverage() -> impl Iterator<Item = (Op, Support)> {
    Op::ALL.iter().map(|&op| (op, if handler(op).is_some() { Support::Executed } else { Support::Decoded }))
}
