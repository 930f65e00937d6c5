//! Lanes that access neighbouring bytes.

#![expect(
    clippy::inline_always,
    reason = "lane loops must take on the vector features of their caller, see crate::wide"
)]

use super::wave::{WAVE, lanes};
use crate::wide::{Job, widest};

/// Neighbouring lanes, each of which accesses the bytes right after those of the lane before; or several lanes at one
/// address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) start: u64,
    pub(super) end: u64,
    /// The lane of the first byte.
    pub(super) lane: u32,
}

/// Calls `each` with the stretches of an access of `size` bytes by each lane of `exec`, in the order of lanes.
#[inline]
pub(super) fn for_each(exec: u64, addresses: &[u64; WAVE], size: u64, mut each: impl FnMut(Stretch)) {
    if !for_each_distinct(exec, addresses, size, &mut each) {
        one_by_one(exec, addresses, size, each);
    }
}

/// As [`for_each`], if all lanes are active and none follows another at the same address. Otherwise nothing happens, and the
/// answer is `false`.
#[inline]
pub(super) fn for_each_distinct(
    exec: u64,
    addresses: &[u64; WAVE],
    size: u64,
    mut each: impl FnMut(Stretch),
) -> bool {
    if exec != u64::MAX {
        return false;
    }
    let Some(mut starts) = widest(Starts { addresses, size }) else { return false };
    while starts != 0 {
        let lane = starts.trailing_zeros();
        starts &= starts - 1;
        let last = if starts == 0 { WAVE - 1 } else { starts.trailing_zeros() as usize - 1 };
        each(Stretch { start: addresses[lane as usize], end: addresses[last] + size, lane });
    }
    true
}

fn one_by_one(exec: u64, addresses: &[u64; WAVE], size: u64, mut each: impl FnMut(Stretch)) {
    let mut open: Option<Stretch> = None;
    for lane in lanes(exec) {
        let at = addresses[lane];
        let end = at.saturating_add(size);
        let lane = u32::try_from(lane).expect("a wave has 64 lanes");
        match &mut open {
            Some(stretch) if (stretch.start, stretch.end) == (at, end) => {}
            Some(stretch) if stretch.end == at && stretch.is_followed_by(lane, size) => stretch.end = end,
            _ => {
                if let Some(stretch) = open.replace(Stretch { start: at, end, lane }) {
                    each(stretch);
                }
            }
        }
    }
    open.into_iter().for_each(each);
}

impl Stretch {
    fn is_followed_by(&self, lane: u32, size: u64) -> bool {
        u64::from(self.lane) + (self.end - self.start) / size == u64::from(lane)
    }
}

/// The lanes, of all 64, at which stretches start. `None` if lanes follow each other at one address, or addresses are so high that
/// their ends overflow.
struct Starts<'a> {
    addresses: &'a [u64; WAVE],
    size: u64,
}

impl Job for Starts<'_> {
    type Out = Option<u64>;
    #[inline(always)]
    fn run(self) -> Option<u64> {
        let mut starts = [0u8; WAVE];
        let mut odd = self.addresses[0] >> 63;
        starts[0] = 1;
        let pairs = self.addresses.iter().zip(&self.addresses[1..]);
        for (start, (&before, &at)) in starts[1..].iter_mut().zip(pairs) {
            *start = u8::from(at != before.wrapping_add(self.size));
            odd |= u64::from(at == before) | (at >> 63);
        }
        let mut mask = 0;
        for (i, eight) in starts.as_chunks::<8>().0.iter().enumerate() {
            // Byte j's lowest bit lands at bit 56 + j, without carries between them.
            mask |= (u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * i);
        }
        (odd == 0).then_some(mask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::splitmix64;

    #[test]
    fn lanes_together_are_lanes_one_by_one() {
        let mut state = 3;
        for turn in 0..20_000u64 {
            let mut below = |end: u64| splitmix64(&mut state) % end;
            let size = [1, 2, 4, 8, 12, 16][usize::try_from(below(6)).unwrap()];
            let (row, gap) = (1 + below(64), below(3) * size);
            let base = if turn % 50 == 0 { u64::MAX - 100 } else { 0x1000_0000 + below(64) };
            let mut addresses = std::array::from_fn(|lane| {
                let lane = lane as u64;
                base.wrapping_add(lane * size).wrapping_add(lane / row * gap)
            });
            if turn % 3 == 0 {
                addresses[usize::try_from(below(64)).unwrap()] = base;
            }
            let exec = if turn % 4 == 0 { splitmix64(&mut state) } else { u64::MAX };
            let (mut together, mut apart) = (Vec::new(), Vec::new());
            for_each(exec, &addresses, size, |stretch| together.push(stretch));
            one_by_one(exec, &addresses, size, |stretch| apart.push(stretch));
            assert_eq!(together, apart, "{addresses:x?} {exec:x} {size}");
        }
    }
}
