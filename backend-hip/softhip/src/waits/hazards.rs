//! Hazards that the hardware does not resolve: instructions that must be some wait states apart.
//!
//! [`RULES`] is a table. Each rule names the section of the CDNA3 instruction set manual that has it
//! ("Manually Inserted Wait States", table "Required Software-inserted Wait States", and "Dependency Resolution: Required
//! Independent Instructions" for matrix products) or the part of LLVM's hazard recognizer that keeps to it.

use super::facts::{Class, Facts, destination, source};
use super::registers::RegisterSet;
use crate::isa::inst::scalar;
use crate::isa::{Inst, Operand};

/// A rule: `second` may follow `first` only after some wait states.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The two instructions in words.
    pub name: &'static str,
    /// Where the rule stands.
    pub source: &'static str,
    first: Class,
    second: Class,
    link: Link,
    states: States,
    tolerated: States,
}

/// What the two instructions have in common.
#[derive(Clone, Copy, Debug)]
enum Link {
    /// Nothing.
    Always,
    /// The second reads a scalar register that the first writes.
    Scalar,
    /// The second has a scalar register that the first writes as its lane number.
    LaneSelect,
    /// The first writes VCC.
    Vcc,
    /// The first writes VCC or EXEC.
    VccOrExec,
    /// The first writes EXEC.
    Exec,
    /// The first writes M0.
    M0,
    /// Both name the same hardware register.
    HardwareRegister,
    /// The second reads a vector register that the first writes.
    Read,
    /// As `Read`, for the first source.
    FirstSource,
    /// The second writes a vector register that the first writes.
    Write,
    /// As `Write`, for operations that differ.
    WriteByOther,
    /// As `Read`, for operations that differ.
    ReadByOther,
    /// As `Read`, for the factors of the same operation.
    FactorOfSame,
    /// The second writes a vector register that the first stores.
    StoredData,
    /// The second has what the first writes as a factor.
    Factor,
    /// The second has exactly what the first writes as its addend.
    Addend,
    /// The second has a part of what the first writes in its addend.
    PartOfAddend,
    /// The second writes what the first has as its addend.
    WriteOfAddend,
}

/// Wait states that a rule asks for.
#[derive(Clone, Copy, Debug)]
enum States {
    Exactly(u8),
    /// The passes of the first instruction and so many more.
    Passes(i8),
    /// As `Exactly`, for a first instruction of two passes.
    IfTwoPasses(u8),
    /// Half of the passes of the first instruction.
    HalfOfPasses,
    /// As many as the manual asks for.
    All,
}

impl States {
    fn of(self, first: &Facts) -> u8 {
        match self {
            Self::Exactly(states) => states,
            Self::Passes(more) => first.passes.saturating_add_signed(more),
            Self::IfTwoPasses(states) if first.passes == 2 => states,
            Self::IfTwoPasses(_) => 0,
            Self::HalfOfPasses => first.passes / 2,
            Self::All => u8::MAX,
        }
    }
}

const WAIT_STATES: &str = "CDNA3 ISA, Required Software-inserted Wait States";
const MATRIX: &str = "CDNA3 ISA, Dependency Resolution: Required Independent Instructions";

const fn rule(
    name: &'static str,
    first: Class,
    link: Link,
    second: Class,
    states: States,
    source: &'static str,
) -> Rule {
    Rule { name, source, first, second, link, states, tolerated: States::All }
}

impl Rule {
    /// Kernels that are known to work do with so many wait states.
    const fn tolerated(self, tolerated: States) -> Self {
        Self { tolerated, ..self }
    }
}

