//! Numbers of the device as numbers of the host.

/// Addresses of the device have 48 bits and are passed as pointers of the host.
const _: () = assert!(usize::BITS == 64, "the software device needs a 64-bit host");

/// A size, an offset or an address of the device as the host counts them.
#[expect(clippy::cast_possible_truncation, reason = "a usize has 64 bits, as asserted above")]
#[inline]
pub(crate) const fn size(value: u64) -> usize {
    value as usize
}
