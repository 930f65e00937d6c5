//! A HIP program, judged by what came of its runs on the software device.

use sanitize_protocol::{Finding, Messenger};

use super::clue::{is_ambiguous, is_harmless, points_at, through_no_allocation};
use super::hypothesis::{Decision, Evidence, Hypothesis, Verdict};
use crate::audit::bound;

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// How it was made: `eager`, `deferred`, `random 3`.
    pub how: String,
    /// The exit code.
    pub code: u8,
    /// What it printed.
    pub output: Vec<u8>,
    /// What was found, in its order.
    pub findings: Vec<Finding>,
    /// Calls that report what another one did.
    pub messengers: Vec<Messenger>,
    /// Allocations that were refused: the call and its answer.
    pub refused: Vec<(String, String)>,
    /// Kernels that it launched.
    pub launches: u64,
}

impl Run {
    /// The first thing that is wrong, leaks aside.
    pub fn first(&self) -> Option<&Finding> {
        self.findings.iter().find(|finding| !is_harmless(&finding.report.problem))
    }

    /// Whether a run failed in the same way: in the same kind of thing, at the same instruction.
    fn fails_like(&self, other: &Run) -> bool {
        let place = |finding: &Finding| {
            let at = finding.report.at.as_ref().map(|at| (at.kernel.clone(), at.offset));
            (std::mem::discriminant(&finding.report.problem), at)
        };
        match (self.first(), other.first()) {
            (Some(a), Some(b)) => place(a) == place(b),
            (None, None) => self.code == other.code,
            _ => false,
        }
    }
}

/// A file that a program is given, and another one that should be the same.
#[derive(Clone, Debug)]
pub struct Swap {
    /// The file, as the program was given it, with its hash.
    pub given: String,
    /// The other one, with its hash.
    pub meant: String,
    /// Whether their bytes are equal.
    pub equal: bool,
    /// What came of a run with the other one; `None` where the bytes are equal.
    pub run: Option<Run>,
}

/// All runs of a program.
#[derive(Clone, Debug)]
pub struct Runs {
    /// Work runs at once.
    pub eager: Run,
    /// Other seeds and schedules.
    pub others: Vec<Run>,
    /// Refused allocations are granted; `None` where none was refused.
    pub granted: Option<Run>,
    /// Files with another one to compare.
    pub swaps: Vec<Swap>,
    /// What is wrong with a model file that the program is given.
    pub mismatches: Vec<String>,
    /// Why a model file that the program is given cannot be read here.
    pub unread: Vec<String>,
    /// What is known about the program and its files: name and hash.
    pub identities: Vec<String>,
}

impl Runs {
    /// Whether anything at all is wrong.
    pub fn fail(&self) -> bool {
        self.eager.first().is_some()
            || self.eager.code != 0
            || self.others.iter().any(|run| run.first().is_some() || differs(&self.eager, run))
    }

    /// What is wrong, as the program's user sees it.
    pub fn symptom(&self) -> String {
        let Run { code, findings, .. } = &self.eager;
        let mut parts = vec![format!("exit code {code}")];
        parts.push(match self.eager.first() {
            Some(first) => first.text.lines().next().unwrap_or_default().to_owned(),
            None if findings.is_empty() => "no finding".into(),
            None => "leaks alone".into(),
        });
        parts.extend(self.eager.messengers.first().map(|m| format!("{} answers {}", m.function, m.answer)));
        if let Some(other) = self.others.iter().find(|run| differs(&self.eager, run)) {
            parts.push(format!("other output under {}", other.how));
        }
        parts.join("; ")
    }

    /// Decides every hypothesis.
    pub fn decide(&self) -> Vec<Decision> {
        let provenance = self.provenance();
        let allocation = self.allocation(provenance.verdict == Verdict::Confirmed);
        let explained = match (&provenance.verdict, &allocation.verdict) {
            (Verdict::Confirmed, _) => Some("with the file that was meant it is gone (H0)"),
            (_, Verdict::Confirmed) => Some("with the allocation granted it is gone (H7)"),
            _ => None,
        };
        let mut decisions = vec![provenance, self.culprit()];
        for hypothesis in Hypothesis::ALL {
            if !decisions.iter().any(|d| d.hypothesis == hypothesis)
                && hypothesis != Hypothesis::FailedAllocation
            {
                decisions.push(self.finding(hypothesis, explained));
            }
        }
        decisions.push(allocation);
        decisions
    }

