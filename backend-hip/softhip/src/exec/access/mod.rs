//! Memory of lanes: global, local, private, and atomics on them.

pub(super) mod atomic;
pub(super) mod ds;
pub(super) mod flat;
pub(super) mod global;
pub(super) mod lds;
pub(super) mod narrow;
pub(super) mod permute;
pub(super) mod scratch;
