//! Memory of lanes: global, local, private, and atomics on them.

pub(super) mod atomic;
mod banks;
pub(super) mod buffer;
mod columns;
mod deferred;
pub(super) mod ds;
pub(super) mod flat;
pub(super) mod global;
pub(super) mod landing;
pub(super) mod lds;
pub(super) mod narrow;
pub(super) mod permute;
pub(super) mod scratch;
mod together;
pub(super) mod typed;

/// The numbers of the lanes set in `exec`, ascending.
#[inline]
pub(super) fn active(exec: u64) -> impl Iterator<Item = usize> + Clone {
    let mut rest = exec;
    std::iter::from_fn(move || {
        let lane = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
        rest &= rest - 1;
        Some(lane)
    })
}
