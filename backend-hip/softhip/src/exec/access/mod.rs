//! Memory of lanes: global, local, private, and atomics on them.

pub(super) mod atomic;
pub(super) mod buffer;
pub(super) mod ds;
pub(super) mod flat;
pub(super) mod global;
pub(super) mod lds;
pub(super) mod narrow;
pub(super) mod permute;
pub(super) mod scratch;

use crate::memory::WAVE;

/// The numbers of the lanes set in `exec`, ascending.
fn active(exec: u64) -> impl Iterator<Item = usize> + Clone {
    (0..WAVE).filter(move |lane| (exec >> lane) & 1 != 0)
}
