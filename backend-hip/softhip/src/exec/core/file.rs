//! The vector file of a wave.
#![allow(unsafe_code, reason = "an aligned register is seen as a plain one")]

use std::ops::{Deref, DerefMut};

use crate::memory::{Lanes, WAVE};

/// A register that begins with a cache line, so that no vector of it lies across two.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Aligned(Lanes);

const _: () = assert!(size_of::<Aligned>() == size_of::<Lanes>());

/// Registers of all lanes, as a slice of [`Lanes`].
#[derive(Debug)]
pub(in crate::exec) struct VectorFile(Box<[Aligned]>);

impl VectorFile {
    /// Zeros, then `constants`, each the same in all lanes.
    pub fn new(zeros: usize, constants: &[u32]) -> Self {
        let mut registers = Vec::with_capacity(zeros + constants.len());
        registers.resize(zeros, Aligned([0; WAVE]));
        registers.extend(constants.iter().map(|&value| Aligned([value; WAVE])));
        Self(registers.into_boxed_slice())
    }
}

impl Deref for VectorFile {
    type Target = [Lanes];

    #[inline(always)]
    fn deref(&self) -> &[Lanes] {
        let first = self.0.as_ptr().cast::<Lanes>();
        // SAFETY: `Aligned` is `repr(C)` with `Lanes` as its only field and has the same size, so a slice of the one
        // is laid out as a slice of the other, of the same length; it is borrowed as long as `self`.
        unsafe { std::slice::from_raw_parts(first, self.0.len()) }
    }
}

impl DerefMut for VectorFile {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [Lanes] {
        let first = self.0.as_mut_ptr().cast::<Lanes>();
        // SAFETY: as in `deref`; the borrow of `self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(first, self.0.len()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_begin_with_a_cache_line_and_hold_what_was_asked_for() {
        let mut file = VectorFile::new(3, &[7, 9]);
        assert_eq!(file.len(), 5);
        assert!(file.iter().all(|register| register.as_ptr().addr().is_multiple_of(64)));
        file[1][63] = 5;
        assert_eq!((file[0], file[1][63], file[3], file[4]), ([0; WAVE], 5, [7; WAVE], [9; WAVE]));
    }
}
