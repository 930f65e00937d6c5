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
    steps: Steps,
    len: usize,
}

/// Distances between rows. An address is one of two places, a distance times 1, 2, 4 or 8, and a constant: what an instruction can add up.
#[derive(Clone, Copy)]
struct Steps {
    one: usize,
    three: usize,
    five: usize,
    seven: usize,
}

impl Steps {
    /// From the first row to row `r`, below 8.
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

impl<'a> Rows16<'a> {
    /// The rows of `len` bytes that begin every `step` bytes in `bytes`. `None` where there are fewer than sixteen.
    #[inline(never)]
    pub fn new(bytes: &'a [u8], step: usize, len: usize) -> Option<Self> {
        let bytes = bytes.get(..step.checked_mul(ROWS - 1)?.checked_add(len)?)?;
        let steps = Steps { one: step, three: 3 * step, five: 5 * step, seven: 7 * step };
        Some(Rows16 { bytes, steps, len })
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
        if N > self.len || at > self.len - N {
            past_the_end(N, at, self.len);
        }
        let first = self.bytes.as_ptr().wrapping_add(at);
        let halves = [first, first.wrapping_add(8 * self.steps.one)];
        Columns { halves, steps: self.steps, of: PhantomData }
    }
}

/// Apart, so that the rows need not be in memory to be shown.
#[cold]
#[inline(never)]
fn past_the_end(bytes: usize, at: usize, len: usize) -> ! {
    panic!("{bytes} bytes at {at} of a row of {len}")
}

/// The same `N` bytes of sixteen rows.
#[derive(Clone, Copy)]
pub struct Columns<'a, const N: usize> {
    /// Those of the first row and those of row 8; those of row `r` are `r` steps after the first. All sixteen lie in what is borrowed.
    halves: [*const u8; 2],
    steps: Steps,
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
        let bytes = self.halves[r / 8].wrapping_add(self.steps.to(r % 8)).cast::<[u8; N]>();
        // SAFETY: `Rows16::columns` has seen that `at + N <= len`, and what is borrowed has `15·step + len` bytes; so the N bytes
        // from `at + r·step` on are within it for r < 16, borrowed for 'a, and bytes have no alignment.
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
