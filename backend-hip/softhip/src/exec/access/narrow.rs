//! How loads and stores place values that are no whole number of registers.

pub(in crate::exec) use crate::isa::table::memory::{Half, Width};

impl Width {
    /// Registers that the value takes.
    pub(in crate::exec) const fn registers(self) -> usize {
        (self.bytes as usize).div_ceil(4)
    }

    /// The register after a narrow value was loaded: `loaded` is zero-extended.
    #[inline(always)]
    pub(in crate::exec) fn place(self, loaded: u32, old: u32) -> u32 {
        let spare = 32 - 8 * self.bytes.min(4);
        let value = if self.signed { (((loaded << spare) as i32) >> spare) as u32 } else { loaded };
        match self.half {
            None => value,
            Some(Half::Low) => (old & 0xffff_0000) | (value & 0xffff),
            Some(Half::High) => (old & 0xffff) | (value << 16),
        }
    }

    /// The lowest bit of the register that a narrow value is stored from.
    #[inline(always)]
    pub(in crate::exec) const fn shift(self) -> u32 {
        if matches!(self.half, Some(Half::High)) { 16 } else { 0 }
    }

    /// Whether [`place`](Self::place) changes anything.
    pub(in crate::exec) const fn is_plain(self) -> bool {
        !self.signed && self.half.is_none()
    }
}
