//! What `assay sanitize` found: as text in the manner of compute-sanitizer, as JSON, as a page.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use sanitize_protocol::{Failure, Finding, Frame, Message, Messenger, Progress, Stack};
use serde_json::{Value as Json, json};
use softhip::report::Event;

use super::html::{begin, escape};

/// What begins every line of text.
pub const PREFIX: &str = "=========";

/// A run of a program, as its messages tell it.
#[derive(Debug, Default)]
pub struct Sanitized {
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// Findings that a file of suppressions has.
    pub suppressed: Vec<Finding>,
    /// Calls and launches that failed on a GPU.
    pub failures: Vec<Failure>,
    /// Calls that report what a kernel did.
    pub messengers: Vec<Messenger>,
    /// Calls that the library does not have, with how often they were made.
    pub unsupported: BTreeMap<String, u64>,
    /// Kernels that were launched, and whether a launch of theirs was asked for; none unless launches are selected.
    pub kernels: BTreeMap<String, bool>,
    /// Launches.
    pub launches: u64,
    /// Instructions that waves executed.
    pub instructions: u64,
    /// Operations that were queued and that nothing waited for.
    pub never_ran: u64,
    /// Findings of which one of the same kernel, instruction and kind has been told.
    pub repeated: u64,
    /// Allocations that were refused: the call and its answer.
    pub refused: Vec<(String, String)>,
    /// Copies to the host, if they were counted.
    pub copies_to_host: u64,
    begun: BTreeSet<u32>,
    ended: BTreeSet<u32>,
}

