//! What is known of each operation: tested, executed, or decoded only.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use super::inst::Format;
use super::op::Op;
use super::table::{self, Ty};

/// How far the device's knowledge of an operation goes; each level includes the ones before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Status {
    /// The decoder knows it; executing it is an error.
    #[default]
    DecodedOnly,
    /// The executor runs it.
    Executed,
    /// A test compares its results with an independent formulation.
    Tested,
}

/// The encodings an operation exists in, the one that lists it first.
pub fn formats(op: Op) -> Vec<Format> {
    let mut formats: Vec<_> = table::listings().filter(|l| l.op == op).map(|l| l.format).collect();
    let (Some(&home), Some(rule)) = (formats.first(), table::vop_rule(op)) else { return formats };
    if matches!(home, Format::Vop1 | Format::Vop2 | Format::Vopc) {
        let types = table::operand_types(op);
        let wide = types.iter().any(|ty| ty.dwords() > 1 && *ty != Ty::MASK);
        let empty = types[0] == Ty::X;
        if rule.vop3 {
            formats.push(Format::Vop3);
        }
        if rule.sdwa && !empty && (!wide || op.is_from_fp8()) {
            formats.push(Format::Sdwa);
        }
        if rule.dpp && !empty && home != Format::Vopc {
            formats.push(Format::Dpp);
        }
    }
    formats
}

/// A status for every operation.
#[derive(Clone, Debug)]
pub struct Coverage {
    status: Vec<Status>,
}

impl Default for Coverage {
    fn default() -> Self {
        Self { status: vec![Status::DecodedOnly; Op::ALL.len()] }
    }
}

impl Coverage {
    /// Every operation decoded only.
    pub fn new() -> Self {
        Self::default()
    }

    /// Raises an operation to a status; it never sinks.
    pub fn note(&mut self, op: Op, status: Status) {
        let known = &mut self.status[op as usize];
        *known = (*known).max(status);
    }

    /// The status of an operation.
    pub fn status(&self, op: Op) -> Status {
        self.status[op as usize]
    }

    /// Every operation with its home encoding, opcode and status.
    pub fn rows(&self) -> impl Iterator<Item = (table::Listing, Status)> {
        table::listings().map(|listing| (listing, self.status(listing.op)))
    }

    /// Operations per home encoding: decoded, of them executed, of them tested.
    pub fn totals(&self) -> BTreeMap<Format, [usize; 3]> {
        let mut totals = BTreeMap::new();
        for (listing, status) in self.rows() {
            let counts: &mut [usize; 3] = totals.entry(listing.format).or_default();
            counts[0] += 1;
            counts[1] += usize::from(status >= Status::Executed);
            counts[2] += usize::from(status == Status::Tested);
        }
        totals
    }
}

impl Display for Coverage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<8} {:>7} {:>8} {:>6}", "encoding", "decoded", "executed", "tested")?;
        let mut sum = [0; 3];
        for (format, counts) in self.totals() {
            let [decoded, executed, tested] = counts;
            writeln!(f, "{:<8} {decoded:>7} {executed:>8} {tested:>6}", format!("{format:?}"))?;
            for (sum, count) in sum.iter_mut().zip(counts) {
                *sum += count;
            }
        }
        writeln!(f, "{:<8} {:>7} {:>8} {:>6}", "all", sum[0], sum[1], sum[2])
    }
}
