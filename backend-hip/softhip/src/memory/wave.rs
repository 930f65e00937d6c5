//! The description of one memory access of a wave.

#![expect(
    clippy::inline_always,
    reason = "lane loops must take on the vector features of their caller, see crate::wide"
)]

use super::fault::AccessKind;
use super::run::Run;
use crate::wide::{Job, widest};

/// Lanes of a wave.
pub const WAVE: usize = 64;
/// One 32-bit register of all lanes.
pub type Lanes = [u32; WAVE];

/// The addresses of a wave's active lanes.
#[derive(Debug, Clone, Copy)]
pub enum Addresses<'a> {
    /// Equally far apart: what most instructions of most kernels have.
    Run(Run),
    /// One per lane; those of inactive lanes are meaningless.
    Each(&'a [u64; WAVE]),
}

impl<'a> Addresses<'a> {
    /// The addresses of the lanes in `exec`, in the form that suits them.
    pub fn of(exec: u64, addresses: &'a [u64; WAVE]) -> Self {
        Run::of_addresses(exec, addresses).map_or(Self::Each(addresses), Self::Run)
    }

    /// Every lane's address; `of_run` is where those of a run are put.
    #[inline]
    pub(super) fn each(self, of_run: &'a mut Option<[u64; WAVE]>) -> &'a [u64; WAVE] {
        match self {
            Self::Run(run) => of_run.insert(run.addresses()),
            Self::Each(addresses) => addresses,
        }
    }

    /// Calls `then` with every lane's address; those of inactive lanes are meaningless.
    #[inline]
    pub(super) fn with<R>(self, then: impl FnOnce(&[u64; WAVE]) -> R) -> R {
        match self {
            Self::Run(run) => then(&run.addresses()),
            Self::Each(addresses) => then(addresses),
        }
    }

    /// Every lane's address; those of inactive lanes are meaningless.
    #[inline]
    pub(super) fn materialise(self) -> [u64; WAVE] {
        match self {
            Self::Run(run) => run.addresses(),
            Self::Each(addresses) => *addresses,
        }
    }
}

/// The lowest and the highest address of some lanes, and all their bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) low: u64,
    pub(super) high: u64,
    pub(super) bits: u64,
}

impl Extent {
    const NONE: Self = Self { low: u64::MAX, high: 0, bits: 0 };

    #[inline(always)]
    fn with(self, address: u64) -> Self {
        Self { low: self.low.min(address), high: self.high.max(address), bits: self.bits | address }
    }

    /// Of the lanes in `exec`.
    #[inline]
    pub(super) fn of(exec: u64, addresses: &[u64; WAVE]) -> Self {
        if exec == u64::MAX {
            return widest(OfAll(addresses));
        }
        lanes(exec).fold(Self::NONE, |extent, lane| extent.with(addresses[lane]))
    }
}

struct OfAll<'a>(&'a [u64; WAVE]);

impl Job for OfAll<'_> {
    type Out = Extent;
    #[inline(always)]
    fn run(self) -> Extent {
        // Several at a time, so that vectors have something to do.
        let mut parts = [Extent::NONE; 8];
        for eight in self.0.as_chunks::<8>().0 {
            for (part, &address) in parts.iter_mut().zip(eight) {
                *part = part.with(address);
            }
        }
        let [mut all, rest @ ..] = parts;
        for Extent { low, high, bits } in rest {
            all = Extent { low: all.low.min(low), high: all.high.max(high), bits: all.bits | bits };
        }
        all
    }
}

/// One memory access of a wave.
#[derive(Debug, Clone, Copy)]
pub struct WaveAccess<'a> {
    /// The active lanes. Addresses of the others are not looked at; those of a run are exactly these.
    pub exec: u64,
    /// Where each lane accesses memory.
    pub addresses: Addresses<'a>,
    /// Bytes per lane: 1, 2, 4, 8, 12 or 16.
    pub bytes: u32,
    /// What each address must be a multiple of, a power of two; 1 when the hardware takes any.
    pub align: u32,
    /// The instruction, to name the first side of a race: any number that the caller can find it by.
    pub pc: u32,
    /// A load or store of device scope (`sc1`): it is ordered by, and races with, what atomics are.
    pub atomic: bool,
}

/// Calls `each` with every lane of `exec`, ascending.
#[inline]
pub(super) fn for_each_lane(exec: u64, mut each: impl FnMut(usize)) {
    if exec == u64::MAX {
        (0..WAVE).for_each(each);
    } else {
        let mut rest = exec;
        while rest != 0 {
            each(rest.trailing_zeros() as usize);
            rest &= rest - 1;
        }
    }
}

/// The numbers of the lanes set in `exec`, ascending.
#[inline]
pub(super) fn lanes(exec: u64) -> impl Iterator<Item = usize> + Clone {
    let mut rest = exec;
    std::iter::from_fn(move || {
        let lane = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
        rest &= rest - 1;
        Some(lane)
    })
}

impl WaveAccess<'_> {
    /// What the race detector makes of an access that does `kind`.
    #[inline]
    pub(super) fn touch(&self, kind: AccessKind) -> AccessKind {
        if self.atomic { AccessKind::Atomic } else { kind }
    }
}
