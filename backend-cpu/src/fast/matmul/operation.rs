//! The arithmetic that a quantised format asks for, as types, so that kernels are compiled for each.

/// The integers that the codes of a group are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Codes {
    /// Signed bytes.
    Signed,
    /// Unsigned bytes, 63 at most, from which this bias is subtracted.
    Unsigned(i32),
}

/// What a group adds beside its codes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Offsets {
    /// Nothing.
    None,
    /// The same for all its weights: all minimums are 1.
    Whole,
    /// A minimum for each half.
    Halves,
}

/// What is done with the codes and factors of a group.
pub trait Operation {
    /// What the codes are.
    const CODES: Codes;
    /// True if the halves of a group have integer factors of their own.
    const PARTS: bool;
    /// What is added beside the codes.
    const OFFSETS: Offsets;
}

/// `scale·(code − BIAS)`.
pub struct Unsigned<const BIAS: i32>;

/// `scale·code`, signed.
pub struct Signed;

/// `scale·code + offset`.
pub struct Shifted;

/// `scale·part·(code − BIAS)`.
pub struct ByHalves<const BIAS: i32>;

/// `scale·part·code + offset·minimum`.
pub struct ShiftedByHalves;

macro_rules! operation {
    ($name:ty $(, $bias:ident)?: $codes:expr, $parts:literal, $offsets:expr) => {
        impl $(<const $bias: i32>)? Operation for $name {
            const CODES: Codes = $codes;
            const PARTS: bool = $parts;
            const OFFSETS: Offsets = $offsets;
        }
    };
}

operation!(Unsigned<BIAS>, BIAS: Codes::Unsigned(BIAS), false, Offsets::None);
operation!(Signed: Codes::Signed, false, Offsets::None);
operation!(Shifted: Codes::Unsigned(0), false, Offsets::Whole);
operation!(ByHalves<BIAS>, BIAS: Codes::Unsigned(BIAS), true, Offsets::None);
operation!(ShiftedByHalves: Codes::Unsigned(0), true, Offsets::Halves);
