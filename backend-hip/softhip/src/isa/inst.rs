//! The pre-decoded instruction.
//!
//! [`Inst`] is what the decoder produces, the printer prints and the executor
//! interprets. It is `Copy`, holds no reference and needs no table to be
//! executed: the operation, its operands and its modifiers are all there.
//!
//! # Where operands stand
//!
//! | family | `dst` | `dst2` | `src[0]` | `src[1]` | `src[2]` |
//! |---|---|---|---|---|---|
//! | SOP1, SOP2 | sdst | | ssrc0 | ssrc1 | |
//! | SOPC | | | ssrc0 | ssrc1 | |
//! | SOPK `s_movk`, `s_cmovk`, `s_getreg`, `s_call` | sdst | | | | |
//! | SOPK `s_addk`, `s_mulk` | sdst (read and written) | | | | |
//! | SOPK `s_cmpk`, `s_setreg`, `s_cbranch_i_fork` | | | sdst field | | |
//! | SOPK `s_setreg_imm32` | | | the literal | | |
//! | SMEM load | sdata | | sbase | soffset register | |
//! | SMEM store, atomic, probe | returned sdata if `glc` | | sbase | soffset register | sdata |
//! | VOP1, VOP2, VOP3 | vdst | sdst: carry-out, or VCC of `v_div_scale` | src0 | src1 | src2 |
//! | VOPC, compares in VOP3/SDWA | sdst (VCC in the short form) | | src0 | src1 | |
//! | VOP3P, MAI | vdst | | src0 | src1 | src2 |
//! | FLAT, GLOBAL, SCRATCH | vdst (loads, returning atomics) | | vaddr | vdata | saddr |
//! | DS | vdst | | addr | data0 | data1 |
//! | MUBUF, MTBUF | vdata (loads, returning atomics) | | vaddr | vdata | srsrc |
//!
//! Implicit operands are made explicit: VCC as the carry-in of `v_addc_co_u32_e32`,
//! as the selector of `v_cndmask_b32_e32` and as the result of a short compare is
//! an ordinary [`Operand::Scalar`]. `v_fmac`, `v_mac`, `v_dot*c` read `dst` as the
//! accumulator; `v_fmamk` has its constant in `src[1]`, `v_fmaak` in `src[2]`,
//! as [`Operand::Literal`]. EXEC, SCC, MODE, and VCC of `v_div_fmas` stay implicit.
//!
//! How many registers an operand spans and how its constant bits are formed is
//! in the operation's table row: [`Inst::operand_types`].

use std::ops::Range;

use super::op::Op;
use super::table::{self, Ty};

/// The encoding an instruction was decoded from.
///
/// An operation such as [`Op::v_add_f32`] exists in several encodings (`Vop2`,
/// `Vop3`, `Sdwa`, `Dpp`) and means the same in all: the executor matches on
/// [`Inst::op`] and takes the differences from the operands and modifiers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Format {
    /// Scalar, two sources.
    Sop2,
    /// Scalar with a 16-bit immediate.
    Sopk,
    /// Scalar, one source.
    Sop1,
    /// Scalar compare into SCC.
    Sopc,
    /// Program control: branches, waits, barriers.
    Sopp,
    /// Scalar memory.
    Smem,
    /// Vector, one source, 32-bit form.
    Vop1,
    /// Vector, two sources, 32-bit form.
    Vop2,
    /// Vector compare into VCC, 32-bit form.
    Vopc,
    /// Vector, up to three sources, 64-bit form (with or without a scalar destination).
    Vop3,
    /// Packed and mixed-precision vector.
    Vop3p,
    /// Matrix: MFMA, SMFMAC and the accumulator moves.
    Mai,
    /// VOP1, VOP2 or VOPC with byte and word selects.
    Sdwa,
    /// VOP1 or VOP2 whose first source comes from other lanes.
    Dpp,
    /// Local data share.
    Ds,
    /// FLAT segment.
    Flat,
    /// GLOBAL segment of the FLAT encoding.
    Global,
    /// SCRATCH segment of the FLAT encoding.
    Scratch,
    /// Untyped buffer.
    Mubuf,
    /// Typed buffer.
    Mtbuf,
}

/// Index into a wave's scalar register file of 128 words, as encoded.
///
/// 0–101 are s0–s101; the special registers have the fixed places below.
/// A 64-bit operand is `file[i]` (low) and `file[i + 1]` (high): VCC is
/// `file[106..108]`, EXEC is `file[126..128]`.
pub mod scalar {
    /// `flat_scratch_lo`; the high half follows.
    pub const FLAT_SCRATCH: u8 = 102;
    /// `xnack_mask_lo`; the high half follows.
    pub const XNACK_MASK: u8 = 104;
    /// `vcc_lo`; the high half follows.
    pub const VCC: u8 = 106;
    /// `ttmp0` of 16 trap temporaries.
    pub const TTMP0: u8 = 108;
    /// `m0`.
    pub const M0: u8 = 124;
    /// `null`: reads 0, ignores writes. Not in the CDNA3 manual; LLVM decodes it.
    pub const NULL: u8 = 125;
    /// `exec_lo`; the high half follows.
    pub const EXEC: u8 = 126;
    /// Words in the file.
    pub const FILE_LEN: usize = 128;
}

