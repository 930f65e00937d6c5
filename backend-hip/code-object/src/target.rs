//! The GPU a code object is for.

use std::fmt::{self, Display, Formatter};

/// A processor, as the low byte of the ELF flags numbers it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Target {
    mach: u8,
}

/// gfx942, the processor of the MI300 series.
pub const GFX942: Target = Target { mach: 0x4c };

impl Target {
    /// The processor in the ELF header's flags.
    pub const fn from_flags(flags: u32) -> Self {
        Self { mach: flags.to_le_bytes()[0] }
    }

    /// Its name, for the processors with a number known here.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self.mach {
            0x22 => "gfx700",
            0x2a => "gfx803",
            0x2c => "gfx900",
            0x2f => "gfx906",
            0x30 => "gfx908",
            0x32 => "gfx90c",
            0x33 => "gfx1010",
            0x35 => "gfx1012",
            0x36 => "gfx1030",
            0x38 => "gfx1032",
            0x3f => "gfx90a",
            0x40 => "gfx940",
            0x41 => "gfx1100",
            0x42 => "gfx1013",
            0x43 => "gfx1150",
            0x44 => "gfx1103",
            0x45 => "gfx1036",
            0x46 => "gfx1101",
            0x47 => "gfx1102",
            0x48 => "gfx1200",
            0x4a => "gfx1151",
            0x4b => "gfx941",
            0x4c => "gfx942",
            0x4e => "gfx1201",
            0x4f => "gfx950",
            0x51 => "gfx9-generic",
            0x54 => "gfx11-generic",
            0x55 => "gfx1152",
            _ => return None,
        })
    }
}

impl Display for Target {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "AMDGPU processor {:#x}", self.mach),
        }
    }
}
