//! Vector arithmetic: one line per operation.

pub(super) mod carry;
pub(super) mod compare;
pub(super) mod convert;
pub(super) mod cube;
pub(super) mod divide;
pub(super) mod float;
pub(super) mod int;
pub(super) mod lane;
pub(super) mod packed;
pub(super) mod reduce;
pub(super) mod special;

use super::core::cx::Handler;
use crate::isa::Op;

/// The handler of a vector operation, on bare operands.
pub(super) fn handler(op: Op) -> Option<Handler> {
    float::handler(op)
        .or_else(|| int::handler(op))
        .or_else(|| compare::handler(op))
        .or_else(|| convert::handler(op))
        .or_else(|| special::handler(op))
        .or_else(|| divide::handler(op))
        .or_else(|| carry::handler(op))
        .or_else(|| lane::handler(op))
        .or_else(|| packed::handler(op))
        .or_else(|| cube::handler(op))
        .or_else(|| reduce::handler(op))
}
