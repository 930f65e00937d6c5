//! Lanes whose addresses are equally far apart.

#![expect(
    clippy::inline_always,
    reason = "lane loops must take on the vector features of their caller, see crate::wide"
)]

use super::wave::{Lanes, WAVE};
use crate::wide::{Job, widest};

/// Neighbouring lanes, each accessing memory `step` bytes after the lane before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Address of the first lane.
    address: u64,
    /// Bytes from one lane to the next, below 4 GiB; 0 for a single lane.
    step: u64,
    /// The first active lane.
    first: u32,
    /// How many lanes, 1 to 64.
    count: u32,
}

/// The lanes of `exec` as first and count, if they are neighbours.
#[inline(always)]
fn neighbours(exec: u64) -> Option<(usize, usize)> {
    let first = exec.trailing_zeros();
    let count = exec.checked_shr(first)?.trailing_ones();
    let all = u64::MAX.checked_shr(64 - count)? << first;
    (all == exec).then_some((first as usize, count as usize))
}

/// The step between words that ascend evenly without wrapping. `first` is 0, see [`InPairs::first`].
#[inline(always)]
fn even_step(words: &[u32], first: usize) -> Option<u32> {
    let &start = words.get(first)?;
    let &second = words.get(first + 1).unwrap_or(&start);
    let step = second.wrapping_sub(start);
    let last = u64::from(start) + u64::from(step) * (words.len() as u64 - 1);
    let mut differing = 0;
    for (lane, &word) in (0..).zip(words) {
        differing |= word ^ start.wrapping_add(step.wrapping_mul(lane));
    }
    (differing == 0 && u32::try_from(last).is_ok()).then_some(step)
}

/// Finds a run among addresses whose high and low halves stand in two registers.
struct InPairs<'a> {
    exec: u64,
    /// The first active lane. To compare all lanes with lane 0, its number must not be known when this is compiled: lane 0 would be
    /// left out, and vectors loaded from lane 1 on have to wait for the store of a register that has just been written.
    first: usize,
    low: &'a Lanes,
    high: &'a Lanes,
}

impl Job for InPairs<'_> {
    type Out = Option<Run>;
    #[inline(always)]
    fn run(self) -> Option<Run> {
        if self.exec == u64::MAX {
            // A known number of lanes makes straight code.
            return self.of_all();
        }
        let (first, count) = neighbours(self.exec)?;
        let (low, high) = (&self.low[first..first + count], &self.high[first..first + count]);
        let step = even_step(low, 0)?;
        let differing = high.iter().fold(0, |bits, word| bits | (word ^ high[0]));
        let address = u64::from(low[0]) | (u64::from(high[0]) << 32);
        (differing == 0).then(|| Run::new(address, step.into(), first, count))
    }
}

impl InPairs<'_> {
    #[inline(always)]
    fn of_all(&self) -> Option<Run> {
        let first = self.first % WAVE;
        let step = even_step(self.low, first)?;
        let high = self.high[first];
        let differing = self.high.iter().fold(0, |bits, word| bits | (word ^ high));
        let address = u64::from(self.low[first]) | (u64::from(high) << 32);
        (differing == 0).then(|| Run::new(address, step.into(), 0, WAVE))
    }
}

/// Finds a run among 32-bit offsets.
struct InOffsets<'a> {
    exec: u64,
    /// As [`InPairs::first`].
    first: usize,
    offsets: &'a Lanes,
}

impl Job for InOffsets<'_> {
    type Out = Option<Run>;
    #[inline(always)]
    fn run(self) -> Option<Run> {
        if self.exec == u64::MAX {
            let step = even_step(self.offsets, self.first % WAVE)?;
            return Some(Run::new(self.offsets[0].into(), step.into(), 0, WAVE));
        }
        let (first, count) = neighbours(self.exec)?;
        let offsets = &self.offsets[first..first + count];
        let step = even_step(offsets, 0)?;
        Some(Run::new(offsets[0].into(), step.into(), first, count))
    }
}

