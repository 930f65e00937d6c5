//! Sets of registers: v0–v255, a0–a255 and the scalar file.

use std::fmt::{self, Display, Formatter};

use crate::isa::inst::scalar;
use crate::isa::{Operand, table::Ty};

/// First bit of the accumulation registers.
const AGPR: usize = 256;
/// First bit of the scalar file.
const SCALAR: usize = 512;
/// Words of a set: 256 + 256 + 128 registers.
const WORDS: usize = 10;
/// Registers of all files.
pub(super) const REGISTERS: usize = 64 * WORDS;

/// A set of registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RegisterSet([u64; WORDS]);

impl RegisterSet {
    /// No register.
    pub const EMPTY: Self = Self([0; WORDS]);

    /// The condition bit SCC. It has the place of `null`, which holds nothing.
    pub const SCC: Self = {
        let bit = SCALAR + scalar::NULL as usize;
        let mut set = Self::EMPTY;
        set.0[bit / 64] = 1 << (bit % 64);
        set
    };

    /// `count` registers from the one that an operand names; none if it names none.
    pub fn of(operand: Operand, count: u8) -> Self {
        let (first, end) = match operand {
            Operand::Vgpr(n) => (usize::from(n), AGPR),
            Operand::Agpr(n) => (AGPR + usize::from(n), SCALAR),
            Operand::Scalar(scalar::NULL) => return Self::EMPTY,
            Operand::Scalar(n) => (SCALAR + usize::from(n), 64 * WORDS),
            _ => return Self::EMPTY,
        };
        let mut set = Self::EMPTY;
        for bit in first..end.min(first + usize::from(count)) {
            set.0[bit / 64] |= 1 << (bit % 64);
        }
        set
    }

    /// Registers of a scalar operand with a type.
    pub fn typed(operand: Operand, ty: Ty) -> Self {
        Self::of(operand, ty.dwords())
    }

    /// Whether some register is in both sets.
    #[inline]
    pub fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    /// The first register that is in both sets.
    pub fn first_common(&self, other: &Self) -> Option<Register> {
        self.and(other).iter().next()
    }

    /// Registers in both sets.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] & other.0[i]))
    }

    /// Registers in either set.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] | other.0[i]))
    }

    /// Registers of this set that are not in the other.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] & !other.0[i]))
    }

    /// Only the vector registers.
    #[must_use]
    pub fn vector(&self) -> Self {
        Self(std::array::from_fn(|i| if i < SCALAR / 64 { self.0[i] } else { 0 }))
    }

    /// Only the scalar registers.
    #[must_use]
    pub fn scalar(&self) -> Self {
        Self(std::array::from_fn(|i| if i < SCALAR / 64 { 0 } else { self.0[i] }))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    /// Its registers.
    pub fn iter(&self) -> impl Iterator<Item = Register> {
        (0u16..).zip(self.0).flat_map(|(at, mut word)| {
            std::iter::from_fn(move || {
                let bit = (word != 0).then(|| word.trailing_zeros() as u16)?;
                word &= word - 1;
                Some(Register(64 * at + bit))
            })
        })
    }
}

/// One register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Register(u16);

impl Register {
    /// How many there are, of all files.
    pub const COUNT: usize = REGISTERS;

    /// Its number among all registers: v0 is 0, a0 256, s0 512.
    pub fn index(self) -> usize {
        self.0.into()
    }
}

impl Display for Register {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        const HALVES: [(u8, &str); 4] = [
            (scalar::FLAT_SCRATCH, "flat_scratch"),
            (scalar::XNACK_MASK, "xnack_mask"),
            (scalar::VCC, "vcc"),
            (scalar::EXEC, "exec"),
        ];
        let at = usize::from(self.0);
        if at < AGPR {
            return write!(f, "v{at}");
        }
        if at < SCALAR {
            return write!(f, "a{}", at - AGPR);
        }
        let at = at - SCALAR;
        for (first, name) in HALVES {
            match at.checked_sub(first.into()) {
                Some(0) => return write!(f, "{name}_lo"),
                Some(1) => return write!(f, "{name}_hi"),
                _ => {}
            }
        }
        let ttmp = usize::from(scalar::TTMP0);
        match at {
            _ if at == usize::from(scalar::M0) => f.write_str("m0"),
            _ if at == usize::from(scalar::NULL) => f.write_str("scc"),
            _ if (ttmp..ttmp + 16).contains(&at) => write!(f, "ttmp{}", at - ttmp),
            _ => write!(f, "s{at}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_meet_where_they_share_a_register() {
        let loaded = RegisterSet::of(Operand::Vgpr(60), 8);
        assert!(loaded.meets(&RegisterSet::of(Operand::Vgpr(67), 1)));
        assert!(!loaded.meets(&RegisterSet::of(Operand::Vgpr(68), 4)));
        assert!(!loaded.meets(&RegisterSet::of(Operand::Agpr(60), 8)));
        let common = loaded.first_common(&RegisterSet::of(Operand::Vgpr(63), 4));
        assert_eq!(common.map(|register| register.to_string()).as_deref(), Some("v63"));
    }

    #[test]
    fn the_last_register_has_no_successor_in_another_file() {
        let last = RegisterSet::of(Operand::Vgpr(255), 2);
        assert!(!last.meets(&RegisterSet::of(Operand::Agpr(0), 1)));
        assert!(RegisterSet::of(Operand::Scalar(scalar::NULL), 2).is_empty());
    }

    #[test]
    fn registers_are_named_as_a_disassembler_does() {
        let name = |operand| {
            let set = RegisterSet::of(operand, 1);
            set.first_common(&set).map(|register| register.to_string()).unwrap_or_default()
        };
        let named = [
            (Operand::Vgpr(7), "v7"),
            (Operand::Agpr(255), "a255"),
            (Operand::Scalar(101), "s101"),
            (Operand::VCC, "vcc_lo"),
            (Operand::Scalar(scalar::M0), "m0"),
            (Operand::Scalar(scalar::EXEC + 1), "exec_hi"),
            (Operand::Scalar(scalar::TTMP0 + 3), "ttmp3"),
        ];
        for (operand, expected) in named {
            assert_eq!(name(operand), expected);
        }
    }
}