/// A floating-point inline constant.
///
/// A 16-bit operand sees its f16 bits, a 32-bit one its f32 bits, a 64-bit one its f64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FloatConst {
    /// 0.5
    Half,
    /// -0.5
    NegHalf,
    /// 1.0
    One,
    /// -1.0
    NegOne,
    /// 2.0
    Two,
    /// -2.0
    NegTwo,
    /// 4.0
    Four,
    /// -4.0
    NegFour,
    /// 1 / (2π)
    InvTwoPi,
}

impl FloatConst {
    /// All nine, in the order of their codes 240–248.
    pub const ALL: [Self; 9] = [
        Self::Half,
        Self::NegHalf,
        Self::One,
        Self::NegOne,
        Self::Two,
        Self::NegTwo,
        Self::Four,
        Self::NegFour,
        Self::InvTwoPi,
    ];

    /// IEEE binary16 bits.
    pub const fn f16_bits(self) -> u16 {
        match self {
            Self::Half => 0x3800,
            Self::NegHalf => 0xb800,
            Self::One => 0x3c00,
            Self::NegOne => 0xbc00,
            Self::Two => 0x4000,
            Self::NegTwo => 0xc000,
            Self::Four => 0x4400,
            Self::NegFour => 0xc400,
            Self::InvTwoPi => 0x3118,
        }
    }

    /// IEEE binary32 bits.
    pub const fn f32_bits(self) -> u32 {
        match self {
            Self::Half => 0x3f00_0000,
            Self::NegHalf => 0xbf00_0000,
            Self::One => 0x3f80_0000,
            Self::NegOne => 0xbf80_0000,
            Self::Two => 0x4000_0000,
            Self::NegTwo => 0xc000_0000,
            Self::Four => 0x4080_0000,
            Self::NegFour => 0xc080_0000,
            Self::InvTwoPi => 0x3e22_f983,
        }
    }

    /// IEEE binary64 bits.
    pub const fn f64_bits(self) -> u64 {
        match self {
            Self::Half => 0x3fe0_0000_0000_0000,
            Self::NegHalf => 0xbfe0_0000_0000_0000,
            Self::One => 0x3ff0_0000_0000_0000,
            Self::NegOne => 0xbff0_0000_0000_0000,
            Self::Two => 0x4000_0000_0000_0000,
            Self::NegTwo => 0xc000_0000_0000_0000,
            Self::Four => 0x4010_0000_0000_0000,
            Self::NegFour => 0xc010_0000_0000_0000,
            Self::InvTwoPi => 0x3fc4_5f30_6dc9_c882,
        }
    }
}

/// A read-only scalar source that is not a register of the file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SpecialSource {
    /// High half of the LDS aperture address (`src_shared_base`).
    SharedBase,
    /// `src_shared_limit`.
    SharedLimit,
    /// High half of the scratch aperture address (`src_private_base`).
    PrivateBase,
    /// `src_private_limit`.
    PrivateLimit,
    /// `src_pops_exiting_wave_id`; no compute kernel reads it.
    PopsExitingWaveId,
    /// 1 when VCC is zero.
    Vccz,
    /// 1 when EXEC is zero.
    Execz,
    /// SCC.
    Scc,
    /// One LDS dword at the address in M0, broadcast to all lanes.
    LdsDirect,
}

/// One operand. Multi-register operands name their first register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Operand {
    /// The instruction has no such operand (`off` in an address position).
    #[default]
    None,
    /// A register of the scalar file, see [`scalar`].
    Scalar(u8),
    /// A vector register v0–v255.
    Vgpr(u8),
    /// An accumulation register a0–a255.
    Agpr(u8),
    /// Inline integer −16..=64, sign-extended to the operand's width.
    Int(i8),
    /// Inline floating-point constant, in the operand's own format.
    Float(FloatConst),
    /// The 32-bit literal that follows the instruction. A 64-bit floating-point
    /// operand takes it as the high half; [`table::Ty`] tells which.
    Literal(u32),
    /// A read-only source outside the register file.
    Special(SpecialSource),
}

impl Operand {
    /// VCC as a 64-bit scalar operand.
    pub const VCC: Self = Self::Scalar(scalar::VCC);

