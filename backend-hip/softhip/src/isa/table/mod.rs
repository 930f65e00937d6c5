//! The opcode tables: one row per operation and encoding.
//!
//! Decoder, printer and coverage report all read these rows. A row gives the
//! opcode number, the operation, the types of its operands and a rule for what
//! the encoding lets an instruction carry besides (modifiers, offsets, immediates).

#![allow(
    clippy::enum_glob_use,
    reason = "a table row names an operation; the prefix would double every line"
)]

pub mod buffer;
pub mod compare;
pub mod ds;
pub mod flat;
pub mod mai;
pub mod matrix;
pub mod memory;
pub mod rule;
pub mod salu;
pub mod smem;
pub mod vop1;
pub mod vop2;
pub mod vop3;
pub mod vop3p;
pub mod vopc;

use super::inst::Format;
use super::op::Op;
use compare::Compare;
use matrix::Matrix;
use memory::MemoryOp;

/// Type of an operand: its width, how a constant in its place is read, and, where the
/// encoding leaves a choice, which registers may stand there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Ty {
    /// No operand.
    #[default]
    X,
    /// 16-bit integer in the low half of a register.
    B16,
    /// f16 in the low half of a register.
    F16,
    /// 32-bit integer or bits.
    B32,
    /// f32.
    F32,
    /// 64-bit integer or bits.
    B64,
    /// f64.
    F64,
    /// Two 16-bit integers.
    PB16,
    /// Two f16.
    PF16,
    /// Two f32 in two registers.
    PF32,
    /// Two 32-bit words in two registers.
    PB32,
    /// Three registers.
    B96,
    /// Four registers.
    B128,
    /// Eight registers.
    B256,
    /// Sixteen registers.
    B512,
    /// Thirty-two registers.
    B1024,
    /// Four f64 in eight registers.
    F64X4,
    /// One bit per lane: a scalar register pair.
    MASK,
    /// One vector register.
    V32,
    /// Four vector registers.
    V128,
    /// One scalar register.
    S32,
    /// A scalar register pair.
    S64,
    /// A lane number or value: a scalar register or inline constant.
    L32,
    /// One accumulation register.
    A32,
}

impl Ty {
    /// Registers the operand spans.
    pub const fn dwords(self) -> u8 {
        match self {
            Self::X => 0,
            Self::B16
            | Self::F16
            | Self::B32
            | Self::F32
            | Self::PB16
            | Self::PF16
            | Self::V32
            | Self::S32
            | Self::L32
            | Self::A32 => 1,
            Self::B64 | Self::F64 | Self::PF32 | Self::PB32 | Self::MASK | Self::S64 => 2,
            Self::B96 => 3,
            Self::B128 | Self::V128 => 4,
            Self::B256 | Self::F64X4 => 8,
            Self::B512 => 16,
            Self::B1024 => 32,
        }
    }
}

/// One operation in one encoding; `R` is the family's rule.
#[derive(Clone, Copy, Debug)]
pub struct Row<R> {
    /// Opcode number within the encoding.
    pub code: u16,
    /// The operation.
    pub op: Op,
    /// Destination type.
    pub dst: Ty,
    /// Source types, in the order of [`super::inst::Inst::src`].
    pub src: [Ty; 3],
    /// What else the encoding may carry.
    pub rule: R,
}

const fn row<R: Copy>(code: u16, op: Op, dst: Ty, sources: &[Ty], rule: R) -> Row<R> {
    let mut src = [Ty::X; 3];
    let mut i = 0;
    while i < sources.len() {
        src[i] = sources[i];
        i += 1;
    }
    Row { code, op, dst, src, rule }
}

/// Direct lookup of a table's row by opcode, built at compile time.
#[derive(Debug)]
pub struct Index<R: 'static, const N: usize> {
    rows: &'static [Row<R>],
    slots: [u8; N],
}

impl<R: Copy, const N: usize> Index<R, N> {
    const EMPTY: u8 = u8::MAX;

    const fn new(rows: &'static [Row<R>]) -> Self {
        assert!(rows.len() < Self::EMPTY as usize);
        let mut slots = [Self::EMPTY; N];
        let mut next: u8 = 0;
        while (next as usize) < rows.len() {
            let code = rows[next as usize].code as usize;
            assert!(slots[code] == Self::EMPTY, "one row per opcode");
            slots[code] = next;
            next += 1;
        }
        Self { rows, slots }
    }

    /// The row of an opcode, if the encoding has it.
    pub fn get(&self, code: u32) -> Option<&'static Row<R>> {
        let slot = *self.slots.get(code as usize)?;
        self.rows.get(usize::from(slot))
    }
}