impl Sanitized {
    /// Takes a message in; a finding that `suppresses` knows is put aside.
    pub fn add(&mut self, message: Message, suppresses: impl FnOnce(&Finding) -> bool) {
        match message {
            Message::Begun { process } => {
                self.begun.insert(process);
            }
            Message::Finding(finding) if suppresses(&finding) => self.suppressed.push(*finding),
            Message::Finding(finding) => self.findings.push(*finding),
            Message::Failure(failure) => self.failures.push(failure),
            Message::Messenger(messenger) => self.messengers.push(messenger),
            Message::Unsupported { function } => *self.unsupported.entry(function).or_default() += 1,
            Message::Launched { kernel, selected } => *self.kernels.entry(kernel).or_default() |= selected,
            Message::Refused { function, answer, .. } => self.refused.push((function, answer)),
            Message::Ended { process, launches, never_ran, instructions, repeated, copies_to_host } => {
                self.copies_to_host += copies_to_host;
                self.instructions += instructions;
                self.repeated += repeated;
                self.ended.insert(process);
                self.launches += launches;
                self.never_ran += never_ran;
            }
            Message::Progress(_) => {}
        }
    }

    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty() && self.failures.is_empty()
    }

    /// Whether any process has called HIP.
    pub fn has_begun(&self) -> bool {
        !self.begun.is_empty()
    }

    /// Whether every process has ended in order.
    pub fn ended_in_order(&self) -> bool {
        self.begun == self.ended
    }

    /// The last lines: how much was found, what was left out, and what to do next.
    pub fn summary(&self, schedule: &str, on_gpu: bool) -> String {
        let mut lines = Vec::new();
        for (function, times) in &self.unsupported {
            let times = if *times == 1 { String::new() } else { format!(" ({times} times)") };
            lines.push(format!("not supported: {function}{times}; it answered hipErrorNotSupported"));
        }
        if self.never_ran > 0 {
            lines.push(format!(
                "{} operations were queued and never waited for: they did not run",
                self.never_ran
            ));
        }
        if !self.ended_in_order() && !on_gpu {
            lines.push("the program did not end in order: leaks were not looked for".to_owned());
        }
        if self.repeated > 0 {
            lines.push(format!(
                "left out: {} more, of instructions that are named above",
                count(usize::try_from(self.repeated).unwrap_or(usize::MAX), "error")
            ));
        }
        if !self.suppressed.is_empty() {
            lines.push(format!("{} suppressed", count(self.suppressed.len(), "error")));
        }
        let errors = count(self.findings.len() + self.failures.len(), "error");
        lines.push(format!("ERROR SUMMARY: {errors}{}", self.by_tool()));
        let next = if on_gpu { self.next_on_gpu() } else { self.next(schedule) };
        lines.push(format!("next: {next}"));
        lines.iter().fold(String::new(), |text, line| text + PREFIX + " " + line + "\n")
    }

    fn by_tool(&self) -> String {
        let mut tools: BTreeMap<&str, usize> = BTreeMap::new();
        for finding in &self.findings {
            *tools.entry(tool(finding)).or_default() += 1;
        }
        if !self.failures.is_empty() {
            tools.insert("gpu", self.failures.len());
        }
        let parts: Vec<String> = tools.iter().map(|(tool, count)| format!("{tool} {count}")).collect();
        if parts.is_empty() {
            return format!(" in {}", count(usize::try_from(self.launches).unwrap_or(usize::MAX), "launch"));
        }
        format!(" ({})", parts.join(", "))
    }

    fn next(&self, schedule: &str) -> String {
        if self.findings.iter().any(|finding| finding.tool.is_none()) {
            return "the software device cannot run this code, which says nothing about the program"
                .to_owned();
        }
        if self.findings.iter().any(|finding| finding.sticks) {
            return "fix the first error: what comes after it may follow from it".to_owned();
        }
        if !self.findings.is_empty() {
            return "fix the errors, or write them to a file with --write-suppressions".to_owned();
        }
        let others: Vec<&str> =
            ["eager", "deferred", "random"].into_iter().filter(|&other| other != schedule).collect();
        format!("other orders of the same work, --schedule {}", others.join(" and --schedule "))
    }

    fn next_on_gpu(&self) -> String {
        let next = match self.failures.first() {
            None => "without --on gpu, every access is checked on the software device",
            Some(failure) if failure.launch.is_none() && failure.unknown_launches > 0 => {
                "--sync-per-op names the launch that failed, and --save FILE keeps it"
            }
            Some(failure) if failure.capsule.is_none() => {
                "--save FILE keeps the launch for the software device"
            }
            Some(_) => "'assay replay' of the capsule, on any machine",
        };
        next.to_owned()
    }

    /// All of it.
    pub fn json(&self) -> Json {
        json!({
            "device": "softhip gfx942 (checked emulation)",
            "launches": self.launches,
            "selected_kernels": self.kernels,
            "instructions": self.instructions,
            "never_ran": self.never_ran,
            "repeated": self.repeated,
            "ended_in_order": self.ended_in_order(),
            "findings": self.findings,
            "suppressed": self.suppressed,
            "failures": self.failures,
            "messengers": self.messengers,
            "unsupported": self.unsupported,
        })
    }

    /// All of it, as a page.
    pub fn page(&self, program: &str) -> String {
        let mut page = begin("Assay sanitize", "");
        let _ = writeln!(page, "<h1>Assay sanitize: {}</h1>", count(self.findings.len(), "error"));
        let _ = writeln!(
            page,
            "<p><code>{}</code>, {} launches on the software device: checked emulation, not a run on silicon</p>",
            escape(program),
            self.launches
        );
        for finding in &self.findings {
            let (first, rest) = finding.text.split_once('\n').unwrap_or((&finding.text, ""));
            let _ =
                writeln!(page, "<section class=\"failure\">\n<h3>{} ({})</h3>", escape(first), tool(finding));
            let _ = writeln!(page, "<pre>{}</pre>", escape(rest));
            let stacks = stacks(finding);
            if !stacks.is_empty() {
                let _ = writeln!(page, "<pre>{}</pre>", escape(&stacks.join("\n")));
            }
            page.push_str("</section>\n");
        }
        for failure in &self.failures {
            let _ = writeln!(
                page,
                "<section class=\"failure\"><p>{}</p></section>",
                escape(&failure_text(failure))
            );
        }
        for messenger in &self.messengers {
            let _ = writeln!(page, "<p>{}</p>", escape(&messenger_text(messenger)));
        }
        for function in self.unsupported.keys() {
            let _ = writeln!(page, "<p>not supported: <code>{}</code></p>", escape(function));
        }
        page.push_str("</body>\n</html>\n");
        page
    }
}