    /// Whether there is an operand at all.
    pub const fn is_some(self) -> bool {
        !matches!(self, Self::None)
    }
}

/// Modifiers of a vector ALU instruction; bit `i` of a mask belongs to `src[i]`.
///
/// The order is: select (SDWA, `op_sel`), absolute value, negation, operation,
/// output multiplier, clamp, destination select.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct VopMods {
    /// Take the absolute value of `src[i]`.
    pub abs: u8,
    /// Negate `src[i]` (after `abs`).
    pub neg: u8,
    /// 0 none, 1 ×2, 2 ×4, 3 ÷2 of a floating-point result.
    pub omod: u8,
    /// Saturate: floats to \[0, 1\], integers to their range.
    pub clamp: bool,
    /// Bit `i`: `src[i]` is the high half of its register. Bit 3: write the high half of `dst`.
    /// In [`Format::Vop3p`]: the half that feeds the low result.
    pub op_sel: u8,
    /// [`Format::Vop3p`] only: bit `i` picks the half of `src[i]` that feeds the high result.
    /// For `v_fma_mix*`: bit `i` says that `src[i]` is f16 (its half given by `op_sel`), else f32.
    pub op_sel_hi: u8,
    /// [`Format::Vop3p`] only: negate `src[i]` for the high result (`neg` is for the low one).
    /// For `v_fma_mix*` this is moved to `abs`.
    pub neg_hi: u8,
}

/// Which part of a 32-bit register an SDWA operand is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum SdwaSel {
    /// Bits 7:0.
    Byte0,
    /// Bits 15:8.
    Byte1,
    /// Bits 23:16.
    Byte2,
    /// Bits 31:24.
    Byte3,
    /// Bits 15:0.
    Word0,
    /// Bits 31:16.
    Word1,
    /// All bits.
    #[default]
    Dword,
}

/// What an SDWA instruction does with the destination bits it does not select.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum SdwaUnused {
    /// Write zeros.
    #[default]
    Pad,
    /// Sign-extend above the selected part, zeros below.
    Sext,
    /// Keep the old bits.
    Preserve,
}

/// SDWA selects.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Sdwa {
    /// Destination part; [`SdwaSel::Dword`] for compares.
    pub dst_sel: SdwaSel,
    /// Fate of the other destination bits.
    pub dst_unused: SdwaUnused,
    /// Parts of `src[0]` and `src[1]`.
    pub src_sel: [SdwaSel; 2],
    /// Sign-extend the selected part of `src[i]` (integer operations; else zero-extend).
    pub sext: [bool; 2],
}

/// The lane permutation of a DPP instruction; it applies to `src[0]`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DppCtrl {
    /// Within each quad, lane `i` reads lane `sel[i]` (0–3).
    QuadPerm([u8; 4]),
    /// Lane reads `lane + n` of its row of 16 (1–15).
    RowShl(u8),
    /// Lane reads `lane - n` of its row.
    RowShr(u8),
    /// Lane reads `lane - n` modulo 16 of its row.
    RowRor(u8),
    /// Lane reads `lane + 1` of the wave.
    WaveShl,
    /// Lane reads `lane + 1` modulo 64.
    WaveRol,
    /// Lane reads `lane - 1` of the wave.
    WaveShr,
    /// Lane reads `lane - 1` modulo 64.
    WaveRor,
    /// Lane reads `15 - lane` of its row.
    RowMirror,
    /// Lane reads `7 - lane` of its half row.
    RowHalfMirror,
    /// Lane 15 of each row feeds the next row.
    RowBcast15,
    /// Lane 31 feeds rows 2 and 3.
    RowBcast31,
    /// Every lane reads lane `n` of its row.
    RowNewbcast(u8),
}

/// DPP control.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Dpp {
    /// The permutation.
    pub ctrl: DppCtrl,
    /// Rows whose lanes write (bit per row of 16).
    pub row_mask: u8,
    /// Banks whose lanes write (bit per bank of 4 within a row).
    pub bank_mask: u8,
    /// Out-of-range or disabled source lanes read 0 when set; when clear the lane does not write.
    pub bound_ctrl: bool,
}

/// MFMA controls.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Mfma {
    /// Broadcast size of A, log2 of the number of blocks.
    pub cbsz: u8,
    /// Block of A that is broadcast.
    pub abid: u8,
    /// Lane-group pattern of B; for f64, bit `i` negates operand `i`.
    pub blgp: u8,
}

/// Cache-policy bits of a memory instruction.
///
/// On atomics `sc0` asks for the old value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Cache {
    /// Scope bit 0.
    pub sc0: bool,
    /// Scope bit 1.
    pub sc1: bool,
    /// Non-temporal.
    pub nt: bool,
}

