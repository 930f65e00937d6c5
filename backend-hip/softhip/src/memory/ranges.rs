//! Sets of addresses, for comparing what two operations touched.

/// A set of addresses as sorted, disjoint, non-adjacent ranges `[start, end)`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// The addresses `start..start + len`.
    pub fn one(start: u64, len: u64) -> Self {
        Self(if len == 0 { Vec::new() } else { vec![(start, start + len)] })
    }

    /// Adds a range that begins at or after every range added before.
    pub fn push(&mut self, start: u64, end: u64) {
        match self.0.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ if start < end => self.0.push((start, end)),
            _ => {}
        }
    }

    /// The union of many sets.
    pub fn union<'a>(sets: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut all: Vec<(u64, u64)> = sets.into_iter().flat_map(|set| set.0.iter().copied()).collect();
        all.sort_unstable();
        let mut union = Self::default();
        for (start, end) in all {
            union.push(start, end);
        }
        union
    }

    /// The ranges `(start, end)`, by address.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().copied()
    }

    /// No addresses?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The lowest range of addresses that both sets hold.
    pub fn overlap(&self, other: &Self) -> Option<(u64, u64)> {
        let (mut a, mut b) = (self.0.as_slice(), other.0.as_slice());
        while let (Some(x), Some(y)) = (a.first(), b.first()) {
            let (start, end) = (x.0.max(y.0), x.1.min(y.1));
            if start < end {
                return Some((start, end));
            }
            if x.1 <= y.1 {
                a = &a[1..];
            } else {
                b = &b[1..];
            }
        }
        None
    }
}

/// The device bytes that one operation touched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Bytes it read.
    pub reads: Ranges,
    /// Bytes it wrote, by plain stores or by atomics.
    pub writes: Ranges,
}

impl Footprint {
    /// Adds the bytes of a block: bit `i` of a mask is the byte at `block_address + i`.
    pub(super) fn add_block(&mut self, block_address: u64, read: u64, written: u64) {
        for (ranges, mask) in [(&mut self.reads, read), (&mut self.writes, written)] {
            let mut rest = mask;
            let mut at = block_address;
            while rest != 0 {
                let skip = rest.trailing_zeros();
                rest >>= skip;
                at += u64::from(skip);
                let run = rest.trailing_ones();
                ranges.push(at, at + u64::from(run));
                rest = rest.checked_shr(run).unwrap_or(0);
                at += u64::from(run);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlap_is_the_lowest_common_range() {
        let a = Ranges::union(&[Ranges::one(0, 10), Ranges::one(20, 10)]);
        assert_eq!(a.overlap(&Ranges::one(10, 10)), None);
        assert_eq!(a.overlap(&Ranges::one(5, 30)), Some((5, 10)));
        assert_eq!(a.overlap(&Ranges::one(25, 100)), Some((25, 30)));
        assert_eq!(a.overlap(&Ranges::default()), None);
    }

    #[test]
    fn a_blocks_masks_become_ranges() {
        let mut footprint = Footprint::default();
        footprint.add_block(128, u64::MAX, 0b1101);
        footprint.add_block(192, 1, 0);
        assert_eq!(footprint.reads, Ranges::one(128, 65));
        assert_eq!(footprint.writes, Ranges::union(&[Ranges::one(128, 1), Ranges::one(130, 2)]));
    }
}