/// `1 error`, `2 errors`, `1 launch`, `2 launches`.
fn count(n: usize, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        n if what.ends_with("ch") => format!("{n} {what}es"),
        n => format!("{n} {what}s"),
    }
}

/// The name of the tool that a finding is of.
fn tool(finding: &Finding) -> &'static str {
    finding.tool.map_or("unsupported", |tool| tool.name())
}

/// How far a kernel has come, in a line.
pub fn progress_text(progress: &Progress) -> String {
    let Progress { kernel, done, groups, instructions, seconds, .. } = progress;
    let left = match u64::from(groups - done.min(groups)) * seconds / u64::from((*done).max(1)) {
        _ if *done == 0 => String::new(),
        left => format!(", about {left} s left"),
    };
    format!(
        "{kernel} has run for {seconds} s: {done} of {groups} workgroups, {} million instructions{left}",
        instructions / 1_000_000
    )
}

/// A failure on a GPU as text.
pub fn failure_text(failure: &Failure) -> String {
    let Failure { function, answer, frames, kernel, launch, unknown_launches, .. } = failure;
    let place = frames.first().map_or(String::new(), |frame| format!(" in {}", frame_text(frame)));
    match launch {
        Some(number) => {
            let kernel = kernel.as_deref().unwrap_or("an unknown kernel");
            format!("launch {number}, of {kernel}, by {function}{place}: {answer} [gpu]")
        }
        None if *unknown_launches > 0 => format!(
            "{function}{place} answers {answer} [gpu]. It may be only the messenger: {} before it has not been waited for",
            count(usize::try_from(*unknown_launches).unwrap_or(usize::MAX), "launch")
        ),
        None => format!("{function}{place} answers {answer} [gpu]"),
    }
}

/// A finding as text.
pub fn finding_text(finding: &Finding) -> String {
    let mut lines = finding.text.lines();
    let mut text = format!("{PREFIX} {} [{}]\n", lines.next().unwrap_or_default(), tool(finding));
    for line in lines.map(str::to_owned).chain(stacks(finding)) {
        let _ = writeln!(text, "{PREFIX}   {line}");
    }
    text + PREFIX + "\n"
}

/// The host's call stacks. A stack of one frame is part of the report's own text.
fn stacks(finding: &Finding) -> Vec<String> {
    let mut lines = Vec::new();
    let mut shown: Vec<&[Frame]> = Vec::new();
    for Stack { event, frames } in &finding.stacks {
        if frames.len() < 2 || shown.contains(&frames.as_slice()) {
            continue;
        }
        shown.push(frames);
        lines.push(format!("  {}", words(*event)));
        lines.extend(frames.iter().map(|frame| format!("    in {}", frame_text(frame))));
    }
    lines
}

fn words(event: Event) -> &'static str {
    match event {
        Event::Allocated => "the host allocated the memory",
        Event::Freed => "the host freed the memory",
        Event::Launched => "the host launched the kernel",
        Event::Called => "the host made the call",
        Event::Queued => "the host queued the copy",
        Event::First => "the host queued the first operation",
        Event::Second => "the host queued the second operation",
    }
}

fn frame_text(frame: &Frame) -> String {
    let function = frame.function.as_deref().unwrap_or("?");
    match (&frame.file, frame.line) {
        (Some(file), Some(line)) => format!("{function} ({file}:{line})"),
        _ => format!("{function} ({}+{:#x})", frame.module.as_deref().unwrap_or("?"), frame.offset),
    }
}

/// A line about the call that the program may take for the culprit.
pub fn messenger_text(messenger: &Messenger) -> String {
    let Messenger { function, answer, frames, launches_before, .. } = messenger;
    let place = frames.first().map_or_else(String::new, |frame| format!(" in {}", frame_text(frame)));
    let before = match launches_before {
        0 => String::new(),
        n => format!(
            " {} before it answered the same.",
            count(usize::try_from(*n).unwrap_or(usize::MAX), "launch")
        ),
    };
    format!(
        "{function}{place} answers {answer}. It is only the messenger: the kernel above has faulted before.{before}"
    )
}
