//! Registers that are used before their load has landed, and missing wait states, while a wave runs.
//!
//! All ways through a program are looked at before it runs: where nothing can be wrong on any of them, nothing is
//! checked on the way that a wave takes. Otherwise each wave keeps a [`State`](crate::waits::State).

use super::core::cx::{Cx, Step};
use super::core::trap::Trap;
use super::core::uop::Uop;
use super::reach::goes_anywhere;
use super::resolve::is_vector;
use crate::isa::Inst;
use crate::lint;
use crate::report::CodePlace;
use crate::waits::{self, Certainty, Finding, Unit};

/// The instructions of a program, if waves that run it have to be watched.
pub(super) fn watched(code: Vec<Inst>, entries: &[u32]) -> Option<Box<[Unit]>> {
    let anywhere = code.iter().any(|inst| goes_anywhere(inst.op));
    let code: Box<[Unit]> = code.into_iter().map(Unit::new).collect();
    let suspect = |finding: &Finding| finding.certainty != Certainty::Tolerated;
    (anywhere || waits::findings(&code, entries).iter().any(suspect)).then_some(code)
}

/// Refuses an instruction that comes too early.
pub(super) fn gate(c: &mut Cx<'_>, u: &Uop, code: &[Unit]) -> Step {
    if c.wave.vskip && is_vector(u.inst.format) {
        return Step::Next;
    }
    let mut found = None;
    c.wave.waits.step(code, c.wave.pc - 1, |finding| {
        if finding.certainty == Certainty::Certain {
            found.get_or_insert(finding);
        }
    });
    let Some(finding) = found else { return Step::Next };
    // Whoever reports it knows the kernel and its source.
    let first = &code[finding.first as usize].inst;
    let place =
        CodePlace { kernel: String::new(), offset: first.pc, instruction: first.to_string(), source: None };
    c.fault(Trap::new(lint::problem(&finding, place)))
}
