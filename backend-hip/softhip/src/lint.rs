//! Missing waits and hazards of a code object, found without running it.

use std::ops::Range;

use code_object::CodeObject;

use crate::isa::{self, Inst};
use crate::memory::Site;
use crate::report::{CodePlace, Early, HazardFault, Problem, Report, WaitFault};
use crate::waits::{self, Finding, Kind, Unit};

pub use crate::waits::Certainty;

/// A kernel or function of a code object.
#[derive(Debug, Clone)]
pub struct Function<'o> {
    /// Its symbol.
    pub name: &'o str,
    /// Addresses of its code.
    pub code: Range<u64>,
    /// Addresses at which a wave can begin.
    entries: Vec<u64>,
}

/// What was found in a function.
#[derive(Debug, Clone)]
pub struct Linted {
    /// Instructions looked at.
    pub instructions: usize,
    /// Findings, by the address of the instruction that comes too early.
    pub found: Vec<Found>,
}

/// A finding.
#[derive(Debug, Clone)]
pub struct Found {
    /// What is wrong.
    pub report: Report,
    /// How sure it is. Only what is [`Certain`](Certainty::Certain) is an error.
    pub certainty: Certainty,
}

/// The kernels of an object in the order of its metadata, then the other functions by address.
pub fn functions(object: &CodeObject) -> Vec<Function<'_>> {
    let kernels = object.kernels().iter().map(|kernel| {
        // Firmware that preloads arguments skips the code that loads them otherwise.
        let preloads = kernel.descriptor.kernarg_preload & 127 != 0;
        let entries = if preloads { vec![kernel.entry, kernel.entry + 256] } else { vec![kernel.entry] };
        Function { name: &kernel.name, code: kernel.code.clone(), entries }
    });
    let others = object.functions().iter().filter(|function| object.kernel(&function.name).is_none());
    let others = others.map(|function| Function {
        name: &function.name,
        code: function.code.clone(),
        entries: vec![function.code.start],
    });
    kernels.chain(others).collect()
}

/// Looks at all ways through a function. What happens in functions that it calls is not known, and not reported.
pub fn lint(object: &CodeObject, function: &Function<'_>) -> Linted {
    let words = object.words(function.code.clone()).unwrap_or_default();
    let code: Vec<Unit> =
        isa::disassemble(&words, function.code.start).filter_map(Result::ok).map(Unit::new).collect();
    let entry = |address: &u64| code.binary_search_by_key(address, |unit| unit.inst.pc).ok();
    let entries: Vec<u32> =
        function.entries.iter().filter_map(entry).filter_map(|index| u32::try_from(index).ok()).collect();
    let mut findings = waits::findings(&code, &entries);
    findings.sort_by_key(|finding| (finding.second, finding.first));
    let place = |inst: &Inst| place(object, function.name, function.code.start, inst);
    let found = findings
        .iter()
        .map(|finding| Found { report: report(finding, &code, place), certainty: finding.certainty });
    Linted { instructions: code.len(), found: found.collect() }
}

fn place(object: &CodeObject, name: &str, start: u64, inst: &Inst) -> CodePlace {
    CodePlace {
        kernel: name.to_owned(),
        offset: inst.pc.wrapping_sub(start),
        instruction: inst.to_string(),
        source: object.location(inst.pc).map(|at| Site::new(at.file.to_owned(), at.line)),
    }
}

fn report(finding: &Finding, code: &[Unit], place: impl Fn(&Inst) -> CodePlace) -> Report {
    let inst = |index: u32| &code[index as usize].inst;
    let problem = problem(finding, place(inst(finding.first)));
    Report::new(problem).at(place(inst(finding.second)))
}

/// A finding about an instruction that comes too early after the one at `first`.
pub(crate) fn problem(finding: &Finding, first: CodePlace) -> Problem {
    let register = finding.register.map(|register| register.to_string());
    match finding.kind {
        Kind::Unwaited { overwritten, wait } => {
            let early = if overwritten { Early::Write } else { Early::Read };
            let fault = WaitFault { early, first, register, wait: wait.to_string() };
            Problem::MissingWait { fault: Box::new(fault) }
        }
        Kind::Barrier { wait } => Problem::MissingWait {
            fault: Box::new(WaitFault { early: Early::Barrier, first, register, wait: wait.to_string() }),
        },
        Kind::ReadOfLds { wait } => Problem::MissingWait {
            fault: Box::new(WaitFault { early: Early::ReadOfLds, first, register, wait: wait.to_string() }),
        },
        Kind::Hazard { rule, needed, had } => Problem::Hazard {
            fault: Box::new(HazardFault {
                first,
                rule: rule.name.to_owned(),
                source: rule.source.to_owned(),
                register,
                needed,
                had,
            }),
        },
    }
}
