//! Sixteen rows of bytes at even distances: the weights of sixteen neighbouring outputs, as they lie in memory.
#![expect(unsafe_code, reason = "one check of bounds serves all sixteen rows")]

use std::marker::PhantomData;

/// How many rows.
const ROWS: usize = 16;

/// Sixteen rows of equal length, the same number of bytes from one to the next.
#[derive(Clone, Copy)]
pub struct Rows16<'a> {
    /// From the first byte of the first row to the last byte of the last: `15·step + len` bytes.
    bytes: &'a [u8],
    step: usize,
    len: usize,
}

impl<'a> Rows16<'a> {
    /// The rows of `len` bytes that begin every `step` bytes in `bytes`. `None` where there are fewer than sixteen.
    pub fn new(bytes: &'a [u8], step: usize, len: usize) -> Option<Self> {
        let bytes = bytes.get(..step.checked_mul(ROWS - 1)?.checked_add(len)?)?;
        Some(Rows16 { bytes, step, len })
    }

    /// Bytes of a row.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// All bytes, those between the rows too.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// `N` bytes from `at` on of every row.
    ///
    /// # Panics
    ///
    /// Where a row does not have them.
    #[inline(always)]
    pub fn columns<const N: usize>(&self, at: usize) -> Columns<'a, N> {
        assert!(N <= self.len && at <= self.len - N, "{N} bytes at {at} of a row of {}", self.len);
        Columns { first: self.bytes.as_ptr().wrapping_add(at), step: self.step, of: PhantomData }
    }
}

/// The same `N` bytes of sixteen rows.
#[derive(Clone, Copy)]
pub struct Columns<'a, const N: usize> {
    /// Those of the first row; those of row `r` are `r·step` further on. All sixteen lie in what is borrowed.
    first: *const u8,
    step: usize,
    of: PhantomData<&'a [u8]>,
}

impl<'a, const N: usize> Columns<'a, N> {
    /// The bytes of row `r`.
    ///
    /// # Panics
    ///
    /// From sixteen on.
    #[inline(always)]
    pub fn row(&self, r: usize) -> &'a [u8; N] {
        assert!(r < ROWS, "row {r} of {ROWS}");
        let bytes = self.first.wrapping_add(r * self.step).cast::<[u8; N]>();
        // SAFETY: `Rows16::columns` has seen that `at + N <= len`, and `bytes` has `15·step + len` bytes; so the N bytes from
        // `at + r·step` on are within it for r < 16, borrowed for 'a, and bytes have no alignment.
        unsafe { &*bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_end_where_the_bytes_do() {
        let bytes: Vec<u8> = (0..=255).collect();
        let rows = Rows16::new(&bytes[..15 * 10 + 7], 10, 7).unwrap();
        assert_eq!(rows.columns::<4>(3).row(15), &[153, 154, 155, 156]);
        assert_eq!(rows.columns::<7>(0).row(1), &[10, 11, 12, 13, 14, 15, 16]);
        assert!(Rows16::new(&bytes[..15 * 10 + 6], 10, 7).is_none());
        assert!(Rows16::new(&bytes, usize::MAX, 7).is_none());
    }

    #[test]
    #[should_panic(expected = "4 bytes at 4 of a row of 7")]
    fn columns_past_a_row_are_refused() {
        let bytes = [0; 200];
        let _ = Rows16::new(&bytes, 10, 7).unwrap().columns::<4>(4);
    }
}
