//! Reads of registers that nothing has written.

use std::collections::BTreeSet;

use super::{indexes_registers, successors};
use crate::isa::Inst;
use crate::waits::{Facts, Register, RegisterSet};

/// The first instruction of `code` that reads a register which no way to it writes, and which is not among those that a wave begins with.
/// What stands in such a register is left over from another wave.
///
/// Nothing is said where a register is written on one way and not on another: that is the case of variables that are set in a branch.
pub fn reads_unwritten(code: &[Inst], begins_with: &RegisterSet) -> Option<(usize, Register)> {
    if indexes_registers(code) || code.is_empty() {
        return None;
    }
    let facts: Vec<Facts> = code.iter().map(Facts::of).collect();
    let mut written: Vec<Option<RegisterSet>> = vec![None; code.len()];
    written[0] = Some(*begins_with);
    let mut waiting = BTreeSet::from([0]);
    while let Some(at) = waiting.pop_first() {
        let after = written[at].unwrap_or_default().or(&facts[at].writes);
        for to in successors(code, at)? {
            let merged = written[to].map_or(after, |known| known.or(&after));
            if written[to] != Some(merged) {
                written[to] = Some(merged);
                waiting.insert(to);
            }
        }
    }
    let missing = |(at, known): (usize, &Option<RegisterSet>)| {
        let unwritten = facts[at].reads.without(known.as_ref()?);
        unwritten.iter().next().map(|register| (at, register))
    };
    written.iter().enumerate().find_map(missing)
}