/// All rules for gfx942.
pub static RULES: &[Rule] = &{
    use States::{Exactly, HalfOfPasses, IfTwoPasses, Passes};
    [
        rule(
            "VALU writes an SGPR, vector memory reads it",
            Class::VALU,
            Link::Scalar,
            Class::VMEM,
            Exactly(5),
            WAIT_STATES,
        ),
        rule(
            "VALU writes an SGPR, v_readlane or v_writelane has it as lane number",
            Class::VALU,
            Link::LaneSelect,
            Class::ANY_LANE,
            Exactly(4),
            WAIT_STATES,
        ),
        rule(
            "VALU writes VCC, v_div_fmas reads it",
            Class::VALU,
            Link::Vcc,
            Class::DIV_FMAS,
            Exactly(4),
            WAIT_STATES,
        ),
        rule(
            "VALU writes VCC or EXEC, VALU reads VCCZ or EXECZ",
            Class::VALU,
            Link::VccOrExec,
            Class::READS_ZERO_FLAG,
            Exactly(5),
            WAIT_STATES,
        ),
        rule("VALU writes EXEC, DPP follows", Class::VALU, Link::Exec, Class::DPP, Exactly(5), WAIT_STATES),
        rule(
            "VALU writes a VGPR, DPP takes it from other lanes",
            Class::VALU,
            Link::FirstSource,
            Class::DPP,
            Exactly(2),
            WAIT_STATES,
        )
        .tolerated(Exactly(0)),
        rule(
            "VALU writes an SGPR, VALU reads it",
            Class::VALU,
            Link::Scalar,
            Class::VALU,
            Exactly(2),
            WAIT_STATES,
        )
        .tolerated(Exactly(0)),
        rule(
            "VALU writes a VGPR, v_readlane reads it",
            Class::VALU,
            Link::FirstSource,
            Class::READ_LANE,
            Exactly(1),
            WAIT_STATES,
        ),
        rule(
            "VALU writes EXEC, v_readlane, v_readfirstlane or v_writelane follows",
            Class::VALU,
            Link::Exec,
            Class::ANY_LANE,
            Exactly(4),
            WAIT_STATES,
        ),
        rule(
            "a transcendental result is read by another VALU instruction",
            Class::TRANS,
            Link::Read,
            Class::NOT_TRANS,
            Exactly(1),
            WAIT_STATES,
        ),
        rule(
            "a result moved by op_sel or SDWA is read by VALU",
            Class::SHIFTED_RESULT,
            Link::Read,
            Class::VALU,
            Exactly(1),
            WAIT_STATES,
        ),
        rule(
            "a store of more than 64 bits, VALU overwrites its data",
            Class::WIDE_STORE,
            Link::StoredData,
            Class::VALU,
            Exactly(2),
            WAIT_STATES,
        ),
        rule(
            "SALU writes M0, LDS-DMA, add-TID, s_movrel or s_sendmsg reads it",
            Class::SALU,
            Link::M0,
            Class::READS_M0,
            Exactly(1),
            WAIT_STATES,
        ),
        rule(
            "s_setreg, s_getreg of the same register",
            Class::SET_REGISTER,
            Link::HardwareRegister,
            Class::GET_REGISTER,
            Exactly(2),
            WAIT_STATES,
        ),
        rule(
            "s_setreg, s_setreg of the same register",
            Class::SET_REGISTER,
            Link::HardwareRegister,
            Class::SET_REGISTER,
            Exactly(2),
            "LLVM, GCNHazardRecognizer::checkSetRegHazards",
        ),
        rule(
            "a dot product's result is a factor of the same operation",
            Class::DOT,
            Link::FactorOfSame,
            Class::DOT,
            Exactly(3),
            MATRIX,
        ),
        rule(
            "a dot product's result is read by another operation",
            Class::DOT,
            Link::ReadByOther,
            Class::VECTOR,
            Exactly(3),
            MATRIX,
        ),
        rule(
            "a dot product's result is overwritten by another operation",
            Class::DOT,
            Link::WriteByOther,
            Class::VECTOR,
            Exactly(3),
            MATRIX,
        ),
        rule("VALU writes EXEC, MFMA follows", Class::VALU, Link::Exec, Class::MATRIX, Exactly(4), MATRIX),
        rule(
            "VALU writes a VGPR, MFMA reads it",
            Class::NOT_DOT,
            Link::Read,
            Class::MATRIX,
            Exactly(2),
            MATRIX,
        ),
        rule(
            "f64 MFMA, f64 FMA follows",
            Class::DGEMM,
            Link::Always,
            Class::FMA_F64,
            Exactly(2),
            "LLVM, GCNHazardRecognizer::checkMAIVALUHazards",
        ),
        // The result as addend of the next product.
        rule(
            "MFMA of 2 passes, its result is the addend of an MFMA",
            Class::MATRIX,
            Link::Addend,
            Class::MATRIX,
            IfTwoPasses(2),
            MATRIX,
        ),
        rule(
            "f64 4x4 MFMA, its result is the addend of another",
            Class::DGEMM_4,
            Link::Addend,
            Class::DGEMM_4,
            Exactly(4),
            MATRIX,
        ),
        rule(
            "XDL MFMA, a part of its result is in the addend of an MFMA",
            Class::XDL,
            Link::PartOfAddend,
            Class::MATRIX,
            Passes(1),
            MATRIX,
        ),
        rule(
            "f32 MFMA, a part of its result is in the addend of an MFMA",
            Class::SGEMM,
            Link::PartOfAddend,
            Class::NOT_XDL,
            Passes(0),
            MATRIX,
        ),
        rule(
            "f64 4x4 MFMA, a part of its result is in the addend of an MFMA",
            Class::DGEMM_4,
            Link::PartOfAddend,
            Class::NOT_XDL,
            Exactly(4),
            MATRIX,
        ),
        rule(
            "f64 16x16 MFMA, a part of its result is in the addend of an MFMA",
            Class::DGEMM_16,
            Link::PartOfAddend,
            Class::NOT_XDL,
            Exactly(9),
            MATRIX,
        ),
        // The result as a factor of the next product.
        rule(
            "XDL MFMA, its result is a factor of an MFMA",
            Class::XDL,
            Link::Factor,
            Class::MATRIX,
            Passes(3),
            MATRIX,
        ),
        rule(
            "f32 MFMA, its result is a factor of an MFMA",
            Class::SGEMM,
            Link::Factor,
            Class::MATRIX,
            Passes(2),
            MATRIX,
        ),
        rule(
            "f64 4x4 MFMA, its result is a factor of an MFMA",
            Class::DGEMM_4,
            Link::Factor,
            Class::MATRIX,
            Exactly(6),
            MATRIX,
        ),
        rule(
            "f64 16x16 MFMA, its result is a factor of an MFMA",
            Class::DGEMM_16,
            Link::Factor,
            Class::MATRIX,
            Exactly(11),
            MATRIX,
        ),
        // The result in other instructions.
        rule(
            "XDL MFMA, its result is read by VALU, vector memory or LDS",
            Class::XDL,
            Link::Read,
            Class::VECTOR,
            Passes(3),
            MATRIX,
        )
        .tolerated(HalfOfPasses),
        rule(
            "f32 MFMA, its result is read by VALU, vector memory or LDS",
            Class::SGEMM,
            Link::Read,
            Class::VECTOR,
            Passes(2),
            MATRIX,
        ),
        rule(
            "f64 4x4 MFMA, its result is read by VALU",
            Class::DGEMM_4,
            Link::Read,
            Class::VALU,
            Exactly(6),
            MATRIX,
        ),
        rule(
            "f64 4x4 MFMA, its result is read by vector memory or LDS",
            Class::DGEMM_4,
            Link::Read,
            Class::MEMORY,
            Exactly(9),
            MATRIX,
        ),
        rule(
            "f64 16x16 MFMA, its result is read by VALU",
            Class::DGEMM_16,
            Link::Read,
            Class::VALU,
            Exactly(11),
            MATRIX,
        ),
        rule(
            "f64 16x16 MFMA, its result is read by vector memory or LDS",
            Class::DGEMM_16,
            Link::Read,
            Class::MEMORY,
            Exactly(18),
            MATRIX,
        ),
        rule(
            "XDL MFMA, its result is overwritten",
            Class::XDL,
            Link::Write,
            Class::VECTOR,
            Passes(3),
            MATRIX,
        )
        .tolerated(HalfOfPasses),
        rule(
            "f32 MFMA, its result is overwritten",
            Class::SGEMM,
            Link::Write,
            Class::VECTOR,
            Passes(2),
            MATRIX,
        ),
        rule(
            "f64 4x4 MFMA, its result is overwritten",
            Class::DGEMM_4,
            Link::Write,
            Class::VECTOR,
            Exactly(6),
            MATRIX,
        ),
        rule(
            "f64 16x16 MFMA, its result is overwritten",
            Class::DGEMM_16,
            Link::Write,
            Class::VECTOR,
            Exactly(11),
            MATRIX,
        ),
        rule(
            "XDL MFMA, its addend is overwritten",
            Class::XDL,
            Link::WriteOfAddend,
            Class::VECTOR,
            Passes(-1),
            MATRIX,
        ),
    ]
};