impl Run {
    /// One lane, the first.
    pub(super) fn single(address: u64) -> Self {
        Self::new(address, 0, 0, 1)
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "lanes are numbered below 64")]
    fn new(address: u64, step: u64, first: usize, count: usize) -> Self {
        Self { address, step, first: first as u32, count: count as u32 }
    }

    /// The run of the lanes in `exec` with addresses `high:low` plus `offset`, if it is one.
    #[inline]
    pub fn of_pairs(exec: u64, low: &Lanes, high: &Lanes, offset: i64) -> Option<Self> {
        let run = widest(InPairs { exec, first: exec.trailing_zeros() as usize, low, high })?;
        Some(Self { address: run.address.wrapping_add_signed(offset), ..run })
    }

    /// The run of the lanes in `exec` with addresses `base` plus an unsigned offset, if it is one.
    #[inline]
    pub fn of_offsets(exec: u64, base: u64, offsets: &Lanes) -> Option<Self> {
        let run = widest(InOffsets { exec, first: exec.trailing_zeros() as usize, offsets })?;
        Some(Self { address: run.address.wrapping_add(base), ..run })
    }

    /// The run of the lanes in `exec`, if it is one.
    #[expect(clippy::cast_possible_truncation, reason = "takes the halves of addresses")]
    pub fn of_addresses(exec: u64, addresses: &[u64; WAVE]) -> Option<Self> {
        let (low, high) = (addresses.map(|address| address as u32), addresses.map(|a| (a >> 32) as u32));
        Self::of_pairs(exec, &low, &high, 0)
    }

    /// Address of the first lane.
    #[inline]
    pub fn address(self) -> u64 {
        self.address
    }

    /// Bytes from one lane to the next.
    #[inline]
    pub fn step(self) -> u64 {
        self.step
    }

    /// How many lanes.
    #[inline]
    pub fn count(self) -> u64 {
        self.count.into()
    }

    /// Bytes from the first to the last that lanes of `bytes` each access.
    #[inline]
    pub(super) fn span(self, bytes: u32) -> u64 {
        u64::from(self.count - 1) * self.step + u64::from(bytes)
    }

    /// Words from the first to the last that lanes of `N` words each access, at whole words.
    #[inline]
    pub(super) fn words<const N: usize>(self) -> u64 {
        u64::from(self.count - 1) * (self.step / 4) + N as u64
    }

    /// Do lanes of `bytes` each access every byte of the span once?
    #[inline]
    pub(super) fn is_contiguous(self, bytes: u32) -> bool {
        self.step == u64::from(bytes) || self.count == 1
    }

    /// The lanes as a mask.
    #[inline]
    pub(super) fn exec(self) -> u64 {
        (u64::MAX >> (64 - self.count)) << self.first
    }

    /// The lanes as indices.
    #[inline]
    pub(super) fn lanes(self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }

    /// Calls `each` with every lane and its distance from the first lane's address.
    #[inline]
    pub(super) fn for_each(self, mut each: impl FnMut(usize, u64)) {
        let mut distance = 0;
        let mut visit = |lane| {
            each(lane, distance);
            distance += self.step;
        };
        if self.count == 64 {
            (0..WAVE).for_each(visit);
        } else {
            self.lanes().for_each(&mut visit);
        }
    }

    /// The first lane that accesses the byte `distance` after the run's first.
    pub(super) fn lane_of(self, distance: u64, bytes: u32) -> u32 {
        let covers = |lane: &u32| {
            let start = u64::from(*lane) * self.step;
            (start..start + u64::from(bytes)).contains(&distance)
        };
        self.first + (0..self.count).find(covers).unwrap_or(0)
    }

    /// The address of a lane of the run.
    pub(super) fn address_of(self, lane: u32) -> u64 {
        self.address.wrapping_add(u64::from(lane - self.first) * self.step)
    }

    /// Every lane's address; 0 for inactive lanes.
    pub(super) fn addresses(self) -> [u64; WAVE] {
        let mut addresses = [0; WAVE];
        self.for_each(|lane, distance| addresses[lane] = self.address.wrapping_add(distance));
        addresses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(start: u64, step: u64) -> [u64; WAVE] {
        std::array::from_fn(|lane| start.wrapping_add(step.wrapping_mul(lane as u64)))
    }

    #[test]
    fn neighbouring_lanes_an_even_step_apart_are_a_run() {
        for step in [0, 1, 4, 34, 128, 1 << 20] {
            let all = addresses(0x1000, step);
            let run = |exec| Run::of_addresses(exec, &all);
            assert_eq!(run(u64::MAX), Some(Run { address: 0x1000, step, first: 0, count: 64 }));
            let last = Run { address: 0x1000 + 61 * step, step, first: 61, count: 3 };
            assert_eq!(run(0b111 << 61), Some(last));
            assert_eq!(run(0b101), None);
            assert_eq!(run(0), None);
            assert_eq!(run(2), Some(Run { address: 0x1000 + step, step: 0, first: 1, count: 1 }));
        }
    }

    #[test]
    fn one_lane_apart_breaks_a_run() {
        for lane in 0..64 {
            let mut all = addresses(0x1_0000_1000, 4);
            all[lane] ^= 1 << 33;
            assert_eq!(Run::of_addresses(u64::MAX, &all), None);
            all[lane] ^= (1 << 33) | 1;
            assert_eq!(Run::of_addresses(u64::MAX, &all), None);
        }
    }

    #[test]
    fn offsets_that_wrap_are_no_run() {
        let offsets: Lanes =
            std::array::from_fn(|i| 0xFFFF_FFF8u32.wrapping_add(4 * u32::try_from(i).unwrap()));
        assert_eq!(Run::of_offsets(u64::MAX, 0, &offsets), None);
        assert!(Run::of_offsets(0b11, 0, &offsets).is_some());
        let descending = addresses(0x1000, 4u64.wrapping_neg());
        assert_eq!(Run::of_addresses(u64::MAX, &descending), None);
    }

    #[test]
    fn a_run_gives_back_its_addresses() {
        let all = addresses(0x5000, 34);
        let run = Run::of_addresses(0xff00, &all).unwrap();
        assert_eq!(run.addresses()[8..16], all[8..16]);
        assert_eq!(run.span(2), 7 * 34 + 2);
        assert_eq!(run.lane_of(35, 2), 9);
        assert_eq!(run.address_of(9), all[9]);
    }
}
