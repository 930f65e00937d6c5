//! What is wrong with a log.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::line::{Check, End, Line, Moment, Start, Trace, lines};

/// What a finding is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rule {
    /// A line that begins as one of the log and cannot be read.
    Malformed,
    /// A start without an end, or an end without a start.
    Unpaired,
    /// Numbers of copies are missing.
    Gap,
    /// A number was used twice.
    Repeated,
    /// Time runs backwards.
    Time,
    /// Start and end of a copy do not say the same.
    Mismatch,
    /// The copy failed.
    Failed,
    /// The copy leaves its allocation.
    Extent,
    /// A size, or a layer, that the model cannot have.
    Size,
}

impl Rule {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Rule::Malformed => "malformed",
            Rule::Unpaired => "unpaired",
            Rule::Gap => "gap",
            Rule::Repeated => "repeated",
            Rule::Time => "time",
            Rule::Mismatch => "mismatch",
            Rule::Failed => "failed",
            Rule::Extent => "extent",
            Rule::Size => "size",
        }
    }
}

/// Something that is wrong with a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The number of the line; the first is 1.
    pub line: usize,
    /// What it is about.
    pub rule: Rule,
    /// What is wrong, with the numbers.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}: {}", self.line, self.rule.name(), self.what)
    }
}

/// What came of reading a log.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Linted {
    /// Lines and blocks that belong to the log. With none, the log says nothing.
    pub lines: usize,
    /// Copies that were started.
    pub started: Vec<Start>,
    /// Copies whose start and end are both there.
    pub pairs: usize,
    /// What is wrong, in the order of the lines.
    pub findings: Vec<Finding>,
}

/// Why a model cannot have a copy; `None` where it can, or where nothing is known about it.
pub type Sizes<'a> = &'a dyn Fn(&Start) -> Option<String>;

/// What the text of a safe copy says when the copy, or the wait before it, did not end well. Quotes are around it in source code, which a
/// report may show.
const FAILED_WORD: &str = "failed";

/// Reads a log and checks it. Lines of other kinds are passed over.
pub fn lint(text: &str, sizes: Option<Sizes<'_>>) -> Linted {
    let mut state = State { sizes, ..State::default() };
    for (at, line) in lines(text) {
        state.linted.lines += 1;
        match line {
            Err(why) => state.find(at, Rule::Malformed, why.to_string()),
            Ok(Line::Start(start)) => state.start(at, start),
            Ok(Line::End(end)) => state.end(at, &end),
            Ok(Line::Check(check)) => state.check(at, &check),
            Ok(Line::Trace(trace)) => state.trace(at, trace),
            Ok(Line::Safe(text)) if text.contains(FAILED_WORD) && !text.contains('"') => {
                state.find(at, Rule::Failed, text);
            }
            Ok(Line::Safe(_)) => {}
        }
    }
    state.finish()
}

#[derive(Default)]
struct State<'a> {
    linted: Linted,
    sizes: Option<Sizes<'a>>,
    /// Starts that wait for their end, with their lines.
    open: BTreeMap<u64, (usize, Start)>,
    seen: BTreeSet<u64>,
    next_id: u64,
    /// Time and line of the last line that has one.
    last: Option<(u64, usize)>,
    /// Trace blocks that wait for the one after the copy.
    traced: Vec<(usize, Trace)>,
}

