//! What an operation on memory does with its bytes.

use super::rule::{Ds, Mem};

/// The bytes per lane that a load or store moves, and what happens to those that fill no register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Width {
    /// 1, 2, or a multiple of 4.
    pub bytes: u32,
    /// A loaded value is sign-extended.
    pub signed: bool,
    /// The value goes to, or comes from, one half of the register; the other half stays.
    pub half: Option<Half>,
}

/// A half of a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    /// Bits 15:0.
    Low,
    /// Bits 31:16.
    High,
}

impl Width {
    /// Whole registers.
    pub const fn dwords(count: u32) -> Self {
        Self { bytes: 4 * count, signed: false, half: None }
    }

    const fn narrow(bytes: u32, signed: bool) -> Self {
        Self { bytes, signed, half: None }
    }

    const fn low(self) -> Self {
        Self { half: Some(Half::Low), ..self }
    }

    const fn high(self) -> Self {
        Self { half: Some(Half::High), ..self }
    }
}

/// The widths the memory tables use.
pub(super) mod width {
    use super::Width;
    pub const U8: Width = Width::narrow(1, false);
    pub const I8: Width = Width::narrow(1, true);
    pub const U16: Width = Width::narrow(2, false);
    pub const I16: Width = Width::narrow(2, true);
    pub const U8_LOW: Width = U8.low();
    pub const U8_HIGH: Width = U8.high();
    pub const I8_LOW: Width = I8.low();
    pub const I8_HIGH: Width = I8.high();
    pub const U16_LOW: Width = U16.low();
    pub const U16_HIGH: Width = U16.high();
    pub const W1: Width = Width::dwords(1);
    pub const W2: Width = Width::dwords(2);
    pub const W3: Width = Width::dwords(3);
    pub const W4: Width = Width::dwords(4);
    pub const W8: Width = Width::dwords(8);
    pub const W16: Width = Width::dwords(16);
}

/// What a load or store does to the data on their way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
    /// The bytes as they are.
    Untyped(Width),
    /// Components that are converted from and to the format of the buffer.
    Formatted {
        /// Components, 1 to 4.
        components: u8,
        /// How a component stands in the registers.
        component: Component,
    },
}

/// How a converted component stands in the registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Component {
    /// One register each.
    Dword,
    /// Two per register.
    D16,
    /// In the high half of one register.
    D16High,
}

/// A read-modify-write operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Atomic {
    /// How the new value arises.
    pub rmw: Rmw,
    /// Bytes of the value: 4 or 8.
    pub bytes: u32,
}

/// What an atomic does with the old value and its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rmw {
    /// Stores the datum.
    Swap,
    /// Stores the first datum where the old value equals the second.
    CompareSwap,
    /// As above with equality of floating-point numbers.
    CompareSwapFloat,
    /// Adds the datum.
    Add,
    /// Subtracts the datum.
    Sub,
    /// The datum minus the old value.
    ReverseSub,
    /// Counts up to the datum, then starts at 0.
    Inc,
    /// Counts down from the datum.
    Dec,
    /// The smaller of two signed integers.
    SignedMin,
    /// The larger of two signed integers.
    SignedMax,
    /// The smaller of two unsigned integers.
    UnsignedMin,
    /// The larger of two unsigned integers.
    UnsignedMax,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Clears the bits of the first datum, sets those of the second.
    MaskedOr,
    /// Subtracts the first datum if that stays positive, adds the second otherwise.
    Wrap,
    /// Adds floating-point numbers.
    AddFloat,
    /// The smaller of two floating-point numbers.
    MinFloat,
    /// The larger of two floating-point numbers.
    MaxFloat,
    /// Adds two pairs of f16.
    AddPairF16,
    /// Adds two pairs of bf16.
    AddPairBf16,
}

/// An operation on memory, by the kind of address it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryOp {
    /// SMEM.
    Scalar(Mem),
    /// FLAT.
    Flat(Mem),
    /// GLOBAL.
    Global(Mem),
    /// SCRATCH.
    Scratch(Mem),
    /// MUBUF.
    Buffer(Mem),
    /// MTBUF.
    TypedBuffer(Mem),
    /// DS.
    Local(Ds),
}

impl MemoryOp {
    /// Bytes per lane that an access moves, if they are moved as they are.
    pub const fn width(self) -> Option<Width> {
        match self {
            Self::Scalar(rule)
            | Self::Flat(rule)
            | Self::Global(rule)
            | Self::Scratch(rule)
            | Self::Buffer(rule)
            | Self::TypedBuffer(rule) => match rule {
                Mem::Load(Data::Untyped(width))
                | Mem::Store(Data::Untyped(width))
                | Mem::LoadOrLds(Data::Untyped(width))
                | Mem::LoadLds(width)
                | Mem::StoreLds(width) => Some(width),
                Mem::Atomic(atomic) => Some(Width::dwords(atomic.bytes / 4)),
                _ => None,
            },
            Self::Local(rule) => match rule {
                Ds::Load(width) | Ds::Store(width) => Some(width),
                Ds::Load2 { bytes, .. } | Ds::Store2 { bytes, .. } | Ds::Exchange2 { bytes, .. } => {
                    Some(Width::dwords(bytes / 4))
                }
                Ds::Atomic(atomic) => Some(Width::dwords(atomic.bytes / 4)),
                Ds::LoadThread | Ds::StoreThread => Some(width::W1),
                _ => None,
            },
        }
    }

    /// What an atomic does.
    pub const fn rmw(self) -> Option<Rmw> {
        match self {
            Self::Scalar(Mem::Atomic(atomic))
            | Self::Flat(Mem::Atomic(atomic))
            | Self::Global(Mem::Atomic(atomic))
            | Self::Scratch(Mem::Atomic(atomic))
            | Self::Buffer(Mem::Atomic(atomic))
            | Self::TypedBuffer(Mem::Atomic(atomic))
            | Self::Local(Ds::Atomic(atomic)) => Some(atomic.rmw),
            _ => None,
        }
    }

    /// True if registers or LDS go to memory.
    pub const fn is_store(self) -> bool {
        match self {
            Self::Scalar(rule)
            | Self::Flat(rule)
            | Self::Global(rule)
            | Self::Scratch(rule)
            | Self::Buffer(rule)
            | Self::TypedBuffer(rule) => matches!(rule, Mem::Store(_) | Mem::StoreLds(_)),
            Self::Local(rule) => matches!(rule, Ds::Store(_) | Ds::Store2 { .. } | Ds::StoreThread),
        }
    }
}