/// A rule that two instructions break.
#[derive(Clone, Copy, Debug)]
pub struct Broken {
    /// The rule.
    pub rule: &'static Rule,
    /// Wait states that it asks for.
    pub needed: u8,
    /// Kernels that are known to work break it as well.
    pub tolerated: bool,
    /// What the two have in common.
    pub registers: RegisterSet,
}

/// The rule that `second` breaks when it follows `first` after `had` wait states; of several, the strictest.
pub(super) fn broken(
    (first, first_facts): (&Inst, &Facts),
    (second, second_facts): (&Inst, &Facts),
    had: u8,
) -> Option<Broken> {
    RULES
        .iter()
        .filter(|rule| first_facts.class.is(rule.first) && second_facts.class.is(rule.second))
        .filter_map(|rule| {
            let needed = rule.states.of(first_facts);
            if needed <= had {
                return None;
            }
            let registers = rule.link.common((first, first_facts), (second, second_facts))?;
            Some(Broken { rule, needed, tolerated: had >= rule.tolerated.of(first_facts), registers })
        })
        .max_by_key(|broken| (!broken.tolerated, broken.needed))
}

/// The most wait states for which some rule looks back to an instruction.
pub(super) fn life(facts: &Facts) -> u8 {
    let scalar = !facts.writes.scalar().is_empty();
    let vector = !facts.writes.vector().is_empty();
    let concerns = |rule: &&Rule| {
        facts.class.is(rule.first)
            && match rule.link {
                Link::Scalar | Link::LaneSelect | Link::Vcc | Link::VccOrExec | Link::Exec | Link::M0 => {
                    scalar
                }
                Link::Read | Link::FirstSource => vector,
                _ => true,
            }
    };
    RULES.iter().filter(concerns).map(|rule| rule.states.of(facts)).max().unwrap_or(0)
}

