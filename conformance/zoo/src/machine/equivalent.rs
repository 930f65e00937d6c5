//! Faults that change nothing, each by an argument.

use code_object::CodeObject;
use softhip::isa::{Format, Inst, Op};
use softhip::lint;
use softhip::trace::Traced;
use softhip::waits::{Facts, RegisterSet};

use super::fault::{Fault, Kind};

/// Why a fault cannot be seen, whatever the input.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Argument {
    /// The branch jumps over instructions that do nothing while EXEC is zero: it saves time.
    SkipsNothing,
    /// The rules of the instruction set need no wait there: without it nothing new is found on any way through the kernel.
    NeedlessWait,
    /// What it writes is read on no way from there.
    DeadResult,
}

impl Argument {
    /// In a sentence.
    pub fn text(self) -> &'static str {
        match self {
            Argument::SkipsNothing => "a branch over instructions that do nothing while EXEC is zero",
            Argument::NeedlessWait => "a wait that no rule of the instruction set needs there",
            Argument::DeadResult => "a result that is read on no way from there",
        }
    }
}

/// The argument by which a fault of a kernel changes nothing, if there is one. `object` is the one with the fault.
pub fn argument(traced: &Traced, fault: &Fault, object: &CodeObject) -> Option<Argument> {
    let inst = traced.code().get(fault.index)?;
    match (fault.kind, inst.op) {
        (Kind::Dropped, Op::s_cbranch_execz) if skips_forward(inst) => Some(Argument::SkipsNothing),
        (Kind::Unordered, Op::s_waitcnt) => (findings(object, traced.kernel())
            == findings(traced.object(), traced.kernel()))
        .then_some(Argument::NeedlessWait),
        _ => is_dead(traced, fault.index, fault.now.as_ref()).then_some(Argument::DeadResult),
    }
}

fn skips_forward(inst: &Inst) -> bool {
    inst.branch_target().is_some_and(|target| target > inst.pc)
}

fn findings(object: &CodeObject, kernel: &str) -> usize {
    let functions = lint::functions(object);
    let function = functions.iter().find(|function| function.name == kernel);
    function.map_or(0, |function| lint::lint(object, function).found.len())
}

/// Whether no way from an instruction leads to a read of what it writes, before and after the change. Only vector operations: those
/// change no condition code. That later writes may overwrite all lanes is not used.
fn is_dead(traced: &Traced, index: usize, now: Option<&Inst>) -> bool {
    let code = traced.code();
    let inst = &code[index];
    if !is_vector_arithmetic(inst.format) {
        return false;
    }
    let mut written = Facts::of(inst).writes;
    if let Some(now) = now {
        written = written.or(&Facts::of(now).writes);
    }
    if written.is_empty() {
        return false;
    }
    !is_read(code, index, &written)
}

fn is_vector_arithmetic(format: Format) -> bool {
    matches!(format, Format::Vop1 | Format::Vop2 | Format::Vop3 | Format::Vop3p | Format::Mai)
}

/// Whether a wave that has executed `index` can come to a read of one of `registers`.
fn is_read(code: &[Inst], index: usize, registers: &RegisterSet) -> bool {
    let mut seen = vec![false; code.len()];
    let mut waiting = next(code, index);
    while let Some(at) = waiting.pop() {
        if std::mem::replace(&mut seen[at], true) {
            continue;
        }
        if Facts::of(&code[at]).reads.meets(registers) {
            return true;
        }
        waiting.extend(next(code, at));
    }
    false
}

/// Where a wave goes on after `index`.
fn next(code: &[Inst], index: usize) -> Vec<usize> {
    let inst = &code[index];
    let find = |pc: u64| code.binary_search_by_key(&pc, |inst| inst.pc).ok();
    let falls = !matches!(inst.op, Op::s_branch | Op::s_endpgm | Op::s_endpgm_saved);
    let through = falls.then(|| find(inst.next_pc())).flatten();
    through.into_iter().chain(inst.branch_target().and_then(find)).collect()
}
