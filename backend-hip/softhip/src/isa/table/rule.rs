//! What an operation does, and what its encoding may carry besides its operands, per family.

use super::compare::Compare;
use super::matrix::Matrix;
use super::memory::{Atomic, Data, Width};

/// Scalar ALU and program control: the meaning of the 16-bit immediate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Salu {
    /// No immediate; in SOPP the field must be zero.
    None,
    /// A plain number.
    Imm,
    /// A PC-relative branch in words.
    Branch,
    /// A hardware register, offset and width.
    Hwreg,
    /// The counters to wait for.
    Waitcnt,
    /// A message.
    Sendmsg,
    /// Which operands are indexed by M0.
    GprIdx,
    /// A number that is shown only when it is not zero.
    Endpgm,
}

/// The names the scalar tables use.
pub mod salu {
    use super::Salu;
    pub(in super::super) const NONE: Salu = Salu::None;
    pub(in super::super) const IMM: Salu = Salu::Imm;
    pub(in super::super) const BRANCH: Salu = Salu::Branch;
    pub(in super::super) const HWREG: Salu = Salu::Hwreg;
    pub(in super::super) const WAITCNT: Salu = Salu::Waitcnt;
    pub(in super::super) const SENDMSG: Salu = Salu::Sendmsg;
    pub(in super::super) const GPR_IDX: Salu = Salu::GprIdx;
    pub(in super::super) const ENDPGM: Salu = Salu::Endpgm;
}

/// Global, scalar and buffer memory: which way the data go, and how they change on the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mem {
    /// Memory to registers.
    Load(Data),
    /// Registers to memory.
    Store(Data),
    /// Read-modify-write; the old value is returned when `sc0` (SMEM: `glc`) is set.
    Atomic(Atomic),
    /// Memory to registers, or to LDS where the instruction's `lds` bit is set.
    LoadOrLds(Data),
    /// Memory to LDS.
    LoadLds(Width),
    /// LDS to memory.
    StoreLds(Width),
    /// Cache maintenance: no operands.
    Cache,
    /// A clock: destination only.
    Time,
    /// Address translation probe.
    Probe,
    /// Discard cache lines at an address.
    Discard,
}

/// The names the memory tables use.
pub mod mem {
    use super::Mem;
    use crate::isa::table::memory::{Atomic, Component, Data, Rmw, Width};
    pub(in super::super) const CACHE: Mem = Mem::Cache;
    pub(in super::super) const TIME: Mem = Mem::Time;
    pub(in super::super) const PROBE: Mem = Mem::Probe;
    pub(in super::super) const DISCARD: Mem = Mem::Discard;
    pub(in super::super) const fn load(width: Width) -> Mem {
        Mem::Load(Data::Untyped(width))
    }
    pub(in super::super) const fn store(width: Width) -> Mem {
        Mem::Store(Data::Untyped(width))
    }
    pub(in super::super) const fn load_or_lds(width: Width) -> Mem {
        Mem::LoadOrLds(Data::Untyped(width))
    }
    pub(in super::super) const fn load_lds(width: Width) -> Mem {
        Mem::LoadLds(width)
    }
    pub(in super::super) const fn store_lds(width: Width) -> Mem {
        Mem::StoreLds(width)
    }
    pub(in super::super) const fn load_format(components: u8, component: Component) -> Mem {
        Mem::Load(Data::Formatted { components, component })
    }
    pub(in super::super) const fn store_format(components: u8, component: Component) -> Mem {
        Mem::Store(Data::Formatted { components, component })
    }
    pub(in super::super) const fn load_format_or_lds(components: u8, component: Component) -> Mem {
        Mem::LoadOrLds(Data::Formatted { components, component })
    }
    pub(in super::super) const fn atomic32(rmw: Rmw) -> Mem {
        Mem::Atomic(Atomic { rmw, bytes: 4 })
    }
    pub(in super::super) const fn atomic64(rmw: Rmw) -> Mem {
        Mem::Atomic(Atomic { rmw, bytes: 8 })
    }
}

/// Local data share: what an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ds {
    /// LDS to registers.
    Load(Width),
    /// Registers to LDS.
    Store(Width),
    /// Read-modify-write.
    Atomic(Atomic),
    /// Two elements to registers. Each 8-bit offset counts steps of `stride` elements.
    Load2 {
        /// Bytes of an element.
        bytes: u32,
        /// Elements per step: 1 or 64.
        stride: u32,
    },
    /// Two elements from registers, at the addresses of [`Load2`](Self::Load2).
    Store2 {
        /// Bytes of an element.
        bytes: u32,
        /// Elements per step: 1 or 64.
        stride: u32,
    },
    /// Two exchanges, at the addresses of [`Load2`](Self::Load2).
    Exchange2 {
        /// Bytes of an element.
        bytes: u32,
        /// Elements per step: 1 or 64.
        stride: u32,
    },
    /// A dword at M0 + the thread's number, to a register.
    LoadThread,
    /// A register to the dword at M0 + the thread's number.
    StoreThread,
    /// Exchanges the two halves of a value where their top bits ask for it.
    ConditionalExchange,
    /// Takes from, or adds to, a counter as many as there are active lanes.
    Count,
    /// Exchanges data between lanes; LDS is not touched.
    Permute,
    /// As [`Permute`](Self::Permute), with a pattern in the offset field.
    Swizzle,
    /// Global wave sync: `gds` set.
    Gws,
    /// Nothing; neither offset nor `gds`.
    Nop,
}

