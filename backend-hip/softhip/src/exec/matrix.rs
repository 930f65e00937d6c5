//! Matrix multiply-accumulate.

use super::core::cx::Handler;
use crate::isa::Op;

pub(super) fn handler(_op: Op) -> Option<Handler> {
    None
}
