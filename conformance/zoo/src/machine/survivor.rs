//! Faults that nothing found, and what they are about.

use std::fmt;

use softhip::isa::{Format, Inst, Op};
use softhip::waits::{Facts, RegisterSet};

use super::fault::{Fault, Kind};

/// What a fault that no case found is about, as far as its instruction and those around it tell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// An integer division: an error of the reciprocal shows in quotients beyond 2^16 only, and one of the corrections seldom.
    Division,
    /// The upper word of a product, a sum or an address: zero unless something is larger than 4 GiB.
    UpperWord,
    /// EXEC or another mask of lanes: the same where all lanes of the wave go the same way.
    Mask,
    /// A step of a quotient, a root or a series that is as good without it but for extreme values, or a maximum that only quiets NaN.
    Refinement,
    /// A modifier of a value that has no such sign, or is within what is clamped to.
    Modifier,
    /// A register in place of another that holds the same here.
    Register,
    /// A constant: bits of a mask or bound that the values here do not reach.
    Constant,
    /// An operation that gives the same for the values here.
    Operation,
    /// An instruction without which the values here are the same.
    Needless,
}

impl Class {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Division,
        Self::UpperWord,
        Self::Mask,
        Self::Refinement,
        Self::Modifier,
        Self::Register,
        Self::Constant,
        Self::Operation,
        Self::Needless,
    ];

    /// In a word or two.
    pub fn name(self) -> &'static str {
        match self {
            Self::Division => "integer division",
            Self::UpperWord => "upper word",
            Self::Mask => "mask of lanes",
            Self::Refinement => "refinement of floats",
            Self::Modifier => "modifier",
            Self::Register => "register",
            Self::Constant => "constant",
            Self::Operation => "operation",
            Self::Needless => "dropped",
        }
    }

    /// Why cases let it pass.
    pub fn text(self) -> &'static str {
        match self {
            Self::Division => {
                "the reciprocal of an integer division and its corrections: wrong for quotients beyond 2^16 only"
            }
            Self::UpperWord => "upper words of products, sums and addresses: zero below 4 GiB",
            Self::Mask => "EXEC and other masks of lanes: the same where the lanes of a wave go one way",
            Self::Refinement => {
                "steps of quotients, roots and series: as good without them but for extreme values"
            }
            Self::Modifier => "signs and clamps of values that are within them",
            Self::Register => "another register that holds the same in all cases",
            Self::Constant => "bits of constants that the values of all cases do not reach",
            Self::Operation => "another operation that is the same for the values of all cases",
            Self::Needless => "an instruction without which the values of all cases are the same",
        }
    }

    /// The class of a fault in the kernel `code`.
    pub fn of(code: &[Inst], fault: &Fault) -> Self {
        let inst = &code[fault.index];
        if is_in_division(code, fault.index) {
            return Self::Division;
        }
        let name = inst.op.mnemonic();
        let scalar = matches!(inst.format, Format::Sop1 | Format::Sop2);
        if is_upper(inst) {
            return Self::UpperWord;
        }
        if fault.kind == Kind::ExecKept || scalar && name.ends_with("_b64") || writes_mask(inst) {
            return Self::Mask;
        }
        let float = [
            "v_div_",
            "v_fma_f",
            "v_max_f",
            "v_rcp_f",
            "v_sqrt",
            "v_rsq",
            "v_ldexp",
            "v_frexp",
            "v_mul_f64",
            "v_add_f64",
        ];
        if float.iter().any(|float| name.starts_with(float)) {
            return Self::Refinement;
        }
        match fault.kind {
            Kind::Modifier | Kind::Swapped | Kind::Rounding => Self::Modifier,
            Kind::Register => Self::Register,
            Kind::Immediate => Self::Constant,
            Kind::Operation => Self::Operation,
            Kind::Dropped | Kind::Unordered | Kind::ExecKept => Self::Needless,
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Whether an instruction gives the upper word of something.
fn is_upper(inst: &Inst) -> bool {
    matches!(
        inst.op,
        Op::s_mul_hi_u32
            | Op::s_mul_hi_i32
            | Op::v_mul_hi_u32
            | Op::v_mul_hi_i32
            | Op::s_addc_u32
            | Op::s_subb_u32
            | Op::v_addc_co_u32
            | Op::v_subb_co_u32
            | Op::v_mad_u64_u32
            | Op::v_lshl_add_u64
            | Op::s_ashr_i32
            | Op::v_ashrrev_i32
    )
}

/// Whether a compare or a carry leaves a mask.
fn writes_mask(inst: &Inst) -> bool {
    inst.format == Format::Vopc
}

/// Instructions before and behind a reciprocal that make a quotient of it.
const DIVISION: (usize, usize) = (4, 28);

/// Whether an instruction is a step of an integer division: near the reciprocal of an integer, and computing with integers.
fn is_in_division(code: &[Inst], index: usize) -> bool {
    let near = index.saturating_sub(DIVISION.1)..(index + DIVISION.0).min(code.len());
    let reciprocal = code[near].iter().any(|inst| inst.op == Op::v_rcp_iflag_f32);
    let name = code[index].op.mnemonic();
    let parts = [
        "sub",
        "add",
        "mul_lo",
        "mul_hi",
        "mul_i32",
        "cselect",
        "cndmask",
        "cmp_ge_u32",
        "cmp_le_u32",
        "cvt",
        "mul_f32",
        "rcp",
    ];
    reciprocal
        && parts.iter().any(|part| name.contains(part))
        && Facts::of(&code[index]).reads != RegisterSet::EMPTY
        || reciprocal && code[index].op == Op::v_rcp_iflag_f32
}

#[cfg(test)]
mod tests {
    use softhip::isa::decode;

    use super::*;

    /// The class of a change of the first instruction, with those behind it.
    fn class(kind: Kind, code: &[&[u32]]) -> Class {
        let code: Vec<Inst> = code.iter().map(|words| decode(words, 0).unwrap()).collect();
        Class::of(&code, &Fault { kind, index: 0, words: Vec::new(), now: None })
    }

    #[test]
    fn survivors_are_sorted_by_what_their_instruction_is_for() {
        // v_mov_b32 v1, v2; s_mul_hi_u32 s1, s2, s3; s_or_b64 exec, exec, s[0:1]; v_max_f32 v1, v1, v1
        let (copy, high, widen, quiet) = ([0x7e02_0302], [0x9601_0302], [0x87fe_007e], [0x1602_0301]);
        assert_eq!(decode(&high, 0).unwrap().op, Op::s_mul_hi_u32);
        assert_eq!(class(Kind::Register, &[&copy]), Class::Register);
        assert_eq!(class(Kind::Dropped, &[&copy]), Class::Needless);
        assert_eq!(class(Kind::Operation, &[&high]), Class::UpperWord);
        assert_eq!(class(Kind::ExecKept, &[&widen]), Class::Mask);
        assert_eq!(class(Kind::Operation, &[&quiet]), Class::Refinement);
        // v_mul_f32 v1, 0x4f7ffffe, v1 in front of v_rcp_iflag_f32 v1, v1 belongs to a division, alone it does not.
        let (scale, reciprocal) = ([0x0a02_02ff, 0x4f7f_fffe], [0x7e02_4701]);
        assert_eq!(decode(&reciprocal, 0).unwrap().op, Op::v_rcp_iflag_f32);
        assert_eq!(class(Kind::Immediate, &[&scale, &reciprocal]), Class::Division);
        assert_eq!(class(Kind::Immediate, &[&scale]), Class::Constant);
    }
}
