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

#[cfg(test)]
mod tests {
    use super::*;

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