    fn provenance(&self) -> Decision {
        let experiment =
            "the hashes of what runs, metadata against tensor shapes, the run with the file that was meant";
        let known = Evidence::new("what ran", self.identities.join("\n"));
        let decide = |verdict, why: String| {
            Decision::new(Hypothesis::Provenance, verdict, experiment, why).showing([known.clone()])
        };
        if !self.mismatches.is_empty() {
            let why =
                format!("the model's metadata and tensors disagree in {} places", self.mismatches.len());
            return decide(Verdict::Confirmed, why)
                .showing([Evidence::new("mismatches", self.mismatches.join("\n"))]);
        }
        for Swap { given, meant, run, .. } in self.swaps.iter().filter(|swap| !swap.equal) {
            let Some(run) = run else { continue };
            if self.fail() && run.first().is_none() && !run.fails_like(&self.eager) {
                let pair = Evidence::new(
                    "pair of runs",
                    format!("{given}: {}\n{meant}: exit code {}, no finding", self.symptom(), run.code),
                );
                return decide(
                    Verdict::Confirmed,
                    format!("{given} is not {meant}, with which the failure is gone"),
                )
                .showing([pair]);
            }
        }
        match (self.swaps.is_empty(), self.swaps.iter().find(|swap| !swap.equal)) {
            (_, Some(other)) => decide(
                Verdict::Refuted,
                format!("{} is not {}, and the failure is the same with both", other.given, other.meant),
            ),
            _ if !self.unread.is_empty() => {
                decide(Verdict::Inconclusive("a model cannot be read".into()), self.unread.join("; "))
            }
            (false, None) => decide(Verdict::Refuted, "every file is the one that was meant".into()),
            (true, None) => decide(
                Verdict::Inconclusive("nothing to compare with".into()),
                "give the files that were meant with --objects FOLDER".into(),
            ),
        }
    }

    fn culprit(&self) -> Decision {
        let experiment = "every launch and copy checked as it runs: which fails first?";
        let decide = |verdict, why: String| Decision::new(Hypothesis::WrongCulprit, verdict, experiment, why);
        let Some(first) = self.eager.first() else {
            return decide(Verdict::Refuted, "no call failed".into());
        };
        let report = Evidence::new("report", first.text.clone());
        match self.eager.messengers.first() {
            Some(messenger) if first.report.at.is_some() => {
                let kernel = first.report.at.as_ref().map_or("", |at| at.kernel.as_str());
                let Messenger { function, answer, launches_before, .. } = messenger;
                let before = match launches_before {
                    0 => String::new(),
                    1 => "; 1 launch before it answered the same and was not looked at".into(),
                    n => format!("; {n} launches before it answered the same and were not looked at"),
                };
                decide(
                    Verdict::Confirmed,
                    format!("{function} answers {answer}, and {kernel} had faulted before{before}"),
                )
                .showing([report])
            }
            Some(messenger) => {
                decide(Verdict::Refuted, format!("{} is itself the call that is wrong", messenger.function))
                    .showing([report])
            }
            None => decide(Verdict::Refuted, "no call answers for another one".into()).showing([report]),
        }
    }

