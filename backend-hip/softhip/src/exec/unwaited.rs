//! Registers that are used before their load has landed, and missing wait states, while a wave runs.
//!
//! All ways through a program are looked at before it runs: where nothing can be wrong on any of them, nothing is
//! checked on the way that a wave takes. Otherwise each wave keeps a [`State`](crate::waits::State).

use super::access::ds::reads_landing;
use super::core::cx::{Cx, Step};
use super::core::trap::Trap;
use super::core::uop::Uop;
use super::reach::goes_anywhere;
use super::resolve::is_vector;
use crate::isa::{Inst, Op};
use crate::lint;
use crate::report::CodePlace;
use crate::waits::{self, Certainty, Event, Finding, Kind, LdsEffect, Unit, Wait};

/// The instructions of a program, if waves that run it have to be watched.
pub(super) fn watched(code: Vec<Inst>, entries: &[u32]) -> Option<Box<[Unit]>> {
    let anywhere = code.iter().any(|inst| goes_anywhere(inst.op));
    let code: Box<[Unit]> = code.into_iter().map(Unit::new).collect();
    // Which bytes of LDS a load writes is known only when it runs.
    let loads_lds = code.iter().any(|unit| unit.facts.lds == LdsEffect::Dma);
    let suspect = |finding: &Finding| finding.certainty != Certainty::Tolerated;
    (anywhere || loads_lds || waits::findings(&code, entries).iter().any(suspect)).then_some(code)
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
    let Some(finding) = found.or_else(|| early_read_of_lds(c, u, code)) else { return Step::Next };
    // Whoever reports it knows the kernel and its source.
    let first = &code[finding.first as usize].inst;
    let place =
        CodePlace { kernel: String::new(), offset: first.pc, instruction: first.to_string(), source: None };
    c.fault(Trap::new(lint::problem(&finding, place)))
}

/// Counts what the loads to LDS wait for. A finding if the instruction reads what one of them is still to write.
fn early_read_of_lds(c: &mut Cx<'_>, u: &Uop, code: &[Unit]) -> Option<Finding> {
    if c.lds.landings.is_empty() {
        return None;
    }
    let (index, facts) = (c.wave.pc - 1, &code[c.wave.pc as usize - 1].facts);
    let landings = &mut c.lds.landings;
    match facts.event {
        Event::Vector => landings.count(c.wave.id),
        // The end of a wave waits for all that it has under way.
        _ if u.inst.op == Op::s_endpgm => landings.wait(c.wave.id, 0),
        _ => facts.wait.iter().for_each(|wait| landings.wait(c.wave.id, wait.vm)),
    }
    let landing = reads_landing(c, u)?;
    let wait = Wait { vm: landing.after, ..Wait::NONE };
    Some(Finding {
        first: landing.index,
        second: index,
        kind: Kind::ReadOfLds { wait },
        register: None,
        certainty: Certainty::Certain,
    })
}
