//! Byte ranges as blocks of 64 bytes with one mask bit per byte: the unit in which initialisation and
//! races are tracked.

/// Bytes in a block: one per bit of a mask.
pub(super) const BLOCK: u64 = 64;

/// The bits of `len` (1 to 64) bytes from byte `first` of a block; those beyond the block fall off.
#[inline]
pub(super) const fn mask(first: u64, len: u64) -> u64 {
    (u64::MAX >> (BLOCK - len)) << first
}

/// The pieces `(block, mask)` of the bytes `offset..offset + len`.
#[inline]
pub(super) fn pieces(offset: u64, len: u64) -> impl Iterator<Item = (u64, u64)> {
    let mut at = offset;
    let end = offset + len;
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let first = at % BLOCK;
        let take = (BLOCK - first).min(end - at);
        let piece = (at / BLOCK, mask(first, take));
        at += take;
        Some(piece)
    })
}

/// Calls `visit` with the block and the mask of those bytes of `offset..offset + len` that are among the first `width` of
/// each `step` (below 64) from `offset` on.
#[inline]
pub(super) fn stripes(offset: u64, len: u64, step: u64, width: u64, mut visit: impl FnMut(u64, u64)) {
    let period = if width < step { step } else { 1 };
    // From any bit of the first period on, 64 bits are there.
    let mut pattern = u128::from(mask(0, width.min(period)));
    let mut known = period;
    while known < 2 * BLOCK {
        pattern |= pattern << known;
        known *= 2;
    }
    let (mut block, end) = (offset / BLOCK, offset + len);
    let mut bits = low_half(pattern << (offset % BLOCK));
    let mut phase = (BLOCK - offset % BLOCK) % period;
    loop {
        let left = end - block * BLOCK;
        if left <= BLOCK {
            return visit(block, bits & mask(0, left));
        }
        visit(block, bits);
        bits = low_half(pattern >> phase);
        phase = (phase + BLOCK) % period;
        block += 1;
    }
}

#[expect(clippy::cast_possible_truncation, reason = "taking the low half is the purpose")]
#[inline]
const fn low_half(value: u128) -> u64 {
    value as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stripes_are_the_bytes_of_lanes_that_are_equally_far_apart() {
        for (step, width) in (0..64).flat_map(|step| [1, 2, 4, 8, 12, 16].map(|width| (step, width))) {
            for (offset, lanes) in [(0, 64), (1, 1), (63, 3), (61, 64), (130, 17), (256, 33)] {
                let len = (lanes - 1) * step + width;
                let mut bytes = Vec::new();
                stripes(offset, len, step, width, |block, mask| {
                    assert_ne!(mask, 0);
                    bytes.extend((0..64).filter(|b| mask >> b & 1 == 1).map(|b| block * 64 + b));
                });
                let all = (0..lanes).flat_map(|lane| (0..width).map(move |b| offset + lane * step + b));
                let expected = all.collect::<std::collections::BTreeSet<u64>>();
                assert_eq!(
                    bytes,
                    expected.into_iter().collect::<Vec<_>>(),
                    "{step} {width} {offset} {lanes}"
                );
            }
        }
    }

    #[test]
    fn pieces_cover_exactly_the_range() {
        for offset in [0u64, 1, 63, 64, 100] {
            for len in [0u64, 1, 2, 63, 64, 65, 200] {
                let mut bytes = Vec::new();
                for (block, mask) in pieces(offset, len) {
                    bytes.extend((0..64).filter(|b| mask >> b & 1 == 1).map(|b| block * 64 + b));
                }
                assert_eq!(bytes, (offset..offset + len).collect::<Vec<_>>());
            }
        }
    }
}