    /// A hypothesis that a report would be a case of.
    fn finding(&self, hypothesis: Hypothesis, explained: Option<&str>) -> Decision {
        let experiment = match hypothesis {
            Hypothesis::UseAfterFree => {
                "freed memory in quarantine, every access against the life of its allocation"
            }
            Hypothesis::Extents => "every access, copy and argument against its extent",
            Hypothesis::Alignment => {
                "every access against its alignment, with allocations at other addresses"
            }
            Hypothesis::Staging => "every write of the host against the copies that are under way",
            Hypothesis::Overlap => "every copy against all others that it has no order with",
            _ => {
                "every access against all others that it has no order with; the run at once, deferred and at random"
            }
        };
        let decide = |verdict, why: String| Decision::new(hypothesis, verdict, experiment, why);
        let runs = || std::iter::once(&self.eager).chain(&self.others);
        let case = runs().find_map(|run| {
            let first = run.first()?;
            (points_at(&first.report.problem) == Some(hypothesis)).then_some((run, first))
        });
        if let Some((run, first)) = case {
            let line = first.text.lines().next().unwrap_or_default();
            let report = Evidence::new("report", first.text.clone());
            if let Some(why) = explained {
                return decide(Verdict::Refuted, format!("{line}: but {why}")).showing([report]);
            }
            let capsule =
                first.capsule.as_ref().map(|path| Evidence::new("capsule", path.display().to_string()));
            let pair = self.others.iter().find(|other| differs(&self.eager, other)).map(|other| {
                Evidence::new(
                    "pair of runs",
                    format!("{}: {}\n{}: {}", self.eager.how, shown(&self.eager), other.how, shown(other)),
                )
            });
            let when = if hypothesis.is_order() { format!(" (run {})", run.how) } else { String::new() };
            return decide(Verdict::Confirmed, format!("{line}{when}"))
                .showing([report])
                .showing(capsule)
                .showing(pair.filter(|_| hypothesis.is_order()));
        }
        let runs = 1 + self.others.len();
        let ambiguous = self.eager.first().filter(|first| is_ambiguous(&first.report.problem));
        if let Some(first) =
            ambiguous.filter(|_| matches!(hypothesis, Hypothesis::Extents | Hypothesis::Race))
        {
            let line = first.text.lines().next().unwrap_or_default();
            let report = Evidence::new("report", first.text.clone());
            let open = Verdict::Inconclusive("written too little, or too late".into());
            return decide(open, line.to_owned()).showing([report]);
        }
        if !hypothesis.is_order() {
            return decide(Verdict::Refuted, self.innocent());
        }
        match self.eager.first() {
            Some(_) if self.others.iter().all(|run| run.fails_like(&self.eager)) => decide(
                Verdict::Refuted,
                format!("the same failure in {runs} runs, also where every op runs at once and in order"),
            ),
            _ if self.others.iter().any(|run| differs(&self.eager, run)) => {
                let other = self.others.iter().find(|run| differs(&self.eager, run));
                let how = other.map_or("", |run| run.how.as_str());
                decide(
                    Verdict::Inconclusive("output depends on the schedule".into()),
                    format!("other output under {how}, and no report says why"),
                )
            }
            _ => decide(
                Verdict::NotReproduced(bound::upper(0, runs)),
                format!("no such report in {runs} runs"),
            ),
        }
    }

    /// Why a report of another kind, or none, speaks against it.
    fn innocent(&self) -> String {
        match self.eager.first() {
            Some(first) => {
                let line = first.text.lines().next().unwrap_or_default();
                format!("what goes wrong first is something else: {line}")
            }
            None => format!("every access of {} launches was in order", self.eager.launches),
        }
    }

    fn allocation(&self, explained: bool) -> Decision {
        let experiment = "every allocation's answer; the same run with refused ones granted";
        let decide =
            |verdict, why: String| Decision::new(Hypothesis::FailedAllocation, verdict, experiment, why);
        let Some((function, answer)) = self.eager.refused.first() else {
            return decide(Verdict::Refuted, "no allocation was refused".into());
        };
        let Some(granted) = &self.granted else {
            return decide(
                Verdict::Inconclusive("no run with it granted".into()),
                format!("{function} answered {answer}"),
            );
        };
        let before =
            self.eager.first().map_or("it ends badly", |first| first.text.lines().next().unwrap_or_default());
        let null = self.eager.first().is_some_and(|first| through_no_allocation(&first.report.problem));
        if self.fail() && !explained && granted.first().is_none() && !granted.fails_like(&self.eager) {
            let how = if null { ", through a pointer that is no allocation's" } else { "" };
            let pair = Evidence::new(
                "pair of runs",
                format!(
                    "{function} answers {answer}: {before}\ngranted: exit code {}, no finding",
                    granted.code
                ),
            );
            return decide(
                Verdict::Confirmed,
                format!(
                    "{function} answered {answer}; after it: {before}{how}; granted, the failure is gone"
                ),
            )
            .showing([pair]);
        }
        decide(
            Verdict::Refuted,
            format!("{function} answered {answer}, and the run is the same with the allocation granted"),
        )
    }
}

/// Whether two runs end otherwise, or print something else.
fn differs(a: &Run, b: &Run) -> bool {
    a.code != b.code || a.output != b.output
}

/// What a run printed, shortened.
fn shown(run: &Run) -> String {
    let text = String::from_utf8_lossy(&run.output);
    let text: String = text.trim().chars().take(200).collect();
    format!("exit code {}, prints '{text}'", run.code)
}
