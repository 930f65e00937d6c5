//! The description of one memory access of a wave.

use std::ops::{BitOr, BitXor};

use super::fault::AccessKind;

/// Lanes of a wave.
pub const WAVE: usize = 64;
/// One 32-bit register of all lanes.
pub type Lanes = [u32; WAVE];

/// The addresses of a wave's lanes.
#[derive(Debug, Clone, Copy)]
pub enum Addresses<'a> {
    /// One 64-bit address per lane.
    Wide(&'a [u64; WAVE]),
    /// A common base and one 32-bit unsigned offset per lane.
    Based {
        /// Added to every offset, wrapping.
        base: u64,
        /// The lanes' offsets.
        offsets: &'a Lanes,
    },
}

/// One memory access of a wave.
#[derive(Debug, Clone, Copy)]
pub struct WaveAccess<'a> {
    /// The active lanes. Addresses of the others are not looked at.
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

/// Neighbouring lanes that access neighbouring bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    /// Address of the first lane.
    pub(super) address: u64,
    /// The first active lane.
    pub(super) first: u32,
    /// How many lanes, at least 1.
    pub(super) count: u32,
}

impl Run {
    #[inline]
    pub(super) fn len(self, bytes: u32) -> u64 {
        u64::from(self.count) * u64::from(bytes)
    }

    /// The lanes as indices.
    #[inline]
    pub(super) fn lanes(self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }

    /// The lane that accesses the byte `distance` after the run's first.
    #[expect(clippy::cast_possible_truncation, reason = "a quotient below 64")]
    pub(super) fn lane_of(self, distance: u64, bytes: u32) -> u32 {
        self.first + (distance / u64::from(bytes)) as u32
    }
}

/// The bits in which the two sequences differ anywhere: 0 when they are equal. No early exit, so that it vectorises.
#[inline]
fn differing<T: Copy + Default + BitOr<Output = T> + BitXor<Output = T>>(
    values: &[T],
    expected: impl Iterator<Item = T>,
) -> T {
    values.iter().zip(expected).fold(T::default(), |bits, (&value, expected)| bits | (value ^ expected))
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

    /// Every lane's address; those of inactive lanes are meaningless.
    #[inline]
    pub(super) fn materialise(&self) -> [u64; WAVE] {
        match self.addresses {
            Addresses::Wide(addresses) => *addresses,
            Addresses::Based { base, offsets } => offsets.map(|offset| base.wrapping_add(u64::from(offset))),
        }
    }

    /// The access as a run, if it is one and plain.
    #[inline]
    pub(super) fn run(&self) -> Option<Run> {
        if self.exec == 0 || self.atomic {
            return None;
        }
        let first = self.exec.trailing_zeros();
        let count = (self.exec >> first).trailing_ones();
        if first + count < 64 && self.exec >> (first + count) != 0 {
            return None;
        }
        let run = first as usize..(first + count) as usize;
        let address = match self.addresses {
            Addresses::Wide(addresses) => {
                let run = &addresses[run];
                let step = u64::from(self.bytes);
                let apart = run.len() > 1 && run[1] != run[0].wrapping_add(step);
                let expected = (0u64..).map(|i| run[0].wrapping_add(i * step));
                (!apart && differing(run, expected) == 0).then_some(run[0])?
            }
            Addresses::Based { base, offsets } => {
                let run = &offsets[run];
                run[0].checked_add(self.bytes * (count - 1))?;
                let apart = run.len() > 1 && run[1] != run[0] + self.bytes;
                let expected = (0u32..).map(|i| run[0].wrapping_add(i.wrapping_mul(self.bytes)));
                (!apart && differing(run, expected) == 0).then(|| base.wrapping_add(u64::from(run[0])))?
            }
        };
        Some(Run { address, first, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(exec: u64, addresses: Addresses<'_>) -> WaveAccess<'_> {
        WaveAccess { exec, addresses, bytes: 4, align: 1, pc: 0, atomic: false }
    }

    #[test]
    fn neighbouring_lanes_on_neighbouring_bytes_are_a_run() {
        let wide: [u64; 64] = std::array::from_fn(|i| 0x1000 + 4 * i as u64);
        let run = |exec| access(exec, Addresses::Wide(&wide)).run();
        assert_eq!(run(u64::MAX), Some(Run { address: 0x1000, first: 0, count: 64 }));
        assert_eq!(run(0b111 << 61), Some(Run { address: 0x1000 + 4 * 61, first: 61, count: 3 }));
        assert_eq!(run(0b101), None);
        assert_eq!(run(0), None);
    }

    #[test]
    fn offsets_that_wrap_are_no_run() {
        let offsets: Lanes =
            std::array::from_fn(|i| 0xFFFF_FFF8u32.wrapping_add(4 * u32::try_from(i).unwrap()));
        assert_eq!(access(u64::MAX, Addresses::Based { base: 0, offsets: &offsets }).run(), None);
        assert!(access(0b11, Addresses::Based { base: 0, offsets: &offsets }).run().is_some());
    }
}