impl Link {
    /// What the two have in common; `None` if they have nothing to do with each other.
    fn common(
        self,
        (first, first_facts): (&Inst, &Facts),
        (second, second_facts): (&Inst, &Facts),
    ) -> Option<RegisterSet> {
        let special = |register: u8, count: u8| {
            some(first_facts.writes.and(&RegisterSet::of(Operand::Scalar(register), count)))
        };
        let written = first_facts.writes.vector();
        let same = first.op == second.op;
        match self {
            Self::Always => Some(RegisterSet::EMPTY),
            Self::Scalar => some(first_facts.writes.scalar().and(&second_facts.reads.scalar())),
            Self::LaneSelect => some(first_facts.writes.scalar().and(&source(second, 1))),
            Self::Vcc => special(scalar::VCC, 2),
            Self::Exec => special(scalar::EXEC, 2),
            Self::VccOrExec => special(scalar::VCC, 2).or_else(|| special(scalar::EXEC, 2)),
            Self::M0 => special(scalar::M0, 1),
            Self::HardwareRegister => {
                const NUMBER: u16 = 63;
                (first.imm() & NUMBER == second.imm() & NUMBER).then_some(RegisterSet::EMPTY)
            }
            Self::FirstSource => some(written.and(&source(second, 0))),
            Self::ReadByOther | Self::WriteByOther if same => None,
            Self::Write | Self::WriteByOther => some(written.and(&second_facts.writes)),
            Self::Read | Self::ReadByOther => some(written.and(&second_facts.reads)),
            Self::FactorOfSame if same => some(written.and(&source(second, 0).or(&source(second, 1)))),
            Self::FactorOfSame => None,
            Self::StoredData => some(source(first, 1).and(&second_facts.writes)),
            Self::Factor => some(written.and(&factors(second))),
            Self::Addend => some(written).filter(|written| *written == addend(second)),
            Self::PartOfAddend => some(written.and(&addend(second))).filter(|_| written != addend(second)),
            Self::WriteOfAddend => some(addend(first).and(&second_facts.writes)),
        }
    }
}

fn some(set: RegisterSet) -> Option<RegisterSet> {
    (!set.is_empty()).then_some(set)
}

/// A sparse product adds to its destination, and its third source is an index.
fn is_sparse(inst: &Inst) -> bool {
    use crate::isa::table::{mai::MAI, rule::Mai};
    MAI.iter().any(|row| row.op == inst.op && matches!(row.rule, Mai::Smfmac(_)))
}

fn addend(inst: &Inst) -> RegisterSet {
    if is_sparse(inst) { destination(inst) } else { source(inst, 2) }
}

fn factors(inst: &Inst) -> RegisterSet {
    let factors = source(inst, 0).or(&source(inst, 1));
    if is_sparse(inst) { factors.or(&source(inst, 2)) } else { factors }
}
