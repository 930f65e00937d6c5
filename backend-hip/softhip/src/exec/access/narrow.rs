//! How loads and stores place values that are no whole number of registers.

use crate::isa::Op;

/// Bytes per lane of a load or store, and what happens to narrow values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::exec) struct Width {
    /// 1, 2, 4, 8, 12 or 16.
    pub bytes: u32,
    /// Loaded values are sign-extended.
    pub signed: bool,
    /// The value goes to, or comes from, one half of the register; the other half stays.
    pub half: Option<Half>,
}

/// A half of a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::exec) enum Half {
    Low,
    High,
}

impl Width {
    /// Whole registers.
    pub const fn dwords(count: u32) -> Self {
        Self { bytes: 4 * count, signed: false, half: None }
    }

    /// From the mnemonic: `_ubyte`, `_sshort_d16_hi`, `_dwordx4`; `_u8`, `_b128` and so on for DS.
    pub fn of(op: Op) -> Self {
        let name = op.mnemonic();
        let half = if name.ends_with("_d16_hi") {
            Some(Half::High)
        } else if name.ends_with("_d16") {
            Some(Half::Low)
        } else {
            None
        };
        let core = name.trim_end_matches("_hi").trim_end_matches("_d16");
        let ends = |suffixes: &[&str]| suffixes.iter().any(|suffix| core.ends_with(suffix));
        let bytes = if ends(&["byte", "_u8", "_i8", "_b8"]) {
            1
        } else if ends(&["short", "_u16", "_i16", "_b16"]) {
            2
        } else if ends(&["dwordx2", "_b64"]) {
            8
        } else if ends(&["dwordx3", "_b96"]) {
            12
        } else if ends(&["dwordx4", "_b128"]) {
            16
        } else {
            4
        };
        let signed = ends(&["sbyte", "sshort", "_i8", "_i16"]);
        Self { bytes, signed, half }
    }

    /// Registers that the value takes.
    pub const fn registers(self) -> usize {
        (self.bytes as usize).div_ceil(4)
    }

    /// The register after a narrow value was loaded: `loaded` is zero-extended.
    #[inline(always)]
    pub fn place(self, loaded: u32, old: u32) -> u32 {
        let spare = 32 - 8 * self.bytes.min(4);
        let value = if self.signed { (((loaded << spare) as i32) >> spare) as u32 } else { loaded };
        match self.half {
            None => value,
            Some(Half::Low) => (old & 0xffff_0000) | (value & 0xffff),
            Some(Half::High) => (old & 0xffff) | (value << 16),
        }
    }

    /// Whether [`place`](Self::place) changes anything.
    pub const fn is_plain(self) -> bool {
        !self.signed && self.half.is_none()
    }
}
