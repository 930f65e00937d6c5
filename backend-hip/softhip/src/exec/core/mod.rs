//! The machinery under the operations: a wave's state, lane loops, modes, faults and counts.

pub(in crate::exec) mod counters;
pub(in crate::exec) mod cx;
pub(in crate::exec) mod file;
pub(in crate::exec) mod lanes;
pub(in crate::exec) mod mode;
pub(in crate::exec) mod trap;
pub(in crate::exec) mod uop;
pub(in crate::exec) mod vectorised;
pub(in crate::exec) mod wave;
pub(in crate::exec) mod word;