impl State<'_> {
    fn find(&mut self, line: usize, rule: Rule, what: String) {
        self.linted.findings.push(Finding { line, rule, what });
    }

    /// Time never runs backwards from line to line.
    fn time(&mut self, line: usize, ts: u64) {
        if let Some((before, at)) = self.last.filter(|(before, _)| ts < *before) {
            let back = seconds(before - ts);
            self.find(line, Rule::Time, format!("{back} s before line {at}"));
        }
        self.last = Some((ts, line));
    }

    fn start(&mut self, line: usize, start: Start) {
        self.time(line, start.ts);
        let id = start.op_id;
        if !self.seen.insert(id) {
            self.find(line, Rule::Repeated, format!("op_id {id} was used before"));
        } else if id > self.next_id {
            let missing = match id - self.next_id {
                1 => format!("op_id {} is missing", self.next_id),
                n => format!("{n} copies are missing, op_id {} to {}", self.next_id, id - 1),
            };
            self.find(line, Rule::Gap, missing);
        } else if id < self.next_id {
            self.find(line, Rule::Gap, format!("op_id {id} comes after {}", self.next_id - 1));
        }
        self.next_id = self.next_id.max(id.saturating_add(1));
        if start.bytes == 0 {
            self.find(line, Rule::Size, format!("op_id {id} copies 0 bytes of {}", start.tensor));
        } else if let Some(why) = self.sizes.and_then(|sizes| sizes(&start)) {
            self.find(line, Rule::Size, format!("op_id {id}: {why}"));
        }
        self.linted.started.push(start.clone());
        if let Some((at, start)) = self.open.insert(id, (line, start)) {
            self.find(at, Rule::Unpaired, format!("op_id {} has no end", start.op_id));
        }
    }

    fn end(&mut self, line: usize, end: &End) {
        self.time(line, end.ts);
        let id = end.op_id;
        let Some((at, start)) = self.open.remove(&id) else {
            self.find(line, Rule::Unpaired, format!("op_id {id} ends without a start"));
            return;
        };
        self.linted.pairs += 1;
        if start.tensor != end.tensor {
            let what = format!("op_id {id}: tensor {} at line {at}, {} here", start.tensor, end.tensor);
            self.find(line, Rule::Mismatch, what);
        }
        if start.stream != end.stream {
            let what = format!("op_id {id}: stream {:#x} at line {at}, {:#x} here", start.stream, end.stream);
            self.find(line, Rule::Mismatch, what);
        }
        if end.result != "hipSuccess" {
            self.find(line, Rule::Failed, format!("op_id {id}, {}: {}", end.tensor, end.result));
        }
    }

    fn check(&mut self, line: usize, check: &Check) {
        let Check { tensor, offset, size, alloc } = check;
        if offset.checked_add(*size).is_none_or(|end| end > *alloc) {
            let what = format!("{tensor}: {size} bytes from byte {offset} of an allocation of {alloc}");
            self.find(line, Rule::Extent, what);
        }
    }

    fn trace(&mut self, line: usize, trace: Trace) {
        if trace.moment == Moment::Before {
            self.traced.push((line, trace));
            return;
        }
        let before = self.traced.iter().rposition(|(_, before)| before.tensor == trace.tensor);
        match before.map(|at| self.traced.remove(at)) {
            None => {
                self.find(line, Rule::Unpaired, format!("{}: nothing was traced before it", trace.tensor));
            }
            Some((at, before)) if before.bytes != trace.bytes => {
                let what =
                    format!("{}: {} bytes at line {at}, {} here", trace.tensor, before.bytes, trace.bytes);
                self.find(line, Rule::Mismatch, what);
            }
            Some(_) => {}
        }
        if let Some(error) = trace.error {
            self.find(line, Rule::Failed, format!("{}: {error}", trace.tensor));
        }
    }

    fn finish(mut self) -> Linted {
        for (id, (line, start)) in std::mem::take(&mut self.open) {
            self.find(line, Rule::Unpaired, format!("op_id {id}, {}, has no end", start.tensor));
        }
        for (line, trace) in std::mem::take(&mut self.traced) {
            self.find(line, Rule::Unpaired, format!("{}: nothing was traced after it", trace.tensor));
        }
        self.linted.findings.sort_by_key(|finding| finding.line);
        self.linted
    }
}

/// Nanoseconds as seconds.
fn seconds(nanoseconds: u64) -> String {
    format!("{}.{:06}", nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000 / 1000)
}