/// SOP2 by opcode.
pub static SOP2: Index<rule::Salu, 128> = Index::new(salu::SOP2);
/// SOPK by opcode.
pub static SOPK: Index<rule::Salu, 32> = Index::new(salu::SOPK);
/// SOP1 by opcode.
pub static SOP1: Index<rule::Salu, 256> = Index::new(salu::SOP1);
/// SOPC by opcode.
pub static SOPC: Index<rule::Salu, 128> = Index::new(salu::SOPC);
/// SOPP by opcode.
pub static SOPP: Index<rule::Salu, 128> = Index::new(salu::SOPP);
/// SMEM by opcode.
pub static SMEM: Index<rule::Mem, 256> = Index::new(smem::SMEM);
/// VOP1 by opcode.
pub static VOP1: Index<rule::Vop, 256> = Index::new(vop1::VOP1);
/// VOP2 by opcode.
pub static VOP2: Index<rule::Vop, 64> = Index::new(vop2::VOP2);
/// VOPC by opcode.
pub static VOPC: Index<rule::Vop, 256> = Index::new(vopc::VOPC);
/// Operations of the 64-bit form only, by opcode.
pub static VOP3: Index<rule::Vop, 1024> = Index::new(vop3::VOP3);
/// VOP3P by opcode.
pub static VOP3P: Index<rule::Vop, 128> = Index::new(vop3p::VOP3P);
/// MAI by opcode.
pub static MAI: Index<rule::Mai, 128> = Index::new(mai::MAI);
/// DS by opcode.
pub static DS: Index<rule::Ds, 256> = Index::new(ds::DS);
/// FLAT by opcode.
pub static FLAT: Index<rule::Mem, 128> = Index::new(flat::FLAT);
/// GLOBAL by opcode.
pub static GLOBAL: Index<rule::Mem, 128> = Index::new(flat::GLOBAL);
/// SCRATCH by opcode.
pub static SCRATCH: Index<rule::Mem, 128> = Index::new(flat::SCRATCH);
/// MUBUF by opcode.
pub static MUBUF: Index<rule::Mem, 128> = Index::new(buffer::MUBUF);
/// MTBUF by opcode.
pub static MTBUF: Index<rule::Mem, 16> = Index::new(buffer::MTBUF);

/// Where an operation is listed, without its family's rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Listing {
    /// The encoding whose table lists it.
    pub format: Format,
    /// Its opcode there.
    pub code: u16,
    /// The operation.
    pub op: Op,
    /// Types of destination and sources.
    pub types: [Ty; 4],
}

/// Every row of every table, in the order of the encodings.
///
/// VOP1, VOP2 and VOPC operations are listed once, under their short form.
pub fn listings() -> impl Iterator<Item = Listing> {
    fn list<R: Copy>(format: Format, rows: &'static [Row<R>]) -> impl Iterator<Item = Listing> {
        rows.iter().map(move |row| {
            let [a, b, c] = row.src;
            Listing { format, code: row.code, op: row.op, types: [row.dst, a, b, c] }
        })
    }
    list(Format::Sop2, salu::SOP2)
        .chain(list(Format::Sopk, salu::SOPK))
        .chain(list(Format::Sop1, salu::SOP1))
        .chain(list(Format::Sopc, salu::SOPC))
        .chain(list(Format::Sopp, salu::SOPP))
        .chain(list(Format::Smem, smem::SMEM))
        .chain(list(Format::Vop1, vop1::VOP1))
        .chain(list(Format::Vop2, vop2::VOP2))
        .chain(list(Format::Vopc, vopc::VOPC))
        .chain(list(Format::Vop3, vop3::VOP3))
        .chain(list(Format::Vop3p, vop3p::VOP3P))
        .chain(list(Format::Mai, mai::MAI))
        .chain(list(Format::Ds, ds::DS))
        .chain(list(Format::Flat, flat::FLAT))
        .chain(list(Format::Global, flat::GLOBAL))
        .chain(list(Format::Scratch, flat::SCRATCH))
        .chain(list(Format::Mubuf, buffer::MUBUF))
        .chain(list(Format::Mtbuf, buffer::MTBUF))
}

/// Types of `dst` and `src[0..3]` of an operation; they are the same in all its encodings.
pub fn operand_types(op: Op) -> [Ty; 4] {
    TYPES[op as usize]
}

/// What a vector compare tests, if the operation is one.
pub fn compare(op: Op) -> Option<Compare> {
    vop_rule(op)?.compare
}

