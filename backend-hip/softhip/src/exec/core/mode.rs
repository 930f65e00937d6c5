//! The floating-point modes of a wave.

/// How a result that is not exact is rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::exec) enum Round {
    /// To nearest, ties to even.
    Nearest,
    /// Towards plus infinity.
    Up,
    /// Towards minus infinity.
    Down,
    /// Towards zero.
    Zero,
}

/// Which denormals are replaced by zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::exec) struct Flush {
    /// Denormal sources.
    pub input: bool,
    /// Denormal results.
    pub output: bool,
}

/// The MODE register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::exec) struct Mode {
    bits: u32,
    /// Rounding of f32.
    pub round32: Round,
    /// Rounding of f16 and f64.
    pub round16_64: Round,
    /// Denormals of f32.
    pub flush32: Flush,
    /// Denormals of f16 and f64.
    pub flush16_64: Flush,
    /// Some denormals are flushed.
    pub flushes: bool,
    /// `min` and `max` quiet signalling NaNs.
    pub ieee: bool,
    /// `clamp` turns NaN into 0.
    pub dx10_clamp: bool,
}

const DX10_CLAMP: u32 = 1 << 8;
const IEEE: u32 = 1 << 9;

impl Mode {
    /// From the register's value.
    pub fn new(bits: u32) -> Self {
        let round = |at: u32| match (bits >> at) & 3 {
            0 => Round::Nearest,
            1 => Round::Up,
            2 => Round::Down,
            _ => Round::Zero,
        };
        let flush = |at: u32| Flush { input: (bits >> at) & 1 == 0, output: (bits >> (at + 1)) & 1 == 0 };
        let (flush32, flush16_64) = (flush(4), flush(6));
        Self {
            bits,
            round32: round(0),
            round16_64: round(2),
            flush32,
            flush16_64,
            flushes: bits & 0xf0 != 0xf0,
            ieee: bits & IEEE != 0,
            dx10_clamp: bits & DX10_CLAMP != 0,
        }
    }

    /// As a kernel starts, from its `COMPUTE_PGM_RSRC1`.
    pub fn from_rsrc1(rsrc1: u32) -> Self {
        let float_mode = (rsrc1 >> 12) & 0xff;
        let dx10_clamp = if rsrc1 & (1 << 21) != 0 { DX10_CLAMP } else { 0 };
        let ieee = if rsrc1 & (1 << 23) != 0 { IEEE } else { 0 };
        Self::new(float_mode | dx10_clamp | ieee)
    }

    /// The treatment of denormals of a type of `size` bits.
    pub fn flush_of(self, size: u32) -> Flush {
        if size == 32 { self.flush32 } else { self.flush16_64 }
    }

    /// The rounding of a type of `size` bits.
    pub fn round_of(self, size: u32) -> Round {
        if size == 32 { self.round32 } else { self.round16_64 }
    }

    /// The register's value.
    pub fn bits(self) -> u32 {
        self.bits
    }
}