/// The meaning of the offset fields of a DS instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DsOffset {
    /// One 16-bit byte offset.
    One,
    /// Two 8-bit offsets in steps.
    Two,
    /// A swizzle pattern.
    Pattern,
    /// None: the field is zero.
    None,
}

impl Ds {
    /// The meaning of the offset fields.
    pub const fn offset(self) -> DsOffset {
        match self {
            Self::Load2 { .. } | Self::Store2 { .. } | Self::Exchange2 { .. } => DsOffset::Two,
            Self::Swizzle => DsOffset::Pattern,
            Self::Nop => DsOffset::None,
            _ => DsOffset::One,
        }
    }
}

/// The names the DS table uses.
pub mod ds {
    use super::Ds;
    use crate::isa::table::memory::{Atomic, Rmw, Width};
    pub(in super::super) const LOAD_THREAD: Ds = Ds::LoadThread;
    pub(in super::super) const STORE_THREAD: Ds = Ds::StoreThread;
    pub(in super::super) const CONDITIONAL_EXCHANGE: Ds = Ds::ConditionalExchange;
    pub(in super::super) const COUNT: Ds = Ds::Count;
    pub(in super::super) const PERMUTE: Ds = Ds::Permute;
    pub(in super::super) const SWIZZLE: Ds = Ds::Swizzle;
    pub(in super::super) const GWS: Ds = Ds::Gws;
    pub(in super::super) const NOP: Ds = Ds::Nop;
    pub(in super::super) const fn load(width: Width) -> Ds {
        Ds::Load(width)
    }
    pub(in super::super) const fn store(width: Width) -> Ds {
        Ds::Store(width)
    }
    pub(in super::super) const fn load2(bytes: u32, stride: u32) -> Ds {
        Ds::Load2 { bytes, stride }
    }
    pub(in super::super) const fn store2(bytes: u32, stride: u32) -> Ds {
        Ds::Store2 { bytes, stride }
    }
    pub(in super::super) const fn exchange2(bytes: u32, stride: u32) -> Ds {
        Ds::Exchange2 { bytes, stride }
    }
    pub(in super::super) const fn atomic32(rmw: Rmw) -> Ds {
        Ds::Atomic(Atomic { rmw, bytes: 4 })
    }
    pub(in super::super) const fn atomic64(rmw: Rmw) -> Ds {
        Ds::Atomic(Atomic { rmw, bytes: 8 })
    }
}

/// Matrix operations: what the control fields mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mai {
    /// Dense: `cbsz`, `abid`, `blgp`.
    Mfma(Matrix),
    /// Dense f64: `blgp` negates.
    MfmaF64(Matrix),
    /// Sparse: `cbsz`, `abid`; `dst` is also the accumulator and `src[2]` the index.
    Smfmac(Matrix),
    /// Accumulator to vector register.
    AccRead,
    /// Vector register or constant to accumulator.
    AccWrite,
}

/// The names the MAI table uses.
pub mod mai {
    use super::Mai;
    use crate::isa::table::matrix::{Element, Matrix};
    pub(in super::super) const ACC_READ: Mai = Mai::AccRead;
    pub(in super::super) const ACC_WRITE: Mai = Mai::AccWrite;
    /// `blocks` products of `m × k` by `k × m`.
    pub(in super::super) const fn mfma([m, k, blocks]: [usize; 3], a: Element, b: Element) -> Mai {
        Mai::Mfma(Matrix { m, k, blocks, a, b })
    }
    pub(in super::super) const fn mfma_f64([m, k, blocks]: [usize; 3]) -> Mai {
        Mai::MfmaF64(Matrix { m, k, blocks, a: Element::F64, b: Element::F64 })
    }
    pub(in super::super) const fn smfmac([m, k]: [usize; 2], a: Element, b: Element) -> Mai {
        Mai::Smfmac(Matrix { m, k, blocks: 1, a, b })
    }
}

/// What the `abs` and `neg` bits of one source mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SrcMods {
    /// They must be zero.
    None,
    /// Absolute value and negation.
    Float,
    /// `neg` asks for sign extension, `abs` is ignored.
    Int,
    /// Both are ignored.
    Ignored,
}

/// What the `op_sel` bits mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpSel {
    /// They are ignored.
    Ignored,
    /// Halves of two sources (bits 0, 1) and of the destination (bit 3); bit 2 must be zero.
    Two,
    /// Halves of three sources and of the destination.
    Three,
    /// Halves of packed sources.
    Packed,
    /// The bits are part of the scalar destination.
    Sdst,
}