/// What a dense matrix operation multiplies, if the operation is one.
pub fn dense_matrix(op: Op) -> Option<Matrix> {
    mai::MAI.iter().find(|row| row.op == op).and_then(|row| match row.rule {
        rule::Mai::Mfma(matrix) | rule::Mai::MfmaF64(matrix) => Some(matrix),
        rule::Mai::Smfmac(_) | rule::Mai::AccRead | rule::Mai::AccWrite => None,
    })
}

/// What a sparse matrix operation multiplies, if the operation is one.
pub fn sparse_matrix(op: Op) -> Option<Matrix> {
    mai::MAI.iter().find(|row| row.op == op).and_then(|row| match row.rule {
        rule::Mai::Smfmac(matrix) => Some(matrix),
        _ => None,
    })
}

/// What an operation does to memory, if it has to do with it.
pub fn memory(op: Op) -> Option<MemoryOp> {
    MEMORY[op as usize]
}

/// The rule of a vector operation, if it is one.
pub fn vop_rule(op: Op) -> Option<rule::Vop> {
    VOP_RULES[op as usize].map(|(rule, _)| rule)
}

/// Whether a vector operation has a 32-bit form, whose name then needs a suffix.
pub fn has_short_form(op: Op) -> bool {
    VOP_RULES[op as usize].is_some_and(|(_, short)| short)
}

static MEMORY: [Option<MemoryOp>; Op::ALL.len()] = {
    /// One entry per row of a table, with the rule in `$space`.
    macro_rules! fill {
        ($operations:ident, $rows:expr, $space:path) => {
            let mut i = 0;
            while i < $rows.len() {
                $operations[$rows[i].op as usize] = Some($space($rows[i].rule));
                i += 1;
            }
        };
    }
    let mut operations = [None; Op::ALL.len()];
    fill!(operations, smem::SMEM, MemoryOp::Scalar);
    fill!(operations, ds::DS, MemoryOp::Local);
    fill!(operations, flat::FLAT, MemoryOp::Flat);
    fill!(operations, flat::GLOBAL, MemoryOp::Global);
    fill!(operations, flat::SCRATCH, MemoryOp::Scratch);
    fill!(operations, buffer::MUBUF, MemoryOp::Buffer);
    fill!(operations, buffer::MTBUF, MemoryOp::TypedBuffer);
    operations
};

static VOP_RULES: [Option<(rule::Vop, bool)>; Op::ALL.len()] = {
    const fn fill(
        mut rules: [Option<(rule::Vop, bool)>; Op::ALL.len()],
        rows: &[Row<rule::Vop>],
        short: bool,
    ) -> [Option<(rule::Vop, bool)>; Op::ALL.len()] {
        let mut i = 0;
        while i < rows.len() {
            rules[rows[i].op as usize] = Some((rows[i].rule, short));
            i += 1;
        }
        rules
    }
    let mut rules = [None; Op::ALL.len()];
    rules = fill(rules, vop1::VOP1, true);
    rules = fill(rules, vop2::VOP2, true);
    rules = fill(rules, vopc::VOPC, true);
    rules = fill(rules, vop3::VOP3, false);
    fill(rules, vop3p::VOP3P, false)
};

static TYPES: [[Ty; 4]; Op::ALL.len()] = {
    const fn fill<R: Copy>(mut types: [[Ty; 4]; Op::ALL.len()], rows: &[Row<R>]) -> [[Ty; 4]; Op::ALL.len()] {
        let mut i = 0;
        while i < rows.len() {
            let row = &rows[i];
            types[row.op as usize] = [row.dst, row.src[0], row.src[1], row.src[2]];
            i += 1;
        }
        types
    }
    let mut types = [[Ty::X; 4]; Op::ALL.len()];
    types = fill(types, salu::SOP2);
    types = fill(types, salu::SOPK);
    types = fill(types, salu::SOP1);
    types = fill(types, salu::SOPC);
    types = fill(types, smem::SMEM);
    types = fill(types, vop1::VOP1);
    types = fill(types, vop2::VOP2);
    types = fill(types, vopc::VOPC);
    types = fill(types, vop3::VOP3);
    types = fill(types, vop3p::VOP3P);
    types = fill(types, mai::MAI);
    types = fill(types, ds::DS);
    types = fill(types, flat::FLAT);
    types = fill(types, flat::GLOBAL);
    types = fill(types, flat::SCRATCH);
    types = fill(types, buffer::MUBUF);
    types = fill(types, buffer::MTBUF);
    types
};