/// FLAT, GLOBAL and SCRATCH.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Flat {
    /// Byte offset added to the address; unsigned for FLAT.
    pub offset: i16,
    /// Cache policy.
    pub cache: Cache,
}

/// DS offsets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Ds {
    /// Low 8 bits; the first offset of a two-address instruction, in elements (×64 for `st64`).
    pub offset0: u8,
    /// High 8 bits; the second offset of a two-address instruction.
    pub offset1: u8,
    /// Global wave sync (`ds_gws_*`).
    pub gds: bool,
}

impl Ds {
    /// The 16-bit byte offset of a one-address instruction.
    pub const fn offset(self) -> u16 {
        u16::from_le_bytes([self.offset0, self.offset1])
    }
}

/// SMEM addressing: `sbase + offset + soffset register`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Smem {
    /// Signed byte offset; absent when only a register offset is encoded.
    pub offset: Option<i32>,
    /// Globally coherent; on atomics, return the old value.
    pub glc: bool,
}

/// MUBUF and MTBUF.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Buffer {
    /// Byte offset 0–4095.
    pub offset: u16,
    /// Scalar offset operand.
    pub soffset: Operand,
    /// `vaddr` holds a byte offset (its last register).
    pub offen: bool,
    /// `vaddr` holds an index (its first register).
    pub idxen: bool,
    /// Load to LDS instead of registers.
    pub lds: bool,
    /// Cache policy.
    pub cache: Cache,
    /// MTBUF: data format 0–15 and number format 0–7, as `nfmt << 4 | dfmt`.
    pub format: u8,
}

/// What an instruction carries besides its operands; the variant follows from [`Inst::format`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Mods {
    /// SOP1, SOP2, SOPC, VOP1, VOP2, VOPC.
    #[default]
    None,
    /// SOPK and SOPP: the 16-bit immediate. Branches add `4 × sign_extend(imm)` to the next PC.
    Imm(u16),
    /// VOP3 and VOP3P.
    Vop(VopMods),
    /// SDWA.
    Sdwa(VopMods, Sdwa),
    /// DPP.
    Dpp(VopMods, Dpp),
    /// MAI.
    Mfma(Mfma),
    /// SMEM.
    Smem(Smem),
    /// FLAT, GLOBAL, SCRATCH.
    Flat(Flat),
    /// DS.
    Ds(Ds),
    /// MUBUF, MTBUF.
    Buffer(Buffer),
}

/// One decoded instruction. See the module documentation for the operand positions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Inst {
    /// Address of the first byte.
    pub pc: u64,
    /// The operation.
    pub op: Op,
    /// The encoding it came from.
    pub format: Format,
    /// Bytes: 4 or 8, a literal included.
    pub size: u8,
    /// Destination.
    pub dst: Operand,
    /// Second (scalar) destination.
    pub dst2: Operand,
    /// Sources.
    pub src: [Operand; 3],
    /// Modifiers.
    pub mods: Mods,
}

impl Inst {
    /// Address of the instruction that follows in memory.
    pub const fn next_pc(&self) -> u64 {
        self.pc.wrapping_add(self.size as u64)
    }

    /// Address range of the instruction's bytes.
    pub const fn range(&self) -> Range<u64> {
        self.pc..self.next_pc()
    }

    /// The vector ALU modifiers; all clear where the encoding has none.
    pub const fn vop_mods(&self) -> VopMods {
        match self.mods {
            Mods::Vop(mods) | Mods::Sdwa(mods, _) | Mods::Dpp(mods, _) => mods,
            _ => VopMods { abs: 0, neg: 0, omod: 0, clamp: false, op_sel: 0, op_sel_hi: 0, neg_hi: 0 },
        }
    }

    /// The 16-bit immediate of SOPK and SOPP, 0 elsewhere.
    pub const fn imm(&self) -> u16 {
        match self.mods {
            Mods::Imm(imm) => imm,
            _ => 0,
        }
    }

    /// Target of a PC-relative branch (`s_branch`, `s_cbranch_*`, `s_call_b64`), if it is one.
    pub fn branch_target(&self) -> Option<u64> {
        let relative = self.op.is_pc_relative_branch();
        relative.then(|| self.next_pc().wrapping_add_signed(4 * i64::from(self.imm().cast_signed())))
    }

    /// Types of `dst`, `src[0]`, `src[1]`, `src[2]`: widths and how constants are read.
    ///
    /// Two address operands depend on the instruction: a GLOBAL `vaddr` is 32 bits wide when there
    /// is a `saddr` (`src[2]`, a 64-bit pair; 32 bits for SCRATCH), and a buffer's `vaddr` is 64 bits
    /// wide when both `idxen` and `offen` are set.
    pub fn operand_types(&self) -> [Ty; 4] {
        table::operand_types(self.op)
    }
}
