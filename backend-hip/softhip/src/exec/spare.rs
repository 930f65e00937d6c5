//! Wave states and LDS that launches of a kernel leave to the next one.

use std::sync::{Mutex, PoisonError};

use super::access::lds::Lds;
use super::core::wave::Wave;
use super::group::Sizes;
use crate::memory::Checks;

/// States of more bytes than this are given back to the host at once.
const LIMIT: usize = 1 << 20;

/// What a host thread needs to run workgroups. Each workgroup clears it first.
#[derive(Debug)]
pub(super) struct Spare {
    pub(super) waves: Vec<Wave>,
    /// In a box, as it is handed on.
    pub(super) lds: Box<Lds>,
    /// What they were made for.
    pub(super) sizes: Sizes,
    pub(super) checks: Checks,
}

impl Spare {
    fn bytes(&self) -> usize {
        let waves = self.waves.iter().map(|wave| size_of_val(&*wave.v) + 256 * self.sizes.scratch as usize);
        waves.sum::<usize>() + self.lds.bytes()
    }
}

/// What threads have left.
#[derive(Debug, Default)]
pub(super) struct Spares(Mutex<Vec<Spare>>);

impl Spares {
    /// One that was made for the same sizes and checks.
    pub(super) fn take(&self, sizes: Sizes, checks: Checks) -> Option<Spare> {
        let mut spares = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = spares.iter().position(|spare| (spare.sizes, spare.checks) == (sizes, checks))?;
        Some(spares.swap_remove(at))
    }

    /// Leaves one for later; others, made for something else, make way.
    pub(super) fn put(&self, spare: Spare) {
        if spare.bytes() > LIMIT {
            return;
        }
        let mut spares = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        spares.retain(|other| (other.sizes, other.checks) == (spare.sizes, spare.checks));
        spares.push(spare);
    }
}
