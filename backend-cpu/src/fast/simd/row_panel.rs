//! Panels of sixteen rows at a constant stride: the weights of sixteen neighbouring outputs, as they lie in memory.
#![expect(unsafe_code, reason = "one bounds check serves all sixteen rows")]

use std::marker::PhantomData;

/// Rows of a panel: one for each lane of a [`Wide`](super::wide::Wide) vector.
pub const PANEL_ROWS: usize = 16;

/// [`PANEL_ROWS`] rows of equal length at a constant stride.
#[derive(Clone, Copy)]
pub struct RowPanel<'a> {
    /// From the first byte of the first row to the last byte of the last: `15·stride + len` bytes.
    bytes: &'a [u8],
    strides: Strides,
    len: usize,
}

/// Odd multiples of the stride. With them every row is one of two base addresses plus a register times 1, 2, 4 or 8 plus a constant: an
/// addressing mode of x86, so no load needs an address computed first.
#[derive(Clone, Copy)]
struct Strides {
    one: usize,
    three: usize,
    five: usize,
    seven: usize,
}

impl Strides {
    /// Bytes from the first row to row `r`, below 8.
    #[inline(always)]
    const fn to(self, r: usize) -> usize {
        match r {
            0 => 0,
            1 => self.one,
            2 => 2 * self.one,
            3 => self.three,
            4 => 4 * self.one,
            5 => self.five,
            6 => 2 * self.three,
            _ => self.seven,
        }
    }
}

impl<'a> RowPanel<'a> {
    /// The rows of `len` bytes that begin every `stride` bytes in `bytes`. `None` if there are fewer than [`PANEL_ROWS`].
    #[inline(never)]
    pub fn new(bytes: &'a [u8], stride: usize, len: usize) -> Option<Self> {
        let bytes = bytes.get(..stride.checked_mul(PANEL_ROWS - 1)?.checked_add(len)?)?;
        let strides = Strides { one: stride, three: 3 * stride, five: 5 * stride, seven: 7 * stride };
        Some(RowPanel { bytes, strides, len })
    }

    /// Bytes of a row.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// All bytes, padding between the rows included.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// `N` bytes from `at` on of every row.
    ///
    /// # Panics
    ///
    /// If a row does not have them.
    #[inline(always)]
    pub fn columns<const N: usize>(&self, at: usize) -> Columns<'a, N> {
        if N > self.len || at > self.len - N {
            past_the_end(N, at, self.len);
        }
        let first = self.bytes.as_ptr().wrapping_add(at);
        let halves = [first, first.wrapping_add(8 * self.strides.one)];
        Columns { halves, strides: self.strides, of: PhantomData }
    }
}

/// Out of line, with its operands by value, so that the panel can stay in registers.
#[cold]
#[inline(never)]
fn past_the_end(bytes: usize, at: usize, len: usize) -> ! {
    panic!("{bytes} bytes at {at} of a row of {len}")
}

/// The same `N` bytes of sixteen rows.
#[derive(Clone, Copy)]
pub struct Columns<'a, const N: usize> {
    /// Addresses of the bytes in row 0 and in row 8. Those of row `r` are `r` strides after those of row 0. All lie in the borrowed bytes.
    halves: [*const u8; 2],
    strides: Strides,
    of: PhantomData<&'a [u8]>,
}

impl<'a, const N: usize> Columns<'a, N> {
    /// The bytes of row `r`.
    ///
    /// # Panics
    ///
    /// If `r` is [`PANEL_ROWS`] or more.
    #[inline(always)]
    pub fn row(&self, r: usize) -> &'a [u8; N] {
        assert!(r < PANEL_ROWS, "row {r} of {PANEL_ROWS}");
        let bytes = self.halves[r / 8].wrapping_add(self.strides.to(r % 8)).cast::<[u8; N]>();
        // SAFETY: `RowPanel::columns` has checked that `at + N <= len`, and the borrowed slice has `15·stride + len` bytes. So the N
        // bytes from `at + r·stride` on are within it for r < 16. They are borrowed for 'a, and bytes need no alignment.
        unsafe { &*bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_end_where_the_bytes_do() {
        let bytes: Vec<u8> = (0..=255).collect();
        let rows = RowPanel::new(&bytes[..15 * 10 + 7], 10, 7).unwrap();
        assert_eq!(rows.columns::<4>(3).row(15), &[153, 154, 155, 156]);
        assert_eq!(rows.columns::<7>(0).row(1), &[10, 11, 12, 13, 14, 15, 16]);
        assert!(RowPanel::new(&bytes[..15 * 10 + 6], 10, 7).is_none());
        assert!(RowPanel::new(&bytes, usize::MAX, 7).is_none());
    }

    #[test]
    #[should_panic(expected = "4 bytes at 4 of a row of 7")]
    fn columns_past_a_row_are_refused() {
        let bytes = [0; 200];
        let _ = RowPanel::new(&bytes, 10, 7).unwrap().columns::<4>(4);
    }
}