/// Vector ALU: the modifiers the 64-bit form takes, and which other forms exist.
#[expect(clippy::struct_excessive_bools, reason = "each is an independent property of an encoding")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Vop {
    /// Input modifiers per source.
    pub src: [SrcMods; 3],
    /// `clamp` is allowed.
    pub clamp: bool,
    /// `omod` is allowed.
    pub omod: bool,
    /// Meaning of `op_sel`.
    pub op_sel: OpSel,
    /// The 64-bit form exists.
    pub vop3: bool,
    /// The SDWA form exists unless an operand has 64 bits.
    pub sdwa: bool,
    /// The DPP form exists.
    pub dpp: bool,
    /// What a compare tests.
    pub compare: Option<Compare>,
}

/// The names the vector tables use.
pub mod vop {
    use super::{OpSel, SrcMods, Vop};
    use SrcMods::{Float, Ignored, Int, None as No};

    const fn short_forms(src: [SrcMods; 3], clamp: bool, omod: bool) -> Vop {
        Vop { src, clamp, omod, op_sel: OpSel::Ignored, vop3: true, sdwa: true, dpp: true, compare: None }
    }
    const fn op_sel(src: [SrcMods; 3], clamp: bool, omod: bool, op_sel: OpSel) -> Vop {
        Vop { op_sel, ..short_forms(src, clamp, omod) }
    }

    /// Integers, nothing to modify.
    pub(in super::super) const NONE: Vop = short_forms([No; 3], false, false);
    /// Integers that saturate.
    pub(in super::super) const CLAMP: Vop = short_forms([No; 3], true, false);
    /// Integer in, float out.
    pub(in super::super) const OUTPUT: Vop = short_forms([No; 3], true, true);
    /// Floats.
    pub(in super::super) const FLOAT: Vop = short_forms([Float, Float, No], true, true);
    /// Three floats.
    pub(in super::super) const FLOAT3: Vop = short_forms([Float; 3], true, true);
    /// Floats without output multiplier.
    pub(in super::super) const FLOAT_CLAMP: Vop = short_forms([Float, Float, No], true, false);
    /// A float and an integer.
    pub(in super::super) const FLOAT_INT: Vop = short_forms([Float, Int, No], true, true);
    /// A float and an integer, without output multiplier.
    pub(in super::super) const FLOAT_INT_CLAMP: Vop = short_forms([Float, Int, No], true, false);
    /// A float and two integers, without output multiplier.
    pub(in super::super) const FLOAT_INT3_CLAMP: Vop = short_forms([Float, Int, Int], true, false);
    /// A float and a class mask.
    pub(in super::super) const CLASS: Vop = short_forms([Float, No, No], false, false);
    /// `v_cndmask`: sources can be negated, the result is not touched.
    pub(in super::super) const SELECT: Vop = short_forms([Float, Float, No], false, false);
    /// Floats that accumulate into the destination; no SDWA form.
    pub(in super::super) const MAC: Vop = Vop { sdwa: false, ..FLOAT };
    /// Integer dot products that accumulate into the destination; no SDWA form.
    pub(in super::super) const DOT: Vop =
        Vop { sdwa: false, ..short_forms([Ignored, Ignored, No], true, false) };
    /// Only the 32-bit form exists.
    pub(in super::super) const SHORT_ONLY: Vop = Vop { vop3: false, sdwa: false, dpp: false, ..NONE };
    /// A scalar destination takes the carry.
    pub(in super::super) const CARRY: Vop = op_sel([No; 3], true, false, OpSel::Sdst);
    /// A scalar destination takes the scale flag.
    pub(in super::super) const DIV_SCALE: Vop = op_sel([Float; 3], true, true, OpSel::Sdst);
    /// Half-selectable f16.
    pub(in super::super) const OPSEL_FLOAT3: Vop = op_sel([Float; 3], true, true, OpSel::Three);
    /// Half-selectable 16-bit integers.
    pub(in super::super) const OPSEL_INT3: Vop = op_sel([Ignored; 3], true, false, OpSel::Three);
    /// Two half-selectable 16-bit integers.
    pub(in super::super) const OPSEL_INT: Vop = op_sel([Ignored, Ignored, No], true, false, OpSel::Two);
    /// Two half-selectable f16.
    pub(in super::super) const OPSEL_FLOAT_CLAMP: Vop = op_sel([Float, Float, No], true, false, OpSel::Two);
    /// Two floats, half-selectable result.
    pub(in super::super) const OPSEL_FLOAT: Vop = op_sel([Float, Float, No], false, false, OpSel::Two);
    /// Stochastic rounding to one byte chosen by `op_sel`.
    pub(in super::super) const OPSEL_SR: Vop = op_sel([Float, Ignored, Ignored], false, false, OpSel::Three);
    /// Packed: `neg` and `neg_hi` per source.
    pub(in super::super) const PACKED: Vop = op_sel([Float; 3], true, false, OpSel::Packed);
    /// Mixed precision: `neg_hi` acts as `abs`.
    pub(in super::super) const MIX: Vop = op_sel([Float; 3], true, false, OpSel::Packed);
}
